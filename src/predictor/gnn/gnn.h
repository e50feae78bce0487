/* gnn.h - graph networks as predictors: what a network sees of a model, and what each kind of network has to say.
 *
 * A kind (GIN, SeerNet, PerfSAGE, ...) tells what it sees of a graph (look), what it is made of (build) and what it
 * says (forward). It knows nothing of files, data sets, devices, label transforms or scaling: gnn_family.h does all of
 * that for every kind. A network says one number for each column of targets, so that one pass over a graph serves all
 * devices and modes it was measured in. */
#ifndef PREDICTOR_GNN_H
#define PREDICTOR_GNN_H

#include "foretell/device.h"
#include "nn/descent.h"
#include "nn/layer.h"
#include "predictor/core/config.h"
#include "predictor/core/model_view.h"
#include "predictor/gnn/label_scale.h"

/* --- Samples ------------------------------------------------------------------------------------------------- */

/* How wide what a kind sees is. Values are brought to mean 0 and deviation 1 over the training part before a network
 * gets them; marks (flags, encodings of positions) reach it as they are. Each may be 0. */
typedef struct gnn_widths {
    /* Of nodes: rows of an embedding; gnn_sample.kinds are below it. Kind 0 stands for what is not known: kinds that
     * no training graph had reach the network as 0. */
    uint32_t kinds;
    uint32_t node_values, node_marks;
    uint32_t edge_values;
    uint32_t global_values, global_marks;
    uint32_t demand_marks; /* of global_marks, the last so many: only for what a device makes of them */
    /* Of what is known of the device of a column. With 0, a network has an output of its own for each column; else it
     * has one for all, which it tells for what it is told of a device, also of one that it has never met. */
    uint32_t column_values;
} gnn_widths;

enum { GNN_MAX_COLUMN_VALUES = 16 };

/* A graph as a network sees it. What a width of 0 describes may be NULL. */
typedef struct gnn_sample {
    uint32_t nodes, edges;
    uint32_t *kinds;      /* nodes */
    float *node_values;   /* nodes x node_values */
    float *node_marks;    /* nodes x node_marks */
    uint32_t *from, *to;  /* edges, in any order; no edge twice */
    float *edge_values;   /* edges x edge_values */
    float *global_values; /* global_values */
    float *global_marks;  /* global_marks */
    double known_ratio;   /* share of the nodes that the kind could tell; 1 unless it says otherwise */
} gnn_sample;

/* All arrays for a sample of these sizes, zeroed, from the arena; false when out of memory. */
bool gnn_sample_open(gnn_sample *s, const gnn_widths *widths, uint32_t nodes, uint32_t edges, arena *memory);

/* --- Batches ------------------------------------------------------------------------------------------------- */

/* Several samples one after the other, with node numbers that go on. Edges are sorted by target, so those of a sample
 * and those into a node stand together. */
typedef struct gnn_batch {
    gnn_widths widths;
    uint32_t samples, nodes, edges;
    const uint32_t *kinds;
    const float *node_values, *node_marks, *edge_values, *global_values, *global_marks;
    const uint32_t *from, *to; /* per edge */
    segments nodes_of;         /* nodes by sample */
    segments edges_of;         /* edges by sample */
    segments edges_into;       /* edges by target node: of rows that stand for edges */
    neighbours sources;        /* by node: the nodes whose edges come in */
    neighbours targets;        /* by node: the nodes to which edges go out */
    neighbours edges_out;      /* by node: the edges that go out, as numbers of edges */
    uint32_t columns;          /* that are asked for, and what is known of their devices; where widths say so */
    const float *column_values;
    tensor **hidden; /* or NULL: where a network that can tell leaves what its last layer sees: a row per output */
} gnn_batch;

/* Joins samples into a batch. Everything is from the arena; values are copied as they are (not scaled). False when out
 * of memory. */
bool gnn_batch_join(gnn_batch *b, const gnn_widths *widths, const gnn_sample *const *samples, uint32_t count,
                    arena *memory);

/* --- Options ------------------------------------------------------------------------------------------------- */

