/* Views, types under autocast, and bytes of kernels, against values computed by hand from PyTorch's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/torch/torch_walk.h"
#include "support/growth.h"
#include "support/toy.h"

enum { MAX_OPS = 8 };

/* A graph, its kernels, and the pass over it. */
typedef struct scene {
    ft_graph *graph;
    uint32_t ops[MAX_OPS], kernel_of_op[MAX_OPS];
    bool is_free[MAX_OPS];
    ft_kernel items[MAX_OPS];
    ft_kernels kernels;
    arena memory;
    torch_walk walk;
} scene;

static void scene_open(scene *s) {
    *s = (scene){.graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW)};
    arena_init(&s->memory, 1 << 20);
}

static void scene_close(scene *s) {
    arena_free(&s->memory);
    ft_graph_free(s->graph);
}

/* Ends the graph. Each operator is a kernel, but the last `fused` ones are one kernel, whose root is the first of it.
 */
static void scene_walk(scene *s, uint32_t output, uint32_t fused) {
    toy_finish(s->graph, output, 1, 1);
    uint32_t count = s->graph->op_count, first = count - fused;
    assert_true(count <= MAX_OPS);
    for (uint32_t i = 0; i < count; i++) {
        s->ops[i] = i;
        s->kernel_of_op[i] = i < first ? i : first;
        s->items[s->kernel_of_op[i]].op_count++;
    }
    for (uint32_t i = 0; i <= first && i < count; i++) {
        s->items[i].root = i;
        s->items[i].ops = &s->ops[i];
    }
    s->kernels = (ft_kernels){.items = s->items,
                              .count = fused > 0 ? first + 1 : count,
                              .kernel_of_op = s->kernel_of_op,
                              .is_free = s->is_free};
    assert_int_equal(torch_walk_begin(s->graph, &s->kernels, &s->memory, &s->walk, NULL), FT_OK);
}

static torch_kernel bytes_of(scene *s, uint32_t kernel) {
    torch_kernel k = {0};
    torch_walk_add_bytes(&s->walk, kernel, &k);
    return k;
}

/* --- Views --------------------------------------------------------------------------------------------------- */

static uint32_t value_of(ft_graph *g, const int64_t *dims) {
    uint32_t id = toy_value(g, 1);
    ft_tensor *t = &g->tensors[id];
    for (t->rank = 0; dims[t->rank] > 0; t->rank++) t->dims[t->rank] = dims[t->rank];
    return id;
}

typedef struct view_case {
    int64_t from[5], order[5], to[5]; /* end with 0; orders have the rank of `from` */
    bool is_view;
} view_case;

static const view_case view_cases[] = {
    {{2, 3, 4}, {0, 1, 2}, {24}, true}, /* not permuted: any shape */
    {{2, 3, 4}, {0, 1, 2}, {4, 6}, true},
    {{1, 49, 8}, {0, 2, 1}, {1, 8, 7, 7}, true}, /* tokens to a map: 49 is split */
    {{1, 49, 8}, {0, 2, 1}, {1, 392}, false},    /* merges 8 (stride 1) and 49 (stride 8) */
    {{1, 49, 8}, {0, 2, 1}, {8, 49}, true},
    {{1, 49, 8}, {0, 2, 1}, {1, 4, 2, 49}, true},
    {{1, 49, 8}, {0, 2, 1}, {1, 16, 49}, false}, /* 8 is no multiple of 16 */
    {{2, 3, 4}, {1, 0, 2}, {3, 8}, false},       /* merges 2 (stride 12) and 4 (stride 1) */
    {{2, 3, 4}, {1, 0, 2}, {3, 2, 2, 2}, true},
    {{2, 3, 4}, {0, 2, 1}, {8, 3}, false}, /* merges 2 (stride 12) and 4 (stride 1) */
    {{2, 3, 4}, {2, 0, 1}, {4, 6}, true},  /* 2 and 3 stay contiguous: strides 12 and 4 */
    {{2, 3, 4}, {2, 0, 1}, {8, 3}, false},
    {{2, 3, 4, 5}, {2, 3, 0, 1}, {20, 6}, true}, /* two runs of two */
    {{2, 3, 4, 5}, {2, 3, 0, 1}, {4, 5, 6}, true},
    {{2, 3, 4, 5}, {2, 3, 0, 1}, {40, 3}, false},
    {{2, 3, 4, 5}, {2, 3, 0, 1}, {120}, false},
    {{1, 5, 1, 4}, {0, 3, 2, 1}, {4, 5}, true}, /* dimensions of 1 do not matter */
    {{1, 5, 1, 4}, {0, 3, 2, 1}, {1, 4, 1, 5}, true},
    {{1, 5, 1, 4}, {0, 3, 2, 1}, {20}, false},
    {{2, 3}, {1, 0}, {1, 3, 2, 1}, true},
    {{2, 6}, {1, 0}, {2, 3, 2}, true},
    {{2, 6}, {1, 0}, {3, 4}, false},
    {{2, 6}, {1, 2}, {6, 2}, false}, /* no permutation: an index is out of range */
    {{2, 6}, {-1, 0}, {6, 2}, false},
};

