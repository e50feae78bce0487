/* Whole steps of small models: work of each operator in each direction, and memory after each.
 *
 * tests/cost/steps.txt lists them, to notice any change; the other tests of this folder check values by hand. After a
 * wanted change, review $BUILD/cost-steps.txt and copy it over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "support/synth_data.h"
#include "support/toy.h"

#define U(x) ((unsigned long long)(x))

static ft_graph *g;

static uint32_t op(const char *type, uint32_t a, uint32_t b, uint32_t c, uint32_t out) {
    return toy_op(g, type, a, b, c, out);
}

static uint32_t one(const char *type, uint32_t a, uint32_t out) {
    return toy_op(g, type, a, FT_NONE, FT_NONE, out);
}

/* Embedding, two layers of attention (the second with a bias and a mask), norms, GELU, and a tied output. */
static uint32_t transformer(void) {
    uint32_t ids = toy_tensor(g, FT_INPUT, FT_INT64, 2, 10, TOY_END), table = toy_weight(g, 100, 16);
    uint32_t x = op("Gather", table, ids, FT_NONE, toy_value(g, 2, 10, 16));
    x = op("Add", x, toy_weight(g, 1, 10, 16), FT_NONE, toy_value(g, 2, 10, 16));
    for (int i = 0; i < 2; i++) {
        uint32_t n = op("LayerNormalization", x, toy_weight(g, 16), toy_weight(g, 16), toy_value(g, 2, 10, 16));
        uint32_t heads[3];
        for (int k = 0; k < 3; k++) {
            uint32_t p = op("MatMul", n, toy_weight(g, 16, 16), FT_NONE, toy_value(g, 2, 10, 16));
            p = op("Add", p, toy_weight(g, 16), FT_NONE, toy_value(g, 2, 10, 16));
            p = op("Reshape", p, toy_tensor(g, FT_CONSTANT, FT_INT64, 4, TOY_END), FT_NONE, toy_value(g, 2, 10, 4, 4));
            heads[k] = one("Transpose", p, toy_value(g, 2, 4, 10, 4));
        }
        uint32_t q = op("Mul", heads[0], toy_weight(g, 1), FT_NONE, toy_value(g, 2, 4, 10, 4));
        uint32_t s =
            op("MatMul", q, one("Transpose", heads[1], toy_value(g, 2, 4, 4, 10)), FT_NONE, toy_value(g, 2, 4, 10, 10));
        if (i == 1) s = op("Add", s, toy_weight(g, 1, 4, 10, 10), FT_NONE, toy_value(g, 2, 4, 10, 10));
        s = one("Dropout", one("Softmax", s, toy_value(g, 2, 4, 10, 10)), toy_value(g, 2, 4, 10, 10));
        uint32_t y = op("MatMul", s, heads[2], FT_NONE, toy_value(g, 2, 4, 10, 4));
        y = one("Transpose", y, toy_value(g, 2, 10, 4, 4));
        y = op("Reshape", y, toy_tensor(g, FT_CONSTANT, FT_INT64, 3, TOY_END), FT_NONE, toy_value(g, 2, 10, 16));
        x = op("Add", x, op("MatMul", y, toy_weight(g, 16, 16), FT_NONE, toy_value(g, 2, 10, 16)), FT_NONE,
               toy_value(g, 2, 10, 16));
        uint32_t f = op("MatMul", x, toy_weight(g, 16, 64), FT_NONE, toy_value(g, 2, 10, 64));
        uint32_t e =
            one("Erf", op("Div", f, toy_weight(g, 1), FT_NONE, toy_value(g, 2, 10, 64)), toy_value(g, 2, 10, 64));
        f = op("Mul", f, op("Add", e, toy_weight(g, 1), FT_NONE, toy_value(g, 2, 10, 64)), FT_NONE,
               toy_value(g, 2, 10, 64));
        x = op("Add", x, op("MatMul", f, toy_weight(g, 64, 16), FT_NONE, toy_value(g, 2, 10, 16)), FT_NONE,
               toy_value(g, 2, 10, 16));
    }
    uint32_t t = one("Transpose", table, toy_value(g, 16, 100));
    return op("MatMul", x, t, FT_NONE, toy_value(g, 2, 10, 100));
}

