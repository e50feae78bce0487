/* layer_lstm.c - a long short-term memory over sequences of any length.
 *
 * Sequences go in order of their length, longest first, so that those which are still running are always the first
 * rows: there is no padding and no masking. What the input contributes is one product over all rows at once. */
#include <stdio.h>

#include "nn/layer.h"

enum { NAME_BYTES = 128 };

layer_lstm layer_lstm_add(params *p, const char *name, uint32_t in, uint32_t width) {
    char whole[NAME_BYTES];
    layer_lstm l = {.width = width};
    snprintf(whole, sizeof whole, "%s.in", name);
    l.in = layer_linear_add(p, whole, in, 4 * width, true);
    snprintf(whole, sizeof whole, "%s.again", name);
    l.again = layer_linear_add(p, whole, width, 4 * width, false);
    return l;
}

/* Sequences of rows: row k of sequence i is start[i] + k, or what the index has there. */
typedef struct sequences {
    uint32_t count;
    const uint32_t *start, *index; /* index: NULL for rows that lie one after the other */
} sequences;

static uint32_t length(sequences s, uint32_t i) {
    return s.start[i + 1] - s.start[i];
}

/* By length, longest first, equals in their order: counted and dealt out. NULL: the tape has failed. */
static uint32_t *by_length(tape *t, sequences s, uint32_t *longest) {
    *longest = 0;
    for (uint32_t i = 0; i < s.count; i++)
        if (length(s, i) > *longest) *longest = length(s, i);
    uint32_t *order = tape_alloc(t, s.count, sizeof *order);
    uint32_t *place = tape_alloc(t, (size_t)*longest + 2, sizeof *place);
    if (place == NULL) return NULL;
    for (uint32_t i = 0; i <= *longest + 1; i++) place[i] = 0;
    for (uint32_t i = 0; i < s.count; i++) place[*longest - length(s, i) + 1]++;
    for (uint32_t i = 0; i <= *longest; i++) place[i + 1] += place[i];
    for (uint32_t i = 0; i < s.count; i++) order[place[*longest - length(s, i)]++] = i;
    return order;
}

/* How many of the sequences, in their order, have a row at this step. */
static uint32_t running_at(sequences s, const uint32_t *order, uint32_t step, uint32_t before) {
    while (before > 0 && length(s, order[before - 1]) <= step) before--;
    return before;
}

/* The rows that the running sequences have at this step. */
static uint32_t *rows_at(tape *t, sequences s, const uint32_t *order, uint32_t step, uint32_t running) {
    uint32_t *rows = tape_alloc(t, running, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < running; i++) {
        uint32_t place = s.start[order[i]] + step;
        rows[i] = s.index != NULL ? s.index[place] : place;
    }
    return rows;
}

static tensor *run(tape *t, const layer_lstm *l, tensor *x, sequences s) {
    tensor *projected = layer_linear_apply(t, &l->in, x, ACT_NONE), *last = tape_zeros(t, s.count, l->width);
    uint32_t longest;
    const uint32_t *order = by_length(t, s, &longest);
    if (t->has_failed) return NULL;
    uint32_t running = running_at(s, order, 0, s.count);
    tensor *hidden = tape_zeros(t, running, l->width), *cell = hidden;
    for (uint32_t step = 0; step < longest && !t->has_failed; step++) {
        tensor *gates = nn_gather(t, projected, rows_at(t, s, order, step, running), running);
        if (step > 0) gates = nn_add(t, gates, layer_linear_apply(t, &l->again, hidden, ACT_NONE));
        hidden = nn_lstm_cell(t, gates, cell, &cell);
        uint32_t next = running_at(s, order, step + 1, running);
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
