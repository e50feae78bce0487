/* gnn_scaling.h - values of nodes, edges and graphs brought to mean 0 and deviation 1 over the training part, and what
 * was seen there: a predictor says how much of a model is like that. */
#ifndef PREDICTOR_GNN_SCALING_H
#define PREDICTOR_GNN_SCALING_H

#include "predictor/gnn/gnn_data.h"

/* One flat block of floats, as it stands in the file: for the values of nodes, of edges and of graphs in turn their
 * means, inverse deviations, least and largest; then for each kind of node 1 when it was seen. */
typedef struct gnn_scaling {
    gnn_widths widths;
    float *floats;
    size_t count;
} gnn_scaling;

ft_status gnn_scaling_open(gnn_scaling *s, const gnn_widths *widths, ft_error *error);
void gnn_scaling_free(gnn_scaling *s);
/* Over the nodes, edges and graphs of the training part. */
ft_status gnn_scaling_fit(gnn_scaling *s, const gnn_data *data, ft_error *error);

/* Rows of values become inputs; in and out may be the same. */
void gnn_scale_nodes(const gnn_scaling *s, const float *in, size_t rows, float *out);
void gnn_scale_edges(const gnn_scaling *s, const float *in, size_t rows, float *out);
void gnn_scale_globals(const gnn_scaling *s, const float *in, size_t rows, float *out);
/* The kind, or 0 when no training graph had it. */
uint32_t gnn_scale_kind(const gnn_scaling *s, uint32_t kind);

/* The share of a sample's nodes that are like those of the training part. Before the sample is scaled. */
double gnn_scaling_coverage(const gnn_scaling *s, const gnn_sample *sample);
/* All of a sample in its place. */
void gnn_scale_sample(const gnn_scaling *s, gnn_sample *sample);

#endif
