/* gnn_infer.h - what the networks of a model say of subjects, one or several at a time: weights are read once for all
 * of them. Each gets the same bits alone and among others where products are our own (nn/gemm.h). */
#ifndef PREDICTOR_GNN_INFER_H
#define PREDICTOR_GNN_INFER_H

#include "predictor/gnn/gnn_model.h"

static const uint64_t GNN_EXTRACT_MEMORY = (uint64_t)1 << 30; /* memory for what views are worked out from */

typedef struct gnn_inference {
    gnn_sample sample; /* what was seen of the subject, until networks have been asked */
    double known_ratio;
    double *values;        /* per column, of all members together */
    double *spread;        /* per column: how far the members are from each other, relative */
    float *hidden;         /* per column what the last layer of the first member sees */
    uint32_t hidden_width; /* 0: it does not tell */
} gnn_inference;

/* What is seen of a subject, before networks are asked. The view is in `room`, its sample in `memory`. */
ft_status gnn_inference_prepare(const gnn_model *m, model_view *s, uint32_t column_count, arena *memory, arena *room,
                                gnn_inference **view, ft_error *error);
/* Asks the networks about views that were looked at. */
ft_status gnn_inference_run(const gnn_model *m, gnn_inference *const *views, uint32_t count, const gnn_column *columns,
                            uint32_t column_count, arena *memory, ft_error *error);
/* Both, for one subject. */
ft_status gnn_inference_make(const gnn_model *m, model_view *s, const gnn_column *columns, uint32_t column_count,
                             arena *room, gnn_inference **view, ft_error *error);

#endif
