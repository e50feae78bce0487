/* neighbour.c - what a row hears from its neighbours: sum, mean or largest of their rows.
 *
 * Edges are sorted by where they go to, so that a result is written once and needs no scattering. Backwards each edge
 * adds to where it comes from, edge by edge in the order given. */
#include <assert.h>
#include <string.h>

#include "nn/loops.h"
#include "nn/ops.h"

typedef struct neighbour_node {
    tape_node node;
    neighbours edges;
    bool is_mean;
    uint32_t *winner; /* of max: which neighbour each element came from */
} neighbour_node;

static const uint32_t NOBODY = UINT32_MAX;

/* --- Sum and mean -------------------------------------------------------------------------------------------- */

SIMD_CLONES static void add_up(neighbours e, size_t cols, bool is_mean, const float *restrict x, float *restrict out) {
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

SIMD_CLONES static void spread(neighbours e, size_t cols, bool is_mean, const float *restrict from,
                               float *restrict to) {
    for (uint32_t r = 0; r < e.rows; r++, from += cols) {
        uint32_t first = e.start[r], last = e.start[r + 1];
        float share = is_mean ? 1.0f / (float)(last - first) : 1.0f;
        for (uint32_t i = first; i < last; i++) {
            float *row = to + e.index[i] * cols;
            for (size_t c = 0; c < cols; c++) row[c] += share * from[c];
        }
    }
}

static void sum_backward(tape *t, tape_node *node) {
    const neighbour_node *n = (neighbour_node *)node;
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) spread(n->edges, node->out->cols, n->is_mean, node->out->grad, grad);
}

static void check(const tensor *x, neighbours e) {
    assert(e.rows == 0 || e.start[0] == 0);
    for (uint32_t i = 0; e.rows > 0 && i < e.start[e.rows]; i++) assert(e.index[i] < x->rows);
    (void)x;
}

static neighbour_node *note(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, neighbours e) {
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
    add_up(e, x->cols, is_mean, x->data, out->data);
    neighbour_node *n = note(t, out, sum_backward, x, e);
    if (n != NULL) n->is_mean = is_mean;
    return out;
}

tensor *nn_neighbour_sum(tape *t, tensor *x, neighbours e) {
    return sum_or_mean(t, x, e, false);
}

tensor *nn_neighbour_mean(tape *t, tensor *x, neighbours e) {
    return sum_or_mean(t, x, e, true);
}

/* --- Largest ------------------------------------------------------------------------------------------------- */

static void max_backward(tape *t, tape_node *node) {
    const uint32_t *winner = ((neighbour_node *)node)->winner;
    size_t cols = node->out->cols;
    float *grad = tape_grad(t, node->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(node->out); i++)
        if (winner[i] != NOBODY) grad[winner[i] * cols + i % cols] += node->out->grad[i];
}

/* Of equals the first wins. */
static void find_largest(neighbours e, size_t cols, const float *x, float *out, uint32_t *winner) {
    for (uint32_t r = 0; r < e.rows; r++, out += cols, winner += cols) {
        for (size_t c = 0; c < cols; c++) {
            winner[c] = NOBODY;
            out[c] = 0;
        }
        for (uint32_t i = e.start[r]; i < e.start[r + 1]; i++) {
            const float *from = x + e.index[i] * cols;
            for (size_t c = 0; c < cols; c++)
                if (winner[c] == NOBODY || from[c] > out[c]) {
                    winner[c] = e.index[i];
                    out[c] = from[c];
                }
        }
    }
}

tensor *nn_neighbour_max(tape *t, tensor *x, neighbours e) {
    if (t->has_failed) return NULL;
    check(x, e);
    tensor *out = tape_tensor(t, e.rows, x->cols, x->needs_grad);
    uint32_t *winner = tape_alloc(t, (size_t)e.rows * x->cols, sizeof *winner);
    if (winner == NULL) return NULL;
    find_largest(e, x->cols, x->data, out->data, winner);
    neighbour_node *n = note(t, out, max_backward, x, e);
    if (n != NULL) n->winner = winner;
    return out;
}
