/* test_tflite.c - TFLite models built by hand, damaged ones, and (when available) the real ones of the npu set. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/opdef.h"
#include "read/read.h"
#include "support/tflite_model.h"

/* --- Helpers ----------------------------------------------------------------------------------------------------- */

/* Numbers of the schema that the models below use. */
enum { T_INT32 = 2, T_INT8 = 9 };
enum { O_CONV_2D = 1, O_ADD = 11 };
enum { ADD = 0, CONV_2D = 3, CUSTOM = 32 };

static int64_t int_attr(const ft_op *op, const char *name) {
    const ft_attr *attr = ft_op_attr(op, name);
    return attr != NULL && attr->kind == FT_ATTR_INT ? attr->i : INT64_MIN;
}

static void check_ints(const ft_op *op, const char *name, int64_t a, int64_t b) {
    const ft_attr *attr = ft_op_attr(op, name);
    assert_non_null(attr);
    assert_int_equal(attr->count, 2);
    assert_int_equal(attr->ints[0], a);
    assert_int_equal(attr->ints[1], b);
}

static const char *string_attr(const ft_op *op, const char *name) {
    const ft_attr *attr = ft_op_attr(op, name);
    return attr != NULL && attr->kind == FT_ATTR_STRING ? attr->s : NULL;
}

/* A convolution and an addition on a 1x8x8x3 map, with weights, a bias and a small constant. */
static const int8_t weights[8 * 3 * 3 * 3];
static const int32_t bias[8] = {1, -2, 3, 4, 5, 6, 7, 8};
static const float one_half[1] = {0.5F};

#define SMALL_MODEL                                                                                                    \
    .version = 3, .description = "made by hand", LITE_CODES({.builtin = CONV_2D}, {.builtin = ADD, .is_old = true}),   \
    LITE_BUFFERS({NULL, 0, false, 0}, {weights, sizeof weights, false, 0}, {bias, sizeof bias, false, 0},              \
                 {one_half, sizeof one_half, false, 0}),                                                               \
    LITE_SUBGRAPHS(                                                                                                    \
        {LITE_TENSORS({.name = "x", .type = T_INT8, .rank = 4, .dims = {1, 8, 8, 3}},                                  \
                      {.name = "w", .type = T_INT8, .rank = 4, .dims = {8, 3, 3, 3}, .buffer = 1, .scales = 8},        \
                      {.name = "b", .type = T_INT32, .rank = 1, .dims = {8}, .buffer = 2},                             \
                      {.name = "y", .type = T_INT8, .rank = 4, .dims = {1, 4, 4, 8}},                                  \
                      {.name = "half", .rank = 1, .dims = {1}, .buffer = 3},                                           \
                      {.name = "z", .type = T_INT8, .rank = 4, .dims = {1, 4, 4, 8}}),                                 \
         LITE_IN(0), LITE_OUT(5),                                                                                      \
         LITE_OPS(                                                                                                     \
             {.code = 0,                                                                                               \
              LITE_IN(0, 1, 2),                                                                                        \
              LITE_OUT(3),                                                                                             \
              .options = O_CONV_2D,                                                                                    \
              .field_count = 4,                                                                                        \
              .fields = {{1, 4, 2, 0, NULL, 0}, {2, 4, 2, 0, NULL, 0}, {3, 1, 3, 0, NULL, 0}, {5, 4, 1, 0, NULL, 0}}}, \
             {.code = 1, LITE_IN(3, 4), LITE_OUT(5), .options = O_ADD})})

/* --- What is in a model ------------------------------------------------------------------------------------------ */

static void reads_a_model(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){SMALL_MODEL});
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_TFLITE);
    assert_int_equal(ft_graph_layout(graph), FT_NHWC);
    assert_string_equal(ft_graph_name(graph), "toy.tflite");
    assert_int_equal(ft_graph_op_count(graph), 2);
    const ft_op *conv = &ft_graph_ops(graph)[0], *add = &ft_graph_ops(graph)[1];
    assert_string_equal(conv->type, "CONV_2D");
    assert_string_equal(conv->name, "y");
    check_ints(conv, "strides", 2, 2);
    check_ints(conv, "dilations", 1, 1);
    assert_string_equal(string_attr(conv, "auto_pad"), "SAME_UPPER");
    assert_string_equal(string_attr(conv, "activation"), "RELU6");
    assert_string_equal(add->type, "ADD");
    assert_null(ft_op_attr(add, "activation"));
    assert_int_equal(ft_graph_input_count(graph), 1);
    assert_string_equal(ft_graph_tensors(graph)[ft_graph_outputs(graph)[0]].name, "z");
    assert_string_equal(ft_graph_meta(graph, "description"), "made by hand");
    assert_string_equal(ft_graph_meta(graph, "subgraphs"), "1");
    assert_string_equal(ft_graph_meta(graph, "quantized"), "1 of 3 stored tensors quantised, 1 of them per channel");
    ft_graph_free(graph);
}

