/* seernet.h - the families "seernet" and "seernet-multi": the network of PerfSeer (docs/seernet.md).
 *
 * Operators are nodes, tensors are edges, and the graph has features too. One block updates edges from nodes, nodes
 * from edges and from a global node, an attention-weighted mean of all nodes, and the graph from the maximum and the
 * mean of its nodes. */
#ifndef PREDICTOR_SEERNET_H
#define PREDICTOR_SEERNET_H

#include "predictor/core/family.h"
#include "predictor/gnn/gnn.h"

#define SEERNET_SCHEMA "seernet/1"

/* Numbers of features. With the ten kinds of operators of the paper, nodes have 30, edges 5, graphs 18. */
enum {
    SEERNET_ARGS = 13,                      /* kernel, stride, padding, ...: 0 where it does not apply */
    SEERNET_NODE_VALUES = SEERNET_ARGS + 4, /* FLOPs, bytes, weights, intensity */
    SEERNET_NODE_MARKS = 3,                 /* shares of FLOPs, bytes and weights in those of the graph */
    SEERNET_EDGE_VALUES = 5,                /* bytes, batch, channels, height, width */
    SEERNET_GRAPH_VALUES = 17,              /* statistics of nodes, edges, FLOPs, bytes, weights; intensity; batch */
    SEERNET_GRAPH_MARKS = 1,                /* density */
    SEERNET_TYPES = 10,                     /* kinds of operators of the paper */
    SEERNET_CLASSES = 16,                   /* classes of the operator table, for other operators */
    SEERNET_KINDS = 1 + SEERNET_TYPES + SEERNET_CLASSES
};

/* seernet_extract.c */
gnn_widths seernet_widths(const void *own);
ft_status seernet_extract(const void *own, const void *extractor, model_view *view, arena *memory, gnn_sample *sample,
                          ft_error *error);

/* seernet_net.c */
gnn_net *seernet_build(const gnn_plan *plan, params *p);
/* Precomputes products of weights, once training is done. */
ft_status seernet_finalize(gnn_net *net, const params *values, ft_error *error);
tensor *seernet_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

#endif
