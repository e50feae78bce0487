/* SeerNet against a direct implementation of the paper: encoders, gathers and MLPs one after the other. Outputs and
 * gradients are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/peers/seernet.h"

enum { HIDDEN = 5, SAMPLES = 3, OUTPUTS = 2 };

typedef struct made {
    arena memory;
    gnn_batch batch;
    params values;
    gnn_net *net;
    tape *t;
    uint32_t *sample_of; /* per node */
} made;

static void fill(rng *r, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) values[i] = (float)rng_normal(r);
}

/* Chains with a shortcut; the second sample is a single node. */
static void make_sample(rng *r, uint32_t nodes, arena *memory, gnn_sample *s) {
    gnn_widths w = seernet_widths(NULL);
    uint32_t edges = nodes > 2 ? nodes : 0;
    assert_true(gnn_sample_open(s, &w, nodes, edges, memory));
    for (uint32_t i = 0; i < nodes; i++) s->kinds[i] = rng_below(r, SEERNET_KINDS);
    fill(r, (size_t)nodes * w.node_values, s->node_values);
    fill(r, (size_t)nodes * w.node_marks, s->node_marks);
    fill(r, (size_t)edges * w.edge_values, s->edge_values);
    fill(r, w.global_values, s->global_values);
    fill(r, w.global_marks, s->global_marks);
    for (uint32_t i = 0; i < edges; i++) {
        s->from[i] = i + 1 < edges ? i : 0;
        s->to[i] = i + 1 < edges ? i + 1 : nodes - 1;
    }
}

/* `scale`: how many nodes; with many, the network multiplies its matrices first. The tape points at the values. */
static void make(uint32_t scale, made *m) {
    rng r;
    *m = (made){0};
    gnn_sample samples[SAMPLES];
    const gnn_sample *list[SAMPLES];
    const uint32_t sizes[SAMPLES] = {3 * scale, 1, 4 * scale};
    gnn_plan plan = {.shared = {.hidden = HIDDEN, .layers = 1}, .widths = seernet_widths(NULL), .outputs = OUTPUTS};
    ft_error error;
    rng_init(&r, 5, scale);
    arena_init(&m->memory, UINT64_MAX);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        make_sample(&r, sizes[i], &m->memory, &samples[i]);
        list[i] = &samples[i];
    }
    assert_true(gnn_batch_join(&m->batch, &plan.widths, list, SAMPLES, &m->memory));
    m->sample_of = ARENA_ARRAY(&m->memory, uint32_t, m->batch.nodes);
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t k = m->batch.nodes_of.start[i]; k < m->batch.nodes_of.start[i + 1]; k++) m->sample_of[k] = i;
    params_init(&m->values);
    m->net = seernet_build(&plan, &m->values);
    assert_int_equal(params_finish(&m->values, 3, &error), FT_OK);
    fill(&r, m->values.total_count, m->values.values); /* biases are not zero */
    for (size_t i = 0; i < m->values.total_count; i++) m->values.values[i] *= 0.4f;
    assert_int_equal(tape_new(&m->values, 1 << 28, &m->t, &error), FT_OK);
}

static void made_free(made *m) {
    tape_free(m->t);
    params_free(&m->values);
    free(m->net);
    arena_free(&m->memory);
}

/* --- Direct implementation ----------------------------------------------------------------------------------- */

static tensor *named(const made *m, const char *name) {
    const param *p = params_find(&m->values, name);
    assert_non_null(p);
    return tape_param(m->t, (param_id)(p - m->values.items));
}

/* x times all rows of an encoder but the last, which is the bias. */
static tensor *encode(const made *m, const char *name, tensor *x) {
    tensor *w = named(m, name);
    return nn_linear(m->t, x, nn_slice_rows(m->t, w, 0, w->rows - 1), nn_slice_rows(m->t, w, w->rows - 1, 1), ACT_NONE);
}

static tensor *layer(const made *m, const char *name, tensor *x, activation act) {
    char weight[32], bias[32];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return nn_linear(m->t, x, named(m, weight), named(m, bias), act);
}

