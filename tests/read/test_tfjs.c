/* Tests of the reader of TensorFlow.js models: the JSON, and the weight files beside it. */
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
#include "support/onnx_model.h"

#define INPUT(dims)                                                                                                    \
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{"        \
    "\"dim\":[" dims "]}}}}"
#define CONST(name, type, dims)                                                                                        \
    "{\"name\":\"" name "\",\"op\":\"Const\",\"attr\":{\"value\":{\"tensor\":{\"dtype\":\"" type                       \
    "\",\"tensorShape\":{\"dim\":[" dims "]}}}}}"
#define SIZE(n) "{\"size\":\"" n "\"}"
#define MODEL(nodes, weights)                                                                                          \
    "{\"format\":\"graph-model\",\"generatedBy\":\"2.4.1\",\"modelTopology\":{\"node\":[" nodes                        \
    "]},\"weightsManifest\":[" weights "]}"

static ft_graph *read_text(const char *text) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (ft_graph_read_memory(text, strlen(text), "model.json", &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

static void check_failure(const char *text, ft_status status, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(ft_graph_read_memory(text, strlen(text), "model.json", &graph, &error), status);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
}

static void assert_shape(const ft_graph *graph, const char *tensor, const char *expected) {
    char text[128];
    ft_graph *bound = NULL;
    ft_error error = {0};
    if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    assert_string_equal(shape_text(bound, tensor_named(bound, tensor), text, sizeof text), expected);
    ft_graph_free(bound);
}

/* Texts are base64, or lists of bytes in old files; numbers are texts, or numbers. */
static void both_spellings_are_read(void **state) {
    (void)state;
    static const char *const pools[] = {
        "{\"name\":\"y\",\"op\":\"MaxPool\",\"input\":[\"x\"],\"attr\":{\"padding\":{\"s\":\"VkFMSUQ=\"},"
        "\"ksize\":{\"list\":{\"i\":[\"1\",\"2\",\"2\",\"1\"]}},\"strides\":{\"list\":{\"i\":[\"1\",\"2\",\"2\",\"1\"]}"
        "}}}",
        "{\"name\":\"y\",\"op\":\"MaxPool\",\"input\":[\"x\"],\"attr\":{\"padding\":{\"s\":[86,65,76,73,68]},"
        "\"ksize\":{\"list\":{\"s\":[],\"i\":[1,2,2,1]}},\"strides\":{\"list\":{\"i\":[1,2,2,1]}}}}",
    };
    for (int i = 0; i < 2; i++) {
        char text[2048];
        snprintf(text, sizeof text, MODEL(INPUT(SIZE("-1") "," SIZE("9") "," SIZE("9") "," SIZE("3")) ",%s", ""),
                 pools[i]);
        ft_graph *graph = read_text(text);
        assert_int_equal(ft_graph_format(graph), FT_FORMAT_TFJS);
        assert_string_equal(ft_graph_meta(graph, "producer"), "2.4.1");
        assert_shape(graph, "y", "1x4x4x3");
        ft_graph_free(graph);
    }
}

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

#define RESHAPE                                                                                                        \
    MODEL(INPUT(SIZE("4") "," SIZE("6")) "," CONST("w", "DT_FLOAT", SIZE("2") "," SIZE("2")) "," CONST(                \
              "s", "DT_INT64", SIZE("2")) ","                                                                          \
                                          "{\"name\":\"y\",\"op\":\"Reshape\",\"input\":[\"x\",\"s\"]}",               \
          "{\"paths\":[\"a.bin\",\"%s\"],\"weights\":["                                                                \
          "{\"name\":\"w\",\"shape\":[2,2],\"dtype\":\"float32\",\"quantization\":{\"dtype\":\"uint8\",\"scale\":1,"   \
          "\"min\":0}},"                                                                                               \
          "{\"name\":\"s\",\"shape\":[2],\"dtype\":\"int32\"}]}")

/* The shape of a Reshape is in the weight files, across the end of one of them; 64-bit integers have 32 bits there. */
static void small_constants_come_from_the_files(void **state) {
    (void)state;
    const int32_t shape[2] = {3, 8};
    uint8_t bytes[12] = {1, 2, 3, 4};
    char text[2048];
    memcpy(bytes + 4, shape, sizeof shape);
    write_file("a.bin", bytes, 7);
    write_file("b.bin", bytes + 7, 5);
    snprintf(text, sizeof text, RESHAPE, "b.bin");
    write_file("model.json", text, strlen(text));
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(ft_graph_read("model.json", &graph, &error), FT_OK);
    assert_shape(graph, "y", "3x8");
    assert_int_equal(tensor_named(graph, "s")->stored_bytes, 8);
    ft_graph_free(graph);

    /* Without the files, or with a path that leads elsewhere, the shape is not known: never guessed. */
    static const char *const others[] = {"none.bin", "../b.bin", "/dev/zero"};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, RESHAPE, others[i]);
        write_file("model.json", text, strlen(text));
        assert_int_equal(ft_graph_read("model.json", &graph, &error), FT_OK);
        assert_shape(graph, "y", "?");
        ft_graph_free(graph);
    }
    graph = read_text(text);
    assert_shape(graph, "y", "?");
    ft_graph_free(graph);
}

static void a_signature_names_the_outputs(void **state) {
    (void)state;
    char text[2048];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "{\"signature\":{\"outputs\":{\"o\":{\"name\":\"%s:0\"}}},\"modelTopology\":{\"node\":[%s]}}",
                 i == 0 ? "a" : "renamed",
                 INPUT(SIZE("4")) ",{\"name\":\"a\",\"op\":\"Relu\",\"input\":[\"x\"]},"
                                  "{\"name\":\"b\",\"op\":\"Relu\",\"input\":[\"a\"]}");
        ft_graph *graph = read_text(text);
        assert_int_equal(ft_graph_op_count(graph), i == 0 ? 1 : 2); /* a signature that does not fit is ignored */
        ft_graph_free(graph);
    }
}

