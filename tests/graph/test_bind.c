/* test_bind.c - binding: symbols, batches, shapes, loops, and whole models against the shapes their files declare. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

static ft_graph *new_graph(void) {
    ft_graph *g = NULL;
    ft_error error;
    assert_int_equal(graph_new(FT_FORMAT_ONNX, FT_NCHW, "g", &g, &error), FT_OK);
    return g;
}

static uint32_t add(ft_graph *g, const char *name, ft_role role, int32_t rank, const int64_t *dims) {
    ft_tensor t = {.name = name, .role = role, .dtype = FT_FLOAT32, .rank = rank};
    for (int32_t i = 0; i < rank; i++) t.dims[i] = dims[i];
    ft_error error;
    uint32_t index;
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_OK);
    if (role == FT_INPUT) assert_int_equal(graph_add_input(g, index, &error), FT_OK);
    return index;
}

#define ADD(g, name, role, ...)                                                                                        \
    add((g), (name), (role), (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static uint32_t add_ints(ft_graph *g, int64_t count, const int64_t *ints) {
    int64_t *copy;
    ft_value *value = graph_value_ints(g, count, &copy);
    assert_non_null(value);
    memcpy(copy, ints, (size_t)count * sizeof *ints);
    ft_tensor t = {.name = "ints", .role = FT_CONSTANT, .dtype = FT_INT64, .rank = 1, .dims = {count}, .value = value};
    ft_error error;
    uint32_t index;
    assert_int_equal(graph_add_tensor(g, &t, &index, &error), FT_OK);
    return index;
}

/* Adds an operator of one or two inputs; returns its output, of unknown shape. */
static uint32_t op(ft_graph *g, const char *type, uint32_t a, uint32_t b) {
    uint32_t out = add(g, "", FT_ACTIVATION, -1, NULL), inputs[] = {a, b};
    ft_op spec = {.name = type, .type = type, .inputs = inputs, .input_count = b == FT_NONE ? 1 : 2};
    spec.outputs = &out;
    spec.output_count = 1;
    ft_error error;
    assert_int_equal(graph_add_op(g, &spec, &error), FT_OK);
    return out;
}

static void finish(ft_graph *g, uint32_t output) {
    ft_error error;
    assert_int_equal(graph_add_output(g, output, &error), FT_OK);
    assert_int_equal(graph_finish(g, &error), FT_OK);
}

static int64_t symbol(ft_graph *g, const char *name) {
    int64_t dim;
    ft_error error;
    assert_int_equal(graph_symbol(g, name, &dim, &error), FT_OK);
    return dim;
}

static void check_shape(const ft_graph *g, uint32_t tensor, const char *wanted) {
    char text[128];
    assert_string_equal(shape_text(g, &g->tensors[tensor], text, sizeof text), wanted);
}

static void a_symbolic_batch_takes_any_value(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, symbol(g, "N"), 3, 8, 8), w = ADD(g, "w", FT_CONSTANT, 16, 3, 3, 3);
    uint32_t y = op(g, "Conv", x, w);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 8}, &bound, &error), FT_OK);
    check_shape(bound, y, "8x16x6x6");
    assert_false(ft_graph_is_scaled(bound));
    ft_graph_free(bound);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    check_shape(bound, y, "1x16x6x6");
    assert_int_equal(ft_graph_batch(bound), 1);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void other_symbols_need_a_value(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "ids", FT_INPUT, symbol(g, "N"), symbol(g, "sequence"), 64), y = op(g, "Relu", x, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_non_null(strstr(error.message, "--shape sequence=N"));
    assert_non_null(strstr(error.message, "'ids'"));

    ft_shape_binding by_symbol = {.name = "sequence", .rank = 1, .dims = {128}};
    ft_binding binding = {.batch = 4, .shapes = &by_symbol, .shape_count = 1};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_OK);
    check_shape(bound, y, "4x128x64");
    ft_graph_free(bound);

    ft_shape_binding by_input = {.name = "ids", .rank = 3, .dims = {2, 9, 64}};
    binding = (ft_binding){.shapes = &by_input, .shape_count = 1};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_OK);
    check_shape(bound, y, "2x9x64");
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* Recurrent networks often have the sequence first. */
static void a_symbol_called_batch_is_the_batch(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, symbol(g, "sequence"), symbol(g, "Batch_size"), 8),
             y = op(g, "Relu", x, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 4}, &bound, &error), FT_ERR_UNBOUND);
    assert_non_null(strstr(error.message, "--shape sequence=N"));
    ft_shape_binding sequence = {.name = "sequence", .rank = 1, .dims = {20}};
    ft_binding binding = {.batch = 4, .shapes = &sequence, .shape_count = 1};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_OK);
    check_shape(bound, y, "20x4x8");
    assert_int_equal(ft_graph_batch(bound), 4);
    assert_true(bound->tensors[y].is_batched);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* A detector takes one image of three channels, not a batch of three. */
