/* gnn_train.h - training of one graph network on samples with labels in columns. */
#ifndef PREDICTOR_GNN_TRAIN_H
#define PREDICTOR_GNN_TRAIN_H

#include "nn/tape.h"
#include "predictor/gnn/gnn_scaling.h"

typedef struct gnn_training gnn_training;
typedef struct gnn_model gnn_model; /* gnn_model.h */

/* Domain adaptation in further training: a penalty on the distance between the inputs of the last layer on old devices
 * and on new ones. */
typedef struct gnn_domains {
    tune_distance distance;
    double weight;
    uint32_t new_column;   /* the first column of a new device */
    const gnn_model *held; /* model whose first layers are kept fixed; NULL: all layers are trained */
} gnn_domains;

typedef struct gnn_training_options {
    const gnn_inputs *in;
    const gnn_kind *kind;
    const gnn_plan *plan;
    const gnn_net *net;
    const param_id *offsets; /* state of the network for group offsets; NULL: none */
    uint64_t seed;
    pool *threads;
} gnn_training_options;

/* All pointers of the options, and `values`, must outlive the training. */
ft_status gnn_training_new(const gnn_training_options *options, params *values, gnn_training **out, ft_error *error);
void gnn_training_free(gnn_training *t);
/* Has no effect for kinds without has_hidden. */
void gnn_training_set_domains(gnn_training *t, const gnn_domains *domains);
ft_status gnn_training_step(gnn_training *t, double *loss, ft_error *error);
/* Mean absolute percentage error on the validation labels; NaN without any. */
ft_status gnn_training_check(gnn_training *t, double *mape, ft_error *error);
descent *gnn_training_descent(gnn_training *t);

/* --- Group offsets -------------------------------------------------------------------------------------------
 *
 * Labels of one name (programs of a task) share an offset: they are measured under the same conditions, and a task may
 * be slower or faster than its features explain. A network that fits this offset takes features that identify the task
 * for a cause, which does not transfer to other tasks. So each group has an offset, learned beside the network and
 * subtracted from its labels; it is dropped after training. */

typedef struct gnn_offsets {
    double share;     /* of the common offset of a group that training ignores; 0: none */
    param_id values;  /* state of the network: groups x columns */
    uint32_t *counts; /* labels of a step, by group and column */
} gnn_offsets;

/* Counts the labels of the graphs of a step. */
void gnn_offsets_count(const gnn_offsets *o, const gnn_data *data, const uint32_t *graphs, uint32_t count);
/* Some graphs of a step: mask and targets are count x columns; without a label, the mask is 0. */
typedef struct gnn_targets {
    const uint32_t *graphs;
    uint32_t count;
    const float *mask;
    float *targets;
} gnn_targets;

/* Subtracts the offsets from the targets, and updates them from the errors of the predictions. */
void gnn_subtract_group_offset(const gnn_offsets *o, tape *t, const gnn_data *data, const gnn_targets *of,
                               const tensor *predicted);

#endif
