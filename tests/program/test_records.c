/* Every record of schedules.jsonl, templates.jsonl and printed.txt: its loop nest, its C file and its features.
 *
 * Predictors were trained with these features, and test_show_c.sh runs these C files: neither may change by accident.
 * tests/program/records.txt lists them; after a wanted change, review the differences to $BUILD/program-records.txt
 * and copy it over. Texts are listed as hashes, features as a sum with a different weight for each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "foretell/program.h"

enum { LINE_BYTES = 1024 };

static void must(ft_status status, const ft_error *error) {
    if (status != FT_OK) fail_msg("%s", error->message);
}

static void add_hash(FILE *out, const char *name, FILE *stream, char **text, const size_t *size) {
    char hash[HASH_TEXT];
    fclose(stream);
    fprintf(out, " %s %.8s", name, hash_text(hash_bytes(*text, *size), hash));
    free(*text);
}

static void list_c_file(FILE *out, const char *name, ft_program *program) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    ft_program_c_file *file = NULL;
    ft_error error;
    assert_non_null(stream);
    must(ft_program_c_file_begin(stream, &file, &error), &error);
    must(ft_program_c_file_add(file, program, "record", &error), &error);
    must(ft_program_c_file_end(file, &error), &error);
    add_hash(out, name, stream, &text, &size);
}

static void list_texts(FILE *out, ft_program *program) {
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    must(ft_program_write(program, stream, &error), &error);
    add_hash(out, "nest", stream, &text, &size);
    stream = open_memstream(&text, &size);
    assert_non_null(stream);
    must(ft_program_write_json(program, stream, &error), &error);
    add_hash(out, "json", stream, &text, &size);
}

static double weighted_sum(const float *values, uint32_t rows, uint32_t columns) {
    double sum = 0;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            sum += (double)values[r * columns + c] * (1 + 0.37 * c + 0.11 * (r % 16));
    return sum;
}

static void list_features(FILE *out, ft_program *program) {
    ft_program_features f;
    ft_error error;
    must(ft_program_extract_features(program, &f, &error), &error);
    fprintf(out, " leaves %u tree %u features %.2f gpu %.2f", f.leaf_count, f.tree_length,
            weighted_sum(f.leaves, f.leaf_count, FT_PROGRAM_FEATURES),
            weighted_sum(f.gpu, f.leaf_count, FT_PROGRAM_GPU_FEATURES));
}

static void list_log(FILE *out, const char *name) {
    char path[64], task[FT_PROGRAM_TASK_SIZE];
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record;
    ft_error error;
    snprintf(path, sizeof path, "tests/program/%s", name);
    must(ft_program_log_open(path, &log, &error), &error);
    must(ft_program_new(&program, &error), &error);
    for (;;) {
        must(ft_program_log_next(log, &record, &error), &error);
        if (record.line == 0) break;
        fprintf(out, "%s:%u %s%s", name, (unsigned)record.line, record.workload, record.fused);
        must(ft_program_lower(program, log, &error), &error);
        double flops = ft_program_flops(program);
        if (!isnan(flops)) fprintf(out, " flops %.0f", flops);
        list_texts(out, program);
        if (!isnan(flops)) {
            list_c_file(out, "c", program);
            ft_graph *graph = NULL;
            must(ft_program_graph(log, &graph, task, &error), &error);
            fprintf(out, " task %s", task);
            ft_graph_free(graph);
        }
        list_features(out, program);
        if (!isnan(flops)) {
            must(ft_program_lower_small(program, log, record.line, &error), &error);
            list_c_file(out, "small", program);
        }
        fprintf(out, "\n");
    }
    ft_program_free(program);
    ft_program_log_close(log);
}

/* Equal up to the last digits of the sums of features, which depend on the library's log2. */
static bool is_same_line(const char *a, const char *b) {
    const char *x = strstr(a, " features "), *y = strstr(b, " features ");
    double sums[2][2];
    if (x == NULL || y == NULL) return strcmp(a, b) == 0;
    if (x - a != y - b || memcmp(a, b, (size_t)(x - a)) != 0) return false;
    int length = 0, other = 0;
    if (sscanf(x, " features %lf gpu %lf%n", &sums[0][0], &sums[0][1], &length) != 2) return false;
    if (sscanf(y, " features %lf gpu %lf%n", &sums[1][0], &sums[1][1], &other) != 2) return false;
    for (int i = 0; i < 2; i++)
        if (fabs(sums[0][i] - sums[1][i]) > 0.02) return false;
    return strcmp(x + length, y + other) == 0;
}

static void records_are_lowered_as_listed(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    char path[256], want[LINE_BYTES], got[LINE_BYTES];
    snprintf(path, sizeof path, "%s/program-records.txt", build != NULL ? build : "build");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    list_log(out, "schedules.jsonl");
    list_log(out, "templates.jsonl");
    list_log(out, "printed.txt");
    fclose(out);

    FILE *expected = fopen("tests/program/records.txt", "r"), *found = fopen(path, "r");
    assert_non_null(expected);
    assert_non_null(found);
    for (;;) {
        const char *a = fgets(want, sizeof want, expected), *b = fgets(got, sizeof got, found);
        if (a == NULL && b == NULL) break;
        if (a == NULL || b == NULL || !is_same_line(a, b))
            fail_msg("expected %sfound    %s", a != NULL ? a : "no more\n", b != NULL ? b : "no more\n");
    }
    fclose(expected);
    fclose(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_are_lowered_as_listed)};
    return cmocka_run_group_tests_name("program/records", tests, NULL, NULL);
}
