/* log.c - reading files of programs: records of tuners, one per line, or programs that TVM printed, each with the
 * comments that declare its buffers before it. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "program/program.h"
#include "program/record.h"

enum { MAX_PRINTED_BYTES = 16 * 1024 * 1024 };

ft_status ft_program_log_open(const char *path, ft_program_log **log, ft_error *error) {
    FT_REQUIRE(error, path, log);
    ft_program_log *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = lines_open(path, &made->text, error);
    if (status != FT_OK) {
        free(made);
        return status;
    }
    *log = made;
    return FT_OK;
}

void ft_program_log_close(ft_program_log *log) {
    if (log == NULL) return;
    lines_close(&log->text);
    buf_free(&log->printed);
    free(log);
}

static ft_status next_line(ft_program_log *log, const char **line, size_t *length, ft_error *error) {
    *line = NULL;
    if (log->is_over) return FT_OK;
    ft_status status = lines_next(&log->text, line, length, error);
    log->is_over = status != FT_OK || *line == NULL;
    return status;
}

ft_status program_log_fail(const ft_program_log *log, ft_status status, ft_error *error) {
    if (status == FT_OK || status == FT_ERR_NOMEM) return status;
    if (log->is_printed) return ft_fail_prefix(error, status, "%s", log->text.path); /* the message has the line */
    return ft_fail_prefix(error, status, "%s:%llu", log->text.path, (unsigned long long)log->text.number);
}

/* --- Printed programs ---------------------------------------------------------------------------------------- */

static void keep_line(ft_program_log *log, const char *line, size_t length) {
    if (log->printed.length == 0) log->printed_line = log->text.number;
    buf_add(&log->printed, line, length);
    buf_char(&log->printed, '\n');
}

static bool begins_function(const char *line, size_t length) {
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r')) length--;
    return length > 0 && line[length - 1] == '{' && memmem(line, length, "PrimFunc(", 9) != NULL;
}

/* Texts in other languages, by what a function begins with. */
static const char *foreign_language(const char *line, size_t length) {
    static const struct {
        const char *mark, *language;
    } marks[] = {{"__global__", "CUDA source"},
                 {"__kernel ", "OpenCL source"},
                 {"kernel void ", "Metal source"},
                 {"@T.prim_func", "TVMScript"},
                 {"= primfn(", "the text form of TVM 0.8 to 0.10 (primfn)"},
                 {"PrimFunc(", "a function whose head is on several lines"},
                 {"GlobalVar(", "a function that is not lowered to loops (no PrimFunc)"}};
    if (length == 0 || line[0] == '{' || (length >= 2 && memcmp(line, "//", 2) == 0)) return NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (memmem(line, length, marks[i].mark, strlen(marks[i].mark)) != NULL) return marks[i].language;
    return NULL;
}

static ft_status refuse_language(ft_program_log *log, const char *language, ft_error *error) {
    log->has_text = true;
    return ft_fail(error, FT_ERR_UNSUPPORTED, "%s:%llu: %s is not read; docs/formats/tir.md has the form that is",
                   log->text.path, (unsigned long long)log->text.number, language);
}

static int64_t depth_of(const char *line, size_t length) {
    int64_t depth = 0;
    for (size_t i = 0; i < length; i++) depth += (line[i] == '{') - (line[i] == '}');
    return depth;
}

/* "GlobalVar(fused_add): PrimFunc(..." */
static void name_function(ft_program_log *log, const char *line, size_t length) {
    const char *from = memmem(line, length, "GlobalVar(", 10), *end = line + length;
    size_t size = 0;
    for (from = from != NULL ? from + 10 : end; from < end && *from != ')' && size + 1 < sizeof log->name; from++)
        log->name[size++] = *from;
    log->name[size] = '\0';
    if (size == 0) snprintf(log->name, sizeof log->name, "main");
}

