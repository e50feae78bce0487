/* lstm.c - one step of an LSTM.
 *
 * Shapes: gates (N, 4 H), cell, new cell and hidden state (N, H). */
#include <assert.h>

#include "nn/math/loops.h"
#include "nn/math/vmath.h"
#include "nn/ops.h"

typedef struct lstm_node {
    tape_node node;   /* in: gates (N, 4 H), cell (N, H); out: hidden (N, H), new cell (N, H) */
    float *activated; /* (N, 4 H): gates after activation */
    float *tanh_cell; /* (N, H): tanh of the new cell */
} lstm_node;

/* One row. gates and activated (4 h) hold the gates input, forget, candidate, output, h elements each; others (h). */
SIMD_CLONES static void step_forward(size_t h, const float *restrict gates, const float *restrict cell,
                                     float *restrict activated, float *restrict new_cell, float *restrict tanh_cell,
                                     float *restrict hidden) {
    for (size_t i = 0; i < h; i++) {
        float in = vmath_sigmoid(gates[i]), forget = vmath_sigmoid(gates[h + i]);
        float candidate = vmath_tanh(gates[2 * h + i]), out = vmath_sigmoid(gates[3 * h + i]);
        activated[i] = in;
        activated[h + i] = forget;
        activated[2 * h + i] = candidate;
        activated[3 * h + i] = out;
        new_cell[i] = forget * cell[i] + in * candidate;
        tanh_cell[i] = vmath_tanh(new_cell[i]);
        hidden[i] = out * tanh_cell[i];
    }
}

/* One row. dnew_cell is the gradient of the new cell from its other uses; the rest is added to it. */
SIMD_CLONES static void step_backward(size_t h, const float *restrict activated, const float *restrict cell,
                                      const float *restrict tanh_cell, const float *restrict dhidden,
                                      float *restrict dnew_cell, float *restrict dgates) {
    for (size_t i = 0; i < h; i++) {
        float in = activated[i], forget = activated[h + i], candidate = activated[2 * h + i],
              out = activated[3 * h + i];
        float d = dnew_cell[i] + dhidden[i] * out * (1.0f - tanh_cell[i] * tanh_cell[i]);
        dnew_cell[i] = d;
        dgates[i] += d * candidate * in * (1.0f - in);
        dgates[h + i] += d * cell[i] * forget * (1.0f - forget);
        dgates[2 * h + i] += d * in * (1.0f - candidate * candidate);
        dgates[3 * h + i] += dhidden[i] * tanh_cell[i] * out * (1.0f - out);
    }
}

static void lstm_backward(tape *t, tape_node *node) {
    const lstm_node *n = (lstm_node *)node;
    tensor *gates = node->in[0], *cell = node->in[1];
    size_t h = cell->cols, size = tensor_size(cell);
    float *dgates = tape_grad(t, gates), *dcell = tape_grad(t, cell);
    float *dhidden = tape_grad(t, node->out), *dnew_cell = tape_grad(t, node->second_out);
    /* step_backward always writes the gradient of the gates */
    if (!gates->needs_grad) dgates = tape_alloc(t, 4 * size, sizeof *dgates);
    if (t->has_failed) return;
    if (!gates->needs_grad) loop_fill(4 * size, 0, dgates);
    for (size_t r = 0; r < cell->rows; r++)
        step_backward(h, n->activated + r * 4 * h, cell->data + r * h, n->tanh_cell + r * h, dhidden + r * h,
                      dnew_cell + r * h, dgates + r * 4 * h);
    for (size_t r = 0; dcell != NULL && r < cell->rows; r++)
        loop_add_product(h, dnew_cell + r * h, n->activated + r * 4 * h + h, dcell + r * h);
}

tensor *nn_lstm_cell(tape *t, tensor *gates, tensor *cell, tensor **new_cell) {
    *new_cell = NULL;
    if (t->has_failed) return NULL;
    size_t h = cell->cols;
    assert(gates->cols == 4 * h && gates->rows == cell->rows);
    bool needs_grad = gates->needs_grad || cell->needs_grad;
    tensor *hidden = tape_tensor(t, cell->rows, cell->cols, needs_grad);
    tensor *next = tape_tensor(t, cell->rows, cell->cols, needs_grad);
    float *activated = tape_alloc(t, tensor_size(gates), sizeof *activated);
    float *tanh_cell = tape_alloc(t, tensor_size(cell), sizeof *tanh_cell);
    if (t->has_failed) return NULL;
    for (size_t r = 0; r < cell->rows; r++)
        step_forward(h, gates->data + r * 4 * h, cell->data + r * h, activated + r * 4 * h, next->data + r * h,
                     tanh_cell + r * h, hidden->data + r * h);
    *new_cell = next;
    lstm_node *n = tape_record(t, hidden, lstm_backward, sizeof *n);
    if (n == NULL) return hidden;
    n->node.in[0] = gates;
    n->node.in[1] = cell;
    n->node.second_out = next;
    n->activated = activated;
    n->tanh_cell = tanh_cell;
    return hidden;
}
