/* gnn_offset.c - see gnn_offset.h. */
#include "predictor/gnn/gnn_offset.h"

#include <math.h>
#include <string.h>

/* Of a label in its level, and of all labels of a step together; how far off a label is heard at most, in deviations of
 * all labels: single ones are often much slower. */
static const double RATE = 0.05, STEP_RATE = 0.5, FURTHEST = 0.2;

static size_t cell_of(const gnn_data *data, uint32_t graph, uint32_t column) {
    return (size_t)data->group_of[graph] * data->column_count + column;
}

void gnn_offsets_count(const gnn_offsets *l, const gnn_data *data, const uint32_t *graphs, uint32_t count) {
    memset(l->counts, 0, (size_t)data->group_count * data->column_count * sizeof *l->counts);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < data->column_count; c++)
            l->counts[cell_of(data, graphs[i], c)] += !isnan(data->labels[(size_t)graphs[i] * data->column_count + c]);
}

void gnn_subtract_group_offset(const gnn_offsets *l, tape *t, const gnn_data *data, const uint32_t *graphs,
                               uint32_t count, const float *mask, const tensor *predicted, float *targets) {
    tensor *offsets = tape_param(t, l->values);
    float *change = tape_grad(t, offsets); /* of state: what is added to it */
    if (change == NULL) return;
    double back = (1 - l->share) / l->share;
    for (uint32_t i = 0; i < count * data->column_count; i++) {
        if (mask[i] == 0) continue;
        size_t cell = cell_of(data, graphs[i / data->column_count], i % data->column_count);
        targets[i] -= offsets->data[cell];
        double off = fmin(FURTHEST, fmax(-FURTHEST, (double)targets[i] - (double)predicted->data[i]));
        double rate = fmin(RATE, STEP_RATE / l->counts[cell]);
        change[cell] += (float)(rate * (off - back * (double)offsets->data[cell]));
    }
}