static bool is_view(const view_case *c, const char *first_op) {
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t rank = 0;
    int64_t permuted[5] = {0};
    while (c->from[rank] > 0) rank++;
    for (uint32_t i = 0; i < rank; i++) {
        bool is_index = c->order[i] >= 0 && c->order[i] < rank;
        permuted[i] = c->from[is_index ? c->order[i] : (int64_t)i];
    }
    uint32_t x = value_of(g, c->from);
    g->tensors[x].role = FT_INPUT;
    uint32_t turned = toy_op(g, first_op, x, FT_NONE, FT_NONE, value_of(g, permuted));
    ft_attr perm;
    assert_int_equal(graph_attr_ints(g, &perm, "perm", c->order, rank, NULL), FT_OK);
    toy_attrs(g, &perm, 1);
    uint32_t shape = toy_weight(g, 4);
    scene_walk(&s, toy_op(g, "Reshape", turned, shape, FT_NONE, value_of(g, c->to)), 0);
    bool found = s.walk.is_view[1];
    assert_int_equal(s.walk.is_view[0], found); /* the transposition and the reshape, or neither */
    assert_int_equal(torch_walk_is_free(&s.walk, 1), found);
    scene_close(&s);
    return found;
}

static void reshapes_of_transposed_tensors_are_views_where_strides_allow(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof view_cases / sizeof view_cases[0]; i++)
        if (is_view(&view_cases[i], "Transpose") != view_cases[i].is_view) fail_msg("view case %zu", i);
    assert_false(is_view(&view_cases[2], "Relu")); /* only a transposition is undone */
}

static void free_operators_launch_nothing(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    uint32_t y = toy_op(s.graph, "Relu", toy_input(s.graph, 1, 4), FT_NONE, FT_NONE, toy_value(s.graph, 1, 4));
    s.is_free[1] = true;
    scene_walk(&s, toy_op(s.graph, "Identity", y, FT_NONE, FT_NONE, toy_value(s.graph, 1, 4)), 0);
    assert_false(torch_walk_is_free(&s.walk, 0));
    assert_true(torch_walk_is_free(&s.walk, 1));
    s.kernels.is_free = NULL;
    assert_false(torch_walk_is_free(&s.walk, 1));
    scene_close(&s);
}

/* --- Types --------------------------------------------------------------------------------------------------- */

/* Whether the output of an operator is float32 under autocast, on an input of 16 bits (the output of a convolution) or
 * of 32. `other` is a second input: 0 none, 'n' narrow, 'w' wide, 'p' a parameter of 8 elements, 's' a scalar. */
static bool is_wide(const char *type, bool from_wide, char other) {
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t x = toy_input(g, 1, 8, 2, 2), w = toy_weight(g, 8, 8, 1, 1);
    uint32_t narrow = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, 8, 2, 2));
    uint32_t second = FT_NONE;
    if (other == 'n') second = narrow;
    if (other == 'w') second = x;
    if (other == 'p') second = toy_weight(g, 8);
    if (other == 's') second = toy_weight(g, 1);
    uint32_t y = toy_op(g, type, from_wide ? x : narrow, second, FT_NONE, toy_value(g, 1, 8, 2, 2));
    scene_walk(&s, y, 0);
    assert_false(s.walk.is_wide[narrow]);
    assert_true(s.walk.is_wide[x] && s.walk.is_wide[w]);
    bool found = s.walk.is_wide[y];
    scene_close(&s);
    return found;
}

static void types_follow_the_lists_of_autocast(void **state) {
    (void)state;
    /* Products run in 16 bits, whatever they read. */
    assert_false(is_wide("Conv", true, 'p') || is_wide("MatMul", true, 'w') || is_wide("MatMul", false, 'w'));
    /* Always float32. */
    static const char *const wide[] = {
        "LayerNormalization", "InstanceNormalization", "Softplus", "Pow", "Reciprocal", "Exp", "Log", "ReduceSum"};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (!is_wide(wide[i], false, 0)) fail_msg("%s is narrow", wide[i]);
    /* The type of the first input. */
    static const char *const first[] = {"BatchNormalization", "Relu", "Sigmoid", "MaxPool", "ReduceMean"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        if (is_wide(first[i], false, 'w')) fail_msg("%s widens", first[i]);
        if (!is_wide(first[i], true, 0)) fail_msg("%s narrows", first[i]);
    }
    /* The widest input; a scalar does not widen, a parameter does. */
    static const char *const promote[] = {"Add", "Mul", "Concat"};
    for (size_t i = 0; i < sizeof promote / sizeof promote[0]; i++) {
        assert_false(is_wide(promote[i], false, 'n'));
        assert_true(is_wide(promote[i], false, 'w'));
        assert_true(is_wide(promote[i], true, 'n'));
        assert_true(is_wide(promote[i], false, 'p'));
        assert_false(is_wide(promote[i], false, 's'));
    }
}