/* Convolutions with groups, norms, a squeeze, a concatenation, SiLU, and a way up. */
static uint32_t images(void) {
    uint32_t x = toy_input(g, 2, 3, 16, 16);
    x = op("Conv", x, toy_weight(g, 8, 3, 3, 3), toy_weight(g, 8), toy_value(g, 2, 8, 8, 8));
    uint32_t bn[5] = {x, toy_weight(g, 8), toy_weight(g, 8), toy_weight(g, 8), toy_weight(g, 8)},
             y = toy_value(g, 2, 8, 8, 8);
    toy_op_full(g, &(ft_op){.name = "",
                            .type = "BatchNormalization",
                            .inputs = bn,
                            .input_count = 5,
                            .outputs = &y,
                            .output_count = 1});
    x = one("Relu", y, toy_value(g, 2, 8, 8, 8));
    uint32_t d = op("Conv", x, toy_weight(g, 8, 1, 3, 3), FT_NONE, toy_value(g, 2, 8, 8, 8));
    ft_attr group = toy_int(g, "group", 8);
    toy_attrs(g, &group, 1);
    uint32_t s = op("Mul", d, one("Sigmoid", d, toy_value(g, 2, 8, 8, 8)), FT_NONE, toy_value(g, 2, 8, 8, 8));
    uint32_t q = one("GlobalAveragePool", s, toy_value(g, 2, 8, 1, 1));
    q = one("HardSigmoid", op("Conv", q, toy_weight(g, 8, 8, 1, 1), FT_NONE, toy_value(g, 2, 8, 1, 1)),
            toy_value(g, 2, 8, 1, 1));
    s = op("Mul", s, q, FT_NONE, toy_value(g, 2, 8, 8, 8));
    x = op("Add", x, s, FT_NONE, toy_value(g, 2, 8, 8, 8));
    uint32_t p = one("MaxPool", x, toy_value(g, 2, 8, 4, 4));
    ft_attr pool[] = {toy_ints(g, "kernel_shape", 2, 2), toy_ints(g, "strides", 2, 2)};
    toy_attrs(g, pool, 2);
    uint32_t u = op("ConvTranspose", p, toy_weight(g, 8, 4, 2, 2), FT_NONE, toy_value(g, 2, 4, 8, 8));
    uint32_t c = op("Concat", x, u, FT_NONE, toy_value(g, 2, 12, 8, 8));
    uint32_t r = op("Resize", c, FT_NONE, FT_NONE, toy_value(g, 2, 12, 16, 16));
    uint32_t pr = op("PRelu", r, toy_weight(g, 12, 1, 1), FT_NONE, toy_value(g, 2, 12, 16, 16));
    uint32_t f = one("Flatten", one("ReduceMean", pr, toy_value(g, 2, 12, 1, 1)), toy_value(g, 2, 12));
    f = op("Gemm", f, toy_weight(g, 12, 5), toy_weight(g, 5), toy_value(g, 2, 5));
    return one("LogSoftmax", f, toy_value(g, 2, 5));
}