/* Collects the text from the first line to the closing brace. A truncated text is reported by tir_read. */
static ft_status read_function(ft_program_log *log, const char *line, size_t length, ft_program_record *record,
                               ft_error *error) {
    const char *head = memmem(line, length, "PrimFunc(", 9), *name = memmem(line, length, "GlobalVar(", 10);
    const char *from = name != NULL && name < head ? name : head; /* a module opens braces before it */
    int64_t depth = depth_of(head, length - (size_t)(head - line));
    *record = (ft_program_record){.line = log->text.number,
                                  .workload = log->name,
                                  .fused = "",
                                  .target = "",
                                  .seconds = NAN,
                                  .time_missing_reason = "printed, not measured"};
    name_function(log, line, length);
    log->has_text = true;
    length -= (size_t)(from - line);
    for (line = from;;) {
        keep_line(log, line, length);
        if (log->printed.length > MAX_PRINTED_BYTES)
            return ft_fail(error, FT_ERR_LIMIT, "%s:%llu: the program has more than %d bytes", log->text.path,
                           (unsigned long long)record->line, MAX_PRINTED_BYTES);
        if (depth <= 0) break;
        FT_TRY(next_line(log, &line, &length, error));
        if (line == NULL) break;
        depth += depth_of(line, length);
    }
    if (log->printed.failed) return FT_NOMEM(error);
    log->has_record = log->is_printed = true;
    return FT_OK;
}

/* --- Records ------------------------------------------------------------------------------------------------- */

static void describe(ft_program_log *log, ft_program_record *record) {
    const ansor_record *r = &log->record;
    ft_error why;
    *record = (ft_program_record){.line = log->text.number,
                                  .workload = r->workload,
                                  .fused = r->fused,
                                  .target = r->target,
                                  .seconds = NAN,
                                  .step_count = r->step_count};
    if (ansor_mean_seconds(r, &record->seconds, &why) == FT_OK) return;
    record->seconds = NAN;
    snprintf(log->why, sizeof log->why, "%.*s", (int)sizeof log->why - 1, why.message);
    record->time_missing_reason = log->why;
}

/* In a file of printed programs, the lines between them are ignored, except comments, which may declare buffers. */
ft_status ft_program_log_next(ft_program_log *log, ft_program_record *record, ft_error *error) {
    FT_REQUIRE(error, log, record);
    *record = (ft_program_record){.seconds = NAN};
    log->has_record = log->is_printed = false;
    log->printed.length = 0;
    while (!log->has_record) {
        const char *line;
        size_t length;
        FT_TRY(next_line(log, &line, &length, error));
        if (line == NULL) return FT_OK;
        if (begins_function(line, length)) return read_function(log, line, length, record, error);
        if (length >= 2 && memcmp(line, "//", 2) == 0) {
            log->has_text = true;
            keep_line(log, line, length);
            continue;
        }
        const char *language = foreign_language(line, length);
        if (language != NULL) return refuse_language(log, language, error);
        bool is_record = !log->has_text || (length >= 2 && memcmp(line, "{\"", 2) == 0);
        ft_status status =
            !is_record ? FT_OK : program_record_read(line, length, &log->record, &log->tuned, &log->has_record, error);
        FT_TRY(program_log_fail(log, status, error));
    }
    assert(!log->is_printed);
    describe(log, record);
    return FT_OK;
}

/* --- Graphs -------------------------------------------------------------------------------------------------- */

ft_status ft_program_graph(const ft_program_log *log, ft_graph **graph, char *task, ft_error *error) {
    FT_REQUIRE(error, log, graph, task);
    buf text = {0};
    workload w;
    if (!log->has_record) return ft_fail(error, FT_ERR_USAGE, "no record was read yet, or the log is at its end");
    if (log->is_printed) {
        snprintf(task, FT_PROGRAM_TASK_SIZE, "%s", log->name);
        return graph_new_program(log->printed.data, graph, error);
    }
    ft_status status = program_text(&log->record, &text, task, &w, error);
    if (status == FT_OK) status = graph_new_program(text.data, graph, error);
    buf_free(&text);
    if (status == FT_OK || status == FT_ERR_NOMEM) return status;
    return ft_fail_prefix(error, status, "%s: line %llu", log->text.path, (unsigned long long)log->text.number);
}