static tensor *mlp(const made *m, const char *name, uint32_t count, tensor *const *inputs) {
    char in[32], bias[32], out[32];
    snprintf(in, sizeof in, "%s.in", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    snprintf(out, sizeof out, "%s.out", name);
    tensor *hidden = nn_linear(m->t, nn_concat_columns(m->t, count, inputs), named(m, in), named(m, bias), ACT_RELU);
    return layer(m, out, hidden, ACT_NONE);
}

static tensor *weigh(const made *m, const char *score, tensor *v) {
    tensor *weights = nn_segment_softmax(m->t, nn_matmul(m->t, v, named(m, score)), m->batch.nodes_of);
    return nn_segment_sum(m->t, nn_mul_column(m->t, v, weights), m->batch.nodes_of);
}

static tensor *spelled_out(const made *m) {
    tape *t = m->t;
    const gnn_batch *b = &m->batch;
    float *flags = tape_alloc(t, (size_t)b->nodes * SEERNET_KINDS, sizeof *flags);
    memset(flags, 0, (size_t)b->nodes * SEERNET_KINDS * sizeof *flags);
    for (size_t i = 0; i < b->nodes; i++) flags[i * SEERNET_KINDS + b->kinds[i]] = 1;
    tensor *parts[] = {tape_input(t, b->nodes, SEERNET_NODE_VALUES, b->node_values),
                       tape_input(t, b->nodes, SEERNET_NODE_MARKS, b->node_marks),
                       tape_input(t, b->nodes, SEERNET_KINDS, flags)};
    tensor *graph[] = {tape_input(t, SAMPLES, SEERNET_GRAPH_VALUES, b->global_values),
                       tape_input(t, SAMPLES, SEERNET_GRAPH_MARKS, b->global_marks)};
    tensor *v = encode(m, "node.encoder", nn_concat_columns(t, 3, parts));
    tensor *e = encode(m, "edge.encoder", tape_input(t, b->edges, SEERNET_EDGE_VALUES, b->edge_values));
    tensor *u = encode(m, "graph.encoder", nn_concat_columns(t, 2, graph));
    tensor *z = weigh(m, "score", v), *node_u = nn_gather(t, u, m->sample_of, b->nodes);
    tensor *inputs[] = {e, nn_gather(t, v, b->from, b->edges), nn_gather(t, v, b->to, b->edges),
                        nn_gather(t, node_u, b->to, b->edges)};
    tensor *messages = nn_segment_mean(t, mlp(m, "edge", 4, inputs), b->edges_into);
    tensor *node[] = {messages, nn_add(t, v, nn_gather(t, z, m->sample_of, b->nodes)), node_u};
    v = mlp(m, "node", 3, node);
    z = nn_add(t, weigh(m, "score.after", v), z);
    z = layer(m, "global.2", layer(m, "global.1", layer(m, "global.0", z, ACT_RELU), ACT_RELU), ACT_NONE);
    tensor *both[] = {nn_segment_max(t, v, b->nodes_of), nn_segment_mean(t, v, b->nodes_of)};
    tensor *joined = nn_linear(t, nn_concat_columns(t, 2, both), named(m, "join"), named(m, "join.bias"), ACT_NONE);
    tensor *all[] = {joined, z, u};
    u = nn_add(t, u, mlp(m, "graph", 3, all));
    return layer(m, "out", layer(m, "head", u, ACT_RELU), ACT_NONE);
}

/* --- Tests ---------------------------------------------------------------------------------------------------- */

static float *run(made *m, bool is_direct, float *predicted) {
    static const float targets[SAMPLES * OUTPUTS] = {1, -2, 3, 0.5f, -1, 2};
    const loss_options options = {.kind = LOSS_MSE, .scale = 1};
    ft_error error;
    tape_begin(m->t, TAPE_TRAIN, 0, 0);
    tensor *y = is_direct ? spelled_out(m) : seernet_forward(m->net, m->t, &m->batch);
    assert_int_equal(tape_status(m->t, &error), FT_OK);
    memcpy(predicted, y->data, SAMPLES * OUTPUTS * sizeof *predicted);
    tape_backward(m->t, nn_loss(m->t, y, targets, &options));
    float *gradient = malloc(m->values.total_count * sizeof *gradient);
    memcpy(gradient, tape_gradient(m->t), m->values.total_count * sizeof *gradient);
    return gradient;
}

static void test_is_the_published_network(void **state) {
    (void)state;
    for (uint32_t scale = 1; scale <= 3; scale += 2) {
        made m;
        make(scale, &m);
        float one[SAMPLES * OUTPUTS], two[SAMPLES * OUTPUTS], most = 0;
        float *a = run(&m, false, one), *b = run(&m, true, two);
        for (int i = 0; i < SAMPLES * OUTPUTS; i++) assert_float_equal(one[i], two[i], 1e-4 * (1 + fabsf(two[i])));
        for (size_t i = 0; i < m.values.total_count; i++) most = fmaxf(most, fabsf(b[i]));
        for (size_t i = 0; i < m.values.total_count; i++)
            if (fabsf(a[i] - b[i]) > 1e-3f * most) fail_msg("gradient %zu: %g, spelled out %g", i, a[i], b[i]);
        free(a);
        free(b);
        made_free(&m);
    }
}

/* Precomputed products do not change outputs, and are not used in training. */
static void test_finalized(void **state) {
    (void)state;
    made m;
    make(2, &m);
    ft_error error;
    float before[SAMPLES * OUTPUTS], predicted[SAMPLES * OUTPUTS];
    for (int round = 0; round < 3; round++) {
        if (round == 1) assert_int_equal(seernet_finalize(m.net, &m.values, &error), FT_OK);
        tape_begin(m.t, round == 2 ? TAPE_TRAIN : TAPE_INFER, 0, 0);
        if (round == 2) m.values.values[0] += 1; /* of the encoder of nodes */
        const tensor *y = seernet_forward(m.net, m.t, &m.batch);
        memcpy(round == 0 ? before : predicted, y->data, sizeof predicted);
        if (round == 0) continue;
        double away = 0;
        for (int i = 0; i < SAMPLES * OUTPUTS; i++) away = fmax(away, fabs((double)(predicted[i] - before[i])));
        assert_true(round == 1 ? away < 1e-4 : away > 1e-3);
    }
    made_free(&m);
}

/* As many parameters as published for ten kinds of operators (19 h^2 + 70 h + 3, without the biases of scores, to which
 * a softmax is invariant), and a row of the encoder for each further kind. */
static void test_size(void **state) {
    (void)state;
    const uint32_t h = 256;
    gnn_plan plan = {.shared = {.hidden = h, .layers = 1}, .widths = seernet_widths(NULL), .outputs = 1};
    params p;
    params_init(&p);
    gnn_net *net = seernet_build(&plan, &p);
    assert_int_equal(params_finish(&p, 1, NULL), FT_OK);
    assert_int_equal(p.trained_count, 19 * h * h + 70 * h + 3 - 2 + (SEERNET_KINDS - SEERNET_TYPES) * h);
    params_free(&p);
    free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_published_network),
        cmocka_unit_test(test_finalized),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests_name("predictor/seernet_net", tests, NULL, NULL);
}