static void a_single_image_is_a_batch_of_one(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "image", FT_INPUT, 3, 320, 320), y = op(g, "Relu", x, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 2}, &bound, &error), FT_OK);
    assert_int_equal(ft_graph_exported_batch(bound), 1);
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[y]), 2 * 3 * 320 * 320);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void all_symbols_without_a_value_are_listed(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    int64_t h = symbol(g, "h"), w = symbol(g, "w");
    uint32_t a = ADD(g, "a", FT_INPUT, symbol(g, "N"), 3, h, w), b = ADD(g, "b", FT_INPUT, symbol(g, "N"), 3, h, w);
    finish(g, op(g, "Add", a, b));
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_string_equal(error.message, "inputs 'a' (1x3xhxw), 'b' (1x3xhxw) have open dimensions: set them with "
                                       "--shape h=N --shape w=N");
    ft_graph_free(g);
}

static void inputs_without_names_of_dimensions_are_listed_whole(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t a = ADD(g, "a", FT_INPUT, 1, 3, FT_DIM_UNKNOWN, symbol(g, "w")),
             b = ADD(g, "b", FT_INPUT, 1, 3, symbol(g, "h"), symbol(g, "w"));
    g->tensors[ADD(g, "c", FT_INPUT, 1)].rank = -1;
    finish(g, op(g, "Add", a, op(g, "Add", b, ft_graph_inputs(g)[2])));
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_ERR_UNBOUND);
    assert_string_equal(error.message, "inputs 'a' (1x3x?xw), 'b' (1x3xhxw), 'c' (no shape) have open dimensions: set "
                                       "them with --shape a=1x3xNxN --shape c=... --shape h=N");
    ft_open_dim dims[8];
    uint32_t count;
    assert_int_equal(ft_graph_open_dims(g, NULL, dims, 8, &count, &error), FT_OK);
    assert_int_equal(count, 5);
    assert_null(dims[0].symbol);
    assert_int_equal(dims[0].axis, 2);
    assert_string_equal(dims[2].symbol, "h");
    assert_int_equal(dims[4].axis, -1);
    assert_int_equal(ft_graph_open_dims(g, NULL, dims, 2, &count, &error), FT_OK);
    assert_int_equal(count, 2);
    ft_graph_free(g);
}

static void open_dimensions_take_a_size_or_stay_unknown(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t count, x = ADD(g, "x", FT_INPUT, symbol(g, "N"), symbol(g, "length"), FT_DIM_UNKNOWN),
                    y = op(g, "Relu", x, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 2, .open_size = 7}, &bound, &error), FT_OK);
    check_shape(bound, y, "2x7x7");
    ft_graph_free(bound);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.open_size = -1}, &bound, &error), FT_OK);
    assert_int_equal(bound->tensors[y].rank, -1);
    ft_graph_free(bound);
    ft_shape_binding shape = {.name = "x", .rank = 3, .dims = {1, 2, 3}};
    ft_open_dim dim;
    assert_int_equal(ft_graph_open_dims(g, &(ft_binding){.shapes = &shape, .shape_count = 1}, &dim, 1, &count, &error),
                     FT_OK);
    assert_int_equal(count, 0);
    ft_graph_free(g);
}

