/* gnn_offset.h - what training forgives a network: that all labels under one name are off together.
 *
 * Programs of a task are measured under the same circumstances, and a task has its own way to be slower or faster than
 * its numbers say. A network that has to fit this takes what tells tasks apart for a cause, which helps with no other
 * task. So each name has a level, learned beside the network, that is taken from its labels; it is forgotten in the
 * end. */
#ifndef PREDICTOR_GNN_OFFSET_H
#define PREDICTOR_GNN_OFFSET_H

#include "nn/tape.h"
#include "predictor/gnn/gnn_data.h"

typedef struct gnn_offsets {
    double share;     /* of what labels are off together that is forgiven; 0: nothing */
    param_id values;  /* state of the network: names x columns */
    uint32_t *counts; /* labels of a step, by name and column */
} gnn_offsets;

/* Counts the labels of the graphs of a step. */
void gnn_offsets_count(const gnn_offsets *l, const gnn_data *data, const uint32_t *graphs, uint32_t count);
/* Takes levels from the targets of some of them, and learns from what the network has said. Without a label, the mask
 * is 0. */
void gnn_subtract_group_offset(const gnn_offsets *l, tape *t, const gnn_data *data, const uint32_t *graphs,
                               uint32_t count, const float *mask, const tensor *predicted, float *targets);

#endif
