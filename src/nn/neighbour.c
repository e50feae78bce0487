/* neighbour.c - message passing: sum, mean or maximum over the neighbours of each row, and the mean over its edges.
 *
 * Edges are sorted by target row, so that each row of the result is written once, without scattering. Backward, each
 * edge adds to the gradient of its source, edge by edge in the order given.
 *
 * Shapes: x (N, C) with N source rows; out (R, C) with R = edges.rows; edge arrays have E = edges.start[R] entries. */
#include <assert.h>
#include <string.h>

#include "nn/math/loops.h"
#include "nn/ops.h"

typedef struct neighbour_node {
    tape_node node;
    neighbours edges;
    bool is_mean;
    uint32_t *argmax; /* of max (R, C): the source row of each element */
} neighbour_node;

static const uint32_t NO_NEIGHBOUR = UINT32_MAX;

/* --- Sum and mean -------------------------------------------------------------------------------------------- */

/* out (R, C): sums, or means, of the rows of x (N, C) that each row has as neighbours. */
SIMD_CLONES static void aggregate(neighbours e, size_t cols, bool is_mean, const float *restrict x,
                                  float *restrict out) {
    for (uint32_t r = 0; r < e.rows; r++, out += cols) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        if (first == last) {
            memset(out, 0, cols * sizeof *out);
            continue;
        }
        memcpy(out, x + e.index[first] * cols, cols * sizeof *out);
        for (uint32_t i = first + 1; i < last; i++) {
            const float *from = x + e.index[i] * cols;
            for (size_t c = 0; c < cols; c++) out[c] += from[c];
        }
        if (!is_mean || last - first == 1) continue;
        float share = 1.0f / (float)(last - first);
        for (size_t c = 0; c < cols; c++) out[c] *= share;
    }
}

/* dx (N, C) += dout (R, C) along the edges, backward; with is_mean divided by the number of neighbours. */
SIMD_CLONES static void aggregate_backward(neighbours e, size_t cols, bool is_mean, const float *restrict dout,
                                           float *restrict dx) {
    for (uint32_t r = 0; r < e.rows; r++, dout += cols) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        float share = is_mean ? 1.0f / (float)(last - first) : 1.0f;
        for (uint32_t i = first; i < last; i++) {
            float *row = dx + e.index[i] * cols;
            for (size_t c = 0; c < cols; c++) row[c] += share * dout[c];
        }
    }
}

static void sum_backward(tape *t, tape_node *node) {
    const neighbour_node *n = (neighbour_node *)node;
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) aggregate_backward(n->edges, node->out->cols, n->is_mean, node->out->grad, grad);
}

/* Sources are rows of x. */
static void check(const tensor *x, neighbours e) {
    assert(e.rows == 0 || e.start[0] == 0);
    for (uint32_t i = 0; e.rows > 0 && i < e.start[e.rows]; i++) assert(e.index[i] < x->rows);
    (void)x;
}

static neighbour_node *record(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, neighbours e) {
    neighbour_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return NULL;
    n->node.in[0] = x;
    n->edges = e;
    return n;
}

