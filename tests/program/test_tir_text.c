/* Tests of printed programs: the printed form of a record has its features; TVM's own forms for CPUs and GPUs; texts
 * that are not programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/program.h"
#include "support/failing.h"
#include "support/program_features.h"

static void show_again(const char *path) {
    ft_program_log *log = NULL;
    ft_program *program = NULL, *printed = NULL;
    ft_program_record record = {0};
    ft_program_features f, g;
    ft_error error = {0};
    assert_int_equal(ft_program_log_open(path, &log, &error), FT_OK);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    assert_int_equal(ft_program_new(&printed, &error), FT_OK);
    for (;;) {
        assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
        if (record.line == 0) break;
        char *text = NULL;
        size_t size = 0, used;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        assert_int_equal(ft_program_lower(program, log, &error), FT_OK);
        assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
        assert_int_equal(ft_program_write(program, stream, &error), FT_OK);
        fclose(stream);
        if (ft_program_parse(printed, text, size, &used, &error) != FT_OK) fail_msg("%s\n%s", error.message, text);
        assert_true(used > 0 && size - used <= 1);
        assert_int_equal(ft_program_extract_features(printed, &g, &error), FT_OK);
        assert_int_equal(f.leaf_count, g.leaf_count);
        assert_int_equal(f.tree_length, g.tree_length);
        assert_memory_equal(f.tree, g.tree, f.tree_length * sizeof *f.tree);
        assert_memory_equal(f.node_ids, g.node_ids, f.leaf_count * sizeof *f.node_ids);
        assert_memory_equal(f.leaves, g.leaves, f.leaf_count * FT_PROGRAM_FEATURES * sizeof *f.leaves);
        free(text);
    }
    ft_program_free(printed);
    ft_program_free(program);
    ft_program_log_close(log);
}

static void test_shown_again(void **state) {
    (void)state;
    show_again("tests/program/schedules.jsonl");
    show_again("tests/program/templates.jsonl");
}

static char *load(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(8192);
    assert_non_null(text);
    *size = fread(text, 1, 8192, file);
    fclose(file);
    return text;
}

static void test_forms(void **state) {
    (void)state;
    ft_program *program = NULL;
    ft_program_features f;
    ft_error error = {0};
    size_t size, used;
    char *text = load("tests/program/printed.txt", &size);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    /* A CPU: vectors are loops of 16 around both stores. */
    if (ft_program_parse(program, text, size, &used, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
    assert_int_equal(f.leaf_count, 2);
    /* root, parallel, for, allocate, vector, store, vector, store */
    static const int32_t tree[] = {0, 1, 2, 3, 4, 5, -1, -1, 6, 7, -1, -1, -1, -1, -1, -1};
    assert_int_equal(f.tree_length, sizeof tree / sizeof tree[0]);
    assert_memory_equal(f.tree, tree, sizeof tree);
    expect_log(feature(&f, 1, "outer_prod"), 64 * 112 * 16);
    expect_log(feature(&f, 1, "float_addsub"), 64 * 112 * 16);
    expect_log(feature(&f, 1, "vec_len"), 16);
    expect_log(feature(&f, 1, "parallel_prod"), 64);
    assert_true(feature(&f, 1, "is_gpu") == 0 && feature(&f, 1, "vec_type.mixed") == 1);
    assert_true(isnan(ft_program_flops(program)));
    ft_program_c_file *proof = NULL;
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    assert_int_equal(ft_program_write(program, nowhere, &error), FT_OK);
    assert_int_equal(ft_program_c_file_begin(nowhere, &proof, &error), FT_OK);
    assert_int_equal(ft_program_c_file_add(proof, program, "printed", &error), FT_ERR_UNSUPPORTED);
    assert_int_equal(ft_program_c_file_end(proof, &error), FT_OK);
    fclose(nowhere);
    /* A GPU. */
    size_t second;
    assert_int_equal(ft_program_parse(program, text + used, size - used, &second, &error), FT_OK);
    assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
    assert_int_equal(f.leaf_count, 1);
    expect_log(feature(&f, 0, "blockIdx.x_len"), 2048);
    expect_log(feature(&f, 0, "threadIdx.x_len"), 1024);
    expect_log(feature(&f, 0, "unroll_prod"), 4);
    expect_log(feature(&f, 0, "float_cmp"), 2048.0 * 1024 * 4);
    /* Nothing else. */
    used += second;
    assert_int_equal(ft_program_parse(program, text + used, size - used, &second, &error), FT_OK);
    assert_int_equal(second, 0);
    ft_program_free(program);
    free(text);
}

static char *shown(ft_program *program, size_t *size) {
    char *text = NULL;
    ft_error error;
    FILE *stream = open_memstream(&text, size);
    assert_non_null(stream);
    if (ft_program_write(program, stream, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return text;
}

/* Comparisons of an index with numbers, on either side, and with another index; two of one index become a range. */
static void test_comparisons(void **state) {
    (void)state;
    static const struct {
        const char *read, *printed;
    } cases[] = {
        {"(i < 5)", "(i < 5)"},
        {"(i <= 5)", "(i < 6)"},
        {"(2 < i)", "(3 <= i)"},
        {"(2 <= i)", "(2 <= i)"},
        {"(i < j)", "((i + (j*-1)) < 0)"},
        {"(i <= j)", "((i + (j*-1)) < 1)"},
        {"((2 <= i) && (i < 7))", "tir.if_then_else(((2 <= i) && (i < 7)), a"},
        {"((2 <= i) && (j < 7))", "(j < 7))), a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        ft_program *program = NULL;
        ft_error error = {0};
        size_t used, size;
        snprintf(text, sizeof text,
                 "GlobalVar(main): PrimFunc([]) attrs={} {\n  for (i, 0, 9) {\n    for (j, 0, 9) {\n      b[((i*9) + "
                 "j)] = tir.if_then_else(%s, a[((i*9) + j)], 0f)\n"
                 "    }\n  }\n}\n",
                 cases[i].read);
        assert_int_equal(ft_program_new(&program, &error), FT_OK);
        if (ft_program_parse(program, text, strlen(text), &used, &error) != FT_OK) fail_msg("%s", error.message);
        char *again = shown(program, &size);
        if (strstr(again, cases[i].printed) == NULL) fail_msg("%s became\n%s", cases[i].read, again);
        free(again);
        ft_program_free(program);
    }
}

/* Vectors have up to 2^20 lanes. */
static void test_lanes(void **state) {
    (void)state;
    for (int64_t lanes = (1 << 20) - 1; lanes <= (1 << 20) + 1; lanes++) {
        char text[256];
        ft_program *program = NULL;
        ft_error error = {0};
        size_t used;
        snprintf(text, sizeof text,
                 "GlobalVar(main): PrimFunc([]) attrs={} {\n  b[ramp(0, 1, %lld)] = a[ramp(0, 1, %lld)]\n}\n",
                 (long long)lanes, (long long)lanes);
        assert_int_equal(ft_program_new(&program, &error), FT_OK);
        assert_int_equal(ft_program_parse(program, text, strlen(text), &used, &error),
                         lanes <= 1 << 20 ? FT_OK : FT_ERR_UNSUPPORTED);
        ft_program_free(program);
    }
}

/* A file of printed programs is a log; the printed form of a program parses to the same features. */
static void test_logs(void **state) {
    (void)state;
    ft_program_log *log = NULL;
    ft_program *program = NULL, *again = NULL;
    ft_program_record record;
    ft_program_features f, g;
    ft_error error = {0};
    static const char *const names[] = {"tvmgen_default_fused_add", "fused_relu"};
    assert_int_equal(ft_program_log_open("tests/program/printed.txt", &log, &error), FT_OK);
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    assert_int_equal(ft_program_new(&again, &error), FT_OK);
    for (uint32_t i = 0; i < 2; i++) {
        char task[FT_PROGRAM_TASK_SIZE];
        ft_graph *graph = NULL;
        size_t size, used;
        assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
        assert_string_equal(record.workload, names[i]);
        assert_int_equal(record.line, i == 0 ? 1 : 11);
        assert_true(isnan(record.seconds) && record.time_missing_reason != NULL);
        if (ft_program_lower(program, log, &error) != FT_OK) fail_msg("%s", error.message);
        assert_int_equal(ft_program_lower_small(again, log, 1, &error), FT_ERR_UNSUPPORTED);
        assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
        char *text = shown(program, &size);
        assert_int_equal(ft_program_parse(again, text, size, &used, &error), FT_OK);
        assert_int_equal(ft_program_extract_features(again, &g, &error), FT_OK);
        assert_int_equal(f.tree_length, g.tree_length);
        assert_memory_equal(f.tree, g.tree, f.tree_length * sizeof *f.tree);
        assert_memory_equal(f.leaves, g.leaves, f.leaf_count * FT_PROGRAM_FEATURES * sizeof *f.leaves);
        free(text);
        assert_int_equal(ft_program_graph(log, &graph, task, &error), FT_OK);
        assert_string_equal(task, names[i]);
        ft_graph_free(graph);
    }
    assert_int_equal(ft_program_log_next(log, &record, &error), FT_OK);
    assert_int_equal(record.line, 0);
    ft_program_free(again);
    ft_program_free(program);
    ft_program_log_close(log);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"for (i, 0, 4) {\n", "line 3: the text ends inside a block"},
        {"a[j] = 0f }", "line 2: a variable of no enclosing loop"},
        {"for (i, 0, n) {} }", "line 2: a variable of no enclosing loop"},
        {"for (i, 0, 4) { for (j, 0, 4) { a[(i*j)] = 0f } } }", "line 2: a product of two variables in an index"},
        {"a[0] = (1f + }", "line 2: an expression is missing"},
        {"a[0] = b[0 }", "line 2: ']' is missing"},
        {"a[0, 0] = 1f a[0] = 1f }", "line 2: the number of indices differs from the dimensions of the tensor"},
        {"= 3 }", "line 2: a statement is missing"},
    };
    ft_program *program = NULL;
    ft_error error = {0};
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        size_t used;
        int size = snprintf(text, sizeof text, "main: PrimFunc([a]) attrs={} {\n%s", cases[i].body);
        assert_int_not_equal(ft_program_parse(program, text, (size_t)size, &used, &error), FT_OK);
        assert_string_equal(error.message, cases[i].message);
    }
    ft_program_free(program);
}

/* Casts may follow each other for the whole text: they must not overflow the stack. */
static void test_many_casts(void **state) {
    (void)state;
    enum { CASTS = 200000 };
    static const char head[] = "main: PrimFunc([a]) attrs={} {\na[0] = ", cast[] = "(int32) ", tail[] = "1f }";
    ft_program *program = NULL;
    ft_program_features f;
    ft_error error = {0};
    size_t used, size = sizeof head - 1;
    char *text = malloc(sizeof head + CASTS * sizeof cast + sizeof tail);
    assert_non_null(text);
    memcpy(text, head, sizeof head);
    for (int i = 0; i < CASTS; i++, size += sizeof cast - 1) memcpy(text + size, cast, sizeof cast);
    size_t without = size;
    memcpy(text + size, tail, sizeof tail);
    size += sizeof tail - 1;
    assert_int_equal(ft_program_new(&program, &error), FT_OK);
    if (ft_program_parse(program, text, size, &used, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(used, size);
    assert_int_equal(ft_program_extract_features(program, &f, &error), FT_OK);
    assert_int_equal(f.leaf_count, 1);
    assert_int_equal(ft_program_parse(program, text, without, &used, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "line 2: an expression is missing");
    ft_program_free(program);
    free(text);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    size_t size;
    char *text = load("tests/program/printed.txt", &size);
    for (long n = 0;; n++) {
        ft_program *program = NULL;
        ft_error error;
        size_t used;
        failing_start(n);
        ft_status status = ft_program_new(&program, &error);
        if (status == FT_OK) status = ft_program_parse(program, text, size, &used, &error);
        bool failed = failing_stop();
        ft_program_free(program);
        if (!failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    free(text);
}

static ft_status read_log(ft_program_log **log, ft_graph **graph, ft_error *error) {
    ft_program_record record;
    char task[FT_PROGRAM_TASK_SIZE];
    ft_status status = ft_program_log_open("tests/program/printed.txt", log, error);
    if (status == FT_OK) status = ft_program_log_next(*log, &record, error);
    return status == FT_OK ? ft_program_graph(*log, graph, task, error) : status;
}

static void test_memory_of_logs(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_program_log *log = NULL;
        ft_graph *graph = NULL;
        ft_error error;
        failing_start(n);
        ft_status status = read_log(&log, &graph, &error);
        bool failed = failing_stop();
        ft_graph_free(graph);
        ft_program_log_close(log);
        if (!failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown_again),    cmocka_unit_test(test_forms),
        cmocka_unit_test(test_comparisons),    cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_logs),           cmocka_unit_test(test_errors),
        cmocka_unit_test(test_many_casts),     cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_memory_of_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
