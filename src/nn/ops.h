/* ops.h - operations on tensors (tape.h), each with its shapes.
 *
 * Each operation is a forward function here and a backward rule next to it in the file named in the section. A shape
 * (N, C) is N rows of C columns; x: (N, K), w: (K, C) -> (N, C) lists the inputs and the result. Indices, segments and
 * other plain arrays belong to the caller and must stay valid until the tape begins again. */
#ifndef NN_OPS_H
#define NN_OPS_H

#include "nn/tape.h"

/* --- Products (linear.c) ------------------------------------------------------------------------------------- */

typedef enum activation {
    ACT_NONE,
    ACT_RELU,
    ACT_GELU, /* with the error function, not its tanh approximation */
    ACT_SILU,
    ACT_SOFTPLUS,
    ACT_TANH,
    ACT_SIGMOID,
    ACT_EXP,
    ACT_LOG,
    ACT_COUNT
} activation;

/* x: (N, K), w: (K, C) -> (N, C) */
tensor *nn_matmul(tape *t, tensor *x, tensor *w);
/* act(x w + b). x: (N, K), w: (K, C), b: (1, C) or NULL -> (N, C) */
tensor *nn_linear(tape *t, tensor *x, tensor *w, tensor *b, activation act);
/* act(x w + y v + b): [x|y] [w;v] + b without the concatenations.
 * x: (N, K), w: (K, C), y: (N, L), v: (L, C), b: (1, C) or NULL -> (N, C) */
tensor *nn_linear2(tape *t, tensor *x, tensor *w, tensor *y, tensor *v, tensor *b, activation act);

/* --- Elementwise (elementwise.c, activation.c) --------------------------------------------------------------- */

/* x: (N, C), y: (N, C) -> (N, C) */
tensor *nn_add(tape *t, tensor *x, tensor *y);
tensor *nn_sub(tape *t, tensor *x, tensor *y);
tensor *nn_mul(tape *t, tensor *x, tensor *y);
/* x: (N, C) -> (N, C) */
tensor *nn_scale(tape *t, tensor *x, float factor);
tensor *nn_activate(tape *t, tensor *x, activation act);
/* Broadcast of a row or a column. x: (N, C), row: (1, C), column: (N, 1) -> (N, C) */
tensor *nn_add_row(tape *t, tensor *x, tensor *row);
tensor *nn_mul_row(tape *t, tensor *x, tensor *row);
tensor *nn_mul_column(tape *t, tensor *x, tensor *column);
/* Sum of all elements. x: (N, C) -> (1, 1) */
tensor *nn_sum(tape *t, tensor *x);
/* While training, sets a random share `rate` of the elements to 0 and divides the others by 1 - rate.
 * x: (N, C) -> (N, C) */
tensor *nn_dropout(tape *t, tensor *x, float rate);
/* mask: (count), 0 or 1 / (1 - rate) */
void dropout_mask(rng *r, float rate, size_t count, float *mask);
/* Softmax of each row. x: (N, C) -> (N, C) */
tensor *nn_softmax(tape *t, tensor *x);
/* log(sum of exp(sharpness x)) / sharpness of each row: a smooth upper bound of its maximum. x: (N, C) -> (N, 1) */
tensor *nn_smooth_max(tape *t, tensor *x, float sharpness);

/* --- Rows and columns (rows.c) ------------------------------------------------------------------------------- */

/* out[i] = x[index[i]]; an embedding when x is a parameter. x: (N, C), index: (count) below N -> (count, C) */
tensor *nn_gather(tape *t, tensor *x, const uint32_t *index, uint32_t count);
/* out[index[i]] += x[i]. x: (N, C), index: (N) below rows -> (rows, C) */
tensor *nn_scatter(tape *t, tensor *x, const uint32_t *index, uint32_t rows);
/* x: (N, C) -> (count, C) and (N, count) */
tensor *nn_slice_rows(tape *t, tensor *x, uint32_t first, uint32_t count);
tensor *nn_slice_columns(tape *t, tensor *x, uint32_t first, uint32_t count);
/* Up to 8 parts side by side. parts[i]: (N, Ci) -> (N, sum of Ci) */
tensor *nn_concat_columns(tape *t, uint32_t count, tensor *const *parts);
/* x: (N, C), y: (M, C) -> (N + M, C) */
tensor *nn_concat_rows(tape *t, tensor *x, tensor *y);

/* --- Segments of rows (segment.c) ---------------------------------------------------------------------------- */

/* S segments: segment i is the rows start[i] .. start[i+1]-1. start: (S + 1), from 0 to the number of rows. */
typedef struct segments {
    uint32_t count; /* S */
    const uint32_t *start;
} segments;

/* One row per segment, zeros for an empty one. x: (N, C) -> (S, C) */
tensor *nn_segment_sum(tape *t, tensor *x, segments s);
tensor *nn_segment_mean(tape *t, tensor *x, segments s);
tensor *nn_segment_max(tape *t, tensor *x, segments s);
/* Softmax over the rows of each segment, column by column. x: (N, C) -> (N, C) */
tensor *nn_segment_softmax(tape *t, tensor *x, segments s);
/* The row of a segment for each of its rows. x: (S, C) -> (N, C) */
tensor *nn_segment_broadcast(tape *t, tensor *x, segments s);

/* --- Neighbours (neighbour.c) -------------------------------------------------------------------------------- */

/* Edges sorted by target: the neighbours of row i are index[start[i]] .. index[start[i+1]-1].
 * start: (R + 1), index: (E) with E = start[R]. */
