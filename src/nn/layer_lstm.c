/* layer_lstm.c - LSTM over sequences of any length.
 *
 * Sequences are sorted by length, longest first, so that those still running are always the first rows: there is no
 * padding and no masking. The product with the input is computed for all rows at once. */
#include <assert.h>
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };

layer_lstm layer_lstm_add(params *p, const char *name, uint32_t in, uint32_t width) {
    char whole[NAME_BYTES];
    layer_lstm l = {.width = width};
    snprintf(whole, sizeof whole, "%s.in", name);
    l.input = layer_linear_add(p, whole, in, 4 * width, true);
    snprintf(whole, sizeof whole, "%s.again", name);
    l.recurrent = layer_linear_add(p, whole, width, 4 * width, false);
    return l;
}

/* Sequences of rows: row k of sequence i is start[i] + k, or index[start[i] + k]. start: (count + 1) */
typedef struct sequences {
    uint32_t count;
    const uint32_t *start, *index; /* index: NULL for consecutive rows */
} sequences;

static uint32_t length(sequences s, uint32_t i) {
    return s.start[i + 1] - s.start[i];
}

/* Sequences by length, longest first, stable (counting sort): (count). NULL: the tape has failed. */
static uint32_t *by_length(tape *t, sequences s, uint32_t *longest) {
    *longest = 0;
    for (uint32_t i = 0; i < s.count; i++)
        if (length(s, i) > *longest) *longest = length(s, i);
    uint32_t *order = tape_alloc(t, s.count, sizeof *order);
    uint32_t *slot = tape_alloc(t, (size_t)*longest + 2, sizeof *slot);
    if (slot == NULL) return NULL;
    for (uint32_t i = 0; i <= *longest + 1; i++) slot[i] = 0;
    for (uint32_t i = 0; i < s.count; i++) slot[*longest - length(s, i) + 1]++;
    for (uint32_t i = 0; i <= *longest; i++) slot[i + 1] += slot[i];
    for (uint32_t i = 0; i < s.count; i++) order[slot[*longest - length(s, i)]++] = i;
    return order;
}

/* Number of sequences that have a row at this step; they are the first in `order`. */
static uint32_t running_at(sequences s, const uint32_t *order, uint32_t step, uint32_t before) {
    while (before > 0 && length(s, order[before - 1]) <= step) before--;
    return before;
}

/* Rows of the running sequences at this step: (running). */
static uint32_t *rows_at(tape *t, sequences s, const uint32_t *order, uint32_t step, uint32_t running) {
    uint32_t *rows = tape_alloc(t, running, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < running; i++) {
        uint32_t row = s.start[order[i]] + step;
        rows[i] = s.index != NULL ? s.index[row] : row;
    }
    return rows;
}

/* x: (N, in) -> (s.count, width) */
static tensor *run(tape *t, const layer_lstm *l, tensor *x, sequences s) {
    tensor *projected = layer_linear_apply(t, &l->input, x, ACT_NONE), *last = tape_zeros(t, s.count, l->width);
    uint32_t longest;
    const uint32_t *order = by_length(t, s, &longest);
    if (t->has_failed) return NULL;
    uint32_t running = running_at(s, order, 0, s.count);
    tensor *hidden = tape_zeros(t, running, l->width), *cell = hidden;
    for (uint32_t step = 0; step < longest && !t->has_failed; step++) {
        tensor *gates = nn_gather(t, projected, rows_at(t, s, order, step, running), running);
        if (step > 0) gates = nn_add(t, gates, layer_linear_apply(t, &l->recurrent, hidden, ACT_NONE));
        hidden = nn_lstm_cell(t, gates, cell, &cell);
        uint32_t next = running_at(s, order, step + 1, running);
        assert(next <= running);
        if (next == running) continue;
        last = nn_add(t, last, nn_scatter(t, nn_slice_rows(t, hidden, next, running - next), order + next, s.count));
        hidden = nn_slice_rows(t, hidden, 0, next);
        cell = nn_slice_rows(t, cell, 0, next);
        running = next;
    }
    return last;
}

tensor *layer_lstm_apply(tape *t, const layer_lstm *l, tensor *x, segments s) {
    return run(t, l, x, (sequences){s.count, s.start, NULL});
}

tensor *layer_lstm_neighbours(tape *t, const layer_lstm *l, tensor *x, neighbours e) {
    return run(t, l, x, (sequences){e.rows, e.start, e.index});
}
