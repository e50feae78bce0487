/* gnn_inputs.h - what graph networks are trained on, as they get it: values and labels scaled, once for all of them. */
#ifndef PREDICTOR_GNN_INPUTS_H
#define PREDICTOR_GNN_INPUTS_H

#include "predictor/gnn/gnn_scaling.h"

typedef struct gnn_inputs {
    const gnn_data *data;
    uint32_t *kinds; /* per distinct node */
    float *nodes, *edges, *globals;
    float *targets; /* per graph and column; NaN: not measured */
} gnn_inputs;

ft_status gnn_inputs_make(gnn_inputs *in, const gnn_data *data, const gnn_scaling *scaling, ft_error *error);
void gnn_inputs_free(gnn_inputs *in);

#endif
