/* digraph_encoding.c - where in the graph a node stands: the smallest eigenpairs of the symmetric-normalised Laplacian.
 *
 * The magnetic Laplacian (Furutani et al. 2020, as the CG benchmark of directed graphs has it) is
 *     I - D^-1/2 H D^-1/2,   H(u, v) = A_s(u, v) exp(2 pi i charge (A(u, v) - A(v, u))),   A_s = (A + A') / 2,
 * Hermitian, so that its eigenvalues are real; with charge 0 it is that of the graph without directions. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/linalg.h"
#include "predictor/peers/digraph.h"

static const double TURN = 6.28318530717958647692;

/* The part on and below the diagonal, as hermitian.h wants it. */
static void fill_matrix(const gnn_sample *s, double charge, const double *roots, float *matrix) {
    size_t n = s->nodes;
    for (size_t i = 0; i < n; i++) matrix[2 * (i + i * n)] = 1;
    for (uint32_t e = 0; e < s->edges; e++) {
        /* An edge from c to r is half of A_s, and turns the phase back below the diagonal, on above it. */
        bool is_down = s->from[e] < s->to[e];
        size_t r = is_down ? s->to[e] : s->from[e], c = is_down ? s->from[e] : s->to[e];
        double share = 0.5 * roots[r] * roots[c], phase = TURN * charge * (is_down ? -1 : 1);
        if (r == c) continue;
        matrix[2 * (r + c * n)] -= (float)(share * cos(phase));
        matrix[2 * (r + c * n) + 1] -= (float)(share * sin(phase));
    }
}

/* A vector may be turned by any phase; this one makes its largest part real and positive. */
static void turn(float *vector, uint32_t n) {
    float most = 0, re = 1, im = 0;
    for (uint32_t i = 0; i < n; i++) {
        float size = hypotf(vector[2 * i], vector[2 * i + 1]);
        if (size <= 1.0001F * most) continue; /* of equals the first */
        most = size;
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
        turn(vector, n);
        s->global_marks[column] = values[k];
        for (size_t i = 0; i < n; i++) {
            s->node_marks[i * 2 * wanted + column] = vector[2 * i];
            s->node_marks[i * 2 * wanted + wanted + column] = vector[2 * i + 1];
        }
    }
    return FT_OK;
}
