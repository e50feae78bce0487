/* digraph.h - the family "digraph": networks over directed graphs of kernels (GCN, GIN, GINE, GAT, GPS).
 *
 * digraph.c has its settings, digraph_extract.c extracts features, digraph_encoding.c computes positional encodings,
 * digraph_conv.c has layers of message passing, digraph_net.c the network. docs/graph-networks.md explains it. */
#ifndef PREDICTOR_DIGRAPH_H
#define PREDICTOR_DIGRAPH_H

#include "predictor/core/family.h"
#include "predictor/gnn/gnn.h"

typedef enum digraph_layer {
    DIGRAPH_GCN,
    DIGRAPH_GIN,
    DIGRAPH_GINE, /* GIN with features of edges */
    DIGRAPH_GAT,
    DIGRAPH_GPS, /* GINE beside attention of all nodes to all */
    DIGRAPH_LAYERS
} digraph_layer;

typedef enum digraph_direction {
    DIGRAPH_UNDIRECTED, /* messages in both directions, with the same weights */
    DIGRAPH_DIRECTED,   /* along the edges */
    DIGRAPH_BIDIRECTED, /* both directions, with separate weights, averaged */
    DIGRAPH_DIRECTIONS
} digraph_direction;

typedef enum digraph_readout {
    DIGRAPH_SUM,     /* the sum over the nodes */
    DIGRAPH_LOG_SUM, /* the logarithm of the sum of exponentials: sums of positive parts, as logarithms */
    DIGRAPH_READOUTS
} digraph_readout;

/* Positional encoding of nodes: eigenvectors of a Laplacian. */
typedef enum digraph_encoding {
    DIGRAPH_NO_ENCODING,
    DIGRAPH_LAPLACIAN, /* of the graph without directions */
    DIGRAPH_MAGNETIC,  /* Hermitian: directions are phases */
    DIGRAPH_ENCODINGS
} digraph_encoding;

/* Form of the encoding as input of the network. */
typedef enum digraph_form {
    DIGRAPH_PLAIN,  /* as features of nodes */
    DIGRAPH_STABLE, /* features of pairs of nodes, invariant to the choice of eigenvectors */
    DIGRAPH_FORMS
} digraph_form;

enum { DIGRAPH_MAX_VECTORS = 32, DIGRAPH_MAX_HEADS = 16 };

/* Own options of the kind. */
typedef struct digraph_options {
    double head;    /* hidden layers after the read-out */
    double heads;   /* of attention */
    double vectors; /* eigenvectors */
    double charge;  /* of the magnetic Laplacian: the phase of an edge, in turns */
    uint32_t layer, direction, readout, encoding, form;
    uint32_t nodes; /* index of digraph_nodes: nodes are kernels by these rules */
} digraph_options;

/* Number of eigenvectors; 0 without an encoding. */
uint32_t digraph_vectors(const digraph_options *options);

enum { DIGRAPH_RULES = 5 };
extern const char *const digraph_nodes[DIGRAPH_RULES]; /* names in settings */

/* --- Features (digraph_extract.c) -------------------------------------------------------------------------------- */

#define DIGRAPH_SCHEMA "digraph-1"

gnn_widths digraph_widths(const void *own);
ft_status digraph_open(const void *own, void **extractor, ft_error *error);
void digraph_close(void *extractor);
ft_status digraph_extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                          ft_error *error);

/* --- Positional encoding (digraph_encoding.c) ---------------------------------------------------------------- */

/* Writes the smallest eigenvalues of the graph's Laplacian to the global marks of the sample, and their vectors to the
 * marks of its nodes: real parts, then imaginary parts. Missing ones are zero. */
ft_status digraph_encode(const digraph_options *options, gnn_sample *sample, arena *memory, ft_error *error);

/* The stable form of pairs of nodes (u, v): the sum over eigenpairs of f(value) * vector(u) * conj(vector(v)), with f
 * learned. It is the same for every choice of eigenvectors, so it does not depend on the solver. */
typedef struct digraph_pair {
    layer_linear first, second; /* f */
    uint32_t vectors;
} digraph_pair;

enum { DIGRAPH_PAIR = 8 }; /* outputs of f; pairs have twice as many features: real and imaginary parts */

digraph_pair digraph_pair_add(params *p, uint32_t vectors);
/* f of each graph's eigenvalues: (samples * vectors) x DIGRAPH_PAIR. */
tensor *digraph_pair_weights(tape *t, const digraph_pair *d, const gnn_batch *batch);
/* Features of pairs (from, to), which are grouped by sample: count x 2 DIGRAPH_PAIR. */
tensor *digraph_pair_rows(tape *t, const digraph_pair *d, tensor *weights, const gnn_batch *batch, const uint32_t *from,
                          const uint32_t *to, segments by_sample);

/* --- Layers (digraph_conv.c) ---------------------------------------------------------------------------------- */

/* Edges of message passing, sorted by target. */
typedef struct digraph_flow {
    uint32_t count;
    const uint32_t *from, *to;
    const uint32_t *edge; /* edge of the batch; FT_NONE: a self-loop */
    segments into;        /* by target */
    neighbours sources;   /* by target */
} digraph_flow;

typedef struct digraph_flows {
    digraph_flow items[2];
    uint32_t count;
} digraph_flows;

/* One flow, or two for DIGRAPH_BIDIRECTED, from the tape's memory. False: the tape has failed. */
bool digraph_flows_of(tape *t, const gnn_batch *batch, digraph_direction direction, bool has_loops,
                      digraph_flows *flows);

typedef struct digraph_conv {
    digraph_layer kind;
    uint32_t heads;
    layer_linear first, second;
    layer_linear edges;     /* edge features to messages (gine, gps) or scores (gat) */
    layer_linear sent, got; /* gat: contributions of source and target to the score of an edge */
    param_id own;           /* gin: additional weight of the node itself */
} digraph_conv;

/* `edges`: number of edge features. */
digraph_conv digraph_conv_add(params *p, const char *name, const digraph_options *options, uint32_t width,
                              uint32_t edges);
tensor *digraph_conv_apply(tape *t, const digraph_conv *c, tensor *x, const digraph_flow *flow, tensor *edges);

/* --- Networks (digraph_net.c) -------------------------------------------------------------------------------- */

gnn_net *digraph_build(const gnn_plan *plan, params *p);
tensor *digraph_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

#endif