/* A bias that is fused with its product does not widen the result; an addition of its own does. */
static void fused_biases_stay_narrow(void **state) {
    (void)state;
    for (uint32_t fused = 0; fused <= 2; fused += 2) {
        scene s;
        scene_open(&s);
        ft_graph *g = s.graph;
        uint32_t x = toy_input(g, 4, 8), w = toy_weight(g, 8, 8), bias = toy_weight(g, 8);
        uint32_t y = toy_op(g, "MatMul", x, w, FT_NONE, toy_value(g, 4, 8));
        uint32_t z = toy_op(g, "Add", y, bias, FT_NONE, toy_value(g, 4, 8));
        scene_walk(&s, z, fused);
        assert_int_equal(s.walk.is_wide[z], fused == 0);
        scene_close(&s);
    }
}

static void folded_operators_are_wide(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t x = toy_input(g, 1, 8, 2, 2), w = toy_weight(g, 8, 8, 1, 1);
    uint32_t made = toy_op(g, "Conv", w, w, FT_NONE, toy_value(g, 8, 8, 1, 1));
    g->ops[0].is_folded = true;
    scene_walk(&s, toy_op(g, "Conv", x, made, FT_NONE, toy_value(g, 1, 8, 2, 2)), 0);
    assert_true(s.walk.is_wide[made]);
    torch_kernel k = bytes_of(&s, 1);
    assert_true(k.made == 64 && k.weights == 0 && k.read32 == 32 && k.cast == 32 && k.inputs == 1);
    scene_close(&s);
}

/* --- Bytes --------------------------------------------------------------------------------------------------- */

/* Kernels: a convolution (0), and a relu fused with an addition of its input (1). */
static void kernels_read_and_write_each_tensor_once(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t x = toy_input(g, 1, 8, 2, 2), w = toy_weight(g, 4, 8, 1, 1);
    uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, 4, 2, 2));
    uint32_t r = toy_op(g, "Relu", y, FT_NONE, FT_NONE, toy_value(g, 1, 4, 2, 2));
    uint32_t z = toy_op(g, "Add", r, y, FT_NONE, toy_value(g, 1, 4, 2, 2));
    scene_walk(&s, z, 2);
    torch_kernel conv = bytes_of(&s, 0), rest = bytes_of(&s, 1);
    assert_true(conv.read32 == 32 && conv.read16 == 0 && conv.cast == 32 && conv.weights == 32 && conv.inputs == 1);
    assert_true(conv.write16 == 16 && conv.write32 == 0);
    assert_true(rest.read16 == 16 && rest.read32 == 0 && rest.inputs == 1); /* y once, r never leaves the kernel */
    assert_true(rest.write16 == 16 && rest.write32 == 0 && rest.cast == 0 && rest.weights == 0);
    scene_close(&s);
}

/* A norm casts a narrow input, a product a wide one; operators that promote cast nothing. */
static void inputs_of_another_type_are_cast(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t x = toy_input(g, 1, 8, 2, 2), w = toy_weight(g, 8, 8, 1, 1), gain = toy_weight(g, 2);
    uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 1, 8, 2, 2));
    uint32_t n = toy_op(g, "LayerNormalization", y, gain, FT_NONE, toy_value(g, 1, 8, 2, 2));
    uint32_t z = toy_op(g, "Conv", n, w, FT_NONE, toy_value(g, 1, 8, 2, 2));
    scene_walk(&s, toy_op(g, "Add", z, n, FT_NONE, toy_value(g, 1, 8, 2, 2)), 0);
    torch_kernel norm = bytes_of(&s, 1), conv = bytes_of(&s, 2), add = bytes_of(&s, 3);
    assert_true(norm.read16 == 32 && norm.cast == 32 && norm.write32 == 32 && norm.weights == 2);
    assert_true(conv.read32 == 32 && conv.cast == 32 && conv.write16 == 32);
    assert_true(add.read16 == 32 && add.read32 == 32 && add.cast == 0 && add.inputs == 2 && add.write32 == 32);
    scene_close(&s);
}

