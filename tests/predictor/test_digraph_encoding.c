/* Positional encodings: eigenpairs of Laplacians, their stable form; and the edges of message passing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/peers/digraph.h"

enum { NODES = 5, VECTORS = 3 };

static digraph_options encoded(digraph_encoding encoding) {
    return (digraph_options){.vectors = VECTORS, .charge = 0.1, .encoding = encoding, .form = DIGRAPH_STABLE};
}

/* 0 -> 1 -> 2 -> 3 -> 4, and 1 -> 3. */
static gnn_sample path(arena *memory, const digraph_options *o) {
    const gnn_widths widths = digraph_widths(o);
    gnn_sample s;
    assert_true(gnn_sample_open(&s, &widths, NODES, 5, memory));
    memcpy(s.from, (uint32_t[]){0, 1, 2, 3, 1}, 5 * sizeof *s.from);
    memcpy(s.to, (uint32_t[]){1, 2, 3, 4, 3}, 5 * sizeof *s.to);
    assert_int_equal(digraph_encode(o, &s, memory, NULL), FT_OK);
    return s;
}

/* Every vector is an eigenvector of the matrix, by definition. */
static void check_vectors(const gnn_sample *s, double charge) {
    double degrees[NODES] = {0.5, 1.5, 1, 1.5, 0.5};
    for (uint32_t k = 0; k < VECTORS; k++) {
        for (uint32_t u = 0; u < NODES; u++) {
            const float *own = s->node_marks + (size_t)u * 2 * VECTORS;
            double re = own[k], im = own[VECTORS + k];
            for (uint32_t e = 0; e < 5; e++) {
                if (s->from[e] != u && s->to[e] != u) continue;
                uint32_t v = s->from[e] == u ? s->to[e] : s->from[e];
                const float *other = s->node_marks + (size_t)v * 2 * VECTORS;
                double phase = 2 * acos(-1) * charge * (s->from[e] == u ? 1 : -1);
                double share = 0.5 / sqrt(degrees[u] * degrees[v]);
                re -= share * (cos(phase) * other[k] - sin(phase) * other[VECTORS + k]);
                im -= share * (cos(phase) * other[VECTORS + k] + sin(phase) * other[k]);
            }
            assert_true(fabs(re - (double)s->global_marks[k] * own[k]) < 1e-5);
            assert_true(fabs(im - (double)s->global_marks[k] * own[VECTORS + k]) < 1e-5);
        }
    }
}

static void eigenvectors_are_of_the_laplacian(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    digraph_options magnetic = encoded(DIGRAPH_MAGNETIC), plain = encoded(DIGRAPH_LAPLACIAN);
    gnn_sample s = path(&memory, &magnetic), r = path(&memory, &plain);
    check_vectors(&s, 0.1);
    check_vectors(&r, 0);
    assert_true(r.global_marks[0] > 0.05F); /* the trivial one is left out */
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t k = 0; k < VECTORS; k++)
            assert_true(fabsf(r.node_marks[(size_t)i * 2 * VECTORS + VECTORS + k]) < 1e-6F);
    arena_free(&memory);
}

static void missing_eigenvectors_are_zero(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    digraph_options o = encoded(DIGRAPH_LAPLACIAN);
    const gnn_widths widths = digraph_widths(&o);
    gnn_sample s;
    assert_true(gnn_sample_open(&s, &widths, 1, 0, &memory));
    assert_int_equal(digraph_encode(&o, &s, &memory, NULL), FT_OK);
    for (uint32_t k = 0; k < 2 * VECTORS; k++) assert_true(s.node_marks[k] == 0);
    arena_free(&memory);
}

/* --- The stable form ----------------------------------------------------------------------------------------- */

typedef struct asked {
    const digraph_pair *pair;
    const gnn_batch *batch;
} asked;