static void roles_and_values_are_read(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){SMALL_MODEL});
    const ft_tensor *x = lite_tensor_named(graph, "x"), *w = lite_tensor_named(graph, "w"),
                    *b = lite_tensor_named(graph, "b");
    assert_int_equal(x->role, FT_INPUT);
    assert_int_equal(x->dtype, FT_INT8);
    assert_int_equal(x->rank, 4);
    assert_int_equal(x->dims[2], 8);
    assert_int_equal(w->role, FT_CONSTANT);
    assert_int_equal(w->stored_bytes, 216);
    assert_null(w->value); /* quantised: codes, not values */
    assert_non_null(b->value);
    assert_int_equal(b->value->count, 8);
    assert_int_equal(b->value->ints[1], -2);
    const ft_tensor *half = lite_tensor_named(graph, "half");
    assert_true(half->value->floats[0] == 0.5);
    assert_int_equal(lite_tensor_named(graph, "y")->role, FT_ACTIVATION);
    ft_graph_free(graph);
}

static void finds_the_format_by_content(void **state) {
    (void)state;
    flatbuild b = lite_bytes(&(lite_model){SMALL_MODEL});
    assert_true(tflite_reader.matches(b.bytes, b.size));
    assert_true(tflite_reader.matches(b.bytes, 8));
    assert_false(tflite_reader.matches(b.bytes, 7));
    assert_false(tflite_reader.matches(NULL, 0));
    b.bytes[7] = '2';
    assert_false(tflite_reader.matches(b.bytes, b.size));
    free(b.bytes);
}

static void every_type_is_read(void **state) {
    (void)state;
    static const ft_dtype expected[] = {
        FT_FLOAT32,  FT_FLOAT16,       FT_INT32,         FT_UINT8,  FT_INT64,   FT_STRING,
        FT_BOOL,     FT_INT16,         FT_COMPLEX64,     FT_INT8,   FT_FLOAT64, FT_COMPLEX128,
        FT_UINT64,   FT_DTYPE_UNKNOWN, FT_DTYPE_UNKNOWN, FT_UINT32, FT_UINT16,  FT_INT4,
        FT_BFLOAT16, FT_INT2,          FT_UINT4,         FT_FLOAT8, FT_FLOAT8,  FT_DTYPE_UNKNOWN,
    };
    for (int type = 0; type < (int)(sizeof expected / sizeof expected[0]); type++) {
        ft_graph *graph =
            lite_read(&(lite_model){.version = 3,
                                    LITE_BUFFERS({NULL, 0, false, 0}),
                                    LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = type, .rank = 1, .dims = {2}}),
                                                    LITE_IN(0), LITE_OUT(0)})});
        assert_int_equal(lite_tensor_named(graph, "x")->dtype, expected[type]);
        ft_graph_free(graph);
    }
}

/* A float16 of 1.5, -2 and the smallest denormal; the same bits mean something else in bfloat16. */
static void keeps_small_payloads(void **state) {
    (void)state;
    static const uint16_t halves[] = {0x3e00, 0xc000, 0x0001};
    static const int64_t longs[] = {INT64_MIN, 7};
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = CUSTOM, .custom = "Sink"}),
        LITE_BUFFERS({NULL, 0, false, 0}, {halves, sizeof halves, false, 0}, {longs, sizeof longs, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "half", .type = 1, .rank = 1, .dims = {3}, .buffer = 1},
                                     {.name = "brain", .type = 18, .rank = 1, .dims = {3}, .buffer = 1},
                                     {.name = "long", .type = 4, .rank = 1, .dims = {2}, .buffer = 2},
                                     {.name = "short of bytes", .type = 4, .rank = 1, .dims = {3}, .buffer = 2},
                                     {.name = "empty", .type = T_INT32, .rank = 1, .dims = {0}},
                                     {.name = "y", .rank = 1, .dims = {1}}),
                        LITE_OPS({.code = 0, LITE_IN(0, 1, 2, 3, 4), LITE_OUT(5)})})});
    const ft_value *half = lite_tensor_named(graph, "half")->value, *brain = lite_tensor_named(graph, "brain")->value;
    assert_true(half->floats[0] == 1.5 && half->floats[1] == -2 && half->floats[2] == 1.0 / 16777216);
    assert_true(brain->floats[0] == 0.125 && brain->floats[1] == -2);
    assert_true(lite_tensor_named(graph, "long")->value->ints[0] == INT64_MIN);
    assert_null(lite_tensor_named(graph, "short of bytes")->value);
    assert_int_equal(lite_tensor_named(graph, "empty")->role, FT_CONSTANT);
    assert_int_equal(lite_tensor_named(graph, "empty")->value->count, 0);
    ft_graph_free(graph);
}