static tensor *sum_or_mean(tape *t, tensor *x, neighbours e, bool is_mean) {
    if (t->has_failed) return NULL;
    check(x, e);
    tensor *out = tape_tensor(t, e.rows, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    aggregate(e, x->cols, is_mean, x->data, out->data);
    neighbour_node *n = record(t, out, sum_backward, x, e);
    if (n != NULL) n->is_mean = is_mean;
    return out;
}

tensor *nn_neighbour_sum(tape *t, tensor *x, neighbours e) {
    return sum_or_mean(t, x, e, false);
}

tensor *nn_neighbour_mean(tape *t, tensor *x, neighbours e) {
    return sum_or_mean(t, x, e, true);
}

/* --- Maximum ------------------------------------------------------------------------------------------------- */

static void max_backward(tape *t, tape_node *node) {
    const uint32_t *argmax = ((neighbour_node *)node)->argmax;
    size_t cols = node->out->cols;
    float *grad = tape_grad(t, node->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(node->out); i++)
        if (argmax[i] != NO_NEIGHBOUR) grad[argmax[i] * cols + i % cols] += node->out->grad[i];
}

/* out, argmax (R, C): maximum over the neighbours; of equal elements the first counts. */
static void find_largest(neighbours e, size_t cols, const float *x, float *out, uint32_t *argmax) {
    for (uint32_t r = 0; r < e.rows; r++, out += cols, argmax += cols) {
        for (size_t c = 0; c < cols; c++) {
            argmax[c] = NO_NEIGHBOUR;
            out[c] = 0;
        }
        for (uint32_t i = e.start[r]; i < e.start[r + 1]; i++) {
            const float *from = x + e.index[i] * cols;
            for (size_t c = 0; c < cols; c++)
                if (argmax[c] == NO_NEIGHBOUR || from[c] > out[c]) {
                    argmax[c] = e.index[i];
                    out[c] = from[c];
                }
        }
    }
}

tensor *nn_neighbour_max(tape *t, tensor *x, neighbours e) {
    if (t->has_failed) return NULL;
    check(x, e);
    tensor *out = tape_tensor(t, e.rows, x->cols, x->needs_grad);
    uint32_t *argmax = tape_alloc(t, (size_t)e.rows * x->cols, sizeof *argmax);
    if (argmax == NULL) return NULL;
    find_largest(e, x->cols, x->data, out->data, argmax);
    neighbour_node *n = record(t, out, max_backward, x, e);
    if (n != NULL) n->argmax = argmax;
    return out;
}

/* --- Edges with features of their own ------------------------------------------------------------------------ */

/* Nothing of the size of the edges is stored: backward recomputes the sums, which is faster than reading them. */

typedef struct edge_node {
    tape_node node; /* in: from (N, C), to (R, C), own (E, C) */
    neighbours edges;
} edge_node;

/* out (R, C): mean of relu(from[source] + to[row] + own[edge]) over the edges of each row. */
SIMD_CLONES static void edge_mean(neighbours e, size_t cols, const float *restrict from, const float *restrict to,
                                  const float *restrict own, float *restrict out) {
    for (uint32_t r = 0; r < e.rows; r++, to += cols, out += cols) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        memset(out, 0, cols * sizeof *out);
        for (uint32_t i = first; i < last; i++) {
            const float *source = from + e.index[i] * cols, *edge = own + i * cols;
            for (size_t c = 0; c < cols; c++) {
                float sum = source[c] + to[c] + edge[c];
                out[c] += sum > 0 ? sum : 0;
            }
        }
        float share = last - first > 1 ? 1.0f / (float)(last - first) : 1.0f;
        for (size_t c = 0; last - first > 1 && c < cols; c++) out[c] *= share;
    }
}

/* gradient (C) of one edge by dout (C) of its row; it is the same for all three inputs. */
SIMD_CLONES static void edge_gradient(size_t cols, float share, const float *restrict source, const float *restrict to,
                                      const float *restrict edge, const float *restrict dout,
                                      float *restrict gradient) {
    for (size_t c = 0; c < cols; c++) gradient[c] = source[c] + to[c] + edge[c] > 0 ? share * dout[c] : 0;
}

static void edge_mean_backward(tape *t, tape_node *n) {
    neighbours e = ((edge_node *)n)->edges;
    const tensor *from = n->in[0], *to = n->in[1], *own = n->in[2];
    size_t cols = n->out->cols;
    float *from_grad = tape_grad(t, n->in[0]), *to_grad = tape_grad(t, n->in[1]), *own_grad = tape_grad(t, n->in[2]);
    float *gradient = tape_alloc(t, cols, sizeof *gradient);
    for (uint32_t r = 0; gradient != NULL && r < e.rows; r++) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        for (uint32_t i = first; i < last; i++) {
            size_t source = e.index[i] * cols, edge = i * cols, row = r * cols;
            edge_gradient(cols, 1.0f / (float)(last - first), from->data + source, to->data + row, own->data + edge,
                          n->out->grad + row, gradient);
            if (from_grad != NULL) loop_add(cols, gradient, from_grad + source);
            if (to_grad != NULL) loop_add(cols, gradient, to_grad + row);
            if (own_grad != NULL) loop_add(cols, gradient, own_grad + edge);
        }
    }
}

tensor *nn_edge_mean(tape *t, tensor *from, tensor *to, tensor *own, neighbours e) {
    if (t->has_failed) return NULL;
    assert(to->rows == e.rows && from->cols == to->cols && own->cols == to->cols && own->rows == e.start[e.rows]);
    tensor *out = tape_tensor(t, e.rows, to->cols, from->needs_grad || to->needs_grad || own->needs_grad);
    if (out == NULL) return NULL;
    edge_mean(e, to->cols, from->data, to->data, own->data, out->data);
    edge_node *n = tape_record(t, out, edge_mean_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = from;
    n->node.in[1] = to;
    n->node.in[2] = own;
    n->edges = e;
    return out;
}
