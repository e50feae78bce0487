/* sage.h - the family "perfsage": features and network of PerfSAGE.
 *
 * Nodes are the operators that run, in order, then an "input" node for every tensor that they read and none of them
 * produces: inputs of the model, weights, other constants. Edges go from the producer of a tensor to its readers, once
 * for each pair. A node has the shape of its first output, padded with ones from the left to four numbers, and the
 * options of its operator, with marks for those that it has. Shapes are in the layout of TFLite (NHWC, weights OHWI)
 * whatever the format, so that one network can learn from several. */
#ifndef PREDICTOR_SAGE_H
#define PREDICTOR_SAGE_H

#include "predictor/core/family.h"
#include "predictor/gnn/gnn.h"

enum {
    SAGE_SHAPE = 4,
    SAGE_OPTIONS = 12,
    SAGE_COLUMNS = SAGE_SHAPE + SAGE_OPTIONS,
    SAGE_CLASSES = 24, /* classes of operators (FT_OP_CLASS_LIST) and one for inputs; the rest is reserved */
    SAGE_KINDS = 160,  /* rows of the embedding of operators; row 0 is the unknown operator */
};

/* Scaling of the numbers of a node. */
#define SAGE_SCALING_LIST(X)                                                                                           \
    X(SAGE_PLAIN, "plain")             /* x, standardised */                                                           \
    X(SAGE_LOG, "log")                 /* log(1 + x), standardised */                                                  \
    X(SAGE_CONDITIONAL, "conditional") /* sine and cosine of the share of a limit; both 0 if absent */

typedef enum sage_scaling {
#define SAGE_SCALING_ENUM(name, text) name,
    SAGE_SCALING_LIST(SAGE_SCALING_ENUM)
#undef SAGE_SCALING_ENUM
} sage_scaling;

/* Marks of a node: flags of its options, or the sines and cosines; then its class. */
gnn_widths sage_widths(sage_scaling scaling);
uint32_t sage_class_column(sage_scaling scaling); /* index of the first class among the marks */

/* sage_extract.c: extracts the features of a graph; the sample is from the arena. */
ft_status sage_extract(const ft_graph *bound, sage_scaling scaling, arena *memory, gnn_sample *sample, ft_error *error);

/* sage_vocabulary.c: the row of an operator by its kernel name ("conv", "dwconv"); 0 if unknown. */
uint32_t sage_kind_of(const char *word);

/* Neighbours that a node aggregates: readers of its result (as published), producers of its inputs, or both. */
typedef enum sage_direction { SAGE_SUCCESSORS, SAGE_PREDECESSORS, SAGE_BOTH } sage_direction;

/* sum: a linear layer over the sum of the nodes' vectors. parts: the sum of a positive share of each node, or its
 * logarithm where targets are logarithms. */
typedef enum sage_readout { SAGE_SUM, SAGE_PARTS } sage_readout;

typedef struct sage_options {
    uint32_t aggregator, direction, scaling, readout;
    double embedding; /* width of the embedding of operators */
    double inner;     /* width inside pools (0: 4 * hidden) and of the LSTM (0: hidden) */
    double unit;      /* 1: vectors of nodes are normalised to length 1 */
} sage_options;

enum { SAGE_MAX_LAYERS = 8 };

gnn_net *sage_build(const gnn_plan *plan, params *p);
tensor *sage_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

#endif