static void names_custom_and_unknown_operators(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = CUSTOM, .custom = "MyOp"}, {.builtin = CUSTOM, .custom = "FlexErf"}, {.builtin = 5000},
                   {.builtin = 150}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "a", .rank = 1, .dims = {4}}, {.name = "b", .rank = 1, .dims = {4}},
                                     {.name = "c", .rank = 1, .dims = {4}}, {.name = "d", .rank = 1, .dims = {4}},
                                     {.name = NULL, .rank = 1, .dims = {4}}),
                        LITE_IN(0), LITE_OUT(4),
                        LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)}, {.code = 1, LITE_IN(1), LITE_OUT(2)},
                                 {.code = 2, LITE_IN(2), LITE_OUT(3)}, {.code = 3, LITE_IN(3), LITE_OUT(4)})})});
    const ft_op *ops = ft_graph_ops(graph);
    assert_string_equal(ops[0].type, "MyOp");
    assert_false(ft_opdef_is_known(ops[0].def));
    assert_string_equal(ft_opdef_name(ops[1].def), "Erf");
    assert_string_equal(ops[2].type, "BUILTIN_5000");
    assert_false(ft_opdef_is_known(ops[2].def));
    assert_string_equal(ops[3].type, "GELU"); /* a number that does not fit the old one-byte field */
    assert_string_equal(ops[3].name, "GELU_3");
    ft_graph_free(graph);
}

/* One field of each kind; numbers of fields and members are those of the public schema. */
static const int32_t new_shape[] = {1, -1};
static const int64_t first_dim[] = {0}, second_dim[] = {1}, third_dim[] = {2};

#define NUMBER(f, w, n)                                                                                                \
    { .field = (f), .width = (w), .number = (n) }
#define LIST(f, w, list)                                                                                               \
    { .field = (f), .width = (w), .ints = (list), .count = sizeof(list) / sizeof(list)[0] }

static const lite_op option_ops[] = {
    {.code = 0,
     LITE_IN(0),
     LITE_OUT(2),
     .options = 5,
     .field_count = 4,
     .fields = {NUMBER(0, 1, 1), NUMBER(2, 4, 2), NUMBER(3, 4, 5), NUMBER(4, 4, 3)}},
    {.code = 1, LITE_IN(0), LITE_OUT(3), .options = 32, .field_count = 2, .fields = {NUMBER(0, 4, 6), NUMBER(4, 4, 1)}},
    {.code = 2, LITE_IN(0), LITE_OUT(4), .options = 17, .field_count = 1, .fields = {LIST(0, 4, new_shape)}},
    {.code = 3, LITE_IN(0), LITE_OUT(5), .options = 9, .field_count = 1, .fields = {{.field = 0, .real = 2.5F}}},
    {.code = 4, LITE_IN(0), LITE_OUT(6), .options = 37, .field_count = 1, .fields = {NUMBER(1, 1, 9)}},
    {.code = 5,
     LITE_IN(0),
     LITE_OUT(7),
     .options = 106,
     .field_count = 3,
     .fields = {NUMBER(1, 4, 2), NUMBER(2, 4, 4), NUMBER(3, 4, 3)}},
    {.code = 6,
     LITE_IN(0, 1),
     LITE_OUT(8),
     .options = 12,
     .is_second = true,
     .field_count = 4,
     .fields = {LIST(0, 8, first_dim), LIST(1, 8, first_dim), LIST(2, 8, third_dim), LIST(3, 8, second_dim)}},
    {.code = 7, LITE_IN(0), LITE_OUT(9), .options = 77, .field_count = 1, .fields = {NUMBER(0, 1, 1)}},
};

