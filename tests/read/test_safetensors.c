/* Tests of the reader of safetensors: headers, indices, packed weights, damage. */
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
#include "support/folder.h"

static char corpus[4096];

static const char *path_of(const char *name) {
    static char path[4400];
    snprintf(path, sizeof path, "%s/%s", corpus, name);
    return path;
}

static void expect_meta(const char *path, const char *key, const char *value) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_SAFETENSORS);
    const char *found = ft_graph_meta(graph, key);
    assert_non_null(found);
    assert_string_equal(found, value);
    ft_graph_free(graph);
}

/* A file with this header and `size` bytes of data. */
static ft_status read_text(const char *text, size_t size, ft_graph **graph, ft_error *error) {
    buf bytes = {0};
    size_t length = strlen(text);
    for (int i = 0; i < 8; i++) buf_char(&bytes, (char)(i < 4 ? length >> 8 * i : 0));
    buf_text(&bytes, text);
    for (size_t i = 0; i < size; i++) buf_char(&bytes, '\0');
    assert_false(bytes.failed);
    ft_status status = ft_graph_read_memory(bytes.data, bytes.length, "x.safetensors", graph, error);
    buf_free(&bytes);
    return status;
}

static void check_failure(const char *text, size_t size, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(read_text(text, size, &graph, &error), status);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
}

static void weights_are_counted(void **state) {
    (void)state;
    expect_meta(path_of("model.safetensors"), "parameters", "28832");
    expect_meta(path_of("model.safetensors"), "weight_types", "BF16 21");
    expect_meta(path_of("model.safetensors.index.json"), "parameters", "28832");
    expect_meta(path_of("model.safetensors.index.json"), "weight_bytes", "57664");
}

/* Seven products of 64 x 32, each packed in another way; scales are no parameters. */
static void packed_weights_are_counted(void **state) {
    (void)state;
    expect_meta(path_of("quantised.safetensors"), "parameters", "14336");
}

static void types_have_exact_bytes(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error = {0};
    const char *text = "{\"a\":{\"dtype\":\"F4\",\"shape\":[3,4],\"data_offsets\":[0,6]},"
                       "\"b\":{\"dtype\":\"F6_E2M3\",\"shape\":[8],\"data_offsets\":[6,12]},"
                       "\"c\":{\"dtype\":\"F8_E4M3\",\"shape\":[5],\"data_offsets\":[12,17]},"
                       "\"d\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[17,25]},"
                       "\"e\\u0041\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[25,25]}}";
    if (read_text(text, 25, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_string_equal(ft_graph_meta(graph, "parameters"), "26");
    assert_string_equal(ft_graph_meta(graph, "weight_bytes"), "25");
    ft_graph_free(graph);
}

#define A(dtype, shape, offsets) "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(from, to)                                                                                                  \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"                                                  \
    "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #from "," #to "]}}"

static void damage_is_named(void **state) {
    (void)state;
    check_failure(A("F32", "[2,2]", "[0,12]"), 12, FT_ERR_DAMAGED, "has 12 bytes, but its type and shape need 16");
    check_failure(A("F32", "[2,2]", "[16,0]"), 16, FT_ERR_DAMAGED, "are not a begin and an end");
    check_failure(A("F32", "[2,2]", "[0,16,3]"), 16, FT_ERR_DAMAGED, "are not a begin and an end");
    check_failure(A("F32", "[2,2]", "[0,16]"), 15, FT_ERR_DAMAGED, "truncated: weight 'a' ends at byte 16");
    check_failure(A("F32", "[2,2]", "[0,16]"), 17, FT_ERR_DAMAGED, "1 bytes follow the last weight");
    check_failure(A("F99", "[2,2]", "[0,16]"), 16, FT_ERR_UNSUPPORTED, "weight 'a' has type 'F99'");
    check_failure(A("F32", "[-2,2]", "[0,16]"), 16, FT_ERR_LIMIT, "a dimension of -2");
    check_failure(A("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, FT_ERR_LIMIT, "more than 8 dimensions");
    check_failure(A("F32", "[99999999999,99999999999]", "[0,4]"), 4, FT_ERR_LIMIT, "elements");
    check_failure(A("F32", "[1.5]", "[0,4]"), 4, FT_ERR_DAMAGED, "not whole");
    check_failure("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, FT_ERR_DAMAGED, "no dtype, shape or data_offsets");
    check_failure("{\"a\":7}", 4, FT_ERR_DAMAGED, "weight 'a'");
    check_failure("{\"a\":", 4, FT_ERR_DAMAGED, "weight 'a'");
    check_failure("{ }", 4, FT_ERR_DAMAGED, "4 bytes follow");
    check_failure(TWO(2, 6), 6, FT_ERR_DAMAGED, "weights 'a' and 'b' overlap");
    check_failure(TWO(6, 10), 10, FT_ERR_DAMAGED, "a gap of 2 bytes before weight 'b'");
    check_failure("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                  "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
                  8, FT_ERR_DAMAGED, "two weights have the name 'a'");
}

static void headers_have_a_limit(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error = {0};
    unsigned char bytes[16] = {0, 0, 0, 16, 0, 0, 0, 0, '{', '"'};
    assert_int_equal(ft_graph_read_memory(bytes, sizeof bytes, "x", &graph, &error), FT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "the header has 268435456 bytes"));
    bytes[3] = 1;
    assert_int_equal(ft_graph_read_memory(bytes, sizeof bytes, "x", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "truncated: the header has"));
}

static void check_index(const char *text, ft_status status, const char *message) {
    static const char name[] = "model.safetensors.index.json";
    ft_graph *graph = NULL;
    ft_error error = {0};
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ft_graph_read(name, &graph, &error), status);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
    assert_int_equal(ft_graph_read(".", &graph, &error), status); /* the folder */
}

static void indices_are_checked(void **state) {
    (void)state;
    check_index("{\"weight_map\":{\"a\":\"missing.safetensors\"}}", FT_ERR_IO, "missing.safetensors");
    check_index("{\"weight_map\":{\"a\":\"/etc/passwd\"}}", FT_ERR_DAMAGED, "not a file beside it");
    check_index("{\"weight_map\":{\"a\":\"../x\"}}", FT_ERR_DAMAGED, "not a file beside it");
    check_index("{\"weight_map\":{\"a\":3}}", FT_ERR_DAMAGED, "the index is not valid");
    check_index("{\"weight_map\":{}} x", FT_ERR_DAMAGED, "the index is not valid");
    check_index("{\"weight_map\":{}}", FT_ERR_DAMAGED, "no weights");
    check_index("{\"weight_map\":{\"a\":\"model.safetensors.index.json\"}}", FT_ERR_FORMAT, "not a safetensors file");
}

static void size_of_weights_does_not_matter(void **state) {
    (void)state;
    static const char name[] = "huge.safetensors";
    static const char text[] = A("BF16", "[1048576,200000]", "[0,419430400000]");
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++) putc((int)((sizeof text - 1) >> 8 * i & 0xff), file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    if (truncate(name, (off_t)(8 + sizeof text - 1 + UINT64_C(419430400000))) != 0) skip();
    expect_meta(name, "parameters", "209715200000");
}

static int set_up(void **state) {
    return realpath("fuzz/corpus/safetensors", corpus) != NULL ? folder_enter(state) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_counted),
        cmocka_unit_test(packed_weights_are_counted),
        cmocka_unit_test(types_have_exact_bytes),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(indices_are_checked),
        cmocka_unit_test(size_of_weights_does_not_matter),
    };
    return cmocka_run_group_tests_name("read/safetensors", tests, set_up, folder_leave);
}
