/* grouped.c - products by group: a factor for each group of columns (heads of attention over edges), and a matrix for
 * each segment of rows. */
#include <assert.h>
#include <string.h>

#include "nn/math/gemm.h"
#include "nn/math/loops.h"
#include "nn/ops.h"

/* --- Groups of columns --------------------------------------------------------------------------------------- */

/* in: x (N, C), factors (N, G); out (N, C) */
static void mul_groups_backward(tape *t, tape_node *n) {
    tensor *x = n->in[0], *factors = n->in[1];
    size_t groups = factors->cols, width = x->cols / groups;
    float *dx = tape_grad(t, x), *dfactors = tape_grad(t, factors);
    for (size_t i = 0; i < (size_t)x->rows * groups; i++) {
        const float *dout = n->out->grad + i * width;
        if (dx != NULL) loop_add_scaled(width, factors->data[i], dout, dx + i * width);
        if (dfactors != NULL) dfactors[i] += loop_dot(width, dout, x->data + i * width);
    }
}

tensor *nn_mul_groups(tape *t, tensor *x, tensor *factors) {
    if (t->has_failed) return NULL;
    assert(factors->rows == x->rows && factors->cols > 0 && x->cols % factors->cols == 0);
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad || factors->needs_grad);
    if (out == NULL) return NULL;
    size_t width = x->cols / factors->cols;
    for (size_t i = 0; i < tensor_size(factors); i++)
        loop_scale(width, factors->data[i], x->data + i * width, out->data + i * width);
    tape_node *n = tape_record(t, out, mul_groups_backward, sizeof *n);
    if (n == NULL) return out;
    n->in[0] = x;
    n->in[1] = factors;
    return out;
}

/* --- A product for each segment ------------------------------------------------------------------------------ */

typedef struct segment_matmul_node {
    tape_node node; /* in: x (N, K), w (S K, C); out (N, C) */
    segments s;
} segment_matmul_node;

/* c (m, n) += a b, of one segment: the product itself, or one of its two gradients. */
static void add_product(tape *t, gemm_term term, uint32_t m, uint32_t n, float *c) {
    if (m == 0 || term.k == 0) return;
    gemm(&(gemm_job){.m = m, .n = n, .terms = &term, .term_count = 1, .c = c, .c_stride = n, .adds_to_c = true},
         t->scratch);
}

static void segment_matmul_backward(tape *t, tape_node *node) {
    segments s = ((segment_matmul_node *)node)->s;
    tensor *x = node->in[0], *w = node->in[1], *out = node->out;
    float *dx = tape_grad(t, x), *dw = tape_grad(t, w);
    size_t k = x->cols, m = out->cols;
    for (size_t i = 0; i < s.count; i++) {
        size_t first = s.start[i], rows = s.start[i + 1] - first;
        gemm_term dx_term = {out->grad + first * m, w->data + i * k * m, m, m, (uint32_t)m, false, true};
        gemm_term dw_term = {x->data + first * k, out->grad + first * m, k, m, (uint32_t)rows, true, false};
        if (dx != NULL) add_product(t, dx_term, (uint32_t)rows, (uint32_t)k, dx + first * k);
        if (dw != NULL) add_product(t, dw_term, (uint32_t)k, (uint32_t)m, dw + i * k * m);
    }
}

tensor *nn_segment_matmul(tape *t, tensor *x, tensor *w, segments s) {
    if (t->has_failed) return NULL;
    assert(s.start[s.count] == x->rows && w->rows == s.count * x->cols);
    tensor *out = tape_tensor(t, x->rows, w->cols, x->needs_grad || w->needs_grad);
    if (out == NULL) return NULL;
    size_t k = x->cols, m = out->cols;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    for (size_t i = 0; i < s.count; i++) {
        size_t first = s.start[i];
        gemm_term term = {x->data + first * k, w->data + i * k * m, k, m, (uint32_t)k, false, false};
        add_product(t, term, s.start[i + 1] - s.start[i], (uint32_t)m, out->data + first * m);
    }
    segment_matmul_node *n = tape_record(t, out, segment_matmul_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = x;
    n->node.in[1] = w;
    n->s = s;
    return out;
}
