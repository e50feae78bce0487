/* layer.h - layers: operations (ops.h) with their parameters.
 *
 * layer_x_add registers the parameters under a name (before params_finish), layer_x_apply runs the forward pass on a
 * tape. Weights are (in, out): rows are multiplied from the left, x w. Layers are plain structs and may be copied. */
#ifndef NN_LAYER_H
#define NN_LAYER_H

#include "nn/ops.h"

/* act(x w + b). weight: (in, out), bias: (1, out) */
typedef struct layer_linear {
    param_id weight, bias;
    bool has_bias;
} layer_linear;

layer_linear layer_linear_add(params *p, const char *name, uint32_t in, uint32_t out, bool has_bias);
/* x: (N, in) -> (N, out) */
tensor *layer_linear_apply(tape *t, const layer_linear *l, tensor *x, activation act);

/* GraphSAGE with the mean aggregator: act(x self + mean(x of neighbours) neighbour + bias).
 * self: (in, out), neighbour: (in, out), bias: (1, out) */
typedef struct layer_sage {
    param_id self, neighbour, bias;
} layer_sage;

layer_sage layer_sage_add(params *p, const char *name, uint32_t in, uint32_t out);
/* x: (N, in) -> (N, out) */
tensor *layer_sage_apply(tape *t, const layer_sage *l, tensor *x, neighbours edges, activation act);

/* Layer norm of each row. gain: (1, width), offset: (1, width) */
typedef struct layer_norm {
    param_id gain, offset;
} layer_norm;

layer_norm layer_norm_add(params *p, const char *name, uint32_t width);
/* x: (N, width) -> (N, width) */
tensor *layer_norm_apply(tape *t, const layer_norm *l, tensor *x);

/* Batch norm of each column. All parameters: (1, width); mean and variance are state. */
typedef struct layer_batch_norm {
    param_id gain, offset, mean, variance;
    bool is_affine;
} layer_batch_norm;

layer_batch_norm layer_batch_norm_add(params *p, const char *name, uint32_t width, bool is_affine);
/* x: (N, width) -> (N, width) */
tensor *layer_batch_norm_apply(tape *t, const layer_batch_norm *l, tensor *x);

/* Transformer encoder layer: self-attention within segments, then a feed-forward network (up, act, down); each with a
 * residual connection and layer norm, after it (as in the original paper, and PyTorch's default) or before. */
typedef struct layer_encoder {
    layer_linear query, key, value, out; /* width -> width */
    layer_linear up, down;               /* width -> inner -> width */
    layer_norm first, second;
    uint32_t heads;
    float dropout;
    activation act;
    bool is_norm_first;
} layer_encoder;

typedef struct encoder_options {
    uint32_t width, heads, inner; /* inner: columns of the hidden layer */
    float dropout;
    activation act;
    bool is_norm_first;
} encoder_options;

layer_encoder layer_encoder_add(params *p, const char *name, const encoder_options *options);
/* x: (N, width), `bias` as in nn_attention, or NULL -> (N, width) */
tensor *layer_encoder_apply(tape *t, const layer_encoder *l, tensor *x, segments s, const float *bias);

/* LSTM. input: (in, 4 width) with bias, recurrent: (width, 4 width) */
typedef struct layer_lstm {
    layer_linear input, recurrent;
    uint32_t width;
} layer_lstm;

layer_lstm layer_lstm_add(params *p, const char *name, uint32_t in, uint32_t width);
/* The rows of a segment are a sequence. Returns the hidden state after the last row of each segment; zeros for an empty
 * one. x: (N, in) -> (S, width) */
tensor *layer_lstm_apply(tape *t, const layer_lstm *l, tensor *x, segments s);
/* The same over the neighbours of each row, in their order. x: (N, in) -> (R, width) */
tensor *layer_lstm_neighbours(tape *t, const layer_lstm *l, tensor *x, neighbours e);

/* GraphSAGE with the aggregators of its paper: act([x self | aggregate(neighbours) neighbour]), `out` columns each
 * half. The aggregate of the neighbours is mean       their mean gcn        the mean of them and the row itself: there
 * is no `self` half, and `neighbour` has 2 out columns max-pool   the maximum of relu(x pool + bias) mean-pool  the
 * mean of relu(x pool + bias) lstm       the last hidden state of an LSTM over them in their order */
#define AGGREGATOR_LIST(X)                                                                                             \
    X(AGGREGATE_MEAN, "mean")                                                                                          \
    X(AGGREGATE_GCN, "gcn")                                                                                            \
    X(AGGREGATE_MAX_POOL, "max-pool")                                                                                  \
    X(AGGREGATE_MEAN_POOL, "mean-pool")                                                                                \
    X(AGGREGATE_LSTM, "lstm")

typedef enum aggregator {
#define AGGREGATOR_ENUM(name, text) name,
    AGGREGATOR_LIST(AGGREGATOR_ENUM)
#undef AGGREGATOR_ENUM
} aggregator;

typedef struct layer_aggregate {
    aggregator kind;
    param_id self, neighbour;
    layer_linear pool;
    layer_lstm lstm;
} layer_aggregate;

typedef struct aggregate_options {
    aggregator kind;
    uint32_t in, out; /* out: columns of each half */
    uint32_t inner;   /* columns of the pool, or of the LSTM state */
} aggregate_options;

layer_aggregate layer_aggregate_add(params *p, const char *name, const aggregate_options *options);
/* x: (N, in) -> (N, 2 out) */
tensor *layer_aggregate_apply(tape *t, const layer_aggregate *l, tensor *x, neighbours e, activation act);

#endif