static void unknown_names_list_inputs_and_symbols(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "ids", FT_INPUT, symbol(g, "N"), symbol(g, "length"), 8);
    finish(g, op(g, "Relu", x, FT_NONE));
    ft_shape_binding shape = {.name = "lenght", .rank = 1, .dims = {3}};
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.shapes = &shape, .shape_count = 1}, &bound, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "the model has no input or symbol named 'lenght'; inputs: ids (Nxlengthx8); "
                                       "symbols: N, length");
    ft_graph_free(g);
}

static void wrong_bindings_are_refused(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    int64_t n = symbol(g, "N");
    uint32_t a = ADD(g, "a", FT_INPUT, n, 4), b = ADD(g, "b", FT_INPUT, n, 4);
    finish(g, op(g, "Add", a, b));
    ft_shape_binding shapes[] = {{.name = "a", .rank = 2, .dims = {2, 4}}, {.name = "b", .rank = 2, .dims = {3, 4}}};
    ft_binding binding = {.shapes = shapes, .shape_count = 2};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_ERR_USAGE); /* N is 2 and 3 */
    shapes[0] = (ft_shape_binding){.name = "missing", .rank = 2, .dims = {2, 4}};
    binding.shape_count = 1;
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'missing'"));
    shapes[0] = (ft_shape_binding){.name = "a", .rank = 3, .dims = {2, 4, 4}};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_ERR_USAGE);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = -1}, &bound, &error), FT_ERR_USAGE);
    ft_graph_free(g);
}

/* A size of 0 may leave something to compute, as a cache that is still empty does, or nothing. */
static void sizes_of_zero_must_leave_something(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    int64_t past = symbol(g, "past"), seq = symbol(g, "seq");
    uint32_t a = ADD(g, "a", FT_INPUT, seq, 4), b = ADD(g, "b", FT_INPUT, past, 4);
    uint32_t joined = op(g, "Concat", b, a);
    ft_attr axis;
    assert_int_equal(graph_attr_int(g, &axis, "axis", 0, &error), FT_OK);
    g->ops[0].attrs = &axis;
    g->ops[0].attr_count = 1;
    finish(g, joined);
    ft_shape_binding shapes[] = {{.name = "past", .rank = 1, .dims = {0}}, {.name = "seq", .rank = 1, .dims = {3}}};
    ft_binding binding = {.shapes = shapes, .shape_count = 2};
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_OK);
    check_shape(bound, joined, "3x4");
    ft_graph_free(bound);
    shapes[1].dims[0] = 0;
    assert_int_equal(ft_graph_bind(g, &binding, &bound, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'past' has a size of 0"));
    ft_graph_free(g);
}

/* A symbol with a size in the file has it until it is bound. */
static void exported_sizes_are_the_default(void **state) {
    (void)state;
    static const int64_t batches[] = {0, 1, 6};
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        ft_graph *g = new_graph(), *bound = NULL;
        ft_error error;
        int64_t n = symbol(g, "batch"), width = symbol(g, "width");
        assert_int_equal(graph_exported_size(g, n), 0);
        assert_int_equal(graph_set_exported_size(g, n, 3, &error), FT_OK);
        assert_int_equal(graph_set_exported_size(g, width, 7, &error), FT_OK);
        assert_int_equal(graph_exported_size(g, n), 3);
        assert_int_equal(graph_exported_size(g, 12), 0);
        assert_int_equal(graph_exported_size(g, FT_DIM_UNKNOWN), 0);
        uint32_t x = ADD(g, "x", FT_INPUT, n, width), y = op(g, "Relu", x, FT_NONE);
        finish(g, y);
        assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = batches[i]}, &bound, &error), FT_OK);
        assert_false(ft_graph_is_scaled(bound));
        check_shape(bound, y, batches[i] == 0 ? "3x7" : batches[i] == 1 ? "1x7" : "6x7");
        ft_graph_free(bound);
        ft_graph_free(g);
    }
}

