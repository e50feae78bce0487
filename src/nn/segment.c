/* segment.c - many rows to one and back: sum, mean, largest, softmax and spreading within segments. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/loops.h"
#include "nn/ops.h"
#include "nn/vmath.h"

typedef struct segment_node {
    tape_node node;
    segments s;
    bool is_mean;
    uint32_t *winner; /* of max: the row each element came from */
} segment_node;

static void check(const tensor *x, segments s) {
    assert(s.start[0] == 0 && s.start[s.count] == x->rows);
    (void)x;
    (void)s;
}

static segment_node *note(tape *t, tensor *out, tape_backward_rule *backward, tensor *x, segments s) {
    segment_node *n = tape_record(t, out, backward, sizeof *n);
    if (n == NULL) return NULL;
    n->node.in[0] = x;
    n->s = s;
    return n;
}

/* --- Sum and mean -------------------------------------------------------------------------------------------- */

/* Adds up the rows of each segment, or means of them, to the rows of out. */
static void add_up(segments s, size_t cols, bool is_mean, const float *x, float *out) {
    for (uint32_t i = 0; i < s.count; i++, out += cols) {
        size_t first = s.start[i], rows = s.start[i + 1] - first;
        loop_add_column_sums(rows, cols, x + first * cols, out);
        if (is_mean && rows > 1) loop_scale(cols, 1.0f / (float)rows, out, out);
    }
}

/* Adds each segment's row, or its share, to all rows of it. */
static void spread(segments s, size_t cols, bool is_mean, const float *from, float *to) {
    for (uint32_t i = 0; i < s.count; i++, from += cols) {
        size_t first = s.start[i], last = s.start[i + 1];
        float share = is_mean ? 1.0f / (float)(last - first) : 1.0f;
        for (size_t r = first; r < last; r++) loop_add_scaled(cols, share, from, to + r * cols);
    }
}

static void sum_backward(tape *t, tape_node *node) {
    const segment_node *n = (segment_node *)node;
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) spread(n->s, node->out->cols, n->is_mean, node->out->grad, grad);
}

static tensor *sum_or_mean(tape *t, tensor *x, segments s, bool is_mean) {
    if (t->has_failed) return NULL;
    check(x, s);
    tensor *out = tape_tensor(t, s.count, x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    add_up(s, x->cols, is_mean, x->data, out->data);
    segment_node *n = note(t, out, sum_backward, x, s);
    if (n != NULL) n->is_mean = is_mean;
    return out;
}

tensor *nn_segment_sum(tape *t, tensor *x, segments s) {
    return sum_or_mean(t, x, s, false);
}

tensor *nn_segment_mean(tape *t, tensor *x, segments s) {
    return sum_or_mean(t, x, s, true);
}

/* --- Spreading ----------------------------------------------------------------------------------------------- */

static void spread_backward(tape *t, tape_node *node) {
    float *grad = tape_grad(t, node->in[0]);
    if (grad != NULL) add_up(((segment_node *)node)->s, node->out->cols, false, node->out->grad, grad);
}

tensor *nn_segment_broadcast(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    assert(x->rows == s.count);
    tensor *out = tape_tensor(t, s.start[s.count], x->cols, x->needs_grad);
    if (out == NULL) return NULL;
    memset(out->data, 0, tensor_size(out) * sizeof *out->data);
    spread(s, x->cols, false, x->data, out->data);
    note(t, out, spread_backward, x, s);
    return out;
}

/* --- Largest ------------------------------------------------------------------------------------------------- */

static void max_backward(tape *t, tape_node *node) {
    const segment_node *n = (segment_node *)node;
    size_t cols = node->out->cols;
    float *grad = tape_grad(t, node->in[0]);
    for (size_t i = 0; grad != NULL && i < tensor_size(node->out); i++)
        if (n->s.start[i / cols] < n->s.start[i / cols + 1]) grad[n->winner[i] * cols + i % cols] += node->out->grad[i];
}

/* The row with the largest element of a column in a segment that is not empty; of equals the first. */
static uint32_t largest_row(const float *x, size_t cols, size_t column, uint32_t first, uint32_t last) {
    uint32_t best = first;
    for (uint32_t r = first + 1; r < last; r++)
        if (x[r * cols + column] > x[best * cols + column]) best = r;
    return best;
}

tensor *nn_segment_max(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    check(x, s);
    size_t cols = x->cols;
    tensor *out = tape_tensor(t, s.count, x->cols, x->needs_grad);
    uint32_t *winner = tape_alloc(t, s.count * cols, sizeof *winner);
    if (winner == NULL) return NULL;
    for (size_t i = 0; i < tensor_size(out); i++) {
        uint32_t first = s.start[i / cols], last = s.start[i / cols + 1];
        winner[i] = first == last ? 0 : largest_row(x->data, cols, i % cols, first, last);
        out->data[i] = first == last ? 0 : x->data[winner[i] * cols + i % cols];
    }
    segment_node *n = note(t, out, max_backward, x, s);
    if (n != NULL) n->winner = winner;
    return out;
}

/* --- Softmax ------------------------------------------------------------------------------------------------- */

/* dx = y (dy - sum over the segment of y dy), each column on its own. */
static void softmax_backward(tape *t, tape_node *node) {
    segments s = ((segment_node *)node)->s;
    size_t cols = node->out->cols;
    const float *y = node->out->data, *from = node->out->grad;
    float *grad = tape_grad(t, node->in[0]);
    float *sums = tape_alloc(t, cols, sizeof *sums);
    for (uint32_t i = 0; grad != NULL && sums != NULL && i < s.count; i++) {
        size_t first = s.start[i] * cols, last = s.start[i + 1] * cols;
        loop_fill(cols, 0, sums);
        for (size_t r = first; r < last; r += cols) loop_add_product(cols, y + r, from + r, sums);
        for (size_t r = first; r < last; r += cols)
            for (size_t c = 0; c < cols; c++) grad[r + c] += y[r + c] * (from[r + c] - sums[c]);
    }
}

/* Exponentials of a segment's rows less the largest of their column, and their sums. */
static void exponentials(const float *x, size_t rows, size_t cols, float *out, float *most, float *sums) {
    loop_fill(cols, -INFINITY, most);
    loop_fill(cols, 0, sums);
    for (size_t i = 0; i < rows * cols; i++)
        if (x[i] > most[i % cols]) most[i % cols] = x[i];
    for (size_t r = 0; r < rows * cols; r += cols)
        for (size_t c = 0; c < cols; c++) {
            out[r + c] = vmath_exp(x[r + c] - most[c]);
            sums[c] += out[r + c];
        }
}

tensor *nn_segment_softmax(tape *t, tensor *x, segments s) {
    if (t->has_failed) return NULL;
    check(x, s);
    size_t cols = x->cols;
    tensor *out = tape_tensor(t, x->rows, x->cols, x->needs_grad);
    float *most = tape_alloc(t, 2 * cols, sizeof *most);
    if (most == NULL) return NULL;
    float *sums = most + cols;
    for (uint32_t i = 0; i < s.count; i++) {
        size_t first = s.start[i] * cols, rows = s.start[i + 1] - s.start[i];
        float *y = out->data + first;
        exponentials(x->data + first, rows, cols, y, most, sums);
        for (size_t r = 0; r < rows * cols; r += cols)
            for (size_t c = 0; c < cols; c++) y[r + c] /= sums[c];
    }
    note(t, out, softmax_backward, x, s);
    return out;
}
