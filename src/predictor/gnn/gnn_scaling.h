/* gnn_scaling.h - standardises the values of nodes, edges and graphs over the training part, and records their range
 * and the kinds of nodes, from which the coverage of a model follows. */
#ifndef PREDICTOR_GNN_SCALING_H
#define PREDICTOR_GNN_SCALING_H

#include "predictor/gnn/gnn_data.h"

/* One block of floats, as in the file: for the values of nodes, edges and graphs each: means, inverse deviations,
 * minima and maxima; then for each kind of node 1 if training had it. */
typedef struct gnn_scaling {
    gnn_widths widths;
    float *floats;
    size_t count;
} gnn_scaling;

ft_status gnn_scaling_open(gnn_scaling *s, const gnn_widths *widths, ft_error *error);
void gnn_scaling_free(gnn_scaling *s);
/* Fits to the nodes, edges and graphs of the training part. */
ft_status gnn_scaling_fit(gnn_scaling *s, const gnn_data *data, ft_error *error);

/* Scale rows of values; in and out may be the same. */
void gnn_scale_nodes(const gnn_scaling *s, const float *in, size_t rows, float *out);
void gnn_scale_edges(const gnn_scaling *s, const float *in, size_t rows, float *out);
void gnn_scale_globals(const gnn_scaling *s, const float *in, size_t rows, float *out);
/* The kind, or 0 if no training graph had it. */
uint32_t gnn_scale_kind(const gnn_scaling *s, uint32_t kind);

/* Share of a sample's nodes that are within the range of training; the sample must not be scaled yet. */
double gnn_scaling_coverage(const gnn_scaling *s, const gnn_sample *sample);
/* Scales a sample in place. */
void gnn_scale_sample(const gnn_scaling *s, gnn_sample *sample);

/* --- Scaled training data ------------------------------------------------------------------------------------ */

/* Values and labels of all training data, scaled once for all networks. */
typedef struct gnn_inputs {
    const gnn_data *data;
    uint32_t *kinds; /* per distinct node */
    float *nodes, *edges, *globals;
    float *targets; /* per graph and column; NaN: not measured */
} gnn_inputs;

ft_status gnn_inputs_make(gnn_inputs *in, const gnn_data *data, const gnn_scaling *scaling, ft_error *error);
void gnn_inputs_free(gnn_inputs *in);

#endif
