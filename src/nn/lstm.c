/* lstm.c - one step of a long short-term memory. */
#include <assert.h>

#include "nn/loops.h"
#include "nn/ops.h"
#include "nn/vmath.h"

typedef struct lstm_node {
    tape_node node; /* in: gates, cell; out: hidden, new cell */
    float *active;  /* gates after activation, n x 4h */
    float *bent;    /* tanh of the new cell, n x h */
} lstm_node;

/* Rows of gates lie as input, forget, candidate, output: h numbers each. */
SIMD_CLONES static void step_forward(size_t h, const float *restrict gates, const float *restrict cell,
                                     float *restrict active, float *restrict new_cell, float *restrict bent,
                                     float *restrict hidden) {
    for (size_t i = 0; i < h; i++) {
        float in = vmath_sigmoid(gates[i]), forget = vmath_sigmoid(gates[h + i]);
        float candidate = vmath_tanh(gates[2 * h + i]), out = vmath_sigmoid(gates[3 * h + i]);
        active[i] = in;
        active[h + i] = forget;
        active[2 * h + i] = candidate;
        active[3 * h + i] = out;
        new_cell[i] = forget * cell[i] + in * candidate;
        bent[i] = vmath_tanh(new_cell[i]);
        hidden[i] = out * bent[i];
    }
}

/* `from_cell` is the gradient of the new cell from elsewhere; it becomes all of it. */
SIMD_CLONES static void step_backward(size_t h, const float *restrict active, const float *restrict cell,
                                      const float *restrict bent, const float *restrict from_hidden,
                                      float *restrict from_cell, float *restrict to_gates) {
    for (size_t i = 0; i < h; i++) {
        float in = active[i], forget = active[h + i], candidate = active[2 * h + i], out = active[3 * h + i];
        float d = from_cell[i] + from_hidden[i] * out * (1.0f - bent[i] * bent[i]);
        from_cell[i] = d;
        to_gates[i] += d * candidate * in * (1.0f - in);
        to_gates[h + i] += d * cell[i] * forget * (1.0f - forget);
        to_gates[2 * h + i] += d * in * (1.0f - candidate * candidate);
        to_gates[3 * h + i] += from_hidden[i] * bent[i] * out * (1.0f - out);
    }
}

static void lstm_backward(tape *t, tape_node *node) {
    const lstm_node *n = (lstm_node *)node;
    tensor *gates = node->in[0], *cell = node->in[1];
    size_t h = cell->cols, size = tensor_size(cell);
    float *to_gates = tape_grad(t, gates), *to_cell = tape_grad(t, cell);
    float *from_hidden = tape_grad(t, node->out), *from_cell = tape_grad(t, node->second_out);
    /* a tensor that needs no gradient still has to be written past */
    if (!gates->needs_grad) to_gates = tape_alloc(t, 4 * size, sizeof *to_gates);
    if (t->has_failed) return;
    if (!gates->needs_grad) loop_fill(4 * size, 0, to_gates);
    for (size_t r = 0; r < cell->rows; r++)
        step_backward(h, n->active + r * 4 * h, cell->data + r * h, n->bent + r * h, from_hidden + r * h,
                      from_cell + r * h, to_gates + r * 4 * h);
    for (size_t r = 0; to_cell != NULL && r < cell->rows; r++)
        loop_add_product(h, from_cell + r * h, n->active + r * 4 * h + h, to_cell + r * h);
}

tensor *nn_lstm_cell(tape *t, tensor *gates, tensor *cell, tensor **new_cell) {
    *new_cell = NULL;
    if (t->has_failed) return NULL;
    size_t h = cell->cols;
    assert(gates->cols == 4 * h && gates->rows == cell->rows);
    bool needs_grad = gates->needs_grad || cell->needs_grad;
    tensor *hidden = tape_tensor(t, cell->rows, cell->cols, needs_grad);
    tensor *next = tape_tensor(t, cell->rows, cell->cols, needs_grad);
    float *active = tape_alloc(t, tensor_size(gates), sizeof *active);
    float *bent = tape_alloc(t, tensor_size(cell), sizeof *bent);
    if (t->has_failed) return NULL;
    for (size_t r = 0; r < cell->rows; r++)
        step_forward(h, gates->data + r * 4 * h, cell->data + r * h, active + r * 4 * h, next->data + r * h,
                     bent + r * h, hidden->data + r * h);
    *new_cell = next;
    lstm_node *n = tape_record(t, hidden, lstm_backward, sizeof *n);
    if (n == NULL) return hidden;
    n->node.in[0] = gates;
    n->node.in[1] = cell;
    n->node.second_out = next;
    n->active = active;
    n->bent = bent;
    return hidden;
}
