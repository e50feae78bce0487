/* test_shape_tflite.c - shapes and values of TFLite's operators, computed by hand from TensorFlow's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "support/toy.h"

/* An input of an operator: its shape, and its elements when it is constant. */
typedef struct operand {
    const char *shape; /* "1x4x4x3", "scalar", NULL for one left out */
    const char *ints;  /* "1 -1", NULL for data */
} operand;

typedef struct shape_case {
    const char *type;
    const char *attrs; /* "axis=1 keepdims=0" */
    operand inputs[6];
    const char *shapes; /* of the outputs: "2x2 2x2" */
    const char *values; /* of the first output when it folds, else NULL */
} shape_case;

static const shape_case cases[] = {
    {"SPLIT", "", {{"scalar", "1"}, {"2x6", NULL}}, "2x2 2x2 2x2", NULL},
    {"SPLIT", "", {{"scalar", "-2"}, {"2x2", "1 2 3 4"}}, "1x2 1x2", "1 2"},
    {"SPLIT_V", "", {{"2x6", NULL}, {"2", "1 -1"}, {"scalar", "1"}}, "2x1 2x5", NULL},
    {"SPLIT_V", "", {{"4", "5 6 7 8"}, {"2", "3 1"}, {"scalar", "0"}}, "3 1", "5 6 7"},
    {"SLICE", "", {{"4x6", NULL}, {"2", "1 2"}, {"2", "2 -1"}}, "2x4", NULL},
    {"SLICE", "", {{"2x3", "1 2 3 4 5 6"}, {"2", "1 1"}, {"2", "1 -1"}}, "1x2", "5 6"},
    {"STRIDED_SLICE",
     "shrink_axis_mask=1",
     {{"4", "1 224 224 3"}, {"1", "1"}, {"1", "2"}, {"1", "1"}},
     "scalar",
     "224"},
    {"STRIDED_SLICE",
     "begin_mask=2 end_mask=2",
     {{"1x8x9", NULL}, {"2", "0 3"}, {"2", "1 1"}, {"2", "1 2"}},
     "1x4x9",
     NULL},
    {"STRIDED_SLICE", "", {{"5", "1 2 3 4 5"}, {"1", "-1"}, {"1", "-4"}, {"1", "-2"}}, "2", "5 3"},
    {"STRIDED_SLICE", "end_mask=1", {{"5", "1 2 3 4 5"}, {"1", "10"}, {"1", "0"}, {"1", "-1"}}, "5", "5 4 3 2 1"},
    {"STRIDED_SLICE",
     "ellipsis_mask=1 new_axis_mask=2 shrink_axis_mask=4",
     {{"2x3x4", NULL}, {"3", "0 0 1"}, {"3", "0 0 2"}, {"3", "1 1 1"}},
     "2x3x1",
     NULL},
    {"STRIDED_SLICE", "offset=1", {{"5", "1 2 3 4 5"}, {"1", "1"}, {"1", "2"}, {"1", "1"}}, "2", "2 3"},
    {"PACK", "axis=0", {{"scalar", "7"}, {"scalar", "8"}}, "2", "7 8"},
    {"PACK", "axis=-1", {{"2", "1 2"}, {"2", "3 4"}}, "2x2", "1 3 2 4"},
    {"PACK", "axis=1", {{"3x4", NULL}, {"3x4", NULL}, {"3x4", NULL}}, "3x3x4", NULL},
    {"UNPACK", "axis=1", {{"2x3", "1 2 3 4 5 6"}}, "2 2 2", "1 4"},
    {"GATHER", "axis=1", {{"4x5x6", NULL}, {"2x3", NULL}}, "4x2x3x6", NULL},
    {"GATHER", "axis=1 batch_dims=1", {{"4x5x6", NULL}, {"4x3", NULL}}, "4x3x6", NULL},
    {"GATHER", "axis=0", {{"4", "9 8 7 6"}, {"2", "3 0"}}, "2", "6 9"},
    {"EMBEDDING_LOOKUP", "", {{"7", NULL}, {"100x16", NULL}}, "7x16", NULL},
    {"HASHTABLE_LOOKUP", "", {{"7", NULL}, {"50", NULL}, {"50x16", NULL}}, "7x16 7", NULL},
    {"ONE_HOT", "axis=-1", {{"2x3", NULL}, {"scalar", "10"}, {"scalar", "1"}, {"scalar", "0"}}, "2x3x10", NULL},
    {"ONE_HOT", "axis=0", {{"2x3", NULL}, {"scalar", "10"}, {"scalar", "1"}, {"scalar", "0"}}, "10x2x3", NULL},
    {"FILL", "", {{"2", "2 2"}, {"scalar", "5"}}, "2x2", "5 5 5 5"},
    {"RANK", "", {{"3x4x5", NULL}}, "scalar", "3"},
    {"SCATTER_ND", "", {{"4x1", NULL}, {"4x9", NULL}, {"2", "8 9"}}, "8x9", NULL},
    {"SPARSE_TO_DENSE", "", {{"4x2", NULL}, {"2", "8 9"}, {"4", NULL}, {"scalar", "0"}}, "8x9", NULL},
    {"BROADCAST_ARGS", "", {{"3", "1 5 1"}, {"2", "5 6"}}, "3", "1 5 6"},
    {"RESIZE_BILINEAR", "", {{"1x4x4x3", NULL}, {"2", "8 9"}}, "1x8x9x3", NULL},
    {"PAD", "", {{"1x4x4x3", NULL}, {"4x2", "0 0 1 2 0 3 0 0"}}, "1x7x7x3", NULL},
    {"MIRROR_PAD", "", {{"4", NULL}, {"1x2", "1 1"}}, "6", NULL},
    {"SPACE_TO_BATCH_ND", "", {{"1x5x6x3", NULL}, {"2", "2 3"}, {"2x2", "0 1 0 0"}}, "6x3x2x3", NULL},
    {"BATCH_TO_SPACE_ND", "", {{"6x3x2x3", NULL}, {"2", "2 3"}, {"2x2", "0 1 0 0"}}, "1x5x6x3", NULL},
    {"DEPTH_TO_SPACE", "blocksize=2", {{"1x4x5x12", NULL}}, "1x8x10x3", NULL},
    {"DILATE", "", {{"3x4", NULL}, {"2", "2 3"}, {"scalar", "0"}}, "5x10", NULL},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", "", {{"1x5x8", NULL}, {"16x8", NULL}, {"16x16", NULL}}, "1x5x16", NULL},
    {"SVDF", "rank=2", {{"1x8", NULL}, {"32x8", NULL}, {"32x10", NULL}}, "1x16", NULL},
    {"LSTM", "", {{"2x8", NULL}, {"2x16", NULL}, {"64x24", NULL}, {"64", NULL}, {"2x16", NULL}}, "2x16 2x16", NULL},
    {"NON_MAX_SUPPRESSION_V5", "", {{"99x4", NULL}, {"99", NULL}, {"scalar", "20"}}, "20 20 scalar", NULL},
    {"TFLite_Detection_PostProcess",
     "max_detections=10 max_classes_per_detection=2",
     {{"1x99x4", NULL}, {"1x99x5", NULL}, {"99x4", NULL}},
     "1x20x4 1x20 1x20 1",
     NULL},
    {"MATRIX_DIAG", "", {{"2x3", NULL}}, "2x3x3", NULL},
    {"SEGMENT_SUM", "", {{"3x4", NULL}, {"3", "0 0 1"}}, "2x4", NULL},
    {"UNSORTED_SEGMENT_MAX", "", {{"2x3x4", NULL}, {"2x3", NULL}, {"scalar", "9"}}, "9x4", NULL},
    {"RFFT2D", "", {{"1x16x512", NULL}, {"2", "16 512"}}, "1x16x257", NULL},
    {"DYNAMIC_UPDATE_SLICE", "", {{"8x9", NULL}, {"1x9", NULL}, {"2", NULL}}, "8x9", NULL},
    {"ARG_MAX", "", {{"2x3x4", NULL}, {"scalar", "-1"}}, "2x3", NULL},
    {"MEAN", "keepdims=0", {{"1x7x7x8", NULL}, {"2", "1 2"}}, "1x8", NULL},
    {"FULLY_CONNECTED", "", {{"2x3x4", NULL}, {"5x12", NULL}}, "2x5", NULL},
    {"FULLY_CONNECTED", "keep_num_dims=1", {{"2x3x4", NULL}, {"5x4", NULL}}, "2x3x5", NULL},
    {"BATCH_MATMUL", "adj_y=1", {{"2x3x4", NULL}, {"2x5x4", NULL}}, "2x3x5", NULL},
};

