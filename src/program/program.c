/* program.c - the public functions of programs: lowering, features and output. Logs are in log.c. */
#include "program/program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "program/lower.h"
#include "program/show.h"
#include "program/tir_text.h"

enum { PROGRAM_BYTES = 64 * 1024 * 1024 };

/* --- Programs ------------------------------------------------------------------------------------------------ */

ft_status ft_program_new(ft_program **program, ft_error *error) {
    FT_REQUIRE(error, program);
    ft_program *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    arena_init(&made->memory, PROGRAM_BYTES);
    made->atoms = malloc(LIN_MAX_ATOMS * sizeof *made->atoms);
    made->stages = malloc(PROG_MAX_STAGES * sizeof *made->stages);
    made->nodes = malloc(NEST_MAX_NODES * sizeof *made->nodes);
    if (made->atoms == NULL || made->stages == NULL || made->nodes == NULL) {
        ft_program_free(made);
        return FT_NOMEM(error);
    }
    *program = made;
    return FT_OK;
}

void ft_program_free(ft_program *program) {
    if (program == NULL) return;
    arena_free(&program->memory);
    free(program->atoms);
    free(program->stages);
    free(program->nodes);
    free(program);
}

/* Records of one task follow each other, so the last key is cached. */
static ft_status find_workload(ft_program *program, const ansor_record *record, ft_error *error) {
    char key[sizeof program->key];
    int length = snprintf(key, sizeof key, "%s %s", record->fused, record->workload);
    bool fits = length > 0 && (size_t)length < sizeof key;
    if (!fits || strcmp(key, program->key) != 0) {
        program->key[0] = '\0';
        FT_TRY(workload_parse(record->workload, record->fused, &program->cached, error));
        if (fits) memcpy(program->key, key, (size_t)length + 1);
    }
    program->w = program->cached;
    return FT_OK;
}

/* Drops the previous program. */
static void reset_program(ft_program *program, ft_error *error) {
    prog *p = &program->p;
    program->has_nest = program->is_printed = false;
    arena_reset(&program->memory);
    *p = (prog){.memory = &program->memory, .stages = program->stages, .error = error};
    lin_space_init(&p->space, &program->memory, program->atoms);
}

static ft_status schedule(ft_program *program, const ansor_record *record, ft_error *error) {
    reset_program(program, error);
    FT_TRY(workload_build(&program->w, &program->p));
    return steps_apply(&program->p, record->steps, record->step_count);
}

static ft_status lower(ft_program *program, const ansor_record *record, ft_error *error) {
    FT_TRY(schedule(program, record, error));
    FT_TRY(bound_infer(&program->p));
    FT_TRY(nest_build(&program->p, program->nodes, &program->n));
    program->has_nest = true;
    return FT_OK;
}

ft_status program_lower_record(ft_program *program, const ansor_record *record, ft_error *error) {
    program->has_nest = false;
    FT_TRY(find_workload(program, record, error));
    return lower(program, record, error);
}

static ft_status no_record(ft_error *error) {
    return ft_fail(error, FT_ERR_USAGE, "no record was read yet, or the log is at its end");
}

/* Messages count lines from `first_line`. */
static ft_status parse_text(ft_program *program, const char *text, size_t size, uint64_t first_line, size_t *used,
                            ft_error *error) {
    reset_program(program, error);
    FT_TRY(tir_read(&program->p, program->nodes, text, size, first_line, &program->n, used));
    program->has_nest = program->is_printed = *used > 0;
    return FT_OK;
}

/* Parses the last printed program of a log. */
static ft_status parse_whole(ft_program *program, const ft_program_log *log, ft_error *error) {
    size_t used;
    return parse_text(program, log->printed.data, log->printed.length, log->printed_line, &used, error);
}

ft_status ft_program_lower(ft_program *program, const ft_program_log *log, ft_error *error) {
    FT_REQUIRE(error, program, log);
    if (!log->has_record) return no_record(error);
    ft_status status =
        log->is_printed ? parse_whole(program, log, error) : program_lower_record(program, &log->record, error);
    return program_log_fail(log, status, error);
}

static ft_status lower_small(ft_program *program, const ft_program_log *log, uint64_t seed, ft_error *error) {
    ansor_record *copy = malloc(sizeof *copy);
    if (copy == NULL) return FT_NOMEM(error);
    *copy = log->record;
    for (uint32_t i = 0; i < copy->step_count; i++) {
        if (copy->steps[i].list != NULL)
            copy->steps[i].list = copy->numbers + (copy->steps[i].list - log->record.numbers);
    }
    program->has_nest = false;
    ft_status status = find_workload(program, copy, error);
    if (status == FT_OK) status = schedule(program, copy, error);
    if (status == FT_OK) status = shrink_record(&program->p, &program->w, copy, seed);
    if (status == FT_OK) status = lower(program, copy, error);
    free(copy);
    return status;
}

ft_status ft_program_lower_small(ft_program *program, const ft_program_log *log, uint64_t seed, ft_error *error) {
    FT_REQUIRE(error, program, log);
    if (!log->has_record) return no_record(error);
    ft_status status =
        log->is_printed ? ft_fail(error, FT_ERR_UNSUPPORTED, "a printed program has no workload and cannot be shrunk")
                        : lower_small(program, log, seed, error);
    return program_log_fail(log, status, error);
}