static void turns_options_into_attributes(void **state) {
    (void)state;
    lite_subgraph subgraph = {LITE_TENSORS({.name = "x", .rank = 3, .dims = {2, 3, 4}},
                                           {.name = "w", .rank = 3, .dims = {2, 4, 5}}, {.name = "a"}, {.name = "b"},
                                           {.name = "c"}, {.name = "d"}, {.name = "e"}, {.name = "f"}, {.name = "g"},
                                           {.name = "h"}),
                              LITE_IN(0, 1), LITE_OUT(2), .ops = option_ops, .op_count = 8};
    ft_graph *graph =
        lite_read(&(lite_model){.version = 3,
                                LITE_BUFFERS({NULL, 0, false, 0}),
                                .subgraphs = &subgraph,
                                .subgraph_count = 1,
                                LITE_CODES({.builtin = 1}, {.builtin = 45}, {.builtin = 22}, {.builtin = 25},
                                           {.builtin = 53}, {.builtin = 132}, {.builtin = 197}, {.builtin = 100})});
    const ft_op *ops = ft_graph_ops(graph);
    assert_string_equal(string_attr(&ops[0], "auto_pad"), "VALID");
    check_ints(&ops[0], "strides", 2, 1);
    check_ints(&ops[0], "kernel_shape", 3, 5);
    assert_int_equal(int_attr(&ops[1], "begin_mask"), 6);
    assert_int_equal(int_attr(&ops[1], "end_mask"), 0);
    assert_int_equal(int_attr(&ops[1], "shrink_axis_mask"), 1);
    check_ints(&ops[2], "shape", 1, -1);
    assert_true(ft_op_attr(&ops[3], "beta")->f == 2.5);
    assert_int_equal(int_attr(&ops[4], "to"), 3); /* INT8 in ONNX */
    const ft_attr *strides = ft_op_attr(&ops[5], "strides");
    assert_int_equal(strides->count, 3);
    assert_true(strides->ints[0] == 2 && strides->ints[1] == 3 && strides->ints[2] == 4); /* depth, height, width */
    assert_string_equal(string_attr(&ops[6], "equation"), "abc,ack->abk");
    assert_string_equal(string_attr(&ops[7], "mode"), "symmetric");
    ft_graph_free(graph);
}

/* The FlexBuffer {"n": 20}, explained in test_flexbuf.c. */
static void custom_options_become_attributes(void **state) {
    (void)state;
    static const uint8_t flex[] = {'n', 0, 1, 3, 1, 1, 1, 20, 1 << 2, 2, 9 << 2, 1}, plain[] = {1, 0, 0, 0, 2, 0, 0, 0};
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = CUSTOM, .custom = "MyOp"}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS(
            {LITE_TENSORS({.name = "x", .rank = 1, .dims = {4}}, {.name = "y"}, {.name = "z"}), LITE_IN(0), LITE_OUT(2),
             LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1), .custom = flex, .custom_size = sizeof flex},
                      {.code = 0, LITE_IN(1), LITE_OUT(2), .custom = plain, .custom_size = sizeof plain})})});
    assert_int_equal(int_attr(&ft_graph_ops(graph)[0], "n"), 20);
    assert_int_equal(ft_graph_ops(graph)[1].attr_count, 0);
    ft_graph_free(graph);
}

/* ["Einsum", NodeDef {op: "Einsum" attr {"equation": s "ab,bc->ac"} attr {"N": i 2}}] */
static void flex_operators_have_attributes(void **state) {
    (void)state;
    static const uint8_t node[] = {
        0x12, 6,  'E', 'i', 'n', 's', 'u', 'm',                                                    /* op */
        0x2a, 23, 10,  8,   'e', 'q', 'u', 'a', 't', 'i', 'o', 'n',  18, 11,                       /* attr */
        18,   9,  'a', 'b', ',', 'b', 'c', '-', '>', 'a', 'c', 0x2a, 7,  10, 1, 'N', 18, 2, 24, 2, /* attr */
    };
    uint8_t flex[80] = {6, 'E', 'i', 'n', 's', 'u', 'm', 0, sizeof node};
    size_t at = 9;
    memcpy(flex + at, node, sizeof node);
    at += sizeof node + 1;
    const uint8_t tail[] = {2, (uint8_t)at, (uint8_t)(at + 2 - 9), 5 << 2, 5 << 2, 4, 10 << 2, 1};
    memcpy(flex + at, tail, sizeof tail);
    lite_op op = {.code = 0, LITE_IN(0, 1), LITE_OUT(2), .custom = flex, .custom_size = (uint32_t)(at + sizeof tail)};
    lite_subgraph subgraph = {LITE_TENSORS({.name = "x", .rank = 2, .dims = {2, 3}},
                                           {.name = "w", .rank = 2, .dims = {3, 4}},
                                           {.name = "y", .rank = 2, .dims = {2, 4}}),
                              LITE_IN(0, 1), LITE_OUT(2), .ops = &op, .op_count = 1};
    ft_graph *bound = NULL, *graph = lite_read(&(lite_model){.version = 3,
                                                             LITE_CODES({.builtin = CUSTOM, .custom = "FlexEinsum"}),
                                                             LITE_BUFFERS({NULL, 0, false, 0}),
                                                             .subgraphs = &subgraph,
                                                             .subgraph_count = 1});
    assert_string_equal(string_attr(&ft_graph_ops(graph)[0], "equation"), "ab,bc->ac");
    assert_int_equal(int_attr(&ft_graph_ops(graph)[0], "N"), 2);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void optional_inputs_and_state(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = CUSTOM, .custom = "Cell"}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .rank = 2, .dims = {1, 4}},
                                     {.name = "memory", .rank = 2, .dims = {1, 9}, .is_variable = true},
                                     {.name = "y", .rank = 2, .dims = {1, 4}}),
                        LITE_IN(0), LITE_OUT(2), LITE_OPS({.code = 0, LITE_IN(0, -1, 1), LITE_OUT(2)})})});
    const ft_op *op = &ft_graph_ops(graph)[0];
    assert_int_equal(op->inputs[1], FT_NONE);
    assert_int_equal(lite_tensor_named(graph, "memory")->role, FT_INPUT);
    assert_int_equal(ft_graph_input_count(graph), 2);
    assert_string_equal(ft_graph_tensors(graph)[ft_graph_inputs(graph)[0]].name, "x");
    ft_graph_free(graph);
}

