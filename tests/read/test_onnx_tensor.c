/* Tests of constants of ONNX files: types, sizes and values in every form of storage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/onnx_model.h"

/* A model whose only operator reads `names`. */
static ft_graph *read_with_reader_of(onnx_model *m, const char *names) {
    onnx_node(m, m->graph, "Sum", names, "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    return onnx_model_read(m);
}

typedef struct raw_case {
    int type;
    ft_dtype dtype;
    size_t size;
    uint8_t bytes[16];
    int64_t ints[2];
    double floats[2];
} raw_case;

/* Two elements of each type, written by hand from the definitions of the formats. */
static const raw_case raw_cases[] = {
    {ONNX_FLOAT, FT_FLOAT32, 8, {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}, {0}, {1.0, -2.5}},
    {ONNX_DOUBLE, FT_FLOAT64, 16, {0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0x10, 0xc0}, {0}, {0.5, -4.0}},
    {ONNX_FLOAT16, FT_FLOAT16, 4, {0x00, 0x3c, 0x01, 0x80}, {0}, {1.0, -0x1p-24}},
    {ONNX_FLOAT16, FT_FLOAT16, 4, {0xff, 0x7b, 0x00, 0xc5}, {0}, {65504.0, -5.0}},
    {ONNX_BFLOAT16, FT_BFLOAT16, 4, {0x80, 0x3f, 0x20, 0xc0}, {0}, {1.0, -2.5}},
    {ONNX_INT8, FT_INT8, 2, {0x80, 0x7f}, {-128, 127}, {0}},
    {ONNX_UINT8, FT_UINT8, 2, {0x80, 0xff}, {128, 255}, {0}},
    {ONNX_INT16, FT_INT16, 4, {0xff, 0xff, 0x00, 0x01}, {-1, 256}, {0}},
    {ONNX_UINT16, FT_UINT16, 4, {0xff, 0xff, 0x00, 0x01}, {65535, 256}, {0}},
    {ONNX_INT32, FT_INT32, 8, {0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0}, {-2, 3}, {0}},
    {ONNX_UINT32, FT_UINT32, 8, {0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0}, {4294967294, 3}, {0}},
    {ONNX_INT64, FT_INT64, 16, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 9}, {-1, 9}, {0}},
    {ONNX_UINT64, FT_UINT64, 16, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 9}, {INT64_MAX, 9}, {0}},
    {ONNX_BOOL, FT_BOOL, 2, {1, 0}, {1, 0}, {0}},
    {ONNX_INT4, FT_INT4, 1, {0x7f}, {-1, 7}, {0}}, /* the low half comes first */
    {ONNX_UINT4, FT_UINT4, 1, {0x7f}, {15, 7}, {0}},
    {ONNX_INT2, FT_INT2, 1, {0x07}, {-1, 1}, {0}},
    {ONNX_UINT2, FT_UINT2, 1, {0x07}, {3, 1}, {0}},
};

static void reads_raw_data_of_all_types(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof raw_cases / sizeof raw_cases[0]; i++) {
        const raw_case *c = &raw_cases[i];
        onnx_model *m = onnx_model_new();
        onnx_raw(m, onnx_initializer(m, m->graph, "w", c->type, "2"), c->bytes, c->size);
        ft_graph *g = read_with_reader_of(m, "w");
        const ft_tensor *w = tensor_named(g, "w");
        assert_int_equal(w->dtype, c->dtype);
        assert_int_equal(w->stored_bytes, c->size);
        assert_non_null(w->value);
        assert_int_equal(w->value->count, 2);
        for (int k = 0; k < 2; k++) {
            if (ft_dtype_is_float(c->dtype))
                assert_true(w->value->floats[k] == c->floats[k]);
            else
                assert_true(w->value->ints[k] == c->ints[k]);
        }
        ft_graph_free(g);
        onnx_model_free(m);
    }
}