ft_status ft_program_parse(ft_program *program, const char *text, size_t size, size_t *used, ft_error *error) {
    FT_REQUIRE(error, program, used);
    if (size > 0) FT_REQUIRE(error, text);
    return parse_text(program, text, size, 1, used, error);
}

double ft_program_flops(const ft_program *program) {
    if (program == NULL) return NAN;
    return program->has_nest && !program->is_printed ? workload_flops(&program->w) : NAN;
}

/* --- Features ------------------------------------------------------------------------------------------------ */

static ft_status check_nest(ft_program *program, ft_error *error) {
    program->p.error = error;
    return program->has_nest ? FT_OK
                             : ft_fail(error, FT_ERR_USAGE, "the program is empty: it was neither lowered nor parsed");
}

ft_status ft_program_extract_features(ft_program *program, ft_program_features *extracted, ft_error *error) {
    FT_REQUIRE(error, program, extracted);
    features f;
    FT_TRY(check_nest(program, error));
    FT_TRY(feature_extract(&program->n, &f));
    *extracted = (ft_program_features){.leaf_count = f.leaf_count,
                                       .leaves = f.leaves,
                                       .gpu = f.gpu,
                                       .node_ids = f.node_ids,
                                       .tree = f.tree,
                                       .tree_length = f.tree_length};
    return FT_OK;
}

const char *ft_program_feature_name(uint32_t index, char text[32]) {
    return text != NULL ? feature_name(index, text) : NULL;
}

void ft_program_position_encoding(uint32_t position, float out[FT_PROGRAM_FEATURES]) {
    if (out == NULL) return;
    feature_position(position, out);
}

/* --- Output -------------------------------------------------------------------------------------------------- */

static ft_status write_out(buf *text, FILE *stream, ft_status status, ft_error *error) {
    if (status == FT_OK && text->failed) status = FT_NOMEM(error);
    if (status == FT_OK && text->length > 0 && fwrite(text->data, 1, text->length, stream) != text->length)
        status = ft_fail_file(error, NULL, "cannot write the program", errno);
    buf_free(text);
    return status;
}

ft_status ft_program_write(ft_program *program, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, program, stream);
    buf text = {0};
    FT_TRY(check_nest(program, error));
    return write_out(&text, stream, show_tir(&program->n, &text), error);
}

ft_status ft_program_write_json(ft_program *program, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, program, stream);
    buf text = {0};
    FT_TRY(check_nest(program, error));
    return write_out(&text, stream, show_json(&program->n, &text), error);
}

static void write_numbers(buf *text, const float *numbers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) buf_format(text, ",%.7g", (double)numbers[i]);
}

ft_status ft_program_write_feature_names(FILE *stream, ft_error *error) {
    FT_REQUIRE(error, stream);
    buf text = {0};
    buf_text(&text, "line,leaf,node");
    for (uint32_t i = 0; i < FT_PROGRAM_FEATURES + FT_PROGRAM_GPU_FEATURES; i++) {
        char name[32];
        buf_format(&text, ",%s", feature_name(i, name));
    }
    buf_char(&text, '\n');
    return write_out(&text, stream, FT_OK, error);
}

ft_status ft_program_write_features(ft_program *program, uint64_t line, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, program, stream);
    ft_program_features extracted;
    buf text = {0};
    FT_TRY(ft_program_extract_features(program, &extracted, error));
    for (uint32_t i = 0; i < extracted.leaf_count; i++) {
        buf_format(&text, "%llu,%u,%d", (unsigned long long)line, i, extracted.node_ids[i]);
        write_numbers(&text, extracted.leaves + (size_t)i * FT_PROGRAM_FEATURES, FT_PROGRAM_FEATURES);
        write_numbers(&text, extracted.gpu + (size_t)i * FT_PROGRAM_GPU_FEATURES, FT_PROGRAM_GPU_FEATURES);
        buf_char(&text, '\n');
    }
    return write_out(&text, stream, FT_OK, error);
}

struct ft_program_c_file {
    FILE *stream;
    buf text;
    show_c_file checks;
};

static ft_status flush_c_file(ft_program_c_file *file, ft_status status, ft_error *error) {
    buf text = file->text;
    file->text = (buf){0};
    return write_out(&text, file->stream, status, error);
}

ft_status ft_program_c_file_begin(FILE *stream, ft_program_c_file **file, ft_error *error) {
    FT_REQUIRE(error, stream, file);
    ft_program_c_file *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    made->stream = stream;
    show_c_begin(&made->checks, &made->text);
    *file = made;
    return FT_OK;
}

ft_status ft_program_c_file_add(ft_program_c_file *file, ft_program *program, const char *label, ft_error *error) {
    FT_REQUIRE(error, file, program, label);
    FT_TRY(check_nest(program, error));
    if (program->is_printed)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "a printed program has no workload to compare with, so no C is written");
    return flush_c_file(file, show_c_program(&file->checks, &program->n, &program->w, label), error);
}

ft_status ft_program_c_file_end(ft_program_c_file *file, ft_error *error) {
    if (file == NULL) return FT_OK;
    ft_status status = flush_c_file(file, show_c_end(&file->checks, error), error);
    free(file);
    return status;
}