static void open_dimensions_become_symbols(void **state) {
    (void)state;
    ft_graph *graph = lite_read(
        &(lite_model){.version = 3,
                      LITE_CODES({.builtin = CUSTOM, .custom = "Op"}),
                      LITE_BUFFERS({NULL, 0, false, 0}),
                      LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .rank = 3, .dims = {-1, -1, 4}},
                                                   {.name = "y", .rank = 2, .dims = {-1, 4}}, {.name = "unranked"},
                                                   {.name = "scalar", .has_rank = true}),
                                      LITE_IN(0), LITE_OUT(1), LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1, 2, 3)})})});
    const ft_tensor *x = lite_tensor_named(graph, "x");
    assert_string_equal(ft_dim_symbol(graph, x->dims[0]), "batch");
    assert_string_equal(ft_dim_symbol(graph, x->dims[1]), "x_d1");
    assert_true(lite_tensor_named(graph, "y")->dims[0] == FT_DIM_UNKNOWN);
    assert_int_equal(lite_tensor_named(graph, "unranked")->rank, -1);
    assert_int_equal(lite_tensor_named(graph, "scalar")->rank, 0);
    ft_graph_free(graph);
}

static void check_dims(const ft_graph *graph, const char *name, int64_t first, int64_t second) {
    const ft_tensor *t = lite_tensor_named(graph, name);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dims[0], first);
    assert_int_equal(t->dims[1], second);
}

/* Open dimensions have the stored size until they are bound; a stored 1 that is not the batch is no size. */
static void signatures_leave_dimensions_open(void **state) {
    (void)state;
    static const int32_t batch[] = {-1, 4}, both[] = {-1, -1};
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = 0}, {.builtin = CUSTOM, .custom = "Op"}),
        LITE_BUFFERS({NULL, 0, false, 0}),
        LITE_SUBGRAPHS(
            {LITE_TENSORS({.name = "x", .rank = 2, .dims = {2, 4}, .signature = batch},
                          {.name = "a", .rank = 2, .dims = {2, 4}, .signature = batch},
                          {.name = "y", .rank = 2, .dims = {2, 4}, .signature = batch},
                          {.name = "z", .rank = 2, .dims = {6, 4}, .signature = batch},
                          {.name = "w", .rank = 2, .dims = {1, 1}, .signature = both}),
             LITE_IN(0, 4), LITE_OUT(2),
             LITE_OPS({.code = 0, LITE_IN(0, 0), LITE_OUT(1)}, {.code = 1, LITE_IN(1, 4), LITE_OUT(2, 3)})})});
    const ft_shape_binding width = {.name = "w_d1", .rank = 1, .dims = {9}};
    ft_binding binding = {.shapes = &width, .shape_count = 1};
    ft_graph *bound;
    ft_error error;
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_non_null(strstr(error.message, "--shape w_d1=N"));
    assert_int_equal(ft_graph_bind(graph, &binding, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_batch(bound), 2);
    check_dims(bound, "x", 2, 4);
    check_dims(bound, "a", 2, 4);
    check_dims(bound, "y", 2, 4);
    check_dims(bound, "w", 1, 9); /* its first dimension is not the batch of x */
    ft_graph_free(bound);
    binding.batch = 5;
    assert_int_equal(ft_graph_bind(graph, &binding, &bound, &error), FT_OK);
    assert_false(ft_graph_is_scaled(bound));
    check_dims(bound, "x", 5, 4);
    check_dims(bound, "a", 5, 4);
    check_dims(bound, "y", 5, 4); /* no rule infers it, but the file says that it has the batch */
    assert_int_equal(lite_tensor_named(bound, "z")->rank, -1);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* --- Buffers ----------------------------------------------------------------------------------------------------- */

static void shared_buffers_are_one_tensor(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&(lite_model){
        .version = 3,
        LITE_CODES({.builtin = CUSTOM, .custom = "Op"}),
        LITE_BUFFERS({NULL, 0, false, 0}, {bias, sizeof bias, false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "a", .type = T_INT32, .rank = 1, .dims = {8}, .buffer = 1},
                                     {.name = "b", .type = T_INT32, .rank = 1, .dims = {8}, .buffer = 1},
                                     {.name = "c", .type = T_INT32, .rank = 2, .dims = {2, 4}, .buffer = 1},
                                     {.name = "y", .rank = 1, .dims = {1}}),
                        LITE_OUT(3), LITE_OPS({.code = 0, LITE_IN(0, 1, 2), LITE_OUT(3)})})});
    const ft_op *op = &ft_graph_ops(graph)[0];
    assert_int_equal(op->inputs[0], op->inputs[1]);
    assert_int_not_equal(op->inputs[0], op->inputs[2]);
    assert_int_equal(lite_tensor_named(graph, "a")->stored_bytes, 32);
    assert_int_equal(lite_tensor_named(graph, "c")->stored_bytes, 0);
    assert_int_equal(lite_tensor_named(graph, "c")->value->ints[7], 8);
    ft_graph_free(graph);
}

