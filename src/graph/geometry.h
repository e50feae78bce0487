/* geometry.h - geometry of convolutions, matrix products, attention and pools, for shape rules, costs, fusion.
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

/* An operand of a product as stored, and as it is multiplied: "transBatchA" and "transBatchB" of FusedMatMul move the
 * first dimension before the last. */
ft_tensor matmul_operand(const ft_op *op, const ft_tensor *t, const char *attribute);

/* Input with weights packed several to an element (4-bit weights in bytes): elements that it stands for. Other inputs:
 * their elements. */
uint64_t packed_elems(const ft_graph *graph, const ft_op *op, uint32_t input);
/* Weights in so many bytes of an input whose blocks the operator states ("packed_blocks"); -1: it states none. */
int64_t packed_blocks(const ft_op *op, uint32_t input, int64_t bytes);
/* The matrix that a product with packed weights stands for: k x n, n the sum over all weights of the operator. False
 * when the operator has none, or sizes are not known. */
bool packed_matrix(const ft_graph *graph, const ft_op *op, int64_t *k, int64_t *n);

typedef struct attention_form attention_form; /* private to graph/attention.c */

/* An attention operator: its sizes, and where its cache is. Indexes are 0 when there is no such argument. */
typedef struct attention_geometry {
    const attention_form *form;
    int32_t rank;                        /* of the queries */
    int64_t batch, queries;              /* sequences, and queries of each */
    int64_t tokens;                      /* without padding (is_tokens): first dimension of the queries */
    int64_t keys;                        /* that a query attends to, those of the cache among them */
    int64_t added;                       /* keys of a sequence that come with this run */
    int64_t past, present;               /* length of the cache before and after */
    int64_t heads, kv_heads;             /* of queries, of keys and values */
    int64_t head_size, value_size;       /* of queries and keys, of values */
    int64_t kv_rank;                     /* of latent attention: width of the common projection; else 0 */
    const ft_tensor *weights[3];         /* of projections inside of the operator, or NULL */
    uint32_t past_key, past_value;       /* inputs */
    uint32_t present_key, present_value; /* outputs */
    uint32_t scores;                     /* output */
    uint32_t typed;                      /* input whose type the result has */
    bool has_head_axis;                  /* queries: batch x heads x sequence x size */
    bool is_time_first, is_tokens;       /* queries: sequence x batch x width; tokens x width */
    bool is_stacked, is_paged;           /* cache: 2 x ...; blocks x block size x ... */
    bool shares_cache;                   /* past and present are one buffer: a run writes the new rows only */
} attention_geometry;

/* False when the operator is not attention with scores, or sizes are not known. */
bool attention_geometry_of(const ft_graph *graph, const ft_op *op, attention_geometry *geometry);

/* The inputs that hold the past of the sequences: keys and values of attention (0: none, or both in one), the state of
 * a recurrence. False when the operator has none. Needs no shapes of data. */
bool op_past_inputs(const ft_graph *graph, const ft_op *op, uint32_t inputs[static 2]);

/* Whether the images of an operator are NHWC. */
static inline bool op_is_nhwc(const ft_graph *graph, const ft_op *op) {
    return graph->layout == FT_NHWC || (op->def->flags & OP_CHANNELS_LAST) != 0 ||
           op_attr_int(op, "channels_last", 0) != 0;
}

/* Sizes of the pooling window and strides; a global pool's window is the whole map. */
typedef struct pool_geometry {
    int32_t spatial;
    int64_t channels;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL];
    int64_t kernel_elems;
} pool_geometry;

bool pool_geometry_of(const ft_graph *graph, const ft_op *op, pool_geometry *geometry);

#endif
