/* sage_net.h - the network of PerfSAGE: operators' embeddings, layers of GraphSAGE, the sum over the nodes. */
#ifndef PREDICTOR_SAGE_NET_H
#define PREDICTOR_SAGE_NET_H

#include "predictor/peers/sage_look.h"

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
