/* Every allocation of whole reads fails once: each read must end in FT_ERR_NOMEM, without a leak (checked by
 * sanitizers).
 *
 * The models are the fuzz corpora, so that every reader is covered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "foretell/foretell.h"
#include "read/cg.h"
#include "support/failing.h"

enum { MAX_FILES = 12 }; /* of each corpus */

static buf load(const char *path) {
    buf bytes = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;) buf_char(&bytes, (char)c);
    fclose(file);
    assert_false(bytes.failed);
    return bytes;
}

/* A read under test: bytes in, a status out, everything freed. */
typedef ft_status operation(const buf *bytes, ft_error *error);

static ft_status read_and_bind(const buf *bytes, ft_error *error) {
    ft_graph *graph = NULL, *bound = NULL;
    ft_cost cost = {0};
    ft_memory memory;
    ft_cost_options options = ft_cost_options_default();
    ft_status status = ft_graph_read_memory(bytes->data, bytes->length, "corpus", &graph, error);
    if (status == FT_OK) status = ft_graph_bind(graph, NULL, &bound, error);
    if (status == FT_OK) status = ft_cost_compute(bound, &options, &cost, error);
    if (status == FT_OK) status = ft_memory_plan(bound, &options, &memory, NULL, NULL, error);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return status;
}

/* The three tables of a CG set with "---" between them, as in its corpus. */
static ft_status read_tables(const buf *bytes, ft_error *error) {
    const char *models = bytes->data, *nodes = models != NULL ? strstr(models, "---\n") : NULL;
    const char *edges = nodes != NULL ? strstr(nodes + 1, "---\n") : NULL;
    if (edges == NULL) return FT_ERR_USAGE;
    cg_set *set;
    const cg_texts tables = {{models, nodes + 4, edges + 4},
                             {(size_t)(nodes - models), (size_t)(edges - nodes - 4), strlen(edges + 4)}};
    ft_status status = cg_open_memory(&tables, "corpus", &set, error);
    if (status != FT_OK) return status;
    for (ft_graph *graph;; ft_graph_free(graph)) {
        status = cg_next(set, &graph, error);
        if (status != FT_OK || graph == NULL) break;
    }
    cg_close(set);
    return status;
}

/* Returns how many allocations there were to fail. */
static long fail_each(const char *path, operation *run) {
    buf bytes = load(path);
    ft_error error = {0};
    ft_status expected = run(&bytes, &error);
    long n = 0;
    for (;; n++) {
        failing_start(n);
        ft_status status = run(&bytes, &error);
        if (!failing_stop()) break;
        /* An invalid file may be detected before or without the allocation; a failed allocation may have a fallback. */
        if (status != FT_ERR_NOMEM && status != expected)
            fail_msg("%s: allocation %ld returns %s", path, n, ft_status_name(status));
    }
    buf_free(&bytes);
    return n;
}

static void fail_each_of(const char *corpus, operation *run) {
    char folder[256];
    struct dirent **names;
    snprintf(folder, sizeof folder, "fuzz/corpus/%s", corpus);
    int count = scandir(folder, &names, NULL, alphasort), tried = 0;
    long failed = 0;
    if (count < 0) {
        print_message("# %s does not exist\n", folder);
        skip();
    }
    for (int i = 0; i < count; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && tried++ < MAX_FILES) failed += fail_each(path, run);
        free(names[i]);
    }
    free(names);
    assert_true(failed > tried); /* some files are rejected before any allocation */
}

static void test_onnx(void **state) {
    (void)state;
    fail_each_of("onnx", read_and_bind);
}

static void test_tflite(void **state) {
    (void)state;
    fail_each_of("tflite", read_and_bind);
}

/* jansson's own allocations do not fail here: it reports some failures as errors in the text. */
static void test_nnmeter(void **state) {
    (void)state;
    fail_each_of("nnmeter", read_and_bind);
}

static void test_pickle(void **state) {
    (void)state;
    fail_each_of("pickle", read_and_bind);
}

static void test_tensorflow(void **state) {
    (void)state;
    fail_each_of("tensorflow", read_and_bind);
}

static void test_tfjs(void **state) {
    (void)state;
    fail_each_of("tfjs", read_and_bind);
}

static void test_ncnn(void **state) {
    (void)state;
    fail_each_of("ncnn", read_and_bind);
}

static void test_gguf(void **state) {
    (void)state;
    fail_each_of("gguf", read_and_bind);
}

static void test_safetensors(void **state) {
    (void)state;
    fail_each_of("safetensors", read_and_bind);
}

static void test_cg(void **state) {
    (void)state;
    assert_true(fail_each("fuzz/corpus/cg/plain", read_tables) > 5);
    assert_true(fail_each("fuzz/corpus/cg/shuffle", read_tables) > 5);
    assert_true(fail_each("fuzz/corpus/cg/short", read_tables) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx),        cmocka_unit_test(test_tflite), cmocka_unit_test(test_nnmeter),
        cmocka_unit_test(test_pickle),      cmocka_unit_test(test_cg),     cmocka_unit_test(test_tensorflow),
        cmocka_unit_test(test_tfjs),        cmocka_unit_test(test_ncnn),   cmocka_unit_test(test_gguf),
        cmocka_unit_test(test_safetensors),
    };
    return cmocka_run_group_tests_name("read/nomem", tests, NULL, NULL);
}
