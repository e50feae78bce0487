/* gnn_train.h - trains one graph network on samples with labels in columns. */
#ifndef PREDICTOR_GNN_TRAIN_H
#define PREDICTOR_GNN_TRAIN_H

#include "predictor/gnn/gnn_inputs.h"

typedef struct gnn_training gnn_training;
typedef struct gnn_model gnn_model; /* gnn_model.h */

/* What keeps a network from telling old devices and new ones apart: a weight on how far what its last layer sees of
 * programs on new devices is from what it sees of those on old ones. */
typedef struct gnn_domains {
    tune_distance distance;
    double weight;
    uint32_t new_column;   /* the first of a new device */
    const gnn_model *held; /* whose first layers stay as they are; NULL: all are trained */
} gnn_domains;

/* `net` and `values` belong to the caller, who frees them after the training. `levels` is the state of the network for
 * what training forgives (gnn_offset.h); NULL: nothing. */
ft_status gnn_training_new(const gnn_inputs *in, const gnn_kind *kind, const gnn_plan *plan, const gnn_net *net,
                           params *values, const param_id *offsets, uint64_t seed, pool *threads, gnn_training **out,
                           ft_error *error);
void gnn_training_free(gnn_training *t);
/* From now on; for kinds that can tell what their last layer sees. */
void gnn_training_set_domains(gnn_training *t, const gnn_domains *domains);
ft_status gnn_training_step(gnn_training *t, double *loss, ft_error *error);
/* Mean absolute error in percent on the validation labels; NaN when there are none. */
ft_status gnn_training_check(gnn_training *t, double *mape, ft_error *error);
descent *gnn_training_descent(gnn_training *t);

#endif
