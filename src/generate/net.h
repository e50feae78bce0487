/* net.h - an architecture as a list of operators, in execution order.
 *
 * Only the ten operators of the published data occur. Normalisation after a convolution is folded into it, as in the
 * published export; the remaining ones stand before convolutions, in DenseNet's blocks. Maps are square. Sizes are
 * those of one sample: a batch multiplies all of them but the weights. */
#ifndef GENERATE_NET_H
#define GENERATE_NET_H

#include "base/arena.h"
#include "base/buf.h"
#include "foretell/status.h"
#include "generate/arch.h"

/* name, text */
#define NET_OP_LIST(X)                                                                                                 \
    X(NET_CONV, "Conv")                                                                                                \
    X(NET_RELU, "Relu")                                                                                                \
    X(NET_NORM, "BatchNormalization")                                                                                  \
    X(NET_CONCAT, "Concat")                                                                                            \
    X(NET_AVERAGE, "AveragePool")                                                                                      \
    X(NET_GLOBAL, "GlobalAveragePool")                                                                                 \
    X(NET_FLATTEN, "Flatten")                                                                                          \
    X(NET_GEMM, "Gemm")                                                                                                \
    X(NET_MAX, "MaxPool")                                                                                              \
    X(NET_ADD, "Add")

typedef enum net_op {
#define NET_OP_ENUM(name, text) name,
    NET_OP_LIST(NET_OP_ENUM)
#undef NET_OP_ENUM
        NET_OP_COUNT
} net_op;

const char *net_op_name(net_op op);

enum { NET_MAX_INPUTS = 4, NET_IMAGE = 224, NET_CLASSES = 1000 };

typedef struct net_node {
    net_op op;
    int kernel, stride, padding, groups; /* of convolutions and pools; 0 elsewhere */
    uint32_t inputs[NET_MAX_INPUTS];     /* node indices; none: the image */
    uint32_t input_count;
    int64_t in_channels, in_side; /* channels are the sum over the inputs; side 0: not a map */
    int64_t channels, side;       /* of the output */
} net_node;

typedef struct net {
    net_node *nodes;
    uint32_t count, capacity;
    bool is_unfolded; /* every convolution is followed by its normalisation */
    bool has_failed;  /* too many nodes */
} net;

/* Nodes are allocated in `memory`. The network as exported, or (unfolded) as a framework runs it. */
ft_status net_build(const arch *a, bool is_unfolded, arena *memory, net *made, ft_error *error);

/* Input elements, output elements, weights and FLOPs of a node for one sample, by the formulas of the data set. */
int64_t net_in_elems(const net_node *n);
int64_t net_out_elems(const net_node *n);
int64_t net_weights(const net_node *n);
int64_t net_flops(const net_node *n);

/* Appends the network as the data set stores it: a pickled networkx DiGraph (docs/formats/perfseer.md). The graph
 * attribute 'synthetic' marks its labels as computed. */
ft_status net_pickle(const net *n, int64_t batch, arena *memory, buf *out, ft_error *error);

#endif