/* Operands that contradict the input: binding must fail. */
static const shape_case bad_cases[] = {
    {"SPLIT", "", {{"scalar", "1"}, {"2x5", NULL}}, "? ?", NULL},
    {"SPLIT", "", {{"scalar", "7"}, {"2x6", NULL}}, "? ?", NULL},
    {"SPLIT_V", "", {{"6", NULL}, {"2", "-1 -1"}, {"scalar", "0"}}, "? ?", NULL},
    {"SPLIT_V", "", {{"6", NULL}, {"2", "4 4"}, {"scalar", "0"}}, "? ?", NULL},
    {"SLICE", "", {{"4", NULL}, {"1", "3"}, {"1", "2"}}, "?", NULL},
    {"STRIDED_SLICE", "", {{"4", NULL}, {"1", "0"}, {"1", "2"}, {"1", "0"}}, "?", NULL},
    {"STRIDED_SLICE", "shrink_axis_mask=1", {{"4", NULL}, {"1", "4"}, {"1", "5"}, {"1", "1"}}, "?", NULL},
    {"STRIDED_SLICE", "", {{"4", NULL}, {"2", "0 0"}, {"2", "1 1"}, {"2", "1 1"}}, "?", NULL},
    {"UNPACK", "axis=0", {{"3x2", NULL}}, "? ?", NULL},
    {"GATHER", "axis=2", {{"3x2", NULL}, {"4", NULL}}, "?", NULL},
    {"GATHER", "axis=0 batch_dims=1", {{"3x2", NULL}, {"3x4", NULL}}, "?", NULL},
    {"FILL", "", {{"2", "2 -3"}, {"scalar", "5"}}, "?", NULL},
    {"PAD", "", {{"4x4", NULL}, {"1x2", "1 1"}}, "?", NULL},
    {"PAD", "", {{"4", NULL}, {"1x2", "-9 1"}}, "?", NULL},
    {"SPACE_TO_BATCH_ND", "", {{"1x5x6x3", NULL}, {"2", "2 3"}, {"2x2", "0 0 0 0"}}, "?", NULL},
    {"BATCH_TO_SPACE_ND", "", {{"5x3x2x3", NULL}, {"2", "2 3"}, {"2x2", "0 0 0 0"}}, "?", NULL},
    {"SVDF", "rank=5", {{"1x8", NULL}, {"32x8", NULL}}, "?", NULL},
};

