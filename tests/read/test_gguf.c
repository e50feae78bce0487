/* Tests of the reader of GGUF: types, metadata, several files, big endian, damage. The files are those of the fuzz
 * corpus, which make_weights.py writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "foretell/foretell.h"
#include "graph/graph.h"
#include "read/language/weights.h"
#include "support/folder.h"

static char corpus[4096]; /* absolute: tests run in a folder of their own */

static const char *path_of(const char *name) {
    static char path[4400];
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    return path;
}

static buf load(const char *name) {
    buf bytes = {0};
    FILE *file = fopen(path_of(name), "rb");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;) buf_char(&bytes, (char)c);
    fclose(file);
    assert_false(bytes.failed);
    return bytes;
}

static ft_graph *read_or_fail(const char *path) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

static void expect_meta(const ft_graph *graph, const char *key, const char *value) {
    const char *found = ft_graph_meta(graph, key);
    assert_non_null(found);
    assert_string_equal(found, value);
}

static void counts(const ft_graph *graph, uint64_t *params, uint64_t *stored) {
    ft_graph *bound = NULL;
    static const ft_shape_binding shapes[] = {{"sequence", 1, {1}}, {"past", 1, {0}}};
    ft_binding binding = {.shapes = shapes, .shape_count = 2};
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    ft_error error = {0};
    if (ft_graph_bind(graph, &binding, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    *params = cost.total.params;
    *stored = cost.stored_bytes;
    ft_cost_free(&cost);
    ft_graph_free(bound);
}

/* Two layers of width 32, 16 keys, MLP of 64, 40 words. */
enum { LAYER = 2 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 32 * 64, LLAMA = 2 * LAYER + 32 + 2 * 40 * 32 };

static void weights_are_counted(void **state) {
    (void)state;
    static const char *const names[] = {"llama.gguf", "version2.gguf", "big-endian.gguf", "split-00001-of-00002.gguf",
                                        "split-00002-of-00002.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t params, stored;
        ft_graph *graph = read_or_fail(path_of(names[i]));
        assert_int_equal(ft_graph_format(graph), FT_FORMAT_GGUF);
        assert_string_equal(ft_graph_name(graph), "tiny");
        expect_meta(graph, "architecture", "llama");
        expect_meta(graph, "parameters", "21152");
        counts(graph, &params, &stored);
        assert_int_equal(params, LLAMA);
        ft_graph_free(graph);
    }
}

static void blocks_have_exact_bytes(void **state) {
    (void)state;
    uint64_t params, stored;
    ft_graph *graph = read_or_fail(path_of("llama.gguf"));
    expect_meta(graph, "weight_types", "Q4_0 11, F32 5, Q8_0 5");
    counts(graph, &params, &stored);
    uint64_t q8 = 2 * (16 * 32 + 32 * 64) + 40 * 32, f32 = 5 * 32, q4 = LLAMA - q8 - f32;
    assert_int_equal(stored, q4 / 32 * 18 + q8 / 32 * 34 + f32 * 4);
    ft_graph_free(graph);
}

/* Bytes of 512 weights, computed from ggml's structs by hand. */
static void types_have_exact_bytes(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint32_t bytes;
    } expected[] = {{0, 2048}, {1, 1024}, {2, 288},   {3, 320},  {6, 352},  {7, 384},  {8, 544},  {10, 168},
                    {11, 220}, {12, 288}, {13, 352},  {14, 420}, {15, 584}, {16, 132}, {19, 100}, {20, 288},
                    {23, 272}, {29, 112}, {30, 1024}, {34, 108}, {35, 132}, {39, 272}, {40, 288}};
    ft_graph *graph = read_or_fail(path_of("types.gguf"));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        char name[32];
        uint32_t found = 0;
        snprintf(name, sizeof name, "type%u", expected[i].type);
        for (uint32_t k = 0; k < graph->tensor_count; k++) {
            if (strcmp(graph->tensors[k].name, name) != 0) continue;
            assert_int_equal(graph->tensors[k].stored_bytes, expected[i].bytes);
            found++;
        }
        assert_int_equal(found, 1);
    }
    assert_null(weight_type_of_ggml(4));
    assert_null(weight_type_of_ggml(1000));
    ft_graph_free(graph);
}

static void check_failure(const buf *bytes, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(ft_graph_read_memory(bytes->data, bytes->length, "x.gguf", &graph, &error), status);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
}

static void versions_are_refused_by_name(void **state) {
    (void)state;
    buf bytes = load("version1.gguf");
    check_failure(&bytes, FT_ERR_UNSUPPORTED, "GGUF version 1 is not supported, only 2 and 3");
    bytes.data[4] = 77;
    check_failure(&bytes, FT_ERR_UNSUPPORTED, "GGUF version 77");
    buf_free(&bytes);
}

