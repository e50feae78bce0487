/* sequence_count.c - see sequence_count.h. */
#include "predictor/program/sequence_count.h"

#include <stdio.h>

sequence_count sequence_count_add(params *p, uint32_t width) {
    sequence_count made = {0};
    for (uint32_t rows = 1; rows <= SEQUENCE_COUNTS; rows++) {
        char name[32];
        snprintf(name, sizeof name, "rows%u", rows);
        made.of[rows] = layer_linear_add(p, name, rows * width, width, true);
    }
    return made;
}

/* The segments of a length; NULL when there are none, or no memory. */
static uint32_t *find_length(tape *t, segments s, uint32_t length, uint32_t *count) {
    *count = 0;
    for (uint32_t i = 0; i < s.count; i++) *count += s.start[i + 1] - s.start[i] == length;
    uint32_t *found = *count > 0 ? tape_alloc(t, *count, sizeof *found) : NULL;
    for (uint32_t i = 0, k = 0; found != NULL && i < s.count; i++)
        if (s.start[i + 1] - s.start[i] == length) found[k++] = i;
    return found;
}

/* Rows one after the other times a matrix are the sum of each row times its part of the matrix. */
static tensor *apply_length(tape *t, const layer_linear *layer, tensor *x, segments s, const uint32_t *of,
                            uint32_t count, uint32_t length) {
    tensor *sum = NULL, *weights = tape_param(t, layer->weight);
    for (uint32_t row = 0; row < length; row++) {
        uint32_t *index = tape_alloc(t, count, sizeof *index);
        if (index == NULL) return NULL;
        for (uint32_t i = 0; i < count; i++) index[i] = s.start[of[i]] + row;
        tensor *part = nn_matmul(t, nn_gather(t, x, index, count), nn_slice_rows(t, weights, row * x->cols, x->cols));
        sum = sum == NULL ? part : nn_add(t, sum, part);
    }
    return nn_scatter(t, nn_add_row(t, sum, tape_param(t, layer->bias)), of, s.count);
}

tensor *sequence_count_apply(tape *t, const sequence_count *layers, tensor *x, segments s) {
    tensor *sum = NULL;
    if (t->has_failed) return NULL;
    for (uint32_t length = 1; length <= SEQUENCE_COUNTS; length++) {
        uint32_t count, *of = find_length(t, s, length, &count);
        if (of == NULL) continue;
        tensor *some = apply_length(t, &layers->of[length], x, s, of, count, length);
        sum = sum == NULL ? some : nn_add(t, sum, some);
    }
    return sum != NULL ? sum : nn_scale(t, nn_segment_mean(t, x, s), 0);
}