/* x 1x197x768 -> Reshape to the constant 1x197x12x64: the batch is fixed. */
static void a_fixed_batch_is_scaled(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 1, 197, 768), w = ADD(g, "w", FT_CONSTANT, 768);
    uint32_t shape = add_ints(g, 4, (int64_t[]){1, 197, 12, 64});
    uint32_t sum = op(g, "Add", x, w), heads = op(g, "Reshape", sum, shape);
    finish(g, heads);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 8}, &bound, &error), FT_OK);
    assert_true(ft_graph_is_scaled(bound));
    assert_int_equal(ft_graph_batch(bound), 8);
    assert_int_equal(ft_graph_exported_batch(bound), 1);
    check_shape(bound, heads, "1x197x12x64");
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[heads]), 8 * 197 * 768);
    assert_int_equal(ft_tensor_bytes(bound, &bound->tensors[x]), 4 * 8 * 197 * 768);
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[w]), 768);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* Inputs grow with the batch when they have its symbol, on any axis, or its size on the axis of the batch. */
static void inputs_without_the_batch_do_not_grow(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    int64_t n = symbol(g, "N");
    uint32_t x = ADD(g, "x", FT_INPUT, n, 8), mask = ADD(g, "mask", FT_INPUT, 8, 8),
             ids = ADD(g, "ids", FT_INPUT, 4, n);
    uint32_t one = ADD(g, "one", FT_INPUT, 1, 8);
    uint32_t y = op(g, "MatMul", op(g, "Add", x, one), op(g, "Relu", mask, FT_NONE)), z = op(g, "Relu", ids, FT_NONE);
    assert_int_equal(graph_add_output(g, z, &error), FT_OK);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 3}, &bound, &error), FT_OK);
    assert_true(bound->tensors[x].is_batched);
    assert_false(bound->tensors[mask].is_batched);
    assert_true(bound->tensors[ids].is_batched);
    check_shape(bound, z, "4x3");
    for (uint32_t i = 0; i < bound->tensor_count; i++)
        assert_int_equal(tensor_elems(bound, &bound->tensors[i]), ft_tensor_elems(bound, &bound->tensors[i]));
    assert_int_equal(tensor_elems(bound, &bound->tensors[x]), 24);
    assert_int_equal(tensor_elems(bound, &bound->tensors[mask]), 64);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* The same with a symbolic batch: the constant fixes it, and the graph is scaled. */
static void a_symbolic_batch_fixed_by_a_constant_is_scaled(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, symbol(g, "N"), 6), shape = add_ints(g, 3, (int64_t[]){1, 2, 3});
    uint32_t y = op(g, "Reshape", x, shape);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 5}, &bound, &error), FT_OK);
    assert_true(ft_graph_is_scaled(bound));
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[y]), 30);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* Tensors that depend only on constants do not grow with the batch, and cost nothing at run time. */
static void constants_do_not_grow(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 2, 8), table = ADD(g, "table", FT_CONSTANT, 8, 8);
    uint32_t turned = op(g, "Transpose", table, FT_NONE), y = op(g, "MatMul", x, turned);
    uint32_t noise = op(g, "RandomNormalLike", table, FT_NONE), z = op(g, "MatMul", y, noise);
    finish(g, z);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 3}, &bound, &error), FT_OK);
    assert_true(bound->ops[bound->tensors[turned].producer].is_folded);
    assert_false(bound->ops[bound->tensors[noise].producer].is_folded);
    assert_false(bound->tensors[turned].is_batched);
    assert_true(bound->tensors[y].is_batched);
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[turned]), 64);
    assert_int_equal(ft_tensor_elems(bound, &bound->tensors[y]), 24); /* 16 elements at batch 2, so 24 at 3 */
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* Shape -> Gather -> Concat -> Reshape, as exporters write x.view(x.size(0), -1). */
/* The operator that makes a tensor. */
static const ft_op *maker(const ft_graph *g, uint32_t tensor) {
    return &g->ops[g->tensors[tensor].producer];
}

