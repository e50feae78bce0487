/* sage_extract.h - a graph as PerfSAGE sees it.
 *
 * Nodes are the operators that run, in their order, and then an "input" node for every tensor that they read and none
 * of them makes: inputs of the model, weights, other constants. Edges go from who makes a tensor to who reads it, once
 * for each pair. A node has the shape of its first result, padded with ones from the left to four numbers, and the
 * options of its operator, with marks that say which of them it has. Shapes are told as TFLite has them (NHWC, weights
 * OHWI) whatever the format, so that one network can learn from several. */
#ifndef PREDICTOR_SAGE_H
#define PREDICTOR_SAGE_H

#include "predictor/core/family.h"
#include "predictor/gnn/gnn.h"

enum {
    SAGE_SHAPE = 4,
    SAGE_OPTIONS = 12,
    SAGE_COLUMNS = SAGE_SHAPE + SAGE_OPTIONS,
    SAGE_CLASSES = 24, /* classes of operators (FT_OP_CLASS_LIST) and one for inputs; the rest is spare */
    SAGE_KINDS = 160,  /* rows for operators; the first is for those that have none of their own */
};

/* How the numbers of a node reach the network. */
#define SAGE_SCALING_LIST(X)                                                                                           \
    X(SAGE_PLAIN, "plain")             /* as they are, then standardised */                                            \
    X(SAGE_LOG, "log")                 /* log(1 + x), then standardised */                                             \
    X(SAGE_CONDITIONAL, "conditional") /* sine and cosine of the share of a limit; 0 and 0 for what is absent */

typedef enum sage_scaling {
#define SAGE_SCALING_ENUM(name, text) name,
    SAGE_SCALING_LIST(SAGE_SCALING_ENUM)
#undef SAGE_SCALING_ENUM
} sage_scaling;

/* Marks of a node: which options it has, or the sines and cosines; then its class. */
gnn_widths sage_widths(sage_scaling scaling);
uint32_t sage_class_column(sage_scaling scaling); /* the first of the classes among the marks */

/* What has the sample is from the arena. */
ft_status sage_extract(const ft_graph *bound, sage_scaling scaling, arena *memory, gnn_sample *sample, ft_error *error);

/* The row of an operator: by what fusion rules call it ("conv", "dwconv"), 0 for a word that is not in the list. */
uint32_t sage_kind_of(const char *word);

/* Whom a node hears: those that read its result (as PerfSAGE has it), those whose results it reads, or both. */
typedef enum sage_direction { SAGE_SUCCESSORS, SAGE_PREDECESSORS, SAGE_BOTH } sage_direction;

/* sum: a line over the sum of the nodes' vectors. parts: each node has a positive share of the result,
 * and where targets are logarithms, the network says that of the sum. */
typedef enum sage_readout { SAGE_SUM, SAGE_PARTS } sage_readout;

typedef struct sage_options {
    uint32_t aggregator, direction, scaling, readout;
    double embedding; /* columns for what an operator is */
    double inner;     /* columns of pools and of the memory; 0: four times, once as many as hidden */
    double unit;      /* 1: vectors of nodes have length 1 */
} sage_options;

enum { SAGE_MAX_LAYERS = 8 };

gnn_net *sage_build(const gnn_plan *plan, params *p);
tensor *sage_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

#endif