#define OUTSIDE_MODEL(claimed)                                                                                         \
    (lite_model) {                                                                                                     \
        .version = 3, LITE_CODES({.builtin = CUSTOM, .custom = "Op"}),                                                 \
        LITE_BUFFERS({NULL, 0, false, 0}, {bias, sizeof bias, true, (claimed)}), .external_id = 7,                     \
        .external_length = 123456,                                                                                     \
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "big", .type = T_INT32, .rank = 1, .dims = {8}, .buffer = 1},            \
                                     {.name = "far", .rank = 1, .dims = {30864}, .external = 7},                       \
                                     {.name = "y", .rank = 1, .dims = {1}}),                                           \
                        LITE_OUT(2), LITE_OPS({.code = 0, LITE_IN(0, 1), LITE_OUT(2)})})                               \
    }

static void buffers_outside_the_flatbuffer(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&OUTSIDE_MODEL(0));
    const ft_tensor *big = lite_tensor_named(graph, "big"), *far = lite_tensor_named(graph, "far");
    assert_int_equal(big->role, FT_CONSTANT);
    assert_int_equal(big->stored_bytes, 32);
    assert_int_equal(big->value->ints[2], 3);
    assert_int_equal(far->role, FT_CONSTANT);
    assert_int_equal(far->stored_bytes, 123456);
    ft_graph_free(graph);
    lite_fails(&OUTSIDE_MODEL(1000000), FT_ERR_DAMAGED, "tensor 0: truncated: its buffer 1 (offset");
    lite_fails(&OUTSIDE_MODEL(UINT64_MAX), FT_ERR_DAMAGED, "runs past the end of the file");
}

/* --- Bad input --------------------------------------------------------------------------------------------------- */