/* Features of all edges. */
static float *pair_rows(const params *p, const asked *a) {
    tape *t = NULL;
    assert_int_equal(tape_new(p, 1 << 20, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    tensor *rows = digraph_pair_rows(t, a->pair, digraph_pair_weights(t, a->pair, a->batch), a->batch, a->batch->from,
                                     a->batch->to, a->batch->edges_of);
    assert_non_null(rows);
    assert_int_equal(rows->cols, 2 * DIGRAPH_PAIR);
    float *copy = malloc(tensor_size(rows) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, rows->data, tensor_size(rows) * sizeof *copy);
    tape_free(t);
    return copy;
}

static void pair_features_are_invariant_to_phases(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    digraph_options o = encoded(DIGRAPH_MAGNETIC);
    const gnn_widths widths = digraph_widths(&o);
    gnn_sample s = path(&memory, &o);
    params p;
    params_init(&p);
    digraph_pair pair = digraph_pair_add(&p, VECTORS);
    assert_int_equal(params_finish(&p, 3, NULL), FT_OK);
    float *rows[2];
    for (int turned = 0; turned < 2; turned++) {
        gnn_batch batch;
        const gnn_sample *list[] = {&s, &s};
        assert_true(gnn_batch_join(&batch, &widths, list, 2, &memory));
        rows[turned] = pair_rows(&p, &(asked){&pair, &batch});
        for (uint32_t i = 0; i < NODES; i++) { /* multiplies the second vector by a phase of a third of a turn */
            float *re = &s.node_marks[(size_t)i * 2 * VECTORS + 1], *im = re + VECTORS, a = *re, b = *im;
            *re = -0.5F * a - 0.8660254F * b;
            *im = 0.8660254F * a - 0.5F * b;
        }
    }
    float most = 0;
    for (int i = 0; i < 10 * 2 * DIGRAPH_PAIR; i++) {
        assert_float_equal(rows[0][i], rows[1][i], 1e-5);
        most = fmaxf(most, fabsf(rows[0][i]));
    }
    assert_true(most > 1e-3F);
    free(rows[0]);
    free(rows[1]);
    params_free(&p);
    arena_free(&memory);
}

/* --- Flows --------------------------------------------------------------------------------------------------- */

static void flows_have_the_edges_of_their_direction(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    digraph_options o = encoded(DIGRAPH_MAGNETIC);
    const gnn_widths widths = digraph_widths(&o);
    gnn_sample s = path(&memory, &o);
    const gnn_sample *list[] = {&s};
    gnn_batch batch;
    params p;
    tape *t = NULL;
    digraph_flows flows;
    assert_true(gnn_batch_join(&batch, &widths, list, 1, &memory));
    params_init(&p);
    assert_int_equal(params_finish(&p, 0, NULL), FT_OK);
    assert_int_equal(tape_new(&p, 1 << 20, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    assert_true(digraph_flows_of(t, &batch, DIGRAPH_BIDIRECTED, false, &flows));
    assert_int_equal(flows.count, 2);
    for (int i = 0; i < 2; i++) {
        const digraph_flow *f = &flows.items[i];
        assert_int_equal(f->count, 5);
        for (uint32_t e = 0; e < f->count; e++) {
            assert_int_equal(batch.from[f->edge[e]], i == 0 ? f->from[e] : f->to[e]);
            assert_int_equal(batch.to[f->edge[e]], i == 0 ? f->to[e] : f->from[e]);
            assert_true(e >= f->into.start[f->to[e]] && e < f->into.start[f->to[e] + 1]);
        }
    }
    assert_true(digraph_flows_of(t, &batch, DIGRAPH_UNDIRECTED, true, &flows));
    assert_int_equal(flows.count, 1);
    assert_int_equal(flows.items[0].count, 2 * 5 + NODES);
    assert_int_equal(flows.items[0].into.start[2] - flows.items[0].into.start[1], 3 + 1);
    assert_true(digraph_flows_of(t, &batch, DIGRAPH_DIRECTED, false, &flows));
    assert_int_equal(flows.items[0].into.start[1], 0);
    tape_free(t);
    params_free(&p);
    arena_free(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(eigenvectors_are_of_the_laplacian),
                                       cmocka_unit_test(missing_eigenvectors_are_zero),
                                       cmocka_unit_test(pair_features_are_invariant_to_phases),
                                       cmocka_unit_test(flows_have_the_edges_of_their_direction)};
    return cmocka_run_group_tests_name("predictor/digraph_encoding", tests, NULL, NULL);
}