typedef struct neighbours {
    uint32_t rows; /* R */
    const uint32_t *start, *index;
} neighbours;

/* One row per target, zeros without neighbours. x: (N, C) -> (R, C) */
tensor *nn_neighbour_sum(tape *t, tensor *x, neighbours e);
tensor *nn_neighbour_mean(tape *t, tensor *x, neighbours e);
tensor *nn_neighbour_max(tape *t, tensor *x, neighbours e);

/* Mean of relu(from[source] + to[row] + own[edge]) over the edges of each row.
 * from: (N, C), to: (R, C), own: (E, C) -> (R, C) */
tensor *nn_edge_mean(tape *t, tensor *from, tensor *to, tensor *own, neighbours e);

/* --- Products by group and by segment (grouped.c) ------------------------------------------------------------ */

/* Columns in G groups of C / G; each group of a row times its factor. x: (N, C), factors: (N, G) -> (N, C) */
tensor *nn_mul_groups(tape *t, tensor *x, tensor *factors);
/* Each segment of rows times a matrix of its own. x: (N, K), w: (S K, C), one K x C matrix below the other -> (N, C) */
tensor *nn_segment_matmul(tape *t, tensor *x, tensor *w, segments s);

/* --- Norms (norm.c) ------------------------------------------------------------------------------------------ */

/* Each row to mean 0 and variance 1, times gain plus offset. x: (N, C), gain: (1, C), offset: (1, C) -> (N, C) */
tensor *nn_layer_norm(tape *t, tensor *x, tensor *gain, tensor *offset);
/* Each column to mean 0 and variance 1: over the rows of this tape while training, else with the running mean and
 * variance (state). x: (N, C), gain and offset: (1, C) or both NULL, mean: (1, C), variance: (1, C) -> (N, C) */
tensor *nn_batch_norm(tape *t, tensor *x, tensor *gain, tensor *offset, tensor *mean, tensor *variance, float momentum);
/* Each row divided by its L2 norm; rows of (almost) norm 0 stay near 0. x: (N, C) -> (N, C) */
tensor *nn_l2_normalize(tape *t, tensor *x);

/* --- Attention, recurrence (attention.c, lstm.c) ------------------------------------------------------------- */

/* Multi-head self-attention within each segment. With L rows in a segment and P the sum of all L^2: */
typedef struct attention_options {
    segments s;
    uint32_t heads;
    const float *bias; /* (P), or NULL: an L x L matrix for each segment, one after the other; -INFINITY masks */
    tensor *head_bias; /* (P, heads), or NULL: learned, one row for each pair of rows of a segment */
    float dropout;
} attention_options;
/* softmax(q k' / sqrt(C / heads) + bias) v, heads beside each other in the columns.
 * q: (N, C), k: (N, C), v: (N, C) -> (N, C) */
tensor *nn_attention(tape *t, tensor *q, tensor *k, tensor *v, const attention_options *options);

/* One step of an LSTM. gates: (N, 4 H) before activation, in the order input, forget, cell, output; cell: (N, H).
 * Returns the new hidden state (N, H), and in *new_cell the new cell state (N, H). */
tensor *nn_lstm_cell(tape *t, tensor *gates, tensor *cell, tensor **new_cell);

/* --- Discrepancy of two distributions (discrepancy.c) -------------------------------------------------------- */

/* Moments of the rows of x (N, C), each (1, C): the mean first, then the central moments from the second on. */
typedef struct moments {
    segments all;
    tensor *centered, *power; /* (N, C); NULL before the first moment */
} moments;
moments nn_moments(tape *t, const tensor *x);
tensor *nn_next_moment(tape *t, tensor *x, moments *m);

/* Central moment discrepancy: the sum of the distances of the means and of the central moments 2 to 5.
 * x: (N, C), y: (M, C) -> (1, 1) */
tensor *nn_cmd(tape *t, tensor *x, tensor *y);
/* Maximum mean discrepancy, squared, with three Gaussian kernels. x: (N, C), y: (M, C) -> (1, 1) */
tensor *nn_mmd(tape *t, tensor *x, tensor *y);

/* --- Losses (loss.c) ----------------------------------------------------------------------------------------- */

/* p: prediction, y: target */
typedef enum loss_kind {
    LOSS_MSE,
    LOSS_MAE,
    LOSS_HUBER,    /* with threshold `delta` */
    LOSS_RELATIVE, /* ((p - y) / y)^2 */
    LOSS_LOG,      /* (log p - log y)^2; p must be positive */
    LOSS_MAPE,     /* |p - y| / |y| */
    LOSS_HYBRID,   /* mse_weight MSE + mape_weight MAPE */
    LOSS_COUNT
} loss_kind;

typedef struct loss_options {
    loss_kind kind;
    float delta;                   /* 0: 1 */
    float mse_weight, mape_weight; /* both 0: 1000 and 1, as in CDMPP */
    const float *weights;          /* (N): of each row; NULL: 1 */
    const float *mask;             /* (N, C): of each element; NULL: 1. Where it is 0, the target may be NaN. */
    float scale;                   /* of the sum. For a mean: 1 / sum of the weights, over the whole batch. */
} loss_options;

/* scale * sum over elements of weight * mask * loss(prediction, target). Targets below 1e-6 count as 1e-6 where they
 * divide. prediction: (N, C), target: (N, C) -> (1, 1) */
tensor *nn_loss(tape *t, tensor *prediction, const float *target, const loss_options *options);

#endif