static void damage_is_reported(void **state) {
    (void)state;
    check_failure("{\"modelTopology\":{\"keras_version\":\"2.4\",\"model_config\":{}}}", FT_ERR_UNSUPPORTED,
                  "layers model");
    check_failure("{\"modelTopology\":{\"class_name\":\"Sequential\",\"config\":[]}}", FT_ERR_UNSUPPORTED,
                  "layers model");
    check_failure("{\"modelTopology\":7}", FT_ERR_DAMAGED, "modelTopology is not an object");
    check_failure("{\"modelTopology\":{\"node\":[{\"name\":\"x\",\"op\":7}]}}", FT_ERR_DAMAGED,
                  "\"op\" is not a string");
    check_failure("{\"modelTopology\":{\"node\":[{\"name\":\"x\",\"op\":\"Relu\",\"input\":[7]}]}}", FT_ERR_DAMAGED,
                  "node 'x': \"input\" is not a list of names");
    check_failure("{\"modelTopology\":{\"node\":[{\"name\":\"x\",\"op\":\"Relu\",\"attr\":{\"T\":7}}]}}",
                  FT_ERR_DAMAGED, "\"attr\" is not an object of objects");
    check_failure(MODEL("", "{\"weights\":[{\"name\":\"w\",\"shape\":[-1],\"dtype\":\"int32\"}]}"), FT_ERR_DAMAGED,
                  "weight 'w': its shape is not valid");
    check_failure(MODEL("", "{\"weights\":[{\"name\":\"w\"}]}"), FT_ERR_DAMAGED, "no name, shape or dtype");
    check_failure("{\"modelTopology\":{\"node\":[}", FT_ERR_DAMAGED, "line 1");
}

/* Every prefix of the kept files is an error. */
static void truncation_is_reported(void **state) {
    (void)state;
    FILE *file = fopen("fuzz/corpus/tfjs/graph.json", "rb");
    char text[4096];
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(length > 1000 && length < sizeof text - 1);
    for (size_t size = 0; size < length; size++) {
        char *part = malloc(size + 1); /* its own block: a sanitizer detects a read past the end */
        ft_graph *graph = NULL;
        ft_error error;
        assert_non_null(part);
        memcpy(part, text, size);
        assert_int_not_equal(ft_graph_read_memory(part, size, "part", &graph, &error), FT_OK);
        free(part);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_spellings_are_read),
        cmocka_unit_test_setup_teardown(small_constants_come_from_the_files, folder_enter, folder_leave),
        cmocka_unit_test(a_signature_names_the_outputs),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(truncation_is_reported),
    };
    return cmocka_run_group_tests_name("read/tfjs", tests, NULL, NULL);
}
