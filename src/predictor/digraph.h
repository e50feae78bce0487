/* digraph.h - the family "digraph": networks over directed graphs of kernels (GCN, GIN, GINE, GAT, GPS).
 *
 * digraph.c has its settings, digraph_look.c what it sees of a model, digraph_flow.c along which edges it passes
 * messages, digraph_conv.c what a layer does, digraph_net.c the whole network. docs/graph-networks.md explains it. */
#ifndef PREDICTOR_DIGRAPH_H
#define PREDICTOR_DIGRAPH_H

#include "predictor/family.h"
#include "predictor/gnn.h"

extern const family family_digraph;

typedef enum digraph_layer { DIGRAPH_GCN, DIGRAPH_GIN, DIGRAPH_LAYERS } digraph_layer;

typedef enum digraph_direction {
    DIGRAPH_UNDIRECTED, /* messages go both ways, through the same weights */
    DIGRAPH_DIRECTED,   /* along the edges */
    DIGRAPH_BIDIRECTED, /* both ways, each through weights of its own, averaged */
    DIGRAPH_DIRECTIONS
} digraph_direction;

typedef enum digraph_readout {
    DIGRAPH_SUM,     /* the sum of what is known of the nodes */
    DIGRAPH_LOG_SUM, /* the logarithm of the sum of exponentials: sums of positive parts, seen as logarithms */
    DIGRAPH_READOUTS
} digraph_readout;

/* The settings of its own. */
typedef struct digraph_options {
    double head; /* hidden layers behind the read-out */
    uint32_t layer, direction, readout;
    uint32_t nodes; /* what a node is: a kernel by these rules (digraph_rules) */
} digraph_options;

enum { DIGRAPH_RULES = 5 };
extern const char *const digraph_nodes[DIGRAPH_RULES]; /* as settings call them */

/* --- Looking (digraph_look.c) -------------------------------------------------------------------------------- */

#define DIGRAPH_SCHEMA "digraph-1"

gnn_widths digraph_widths(const void *own);
ft_status digraph_open(const void *own, void **eyes, ft_error *error);
void digraph_close(void *eyes);
ft_status digraph_look(const void *own, const void *eyes, subject *s, arena *memory, gnn_sample *sample,
                       ft_error *error);

/* --- Edges (digraph_flow.c) ---------------------------------------------------------------------------------- */

/* Edges along which messages go, sorted by target. */
typedef struct digraph_flow {
    uint32_t count;
    const uint32_t *from, *to;
    const uint32_t *edge; /* the edge of the batch; FT_NONE: a loop from a node to itself */
    segments into;        /* by target */
    neighbours sources;   /* by target */
} digraph_flow;

typedef struct digraph_flows {
    digraph_flow items[2];
    uint32_t count;
} digraph_flows;

/* One flow, or two for DIGRAPH_BIDIRECTED; from the tape's memory. False: the tape has failed. */
bool digraph_flows_of(tape *t, const gnn_batch *batch, digraph_direction direction, bool has_loops,
                      digraph_flows *flows);

/* --- Layers (digraph_conv.c) --------------------------------------------------------------------------------- */

typedef struct digraph_conv {
    digraph_layer kind;
    layer_linear first, second;
    param_id own; /* gin: how much more a node counts itself */
} digraph_conv;

digraph_conv digraph_conv_add(params *p, const char *name, const digraph_options *options, uint32_t width);
tensor *digraph_conv_apply(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow);

/* --- Networks (digraph_net.c) -------------------------------------------------------------------------------- */

gnn_net *digraph_build(const gnn_plan *plan, params *p);
tensor *digraph_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

#endif