/* Operators that no output needs do not run, whatever reads their results; neither do they count as readers. */
static void unused_operators_are_dropped(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 2, 8), w = ADD(g, "w", FT_CONSTANT, 8, 8);
    uint32_t a = op(g, "Relu", x, FT_NONE), dead = op(g, "MatMul", a, w), deader = op(g, "Relu", dead, FT_NONE);
    uint32_t shape = op(g, "Shape", dead, FT_NONE);
    uint32_t y = op(g, "Sigmoid", a, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_true(maker(bound, dead)->is_unused && maker(bound, dead)->is_folded);
    assert_true(maker(bound, deader)->is_unused);
    assert_true(maker(bound, shape)->is_folded && !maker(bound, shape)->is_unused); /* it has a value */
    assert_false(maker(bound, a)->is_folded || maker(bound, y)->is_folded);
    assert_int_equal(bound->tensors[a].use_count, 1);
    assert_ptr_equal(&bound->ops[bound->tensors[a].uses[0]], maker(bound, y));
    assert_int_equal(bound->tensors[w].use_count, 0);
    assert_int_equal(g->tensors[a].use_count, 2); /* the graph itself stays as it was */
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* A value that a loop carries to its next trip has no reader in the graph, and an operator without outputs may print or
 * assign. */
static void operators_with_effects_are_kept(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 2, 8), loop;
    assert_int_equal(graph_add_loop(g, &(graph_loop){.trip_tensor = FT_NONE, .scan_tensor = FT_NONE}, &loop, &error),
                     FT_OK);
    uint32_t carried = op(g, "Relu", x, FT_NONE);
    g->ops[0].loop = loop;
    uint32_t printed = op(g, "Abs", x, FT_NONE);
    ft_op print = {.name = "p", .type = "Print", .inputs = &printed, .input_count = 1};
    assert_int_equal(graph_add_op(g, &print, &error), FT_OK);
    uint32_t y = op(g, "Sigmoid", x, FT_NONE);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    for (uint32_t i = 0; i < bound->op_count; i++) assert_false(bound->ops[i].is_unused || bound->ops[i].is_folded);
    assert_false(maker(bound, carried)->is_unused);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void computed_shapes_are_folded(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, symbol(g, "N"), 4, 5), rest = add_ints(g, 1, (int64_t[]){-1});
    uint32_t size = op(g, "Shape", x, FT_NONE), first = op(g, "Gather", size, add_ints(g, 1, (int64_t[]){0}));
    uint32_t target = op(g, "Concat", first, rest), y = op(g, "Reshape", x, target);
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.batch = 7}, &bound, &error), FT_OK);
    check_shape(bound, y, "7x20");
    assert_true(bound->ops[bound->tensors[target].producer].is_folded);
    assert_false(bound->ops[bound->tensors[y].producer].is_folded);
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* Declared shapes are used where no rule infers them, until an input gets another shape. */
static void declared_shapes_are_a_fallback(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 1, 8), y = op(g, "UnknownOperator", x, FT_NONE);
    g->tensors[y].rank = 2;
    g->tensors[y].dims[0] = 1;
    g->tensors[y].dims[1] = 99;
    finish(g, y);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    check_shape(bound, y, "1x99");
    ft_graph_free(bound);
    ft_shape_binding wider = {.name = "x", .rank = 2, .dims = {1, 16}};
    assert_int_equal(ft_graph_bind(g, &(ft_binding){.shapes = &wider, .shape_count = 1}, &bound, &error), FT_OK);
    check_shape(bound, y, "?");
    ft_graph_free(bound);
    ft_graph_free(g);
}