static void reads_typed_data(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    int32_t halves[] = {0x3c00, 0xc500}, nibbles[] = {0x7f, 0x01}, bytes[] = {-128, 127};
    float floats[] = {0.5f, 3.0f};
    double doubles[] = {0.25, -1.0};
    uint64_t words[] = {7, UINT32_MAX};
    int64_t longs[] = {INT64_MIN, 2};
    Onnx__TensorProto *t = onnx_initializer(m, m->graph, "half", ONNX_FLOAT16, "2");
    t->int32_data = halves;
    t->n_int32_data = 2;
    t = onnx_initializer(m, m->graph, "nibble", ONNX_INT4, "3");
    t->int32_data = nibbles;
    t->n_int32_data = 2;
    t = onnx_initializer(m, m->graph, "byte", ONNX_INT8, "2");
    t->int32_data = bytes;
    t->n_int32_data = 2;
    t = onnx_initializer(m, m->graph, "float", ONNX_FLOAT, "2");
    t->float_data = floats;
    t->n_float_data = 2;
    t = onnx_initializer(m, m->graph, "double", ONNX_DOUBLE, "2");
    t->double_data = doubles;
    t->n_double_data = 2;
    t = onnx_initializer(m, m->graph, "word", ONNX_UINT32, "2");
    t->uint64_data = words;
    t->n_uint64_data = 2;
    t = onnx_initializer(m, m->graph, "long", ONNX_INT64, "2");
    t->int64_data = longs;
    t->n_int64_data = 2;
    ft_graph *g = read_with_reader_of(m, "half nibble byte float double word long");
    assert_true(tensor_named(g, "half")->value->floats[1] == -5.0);
    assert_int_equal(tensor_named(g, "nibble")->value->ints[0], -1);
    assert_int_equal(tensor_named(g, "nibble")->value->ints[1], 7);
    assert_int_equal(tensor_named(g, "nibble")->value->ints[2], 1);
    assert_int_equal(tensor_named(g, "byte")->value->ints[0], -128);
    assert_true(tensor_named(g, "float")->value->floats[0] == 0.5);
    assert_int_equal(tensor_named(g, "float")->stored_bytes, 8);
    assert_true(tensor_named(g, "double")->value->floats[1] == -1.0);
    assert_int_equal(tensor_named(g, "word")->value->ints[1], UINT32_MAX);
    assert_true(tensor_named(g, "long")->value->ints[0] == INT64_MIN);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void large_payloads_are_omitted_but_counted(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    static float floats[1000];
    onnx_raw(m, onnx_initializer(m, m->graph, "weights", ONNX_FLOAT, "300,400"), NULL, 480000);
    onnx_raw(m, onnx_initializer(m, m->graph, "index", ONNX_INT64, "4096"), NULL, 4096 * 8);
    onnx_raw(m, onnx_initializer(m, m->graph, "table", ONNX_INT64, "4097"), NULL, 4097 * 8);
    onnx_raw(m, onnx_initializer(m, m->graph, "edge", ONNX_FLOAT, "64"), NULL, 256);
    onnx_raw(m, onnx_initializer(m, m->graph, "over", ONNX_FLOAT, "65"), NULL, 260);
    Onnx__TensorProto *t = onnx_initializer(m, m->graph, "typed", ONNX_FLOAT, "1000");
    t->float_data = floats;
    t->n_float_data = 1000;
    ProtobufCBinaryData words[] = {{.len = 3, .data = (uint8_t *)"one"}, {.len = 4, .data = (uint8_t *)"four"}};
    t = onnx_initializer(m, m->graph, "words", ONNX_STRING, "2");
    t->string_data = words;
    t->n_string_data = 2;
    ft_graph *g = read_with_reader_of(m, "weights index table edge over typed words");
    assert_int_equal(tensor_named(g, "weights")->stored_bytes, 480000);
    assert_null(tensor_named(g, "weights")->value);
    assert_int_equal(tensor_named(g, "weights")->dims[1], 400);
    assert_non_null(tensor_named(g, "index")->value);
    assert_null(tensor_named(g, "table")->value);
    assert_non_null(tensor_named(g, "edge")->value);
    assert_null(tensor_named(g, "over")->value);
    assert_int_equal(tensor_named(g, "over")->stored_bytes, 260);
    assert_null(tensor_named(g, "typed")->value);
    assert_int_equal(tensor_named(g, "typed")->stored_bytes, 4000);
    assert_null(tensor_named(g, "words")->value);
    assert_int_equal(tensor_named(g, "words")->stored_bytes, 7);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void external_data_is_sized_but_not_opened(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    Onnx__StringStringEntryProto where = ONNX__STRING_STRING_ENTRY_PROTO__INIT, length = where, nonsense = where;
    where.key = "location";
    where.value = "../../nowhere/weights.bin";
    length.key = nonsense.key = "length";
    length.value = "4096";
    nonsense.value = "many";
    Onnx__StringStringEntryProto *sized[] = {&where, &length}, *unsized[] = {&where}, *wrong[] = {&where, &nonsense};
    struct {
        const char *name;
        Onnx__StringStringEntryProto **entries;
        size_t count;
    } cases[] = {{"sized", sized, 2}, {"unsized", unsized, 1}, {"wrong", wrong, 2}};
    for (int i = 0; i < 3; i++) {
        Onnx__TensorProto *t = onnx_initializer(m, m->graph, cases[i].name, ONNX_FLOAT16, "10,10");
        t->has_data_location = true;
        t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        t->external_data = cases[i].entries;
        t->n_external_data = cases[i].count;
    }
    ft_graph *g = read_with_reader_of(m, "sized unsized wrong");
    assert_int_equal(tensor_named(g, "sized")->stored_bytes, 4096);
    assert_int_equal(tensor_named(g, "unsized")->stored_bytes, 200);
    assert_int_equal(tensor_named(g, "wrong")->stored_bytes, 200);
    assert_null(tensor_named(g, "sized")->value);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void sparse_tensors_have_dense_shapes(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    Onnx__SparseTensorProto sparse = ONNX__SPARSE_TENSOR_PROTO__INIT, constant = ONNX__SPARSE_TENSOR_PROTO__INIT;
    int64_t dims[] = {100, 200};
    sparse.values = onnx_tensor(m, "w", ONNX_FLOAT, "3");
    sparse.indices = onnx_tensor(m, "", ONNX_INT64, "3");
    onnx_raw(m, sparse.values, NULL, 12);
    onnx_raw(m, sparse.indices, NULL, 24);
    sparse.dims = dims;
    sparse.n_dims = 2;
    onnx_sparse_initializer(m, m->graph, &sparse);
    constant = sparse;
    onnx_attr(m, onnx_node(m, m->graph, "Constant", "", "c"), "sparse_value",
              ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR)
        ->sparse_tensor = &constant;
    ft_graph *g = read_with_reader_of(m, "w c");
    for (int i = 0; i < 2; i++) {
        const ft_tensor *t = tensor_named(g, i == 0 ? "w" : "c");
        assert_true(t->is_sparse);
        assert_int_equal(t->role, FT_CONSTANT);
        assert_int_equal(t->dtype, FT_FLOAT32);
        assert_int_equal(t->dims[0], 100);
        assert_int_equal(t->dims[1], 200);
        assert_int_equal(t->stored_bytes, 36);
    }
    ft_graph_free(g);
    onnx_model_free(m);
}

static void types_newer_than_the_proto_are_read(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_raw(m, onnx_initializer(m, m->graph, "f8", ONNX_FLOAT8, "4"), NULL, 4);
    onnx_raw(m, onnx_initializer(m, m->graph, "odd", ONNX_INT4, "3"), NULL, 2);
    onnx_raw(m, onnx_initializer(m, m->graph, "two", ONNX_INT2, "5"), NULL, 2);
    onnx_initializer(m, m->graph, "future", 99, "4");
    ft_graph *g = read_with_reader_of(m, "f8 odd two future");
    assert_int_equal(tensor_named(g, "two")->dtype, FT_INT2);
    assert_int_equal(tensor_named(g, "two")->value->count, 5);
    assert_int_equal(tensor_named(g, "f8")->dtype, FT_FLOAT8);
    assert_null(tensor_named(g, "f8")->value);
    assert_int_equal(tensor_named(g, "odd")->value->count, 3);
    assert_int_equal(tensor_named(g, "future")->dtype, FT_DTYPE_UNKNOWN);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void check_fails(onnx_model *m, ft_status expected, const char *part) {
    ft_error error;
    onnx_node(m, m->graph, "Relu", "w", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    assert_int_equal(onnx_model_fails(m, &error), expected);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' does not contain '%s'", error.message, part);
    onnx_model_free(m);
}

static void refuses_wrong_constants(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "2,-1");
    check_fails(m, FT_ERR_GRAPH, "'w': dimension 1 is negative");

    m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N"); /* -1 is the symbol N, but not in a constant */
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "-1");
    check_fails(m, FT_ERR_GRAPH, "'w': dimension 0 is negative");

    m = onnx_model_new();
    onnx_raw(m, onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "2,2"), NULL, 15);
    check_fails(m, FT_ERR_DAMAGED, "15 bytes of data instead of 16");

    m = onnx_model_new();
    onnx_raw(m, onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "100,100"), NULL, 39999);
    check_fails(m, FT_ERR_DAMAGED, "39999 bytes of data instead of 40000");

    m = onnx_model_new();
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "1,1,1,1,1,1,1,1,1");
    check_fails(m, FT_ERR_LIMIT, "'w'");

    m = onnx_model_new();
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "4611686018427387904,4");
    check_fails(m, FT_ERR_LIMIT, "'w'");

    m = onnx_model_new(); /* two elements are declared, one is present: no value, but no error either */
    Onnx__TensorProto *t = onnx_initializer(m, m->graph, "w", ONNX_INT64, "2");
    int64_t one[] = {1};
    t->int64_data = one;
    t->n_int64_data = 1;
    ft_graph *g = read_with_reader_of(m, "w");
    assert_null(tensor_named(g, "w")->value);
    ft_graph_free(g);
    onnx_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_raw_data_of_all_types),
        cmocka_unit_test(reads_typed_data),
        cmocka_unit_test(large_payloads_are_omitted_but_counted),
        cmocka_unit_test(external_data_is_sized_but_not_opened),
        cmocka_unit_test(sparse_tensors_have_dense_shapes),
        cmocka_unit_test(types_newer_than_the_proto_are_read),
        cmocka_unit_test(refuses_wrong_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
