/* digraph_encoding.c - positional encoding of nodes: the smallest eigenpairs of the symmetric-normalised Laplacian.
 *
 * The magnetic Laplacian (Furutani et al. 2020, as in the CG benchmark of directed graphs) is
 *     I - D^-1/2 H D^-1/2,   H(u, v) = A_s(u, v) exp(2 pi i charge (A(u, v) - A(v, u))),   A_s = (A + A') / 2,
 * Hermitian, so that its eigenvalues are real; with charge 0 it is that of the graph without directions. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/math/linalg.h"
#include "predictor/peers/digraph.h"

static const double TWO_PI = 6.28318530717958647692;

/* The part on and below the diagonal, as hermitian.h needs it. */
static void fill_matrix(const gnn_sample *s, double charge, const double *roots, float *matrix) {
    size_t n = s->nodes;
    for (size_t i = 0; i < n; i++) matrix[2 * (i + i * n)] = 1;
    for (uint32_t e = 0; e < s->edges; e++) {
        /* An edge from c to r adds half to A_s; its phase is negative below the diagonal, positive above it. */
        bool is_down = s->from[e] < s->to[e];
        size_t r = is_down ? s->to[e] : s->from[e], c = is_down ? s->from[e] : s->to[e];
        double share = 0.5 * roots[r] * roots[c], phase = TWO_PI * charge * (is_down ? -1 : 1);
        if (r == c) continue;
        matrix[2 * (r + c * n)] -= (float)(share * cos(phase));
        matrix[2 * (r + c * n) + 1] -= (float)(share * sin(phase));
    }
}

/* Eigenvectors are unique up to a phase: multiplies by the one that makes the largest component real and positive. */
static void normalise_phase(float *vector, uint32_t n) {
    float max_size = 0, re = 1, im = 0;
    for (uint32_t i = 0; i < n; i++) {
        float size = hypotf(vector[2 * i], vector[2 * i + 1]);
        if (size <= 1.0001F * max_size) continue; /* the first of equal ones */
        max_size = size;
        re = vector[2 * i] / size;
        im = -vector[2 * i + 1] / size;
    }
    for (uint32_t i = 0; i < n; i++) {
        float a = vector[2 * i], b = vector[2 * i + 1];
        vector[2 * i] = a * re - b * im;
        vector[2 * i + 1] = a * im + b * re;
    }
}

ft_status digraph_encode(const digraph_options *o, gnn_sample *s, arena *memory, ft_error *error) {
    uint32_t n = s->nodes, wanted = digraph_vectors(o), skipped = o->encoding == DIGRAPH_LAPLACIAN;
    uint32_t found = n < wanted + skipped ? n : wanted + skipped;
    assert(wanted <= DIGRAPH_MAX_VECTORS);
    double *roots = ARENA_ARRAY(memory, double, (size_t)n + 1);
    float *matrix = ARENA_ARRAY(memory, float, 2 * (size_t)n * n + 1);
    float *vectors = ARENA_ARRAY(memory, float, 2 * (size_t)n * found + 1), values[DIGRAPH_MAX_VECTORS + 1];
    if (roots == NULL || matrix == NULL || vectors == NULL) return FT_NOMEM(error);
    for (uint32_t e = 0; e < s->edges; e++) {
        roots[s->from[e]] += 0.5;
        roots[s->to[e]] += 0.5;
    }
    for (uint32_t i = 0; i < n; i++) roots[i] = roots[i] > 0 ? 1 / sqrt(roots[i]) : 0;
    fill_matrix(s, o->encoding == DIGRAPH_MAGNETIC ? o->charge : 0, roots, matrix);
    if (n > 0) FT_TRY(hermitian_smallest(matrix, n, found, values, vectors, error));
    for (uint32_t k = skipped; k < found; k++) {
        float *vector = vectors + 2 * (size_t)n * k;
        uint32_t column = k - skipped;
        normalise_phase(vector, n);
        s->global_marks[column] = values[k];
        for (size_t i = 0; i < n; i++) {
            s->node_marks[i * 2 * wanted + column] = vector[2 * i];
            s->node_marks[i * 2 * wanted + wanted + column] = vector[2 * i + 1];
        }
    }
    return FT_OK;
}

/* --- Pairs of nodes ------------------------------------------------------------------------------------------ */

enum { INNER = 16 }; /* hidden units of f */

digraph_pair digraph_pair_add(params *p, uint32_t vectors) {
    return (digraph_pair){.first = layer_linear_add(p, "place.first", 1, INNER, true),
                          .second = layer_linear_add(p, "place.second", INNER, DIGRAPH_PAIR, true),
                          .vectors = vectors};
}

tensor *digraph_pair_weights(tape *t, const digraph_pair *d, const gnn_batch *batch) {
    tensor *values = tape_input(t, batch->samples * d->vectors, 1, batch->global_marks);
    return layer_linear_apply(t, &d->second, layer_linear_apply(t, &d->first, values, ACT_SILU), ACT_NONE);
}

/* vector(u) * conj(vector(v)) of every eigenpair. */
static void multiply(const float *u, const float *v, uint32_t vectors, float *re, float *im) {
    for (uint32_t k = 0; k < vectors; k++) {
        float a = u[k], b = u[k + vectors], c = v[k], d = v[k + vectors];
        re[k] = a * c + b * d;
        im[k] = b * c - a * d;
    }
}

tensor *digraph_pair_rows(tape *t, const digraph_pair *d, tensor *weights, const gnn_batch *batch, const uint32_t *from,
                          const uint32_t *to, segments by_sample) {
    assert(batch->widths.node_marks == 2 * d->vectors);
    uint32_t count = by_sample.start[by_sample.count], width = 2 * d->vectors;
    float *re = tape_alloc(t, (size_t)count * d->vectors, sizeof *re);
    float *im = tape_alloc(t, (size_t)count * d->vectors, sizeof *im);
    if (t->has_failed) return NULL;
    for (size_t i = 0; i < count; i++)
        multiply(batch->node_marks + (size_t)from[i] * width, batch->node_marks + (size_t)to[i] * width, d->vectors,
                 re + i * d->vectors, im + i * d->vectors);
    tensor *parts[] = {nn_segment_matmul(t, tape_input(t, count, d->vectors, re), weights, by_sample),
                       nn_segment_matmul(t, tape_input(t, count, d->vectors, im), weights, by_sample)};
    return nn_concat_columns(t, 2, parts);
}