static size_t find(const buf *bytes, const char *text) {
    char *at = memmem(bytes->data, bytes->length, text, strlen(text));
    assert_non_null(at);
    return (size_t)(at - bytes->data) + strlen(text);
}

static void damage_is_located(void **state) {
    (void)state;
    buf bytes = load("llama.gguf");
    size_t info = find(&bytes, "token_embd.weight");
    bytes.data[info + 4 + 16] = 4; /* a type that was removed */
    check_failure(&bytes, FT_ERR_UNSUPPORTED, "weight 'token_embd.weight' has type 4");
    bytes.data[info + 4 + 16] = 12; /* Q4_K: rows of 32 are no whole blocks */
    check_failure(&bytes, FT_ERR_DAMAGED, "a row of 32 elements is not whole blocks of Q4_K (256)");
    bytes.data[info + 4 + 16] = 2;
    bytes.data[info + 4 + 20] = 1;
    check_failure(&bytes, FT_ERR_DAMAGED, "is not aligned to 32 bytes");
    bytes.data[info + 4 + 20] = 32;
    check_failure(&bytes, FT_ERR_DAMAGED, "overlap");
    bytes.data[info + 4 + 20] = 0;
    bytes.data[info] = 9;
    check_failure(&bytes, FT_ERR_LIMIT, "has 9 dimensions");
    bytes.data[info] = 2;
    bytes.length -= 1000;
    check_failure(&bytes, FT_ERR_DAMAGED, "truncated: weight 'output.weight' ends at byte");
    bytes.length = 60;
    check_failure(&bytes, FT_ERR_DAMAGED, "truncated");
    buf_free(&bytes);
}

static void metadata_is_checked(void **state) {
    (void)state;
    buf bytes = load("llama.gguf");
    size_t type = find(&bytes, "general.name");
    bytes.data[type] = 13;
    check_failure(&bytes, FT_ERR_DAMAGED, "key 'general.name': the value at byte");
    bytes.data[type] = 8;
    memset(bytes.data + type + 4, 0xff, 8); /* length of the text */
    check_failure(&bytes, FT_ERR_DAMAGED, "key 'general.name': truncated");
    buf_free(&bytes);
    bytes = load("llama.gguf");
    size_t list = find(&bytes, "tokenizer.ggml.tokens");
    memset(bytes.data + list + 8, 0x7f, 8); /* number of texts */
    check_failure(&bytes, FT_ERR_DAMAGED, "key 'tokenizer.ggml.tokens': truncated");
    memset(bytes.data + 16, 0x7f, 8);
    check_failure(&bytes, FT_ERR_LIMIT, "keys of metadata");
    buf_free(&bytes);
}

static void files_of_a_model_must_be_there(void **state) {
    (void)state;
    static const char name[] = "split-00001-of-00002.gguf";
    ft_graph *graph = NULL;
    ft_error error = {0};
    buf bytes = load(name);
    check_failure(&bytes, FT_ERR_UNSUPPORTED, "is file 1 of 2: the others must be beside it");
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ft_graph_read(name, &graph, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "split-00002-of-00002.gguf"));
    buf_free(&bytes);
}

static void put(FILE *file, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) putc((int)(value >> 8 * i & 0xff), file);
}

/* 400 GB of weights: only the header is read. */
static void size_of_weights_does_not_matter(void **state) {
    (void)state;
    static const char name[] = "huge.gguf";
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fputs("GGUF", file);
    put(file, 3, 4);
    put(file, 1, 8);
    put(file, 0, 8);
    put(file, 1, 8);
    fputs("w", file);
    put(file, 2, 4);
    put(file, 1 << 20, 8);
    put(file, 200000, 8);
    put(file, 1, 4); /* F16 */
    put(file, 0, 8);
    assert_int_equal(fclose(file), 0);
    if (truncate(name, (off_t)(4096 + (UINT64_C(200000) << 21))) != 0) skip(); /* a file system without sparse files */
    ft_graph *graph = read_or_fail(name);
    expect_meta(graph, "parameters", "209715200000");
    expect_meta(graph, "weight_bytes", "419430400000");
    ft_graph_free(graph);
}

static int set_up(void **state) {
    return realpath("fuzz/corpus/gguf", corpus) != NULL ? folder_enter(state) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_counted),
        cmocka_unit_test(blocks_have_exact_bytes),
        cmocka_unit_test(types_have_exact_bytes),
        cmocka_unit_test(versions_are_refused_by_name),
        cmocka_unit_test(damage_is_located),
        cmocka_unit_test(metadata_is_checked),
        cmocka_unit_test(files_of_a_model_must_be_there),
        cmocka_unit_test(size_of_weights_does_not_matter),
    };
    return cmocka_run_group_tests_name("read/gguf", tests, set_up, folder_leave);
}