static void wrong_references_are_named(void **state) {
    (void)state;
    static const lite_tensor two[] = {{.name = "x", .rank = 1, .dims = {4}}, {.name = "y", .rank = 1, .dims = {4}}};
    struct {
        lite_op op;
        lite_tensor tensors[2];
        ft_status status;
        const char *text;
    } cases[] = {
        {{.code = 9, LITE_IN(0), LITE_OUT(1)},
         {two[0], two[1]},
         FT_ERR_DAMAGED,
         "operator 0 (?): refers to operator code 9"},
        {{.code = 0, LITE_IN(7), LITE_OUT(1)},
         {two[0], two[1]},
         FT_ERR_DAMAGED,
         "(ADD): refers to tensor 7, but there are only 2"},
        {{.code = 0, LITE_IN(-2), LITE_OUT(1)}, {two[0], two[1]}, FT_ERR_DAMAGED, "refers to tensor -2"},
        {{.code = 0, LITE_IN(0), LITE_OUT(5)},
         {two[0], two[1]},
         FT_ERR_DAMAGED,
         "an operator's output refers to tensor 5"},
        {{.code = 0, LITE_IN(1), LITE_OUT(1)}, {two[0], two[1]}, FT_ERR_GRAPH, "cycle"},
        {{.code = 0, LITE_IN(0), LITE_OUT(1)},
         {two[0], {.name = "y", .rank = 9}},
         FT_ERR_LIMIT,
         "tensor 1: has 9 dimensions"},
        {{.code = 0, LITE_IN(0), LITE_OUT(1)},
         {two[0], {.name = "y", .rank = 1, .dims = {-5}}},
         FT_ERR_DAMAGED,
         "dimension 0 is -5"},
        {{.code = 0, LITE_IN(0), LITE_OUT(0)}, {two[0], two[1]}, FT_ERR_GRAPH, "which is a graph input"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const int32_t first[] = {0}, second[] = {1};
        lite_subgraph subgraph = {.tensors = cases[i].tensors,
                                  .tensor_count = 2,
                                  .ops = &cases[i].op,
                                  .op_count = 1,
                                  .inputs = first,
                                  .input_count = 1,
                                  .outputs = second,
                                  .output_count = 1};
        lite_fails(&(lite_model){.version = 3,
                                 LITE_CODES({.builtin = ADD}),
                                 LITE_BUFFERS({NULL, 0, false, 0}),
                                 .subgraphs = &subgraph,
                                 .subgraph_count = 1},
                   cases[i].status, cases[i].text);
    }
}

static void wrong_models_are_named(void **state) {
    (void)state;
    lite_fails(&(lite_model){.version = 2}, FT_ERR_UNSUPPORTED, "schema version 2 is not supported, only version 3");
    lite_fails(&(lite_model){.version = 3}, FT_ERR_DAMAGED, "the model has no sub-graph");
    lite_fails(&(lite_model){.version = 3,
                             LITE_CODES({.builtin = ADD}),
                             LITE_BUFFERS({NULL, 0, false, 0}),
                             LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .rank = 1, .dims = {4}, .buffer = 8},
                                                          {.name = "y", .rank = 1, .dims = {4}}),
                                             LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)})})},
               FT_ERR_DAMAGED, "tensor 0: refers to buffer 8, but there are only 1");
    lite_fails(&(lite_model){.version = 3,
                             LITE_CODES({.builtin = ADD}),
                             LITE_BUFFERS({NULL, 0, false, 0}),
                             LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .rank = 1, .dims = {4}},
                                                          {.name = "y", .rank = 1, .dims = {4}}),
                                             LITE_OPS({.code = 0, LITE_IN(0), LITE_OUT(1)})})},
               FT_ERR_GRAPH, "reads tensor 'x', which is neither computed nor stored");
}

/* Reads and binds damaged bytes; it must not crash, and errors must name the file. */
static bool survives(const uint8_t *bytes, size_t size) {
    ft_graph *graph = NULL, *bound = NULL;
    ft_error error = {.message = ""};
    ft_status status = tflite_reader.read(bytes, size, &lite_origin, &graph, &error);
    if (status != FT_OK) {
        assert_int_equal(error.status, status);
        assert_int_equal(strncmp(error.message, "dir/toy.tflite: ", 16), 0);
        return false;
    }
    (void)ft_graph_bind(graph, NULL, &bound, &error);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return true;
}

/* Each prefix in a block of its own, so that the sanitizers see a read past its end. */
static void every_cut_is_refused(void **state) {
    (void)state;
    flatbuild b = lite_bytes(&(lite_model){SMALL_MODEL});
    assert_true(survives(b.bytes, b.size));
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, b.bytes, size);
        assert_false(survives(copy, size));
        free(copy);
    }
    free(b.bytes);
}

static void flipped_bytes_are_survived(void **state) {
    (void)state;
    flatbuild b = lite_bytes(&(lite_model){SMALL_MODEL});
    static const uint8_t patterns[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    uint8_t *copy = malloc(b.size);
    assert_non_null(copy);
    for (size_t i = 0; i < b.size; i++) {
        for (size_t k = 0; k < sizeof patterns; k++) {
            memcpy(copy, b.bytes, b.size);
            copy[i] = patterns[k];
            survives(copy, b.size);
        }
    }
    uint32_t random = 12345;
    for (int round = 0; round < 10000; round++) {
        memcpy(copy, b.bytes, b.size);
        for (int k = 0; k < 4; k++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 8) % b.size] ^= (uint8_t)(1U << (random & 7));
        }
        survives(copy, b.size);
    }
    free(copy);
    free(b.bytes);
}

/* --- Real models ------------------------------------------------------------------------------------------------- */

