/* geometry.h - geometry of convolutions, matrix products and pools, for shape rules, costs and fusion.
 *
 * Hides the differences between formats: layouts, positions of weights, encoding of groups. */
#ifndef GRAPH_PRODUCT_H
#define GRAPH_PRODUCT_H

#include "graph/graph.h"
#include "graph/opdef.h"

enum { MAX_SPATIAL = FT_MAX_RANK - 2 };

typedef struct conv_geometry {
    int32_t spatial; /* number of spatial dimensions */
    int64_t batch, cin, cout, groups;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL]; /* out: from the output's shape, 0 before it is inferred */
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
    int64_t kernel_elems;               /* product of kernel[] */
    bool is_depthwise;                  /* one input channel per group */
    const ft_tensor *x, *weight, *bias; /* bias NULL when there is none */
} conv_geometry;

/* Computes the geometry of every convolution of a graph with final shapes, for conv_geometry_cached. False when out of
 * memory. */
bool conv_geometries_cache(ft_graph *graph);

/* False when the operator is not a convolution, or its shapes are not known; *geometry is then undefined. */
bool conv_geometry_of(const ft_graph *graph, const ft_op *op, conv_geometry *geometry);
/* The cached geometry in a bound graph, or NULL. */
const conv_geometry *conv_geometry_cached(const ft_graph *bound, const ft_op *op);

typedef struct matmul_geometry {
    uint64_t batch;   /* products of the leading dimensions of the output */
    uint64_t m, n, k; /* each product is m x k by k x n */
    const ft_tensor *a, *b, *bias;
} matmul_geometry;

/* MatMul, Gemm, FullyConnected, BatchMatMul and their quantised variants. */
bool matmul_geometry_of(const ft_graph *graph, const ft_op *op, matmul_geometry *geometry);

/* Sizes of the pooling window and strides; a global pool's window is the whole map. */
typedef struct pool_geometry {
    int32_t spatial;
    int64_t channels;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL];
    int64_t kernel_elems;
} pool_geometry;

bool pool_geometry_of(const ft_graph *graph, const ft_op *op, pool_geometry *geometry);

#endif