/* What all kinds share; whole numbers too are kept as doubles, as the list of keys (config.h) wants them. */
typedef struct gnn_options {
    double hidden, layers;
    double members;      /* networks that are averaged */
    double steps, batch; /* of each network; samples in a step */
    double rate;         /* the highest */
    double dropout, weight_decay;
    double clip;         /* of the length of the gradient; 0: none */
    double average;      /* decay of the moving average of parameters that is kept in the end; 0: the last ones are */
    double check;        /* steps between two looks at the validation part */
    double patience;     /* looks without a better one after which it stops; 0: never */
    double keep_best;    /* 1: keeps what was best on the validation part, 0: what came last */
    double delta;        /* of the Huber loss */
    double offset_share; /* share of what labels of one name are off together that training forgives (gnn_offset.h) */
    double forget;       /* share of the nodes whose kind training hides, so that it knows what to make of new ones */
    uint32_t loss;       /* loss_kind */
    uint32_t target;     /* label_form */
    uint32_t schedule;   /* schedule_kind */
    uint32_t optimizer;  /* optim_kind */
} gnn_options;

/* --- Kinds --------------------------------------------------------------------------------------------------- */

/* Where a network of any kind is built and asked: its shared options, its own (of the kind's size), its widths. */
typedef struct gnn_plan {
    gnn_options shared;
    void *own;
    gnn_widths widths;
    uint32_t outputs; /* columns of targets */
    uint32_t groups;  /* of training, whose levels are learned; 0: none are, as in a model that is read */
} gnn_plan;

typedef struct gnn_net gnn_net; /* each kind defines its own */

typedef struct gnn_kind {
    const char *name;
    const char *schema; /* names what it sees; changes when that changes its meaning */
    size_t own_size;    /* of its own options: a plain struct of doubles and uint32_t; 0: none */
    /* Sets the defaults: the shared ones that differ from those of gnn_options.c, and its own. */
    void (*defaults)(gnn_options *shared, void *own);
    /* Adds its own options to the list of settings; NULL: none. */
    void (*keys)(void *own, config_list *list);
    /* What cannot go together: FT_ERR_USAGE. NULL: everything can. */
    ft_status (*check)(const gnn_options *shared, const void *own, ft_error *error);
    /* How wide what it sees is with these options. */
    gnn_widths (*widths)(const void *own);
    /* Makes what looking needs and is the same for all subjects (fusion rules, say); NULL: nothing. Read-only then. */
    ft_status (*open)(const void *own, void **extractor, ft_error *error);
    void (*close)(void *extractor);
    /* What is seen of a subject; all of the sample is from the arena. Runs on any thread. */
    ft_status (*extract)(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error);
    /* What it is told of a device: widths.column_values numbers of about 1. NULL where that is 0. */
    ft_status (*sheet)(const ft_device *device, float *values, ft_error *error);
    /* Registers the network's parameters; the caller finishes them. The net itself (layers, ids) is from calloc and
     * freed with free(). NULL when out of memory. Any values that are not drawn are set by `start`, which may be
     * NULL, after params_finish. */
    gnn_net *(*build)(const gnn_plan *plan, params *p);
    void (*start)(const gnn_net *net, params *p);
    /* Called when the parameters have their last values, before the network is asked: works out what is the same for
     * all graphs. While it learns, nothing of it may be used. NULL: nothing. */
    ft_status (*finalize)(gnn_net *net, const params *values, ft_error *error);
    /* samples x outputs (or x columns of the batch), in z-scores of the targets (label_scale.h). */
    tensor *(*forward)(const gnn_net *net, tape *t, const gnn_batch *batch);
    /* The names of the layers that `forward` leaves to the end, as they begin, ended by NULL: those that may be trained
     * alone. NULL: it cannot be trained further. */
    const char *const *last;
    bool has_hidden; /* it can tell what its last layer sees, one row for each sample and column */
    /* Makes one gradient of one for each metric in each mode (descent.h); NULL: they are added up. */
    descent_combine *combine;
} gnn_kind;

#endif
