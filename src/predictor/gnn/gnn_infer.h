/* gnn_infer.h - runs the trained networks on one or several model views at a time; several share one read of the
 * weights. With foretell's own products (nn/math/gemm.h) the results are the same bits either way. */
#ifndef PREDICTOR_GNN_INFER_H
#define PREDICTOR_GNN_INFER_H

#include "predictor/gnn/gnn_model.h"

static const uint64_t GNN_EXTRACT_MEMORY = (uint64_t)1 << 30; /* limit for the features of a batch */

typedef struct gnn_inference {
    gnn_sample sample; /* features, until the networks have run */
    double known_ratio;
    double *values;        /* per column, averaged over the members */
    double *spread;        /* per column: relative standard deviation of the members */
    float *hidden;         /* per column: input of the last layer of the first member */
    uint32_t hidden_width; /* 0: not available */
} gnn_inference;

/* Extracts features. The inference is allocated in `room`, its sample in `memory`. */
ft_status gnn_inference_prepare(const gnn_model *m, model_view *s, uint32_t column_count, arena *memory, arena *room,
                                gnn_inference **out, ft_error *error);
/* Runs the networks on prepared inferences. */
ft_status gnn_inference_run(const gnn_model *m, gnn_inference *const *items, uint32_t count, const gnn_column *columns,
                            uint32_t column_count, arena *memory, ft_error *error);
/* Both, for one model. */
ft_status gnn_inference_make(const gnn_model *m, model_view *s, const gnn_column *columns, uint32_t column_count,
                             arena *room, gnn_inference **out, ft_error *error);

#endif