/* A loop of 5 trips inside a scan over 7 rows. */
static void loops_multiply(void **state) {
    (void)state;
    ft_graph *g = new_graph(), *bound = NULL;
    ft_error error;
    uint32_t x = ADD(g, "x", FT_INPUT, 7, 4), trips = add_ints(g, 1, (int64_t[]){5}), outer, inner;
    graph_loop walk = {.trip_tensor = FT_NONE, .scan_tensor = x, .scan_axis = 0};
    assert_int_equal(graph_add_loop(g, &walk, &outer, &error), FT_OK);
    graph_loop again = {.parent = outer, .trip_tensor = trips, .scan_tensor = FT_NONE};
    assert_int_equal(graph_add_loop(g, &again, &inner, &error), FT_OK);
    uint32_t y = op(g, "Relu", x, FT_NONE), z = op(g, "Relu", y, FT_NONE);
    g->ops[0].loop = outer;
    g->ops[1].loop = inner;
    finish(g, z);
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_int_equal(bound->ops[0].repeats, 7);
    assert_int_equal(bound->ops[1].repeats, 35);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void shapes_on_the_command_line(void **state) {
    (void)state;
    ft_shape_binding shape;
    ft_error error;
    char name[16];
    assert_int_equal(ft_shape_binding_parse("input=1x3x224x224", name, sizeof name, &shape, &error), FT_OK);
    assert_string_equal(shape.name, "input");
    assert_int_equal(shape.rank, 4);
    assert_int_equal(shape.dims[3], 224);
    assert_int_equal(ft_shape_binding_parse("a=b=7", name, sizeof name, &shape, &error), FT_OK);
    assert_string_equal(shape.name, "a=b");
    const char *bad[] = {"",
                         "x",
                         "=1x2",
                         "x=",
                         "x=1x",
                         "x=axb",
                         "x=1x-2",
                         "x=1 x2",
                         "x=1x2y",
                         "x=99999999999999",
                         "x=1x2x3x4x5x6x7x8x9",
                         "a_name_longer_than_it_may_be=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(ft_shape_binding_parse(bad[i], name, sizeof name, &shape, &error), FT_ERR_USAGE);
}

/* Drops the declared shapes of activations, binds, and counts inferred shapes and types that differ from them. */
static uint64_t count_differences(const char *path, uint64_t *checked) {
    ft_graph *g = NULL, *bound = NULL;
    ft_error error;
    if (ft_graph_read(path, &g, &error) != FT_OK) fail_msg("%s", error.message);
    ft_tensor *declared = malloc(g->tensor_count * sizeof *declared);
    assert_non_null(declared);
    memcpy(declared, g->tensors, g->tensor_count * sizeof *declared);
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        if (g->tensors[i].role != FT_ACTIVATION) continue;
        g->tensors[i].rank = -1;
        g->tensors[i].dtype = FT_DTYPE_UNKNOWN;
    }
    if (ft_graph_bind(g, NULL, &bound, &error) != FT_OK) fail_msg("%s: %s", path, error.message);
    uint64_t differences = 0;
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        const ft_tensor *d = &declared[i], *t = &bound->tensors[i];
        if (d->role != FT_ACTIVATION || d->rank < 0) continue;
        *checked += 1;
        if (d->rank != t->rank || d->dtype != t->dtype ||
            memcmp(d->dims, t->dims, (size_t)d->rank * sizeof d->dims[0]) != 0)
            differences++;
    }
    free(declared);
    ft_graph_free(bound);
    ft_graph_free(g);
    return differences;
}

static void files_without_value_info_work(void **state) {
    (void)state;
    glob_t files;
    if (glob("../shared/data/timm/graphs/*.onnx.gz", 0, NULL, &files) != 0) {
        print_message("no ../shared/data/timm: not compared with real models\n");
        skip();
    }
    uint64_t checked = 0, differences = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) differences += count_differences(files.gl_pathv[i], &checked);
    globfree(&files);
    assert_int_equal(differences, 0);
    assert_true(checked > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbolic_batch_takes_any_value),
        cmocka_unit_test(other_symbols_need_a_value),
        cmocka_unit_test(a_symbol_called_batch_is_the_batch),
        cmocka_unit_test(a_single_image_is_a_batch_of_one),
        cmocka_unit_test(all_symbols_without_a_value_are_listed),
        cmocka_unit_test(inputs_without_names_of_dimensions_are_listed_whole),
        cmocka_unit_test(open_dimensions_take_a_size_or_stay_unknown),
        cmocka_unit_test(unknown_names_list_inputs_and_symbols),
        cmocka_unit_test(wrong_bindings_are_refused),
        cmocka_unit_test(sizes_of_zero_must_leave_something),
        cmocka_unit_test(exported_sizes_are_the_default),
        cmocka_unit_test(a_fixed_batch_is_scaled),
        cmocka_unit_test(a_symbolic_batch_fixed_by_a_constant_is_scaled),
        cmocka_unit_test(inputs_without_the_batch_do_not_grow),
        cmocka_unit_test(constants_do_not_grow),
        cmocka_unit_test(unused_operators_are_dropped),
        cmocka_unit_test(operators_with_effects_are_kept),
        cmocka_unit_test(computed_shapes_are_folded),
        cmocka_unit_test(declared_shapes_are_a_fallback),
        cmocka_unit_test(loops_multiply),
        cmocka_unit_test(shapes_on_the_command_line),
        cmocka_unit_test(files_without_value_info_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