/* Views are read where their source is: as many elements as the smaller of both, strided behind a transposition. */
static void views_are_read_at_their_source(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t x = toy_input(g, 1, 4, 6);
    uint32_t y = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, 4, 6));
    uint32_t part = toy_op(g, "Slice", y, FT_NONE, FT_NONE, toy_value(g, 1, 4, 2));
    uint32_t turned = toy_op(g, "Transpose", part, FT_NONE, FT_NONE, toy_value(g, 1, 2, 4));
    uint32_t wide = toy_op(g, "Expand", turned, FT_NONE, FT_NONE, toy_value(g, 3, 2, 4));
    s.is_free[1] = s.is_free[2] = s.is_free[3] = true;
    uint32_t a = toy_op(g, "Relu", turned, FT_NONE, FT_NONE, toy_value(g, 1, 2, 4));
    toy_op(g, "Relu", wide, FT_NONE, FT_NONE, toy_value(g, 3, 2, 4));
    scene_walk(&s, a, 0);
    torch_kernel first = bytes_of(&s, 0), sliced = bytes_of(&s, 4), expanded = bytes_of(&s, 5), view = bytes_of(&s, 2);
    assert_true(first.write32 == 24 && !first.is_strided); /* read by others through the views only */
    assert_true(sliced.read32 == 8 && sliced.is_strided && sliced.inputs == 1 && sliced.write32 == 8);
    assert_true(expanded.read32 == 24 && expanded.is_strided);
    assert_true(view.read32 == 0 && view.write32 == 0);
    assert_true(expanded.write32 == 0); /* nothing reads its result */
    scene_close(&s);
}

/* Indices are no activations; tensors without a batch count as weights, read and written. */
static void integers_and_unbatched_tensors_are_not_activations(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t table = toy_weight(g, 10, 4), scale = toy_weight(g, 10, 4);
    uint32_t ids = toy_tensor(g, FT_INPUT, FT_INT64, 1, 3, TOY_END);
    uint32_t scaled = toy_op(g, "Mul", table, scale, FT_NONE, toy_value(g, 10, 4));
    uint32_t y = toy_op(g, "Gather", scaled, ids, FT_NONE, toy_value(g, 1, 3, 4));
    scene_walk(&s, y, 0);
    g->tensors[scaled].is_batched = false;
    torch_kernel mul = bytes_of(&s, 0), gather = bytes_of(&s, 1);
    assert_true(mul.weights == 40 + 40 + 40 && mul.read32 == 0 && mul.write32 == 0 && mul.inputs == 0);
    assert_true(gather.weights == 40 && gather.read32 == 0 && gather.inputs == 0 && gather.write32 == 12);
    scene_close(&s);
}

static double read_many(void *user, uint32_t size) {
    (void)user;
    scene s;
    scene_open(&s);
    ft_graph *g = s.graph;
    uint32_t *inputs = calloc(size, sizeof *inputs), output = toy_value(g, 1, 4);
    assert_non_null(inputs);
    for (uint32_t i = 0; i < size; i++) inputs[i] = toy_input(g, 1, 4);
    toy_op_full(g, &(ft_op){.name = "sum",
                            .type = "Sum",
                            .inputs = inputs,
                            .input_count = size,
                            .outputs = &output,
                            .output_count = 1});
    scene_walk(&s, output, 0);
    double started = growth_clock();
    torch_kernel k = bytes_of(&s, 0);
    double seconds = growth_clock() - started;
    assert_true(k.inputs == size && k.read32 == 4.0 * size);
    free(inputs);
    scene_close(&s);
    return seconds;
}

static void an_operator_with_many_inputs_takes_time_in_proportion(void **state) {
    (void)state;
    assert_true(growth_ratio(read_many, NULL, 5000, 8) <= 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reshapes_of_transposed_tensors_are_views_where_strides_allow),
                                       cmocka_unit_test(free_operators_launch_nothing),
                                       cmocka_unit_test(types_follow_the_lists_of_autocast),
                                       cmocka_unit_test(fused_biases_stay_narrow),
                                       cmocka_unit_test(folded_operators_are_wide),
                                       cmocka_unit_test(kernels_read_and_write_each_tensor_once),
                                       cmocka_unit_test(inputs_of_another_type_are_cast),
                                       cmocka_unit_test(views_are_read_at_their_source),
                                       cmocka_unit_test(integers_and_unbatched_tensors_are_not_activations),
                                       cmocka_unit_test(an_operator_with_many_inputs_takes_time_in_proportion)};
    return cmocka_run_group_tests_name("predictor/torch_walk", tests, NULL, NULL);
}
