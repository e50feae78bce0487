/* layer.h - layers: the parameters an operation needs, named and registered together.
 *
 * layer_x_add registers (before params_finish), layer_x_apply does the forward pass on a tape. Weights are in x out, so
 * that rows are multiplied from the left: x w. Layers are plain structs; copying them is fine. */
#ifndef NN_LAYER_H
#define NN_LAYER_H

#include "nn/ops.h"

/* act(x w + b) */
typedef struct layer_linear {
    param_id weight, bias;
    bool has_bias;
} layer_linear;

layer_linear layer_linear_add(params *p, const char *name, uint32_t in, uint32_t out, bool has_bias);
tensor *layer_linear_apply(tape *t, const layer_linear *l, tensor *x, activation act);

/* GraphSAGE: act(x w + mean of the neighbours' x v + b) */
typedef struct layer_sage {
    param_id own, heard, bias;
} layer_sage;

layer_sage layer_sage_add(params *p, const char *name, uint32_t in, uint32_t out);
tensor *layer_sage_apply(tape *t, const layer_sage *l, tensor *x, neighbours edges, activation act);

typedef struct layer_norm {
    param_id gain, offset;
} layer_norm;

layer_norm layer_norm_add(params *p, const char *name, uint32_t width);
tensor *layer_norm_apply(tape *t, const layer_norm *l, tensor *x);

typedef struct layer_batch_norm {
    param_id gain, offset, mean, variance;
    bool is_affine;
} layer_batch_norm;

layer_batch_norm layer_batch_norm_add(params *p, const char *name, uint32_t width, bool is_affine);
tensor *layer_batch_norm_apply(tape *t, const layer_batch_norm *l, tensor *x);

/* A layer of a transformer's encoder: attention within segments, then two linear layers with relu or another function
 * in between; each with a shortcut past it and a norm behind (as in the first paper, and PyTorch's default) or before.
 */
typedef struct layer_encoder {
    layer_linear query, key, value, out, wide, narrow;
    layer_norm first, second;
    uint32_t heads;
    float dropout;
    activation act;
    bool is_norm_first;
} layer_encoder;

typedef struct encoder_options {
    uint32_t width, heads, inner; /* inner: columns between the two linear layers */
    float dropout;
    activation act;
    bool is_norm_first;
} encoder_options;

layer_encoder layer_encoder_add(params *p, const char *name, const encoder_options *options);
/* `bias` as in nn_attention, or NULL. */
tensor *layer_encoder_apply(tape *t, const layer_encoder *l, tensor *x, segments s, const float *bias);

/* Rows of a segment are a sequence. */
typedef struct layer_lstm {
    layer_linear in, again;
    uint32_t width;
} layer_lstm;

layer_lstm layer_lstm_add(params *p, const char *name, uint32_t in, uint32_t width);
/* The hidden state after the last row of each segment; zeros for an empty one. */
tensor *layer_lstm_apply(tape *t, const layer_lstm *l, tensor *x, segments s);
/* The same over the neighbours of each row, in their order. */
tensor *layer_lstm_neighbours(tape *t, const layer_lstm *l, tensor *x, neighbours e);

/* GraphSAGE as its authors have it (layer_aggregate.c): what a row is beside what it hears,
 * act([x own | heard(neighbours) weight]), `out` columns each. What is heard of the neighbours is
 *   mean       their mean
 *   gcn        the mean of them and the row itself: there is no other own half, and `weight` has 2 x out columns
 *   max-pool   the largest, the mean, of relu(x pool + bias)
 *   mean-pool
 *   lstm       the last state of a long short-term memory over them in their order */
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
    param_id own, heard;
    layer_linear pool;
    layer_lstm lstm;
} layer_aggregate;

typedef struct aggregate_options {
    aggregator kind;
    uint32_t in, out; /* out: of each half */
    uint32_t inner;   /* columns of the pool, or of the state */
} aggregate_options;

layer_aggregate layer_aggregate_add(params *p, const char *name, const aggregate_options *options);
/* n x in -> n x 2 out */
tensor *layer_aggregate_apply(tape *t, const layer_aggregate *l, tensor *x, neighbours e, activation act);

#endif
