/* gnn.h - graph networks as predictors: samples, batches, and the interface of a kind of network.
 *
 * A kind (GIN, SeerNet, PerfSAGE, ...) extracts features of a graph (extract), creates its parameters (build) and
 * computes outputs (forward). Files, data sets, devices, label transforms and scaling are handled for every kind by
 * gnn_family.h. A network has one output for each column of targets, so one pass over a graph serves all devices and
 * modes it was measured in. */
#ifndef PREDICTOR_GNN_H
#define PREDICTOR_GNN_H

#include "foretell/device.h"
#include "nn/descent.h"
#include "nn/layer.h"
#include "predictor/core/model_view.h"
#include "predictor/core/settings.h"
#include "predictor/gnn/label_scale.h"

/* --- Samples ------------------------------------------------------------------------------------------------- */

/* Numbers of features of a kind. Values are standardised over the training part before they reach the network; marks
 * (flags, positional encodings) are passed unchanged. Each may be 0. */
typedef struct gnn_widths {
    /* Kinds of nodes, rows of an embedding. Kind 0 is the unknown kind: kinds absent from training are replaced by it.
     */
    uint32_t kinds;
    uint32_t node_values, node_marks;
    uint32_t edge_values;
    uint32_t global_values, global_marks;
    uint32_t demand_marks; /* the last of global_marks: input of the device model only */
    /* Features of the device of a column. With 0, a network has an output per column; otherwise one output for all,
     * which depends on these features, so it also predicts for devices that were not in training. */
    uint32_t column_values;
} gnn_widths;

enum { GNN_MAX_COLUMN_VALUES = 16 };

/* Features of a graph. Arrays of width 0 may be NULL. */
typedef struct gnn_sample {
    uint32_t nodes, edges;
    uint32_t *kinds;      /* nodes */
    float *node_values;   /* nodes x node_values */
    float *node_marks;    /* nodes x node_marks */
    uint32_t *from, *to;  /* edges, in any order; no edge twice */
    float *edge_values;   /* edges x edge_values */
    float *global_values; /* global_values */
    float *global_marks;  /* global_marks */
    double known_ratio;   /* share of nodes that the kind recognised; 1 by default */
} gnn_sample;

/* Allocates all arrays of a sample, zeroed; false when out of memory. */
bool gnn_sample_open(gnn_sample *s, const gnn_widths *widths, uint32_t nodes, uint32_t edges, arena *memory);

/* --- Batches ------------------------------------------------------------------------------------------------- */

/* Several samples concatenated, with consecutive node indices. Edges are sorted by target, so those of a sample and
 * those into a node are contiguous. */
typedef struct gnn_batch {
    gnn_widths widths;
    uint32_t samples, nodes, edges;
    const uint32_t *kinds;
    const float *node_values, *node_marks, *edge_values, *global_values, *global_marks;
    const uint32_t *from, *to; /* per edge */
    segments nodes_of;         /* nodes by sample */
    segments edges_of;         /* edges by sample */
    segments edges_into;       /* edges by target node */
    neighbours sources;        /* by node: sources of incoming edges */
    neighbours targets;        /* by node: targets of outgoing edges */
    neighbours edges_out;      /* by node: indices of outgoing edges */
    uint32_t columns;          /* to predict, with features of their devices, if widths.column_values > 0 */
    const float *column_values;
    tensor **hidden; /* output: input of the last layer, a row per output; NULL: not needed */
} gnn_batch;

/* Joins samples into a batch, copied to the arena, not scaled. False when out of memory. */
bool gnn_batch_join(gnn_batch *b, const gnn_widths *widths, const gnn_sample *const *samples, uint32_t count,
                    arena *memory);

/* --- Options ------------------------------------------------------------------------------------------------- */

/* Options of all kinds; integers are doubles too, as config_list (config.h) needs. */
typedef struct gnn_options {
    double hidden, layers;
    double members;      /* networks that are averaged */
    double steps, batch; /* training steps of each network; samples in a step */
    double rate;         /* highest learning rate */
    double dropout, weight_decay;
    double clip;         /* maximum norm of the gradient; 0: none */
    double average;      /* decay of the moving average of the weights, which is the result; 0: the last weights are */
    double check;        /* steps between two validations */
    double patience;     /* validations without improvement before it stops; 0: never */
    double keep_best;    /* 1: the result is the best on the validation part; 0: the last */
    double delta;        /* of the Huber loss */
    double offset_share; /* key "level": share of the common offset of labels of one name that training ignores
                            (gnn_train.h) */
    double forget;       /* share of nodes whose kind is hidden in training, so that the unknown kind is trained */
    uint32_t loss;       /* loss_kind */
    uint32_t target;     /* label_form */
    uint32_t schedule;   /* schedule_kind */
    uint32_t optimizer;  /* optim_kind */
} gnn_options;

/* --- Kinds --------------------------------------------------------------------------------------------------- */

/* A kind with its options: what building and running a network needs. */
typedef struct gnn_plan {
    gnn_options shared;
    void *own;
    gnn_widths widths;
    uint32_t outputs; /* columns of targets */
    uint32_t groups;  /* groups of training labels with a learned offset; 0: none, as in a loaded model */
} gnn_plan;

typedef struct gnn_net gnn_net; /* defined by each kind */

typedef struct gnn_kind {
    const char *name;
    const char *schema; /* of its features; changes with their meaning */
    size_t own_size;    /* of its own options, a struct of doubles and uint32_t; 0: none */
    /* Sets its defaults: shared options that differ from those of gnn_settings.c, and its own. */
    void (*defaults)(gnn_options *shared, void *own);
    /* Adds its own options to the list of settings; NULL: none. */
    void (*keys)(void *own, config_list *list);
    /* FT_ERR_USAGE for invalid combinations. NULL: all are valid. */
    ft_status (*check)(const gnn_options *shared, const void *own, ft_error *error);
    /* Numbers of features with these options. */
    gnn_widths (*widths)(const void *own);
    /* Creates what extraction needs for all models (fusion rules, say); then read-only. NULL: nothing. */
    ft_status (*open)(const void *own, void **extractor, ft_error *error);
    void (*close)(void *extractor);
    /* Extracts the features of a model; the sample is from the arena. Called from several threads. */
    ft_status (*extract)(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error);
    /* Features of a device: widths.column_values numbers of about 1. NULL where that is 0. */
    ft_status (*sheet)(const ft_device *device, float *values, ft_error *error);
    /* Registers the network's parameters; the caller finishes them. The net itself (layers, ids) is from calloc and
     * freed with free(). NULL when out of memory. `start`, which may be NULL, sets initial values that are not random,
     * after params_finish. */
    gnn_net *(*build)(const gnn_plan *plan, params *p);
    void (*start)(const gnn_net *net, params *p);
    /* Called when the parameters are final: precomputes what is the same for all graphs. Not used while training. NULL:
     * nothing. */
    ft_status (*finalize)(gnn_net *net, const params *values, ft_error *error);
    /* Returns samples x outputs (or x columns of the batch), in z-scores of the targets (label_scale.h). */
    tensor *(*forward)(const gnn_net *net, tape *t, const gnn_batch *batch);
    /* Prefixes of the names of the last layers, which can be trained alone; ends with NULL. NULL: the kind does not
     * support further training. */
    const char *const *last;
    bool has_hidden; /* it sets gnn_batch.hidden: a row for each sample and column */
    /* Combines the gradients of all metrics and modes (descent.h); NULL: their sum. */
    descent_combine *combine;
} gnn_kind;

#endif