static bool same_shape(const ft_tensor *a, const ft_tensor *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Binds a copy of the graph without shapes other than those of its inputs and constants, and counts the activations
 * whose inferred shape is not the declared one. */
static uint32_t count_differences(ft_graph *graph) {
    ft_error error;
    ft_graph *bound = NULL;
    ft_tensor *declared = malloc(graph->tensor_count * sizeof *declared);
    assert_non_null(declared);
    memcpy(declared, graph->tensors, graph->tensor_count * sizeof *declared);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        for (int32_t k = 0; k < declared[i].rank; k++) {
            int64_t exported = graph_exported_size(graph, declared[i].dims[k]);
            if (exported > 0) declared[i].dims[k] = exported;
        }
        if (graph->tensors[i].role == FT_ACTIVATION) graph->tensors[i].rank = -1;
    }
    if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s: %s", ft_graph_name(graph), error.message);
    uint32_t differences = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const ft_tensor *t = &bound->tensors[i];
        bool is_custom = t->producer != FT_NONE && !ft_opdef_is_known(bound->ops[t->producer].def);
        if (declared[i].rank >= 0 && !is_custom && !same_shape(t, &declared[i])) differences++;
    }
    ft_graph_free(bound);
    free(declared);
    return differences;
}

/* Outputs of a batch of 3 are three times as large, whether the file leaves the batch open or a constant fixes it. */
static bool check_batch(const ft_graph *graph) {
    ft_graph *one, *three;
    ft_error error;
    assert_int_equal(ft_graph_bind(graph, NULL, &one, &error), FT_OK);
    if (ft_graph_bind(graph, &(ft_binding){.batch = 3}, &three, &error) != FT_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        uint32_t t = graph->outputs.items[i];
        if (graph_is_constant(one, &one->tensors[t])) continue; /* anchors may be tiled by the batch */
        uint64_t times = one->tensors[t].is_batched && ft_graph_batch(one) == 1 ? 3 : 1;
        if (tensor_elems(three, &three->tensors[t]) != times * tensor_elems(one, &one->tensors[t]))
            fail_msg("%s: output %u has the wrong size at a batch of 3", ft_graph_name(graph), i);
    }
    bool is_scaled = ft_graph_is_scaled(three);
    ft_graph_free(one);
    ft_graph_free(three);
    return is_scaled;
}

/* Two DeepLab files declare a batch of 1 after SPACE_TO_BATCH_ND, where it is 36, 144 and 324: six tensors each. */
enum { KNOWN_DIFFERENCES = 12 };

static void real_models_infer_what_they_declare(void **state) {
    (void)state;
    glob_t files;
    if (glob("../shared/data/npu/tflite/*.tflite.gz", 0, NULL, &files) != 0) {
        print_message("# ../shared/data/npu is not available: only small models are tested\n");
        skip();
    }
    uint32_t differences = 0, unknown = 0, scaled = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ft_graph *graph = NULL;
        ft_error error;
        if (ft_graph_read(files.gl_pathv[i], &graph, &error) != FT_OK) fail_msg("%s", error.message);
        for (uint32_t k = 0; k < graph->op_count; k++) {
            const ft_op *op = &graph->ops[k];
            if (ft_opdef_is_known(op->def)) continue;
            assert_string_equal(op->type, "PosenetDecoderOp"); /* a real custom operator */
            unknown++;
        }
        scaled += check_batch(graph);
        differences += count_differences(graph);
        ft_graph_free(graph);
    }
    assert_true(scaled < files.gl_pathc * 2 / 3); /* the others leave their batch open */
    print_message("%zu files, %u custom operators, %u shapes that files declare wrongly\n", files.gl_pathc, unknown,
                  differences);
    assert_int_equal(differences, KNOWN_DIFFERENCES);
    globfree(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_model),
        cmocka_unit_test(roles_and_values_are_read),
        cmocka_unit_test(finds_the_format_by_content),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(keeps_small_payloads),
        cmocka_unit_test(names_custom_and_unknown_operators),
        cmocka_unit_test(turns_options_into_attributes),
        cmocka_unit_test(custom_options_become_attributes),
        cmocka_unit_test(flex_operators_have_attributes),
        cmocka_unit_test(optional_inputs_and_state),
        cmocka_unit_test(signatures_leave_dimensions_open),
        cmocka_unit_test(open_dimensions_become_symbols),
        cmocka_unit_test(shared_buffers_are_one_tensor),
        cmocka_unit_test(buffers_outside_the_flatbuffer),
        cmocka_unit_test(wrong_references_are_named),
        cmocka_unit_test(wrong_models_are_named),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(flipped_bytes_are_survived),
        cmocka_unit_test(real_models_infer_what_they_declare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