/* Reads "2x3" or "scalar" into a tensor. */
static void parse_shape(const char *text, ft_tensor *t) {
    t->rank = 0;
    while (*text >= '0' && *text <= '9') {
        t->dims[t->rank++] = strtol(text, (char **)(uintptr_t)&text, 10);
        if (*text == 'x') text++;
    }
}

static uint32_t add_operand(ft_graph *graph, const operand *o) {
    ft_error error;
    uint32_t index;
    int64_t *ints, count;
    ft_tensor spec = {.name = o->shape, .dtype = FT_INT32, .role = o->ints != NULL ? FT_CONSTANT : FT_ACTIVATION};
    parse_shape(o->shape, &spec);
    if (o->ints != NULL) {
        const char *at = o->ints;
        count = shape_elems(spec.dims, spec.rank);
        spec.value = graph_value_ints(graph, count, &ints);
        assert_non_null(spec.value);
        for (int64_t i = 0; i < count; i++) ints[i] = strtol(at, (char **)(uintptr_t)&at, 10);
    }
    assert_int_equal(graph_add_tensor(graph, &spec, &index, &error), FT_OK);
    if (o->ints == NULL) assert_int_equal(graph_add_input(graph, index, &error), FT_OK);
    return index;
}

/* Reads "axis=1 batch_dims=1" into attributes. */
static uint32_t add_attrs(ft_graph *graph, const char *text, ft_attr *attrs) {
    uint32_t count = 0;
    while (*text != '\0') {
        char name[32] = "";
        size_t length = strcspn(text, "=");
        assert_true(length < sizeof name);
        memcpy(name, text, length);
        attrs[count++] = toy_int(graph, name, strtol(text + length + 1, (char **)(uintptr_t)&text, 10));
        while (*text == ' ') text++;
    }
    return count;
}