/* A recurrent layer, an einsum, fused attention, comparisons, a slice, and an unknown operator. */
static uint32_t others(void) {
    uint32_t x = toy_input(g, 6, 2, 10);
    uint32_t h = op("LSTM", x, toy_weight(g, 1, 64, 10), toy_weight(g, 1, 64, 16), toy_value(g, 6, 1, 2, 16));
    h = op("Reshape", h, toy_tensor(g, FT_CONSTANT, FT_INT64, 3, TOY_END), FT_NONE, toy_value(g, 6, 2, 16));
    uint32_t e = op("Einsum", h, toy_weight(g, 16, 12), FT_NONE, toy_value(g, 6, 2, 12));
    ft_attr equation = {0};
    ft_error error;
    assert_int_equal(graph_attr_string(g, &equation, "equation", "tbi,io->tbo", &error), FT_OK);
    toy_attrs(g, &equation, 1);
    uint32_t a = op("MultiHeadAttention", e, e, e, toy_value(g, 6, 2, 12));
    ft_attr heads = toy_int(g, "num_heads", 3);
    toy_attrs(g, &heads, 1);
    uint32_t mask =
        op("Greater", a, toy_weight(g, 1), FT_NONE, toy_tensor(g, FT_ACTIVATION, FT_BOOL, 6, 2, 12, TOY_END));
    uint32_t w = op("Where", mask, a, e, toy_value(g, 6, 2, 12));
    uint32_t parts[] = {toy_value(g, 6, 2, 6), toy_value(g, 6, 2, 6)};
    toy_op_full(
        g, &(ft_op){.name = "", .type = "Split", .inputs = &w, .input_count = 1, .outputs = parts, .output_count = 2});
    uint32_t m = op("Sum", parts[0], parts[1], parts[0], toy_value(g, 6, 2, 6));
    uint32_t n = op("NoSuchOperator", m, FT_NONE, FT_NONE, toy_value(g, 6, 2, 6));
    uint32_t o = op("Slice", n, toy_tensor(g, FT_CONSTANT, FT_INT64, 3, TOY_END), FT_NONE, toy_value(g, 6, 2, 3));
    o = op("Pow", one("Tanh", o, toy_value(g, 6, 2, 3)), toy_weight(g, 1), FT_NONE, toy_value(g, 6, 2, 3));
    o = op("MatMul", o, toy_weight(g, 3, 4), FT_NONE, toy_value(g, 6, 2, 4));
    return one("ArgMax", o, toy_tensor(g, FT_ACTIVATION, FT_INT64, 6, 2, 1, TOY_END));
}

static void put_work(FILE *out, const char *name, const ft_work *w) {
    if (w->macs + w->flops + w->read_bytes + w->write_bytes == 0) return;
    fprintf(out, " %s %llu %llu %llu %llu", name, U(w->macs), U(w->flops), U(w->read_bytes), U(w->write_bytes));
}

static void put_live(void *user, ft_phase phase, uint32_t at, uint64_t live_bytes) {
    fprintf(user, " %d:%d=%llu", (int)phase, (int)at, U(live_bytes));
}

static void list_memory(FILE *out, const ft_graph *bound, const ft_cost_options *o) {
    ft_memory m;
    ft_error error;
    allocator_replay r;
    fprintf(out, " live");
    assert_int_equal(ft_memory_plan(bound, o, &m, put_live, out, &error), FT_OK);
    fprintf(out, "\n memory %llu %llu %llu %llu %llu %llu %llu %llu %llu %d %d\n", U(m.weight_bytes),
            U(m.gradient_bytes), U(m.optimizer_bytes), U(m.activation_bytes), U(m.activation_gradient_bytes),
            U(m.input_bytes), U(m.workspace_bytes), U(m.saved_bytes), U(m.peak_bytes), (int)m.peak_op,
            (int)m.peak_phase);
    for (uint64_t limit = UINT64_MAX; limit > 1 << 20; limit = limit == UINT64_MAX ? 40 << 20 : limit / 8) {
        assert_int_equal(allocator_replay_steps(bound, NULL, o, limit, &r, &error), FT_OK);
        fprintf(out, " allocator %llu %llu %d %llu\n", U(r.reserved_bytes), U(r.allocated_bytes), r.is_over,
                U(r.scores_bytes));
    }
}

