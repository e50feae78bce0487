/* edge.c - what a row hears along its edges when each edge says something of its own.
 *
 * relu(from[source] + to[row] + own[edge]), and the mean of that over the edges that come in. Nothing as long as the
 * edges is kept: backward works the sums out anew, which is cheaper than fetching them. */
#include <assert.h>
#include <string.h>

#include "nn/loops.h"
#include "nn/ops.h"

typedef struct edge_node {
    tape_node node;
    neighbours edges;
} edge_node;

SIMD_CLONES static void hear(neighbours e, size_t cols, const float *restrict from, const float *restrict to,
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

/* The gradient of an edge, made of that of its row; it is that of all three. */
SIMD_CLONES static void hear_back(size_t cols, float share, const float *restrict source, const float *restrict to,
                                  const float *restrict edge, const float *restrict out, float *restrict gradient) {
    for (size_t c = 0; c < cols; c++) gradient[c] = source[c] + to[c] + edge[c] > 0 ? share * out[c] : 0;
}

static void backward(tape *t, tape_node *n) {
    neighbours e = ((edge_node *)n)->edges;
    const tensor *from = n->in[0], *to = n->in[1], *own = n->in[2];
    size_t cols = n->out->cols;
    float *from_grad = tape_grad(t, n->in[0]), *to_grad = tape_grad(t, n->in[1]), *own_grad = tape_grad(t, n->in[2]);
    float *gradient = tape_alloc(t, cols, sizeof *gradient);
    for (uint32_t r = 0; gradient != NULL && r < e.rows; r++) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        for (uint32_t i = first; i < last; i++) {
            size_t source = e.index[i] * cols, edge = i * cols, row = r * cols;
            hear_back(cols, 1.0f / (float)(last - first), from->data + source, to->data + row, own->data + edge,
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
    hear(e, to->cols, from->data, to->data, own->data, out->data);
    edge_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = from;
    n->node.in[1] = to;
    n->node.in[2] = own;
    n->edges = e;
    return out;
}