/* A graph of the one operator. Its outputs have no shape. */
static ft_graph *make(const shape_case *c) {
    ft_graph *graph = toy_graph(FT_FORMAT_TFLITE, FT_NHWC);
    uint32_t inputs[6], outputs[6], output_count = 0, input_count = 0;
    ft_attr attrs[6];
    ft_error error;
    for (; input_count < 6 && c->inputs[input_count].shape != NULL; input_count++)
        inputs[input_count] = add_operand(graph, &c->inputs[input_count]);
    for (const char *at = c->shapes; at != NULL; at = strchr(at, ' '), at = at != NULL ? at + 1 : NULL) {
        ft_tensor spec = {.name = "", .dtype = FT_INT32, .rank = -1};
        assert_int_equal(graph_add_tensor(graph, &spec, &outputs[output_count++], &error), FT_OK);
    }
    toy_op_full(graph, &(ft_op){.name = "op",
                                .type = c->type,
                                .inputs = inputs,
                                .input_count = input_count,
                                .outputs = outputs,
                                .output_count = output_count});
    toy_attrs(graph, attrs, add_attrs(graph, c->attrs, attrs));
    assert_int_equal(graph_finish(graph, &error), FT_OK);
    assert_true(ft_opdef_is_known(graph->ops[0].def));
    return graph;
}

static void check_case(const shape_case *c) {
    ft_error error;
    ft_graph *graph = make(c), *bound = NULL;
    if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s: %s", c->type, error.message);
    const ft_op *op = &bound->ops[0];
    const char *expected = c->shapes;
    for (uint32_t i = 0; i < op->output_count; i++) {
        char text[64], got[64];
        int used;
        assert_int_equal(sscanf(expected, " %63s%n", text, &used), 1);
        expected += used;
        shape_text(bound, &bound->tensors[op->outputs[i]], got, sizeof got);
        if (strcmp(got, text) != 0) fail_msg("%s (%s): output %u is %s, not %s", c->type, c->attrs, i, got, text);
    }
    const ft_value *value = bound->tensors[op->outputs[0]].value;
    if ((value != NULL) != (c->values != NULL)) fail_msg("%s (%s): value or no value", c->type, c->attrs);
    const char *at = c->values;
    for (int64_t i = 0; value != NULL && at != NULL && i < value->count; i++) {
        long number = strtol(at, (char **)(uintptr_t)&at, 10);
        if (value->ints[i] != number) fail_msg("%s (%s): element %d is not %ld", c->type, c->attrs, (int)i, number);
    }
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void infers_and_folds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case(&cases[i]);
}

static void contradictions_are_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof bad_cases[0]; i++) {
        ft_error error = {.message = ""};
        ft_graph *graph = make(&bad_cases[i]), *bound = NULL;
        if (ft_graph_bind(graph, NULL, &bound, &error) == FT_OK)
            fail_msg("%s (%s) was bound", bad_cases[i].type, bad_cases[i].attrs);
        assert_int_equal(error.status, FT_ERR_GRAPH);
        assert_non_null(strstr(error.message, bad_cases[i].type));
        ft_graph_free(graph);
    }
}

/* Directions of a bidirectional layer side by side, or one after the other in the last dimension. */
static void bidirectional_layers_merge(void **state) {
    (void)state;
    for (int is_merged = 0; is_merged < 2; is_merged++) {
        ft_graph *graph = toy_graph(FT_FORMAT_TFLITE, FT_NHWC), *bound = NULL;
        uint32_t x = toy_input(graph, 1, 5, 8), w = toy_weight(graph, 16, 8), r = toy_weight(graph, 16, 16);
        uint32_t inputs[39], outputs[2];
        ft_error error;
        for (int i = 0; i < 39; i++) inputs[i] = FT_NONE;
        inputs[0] = x;
        for (int i = 1; i <= 4; i++) inputs[i] = inputs[i + 17] = w;
        for (int i = 5; i <= 8; i++) inputs[i] = inputs[i + 17] = r;
        inputs[33] = toy_weight(graph, 10, 16); /* the backward direction is projected */
        for (int i = 0; i < 2; i++)
            assert_int_equal(graph_add_tensor(graph, &(ft_tensor){.name = "", .rank = -1}, &outputs[i], &error), FT_OK);
        toy_op_full(graph, &(ft_op){.name = "op",
                                    .type = "BIDIRECTIONAL_SEQUENCE_LSTM",
                                    .inputs = inputs,
                                    .input_count = 39,
                                    .outputs = outputs,
                                    .output_count = is_merged ? 1 : 2});
        ft_attr merge = toy_int(graph, "merge_outputs", is_merged);
        toy_attrs(graph, &merge, 1);
        assert_int_equal(graph_finish(graph, &error), FT_OK);
        assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
        assert_int_equal(bound->tensors[outputs[0]].dims[2], is_merged ? 26 : 16);
        if (!is_merged) assert_int_equal(bound->tensors[outputs[1]].dims[2], 10);
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infers_and_folds),
        cmocka_unit_test(contradictions_are_errors),
        cmocka_unit_test(bidirectional_layers_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