static void list_cost(FILE *out, const ft_graph *bound, const ft_cost_options *o, bool has_ops) {
    ft_cost c;
    ft_error error;
    assert_int_equal(ft_cost_compute(bound, o, &c, &error), FT_OK);
    for (uint32_t i = 0; i <= c.op_count; i++) {
        const ft_op_cost *k = i < c.op_count ? &c.ops[i] : &c.total;
        if (i < c.op_count && !has_ops) continue;
        fprintf(out, " %s", i < c.op_count ? bound->ops[i].type : "total");
        put_work(out, "forward", &k->forward);
        put_work(out, "data", &k->backward_data);
        put_work(out, "weights", &k->backward_weights);
        fprintf(out, " params %llu %llu out %llu%s\n", U(k->params), U(k->param_bytes), U(k->activation_elems),
                k->is_estimated ? " estimated" : "");
    }
    put_work(out, "optimizer", &c.optimizer);
    fprintf(out, " tied %llu buffers %llu weights %llu outputs %llu coverage %.4f %.4f\n", U(c.tied_params),
            U(c.buffers), U(c.weight_bytes), U(c.conv_matmul_outputs), c.coverage_ratio, c.coverage_ops_ratio);
    ft_cost_free(&c);
}

static void list_options(FILE *out, const char *name, const ft_graph *bound) {
    ft_cost_options o = ft_cost_options_default();
    fprintf(out, "%s: inference\n", name);
    list_cost(out, bound, &o, true);
    list_memory(out, bound, &o);
    o.mode = FT_TRAIN;
    o.optimizer = FT_ADAM;
    fprintf(out, "%s: training\n", name);
    list_cost(out, bound, &o, true);
    list_memory(out, bound, &o);
    o.has_inplace = o.has_fused_attention = false;
    o.workspace_bytes = 5000;
    o.dtype = FT_FLOAT16;
    o.is_mixed = true;
    fprintf(out, "%s: training in half precision\n", name);
    list_cost(out, bound, &o, false);
    list_memory(out, bound, &o);
}

static void list_all(FILE *out) {
    static const struct {
        const char *name;
        uint32_t (*build)(void);
    } models[] = {{"transformer", transformer}, {"images", images}, {"others", others}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (int64_t batch = 1; batch <= 4; batch += 3) {
            char name[80];
            g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
            toy_finish(g, models[i].build(), batch, 1);
            snprintf(name, sizeof name, "%s at %ld times its batch", models[i].name, (long)batch);
            list_options(out, name, g);
            ft_graph_free(g);
        }
    for (uint32_t n = 0; n < 12; n++) {
        char name[80];
        ft_graph *model = synth_network(n), *bound = NULL;
        ft_cost_options o = ft_cost_options_default();
        o.mode = FT_TRAIN;
        assert_int_equal(ft_graph_bind(model, &(ft_binding){.batch = 1 + n * 7}, &bound, NULL), FT_OK);
        snprintf(name, sizeof name, "network %u", n);
        fprintf(out, "%s: training\n", name);
        list_cost(out, bound, &o, false);
        list_memory(out, bound, &o);
        ft_graph_free(bound);
        ft_graph_free(model);
    }
}

static void steps_are_as_listed(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    static char want[1 << 15], got[1 << 15];
    char path[256];
    snprintf(path, sizeof path, "%s/cost-steps.txt", build != NULL ? build : "build");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    list_all(out);
    fclose(out);
    FILE *expected = fopen("tests/cost/steps.txt", "r"), *found = fopen(path, "r");
    assert_non_null(expected);
    assert_non_null(found);
    for (int at = 1;; at++) {
        const char *a = fgets(want, sizeof want, expected), *b = fgets(got, sizeof got, found);
        if (a == NULL && b == NULL) break;
        if (a == NULL || b == NULL || strcmp(a, b) != 0)
            fail_msg("line %d\nexpected %sfound    %s", at, a != NULL ? a : "no more\n", b != NULL ? b : "no more\n");
    }
    fclose(expected);
    fclose(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_as_listed)};
    return cmocka_run_group_tests_name("cost/steps", tests, NULL, NULL);
}
