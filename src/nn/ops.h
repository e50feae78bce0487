/* ops.h - what can be done with tensors. tape.h tells how.
 *
 * Every operation is a forward function here and a backward rule beside it in the file that is named. Shapes are given
 * as rows x cols. Indices, segments and other plain arrays are the caller's and have to stay until the tape begins
 * again. */
#ifndef NN_OPS_H
#define NN_OPS_H

#include "nn/tape.h"

/* --- Products (linear.c) -------------------------------------------------------------------------------------- */

typedef enum activation {
    ACT_NONE,
    ACT_RELU,
    ACT_GELU, /* with the error function, not the approximation by tanh */
    ACT_SILU,
    ACT_SOFTPLUS,
    ACT_TANH,
    ACT_SIGMOID,
    ACT_EXP,
    ACT_LOG,
    ACT_COUNT
} activation;

/* n x k, k x m -> n x m */
tensor *nn_matmul(tape *t, tensor *x, tensor *w);
/* act(x w + b): n x k, k x m, 1 x m or NULL -> n x m */
tensor *nn_linear(tape *t, tensor *x, tensor *w, tensor *b, activation act);
/* act(x w + y v + b): what [x|y] times [w;v] is, without making either */
tensor *nn_linear2(tape *t, tensor *x, tensor *w, tensor *y, tensor *v, tensor *b, activation act);

/* --- One element at a time (elementwise.c, activation.c) ------------------------------------------------------ */

tensor *nn_add(tape *t, tensor *x, tensor *y);
tensor *nn_sub(tape *t, tensor *x, tensor *y);
tensor *nn_mul(tape *t, tensor *x, tensor *y);
tensor *nn_scale(tape *t, tensor *x, float factor);
tensor *nn_add_row(tape *t, tensor *x, tensor *row); /* row: 1 x m, for each row of x */
tensor *nn_mul_row(tape *t, tensor *x, tensor *row);
tensor *nn_mul_column(tape *t, tensor *x, tensor *column); /* column: n x 1, for each column of x */
tensor *nn_activate(tape *t, tensor *x, activation act);
/* Sum of everything: 1 x 1. */
tensor *nn_sum(tape *t, tensor *x);

/* --- Rows and columns (rows.c) -------------------------------------------------------------------------------- */

/* out[i] = x[index[i]]. With a parameter for x this is an embedding. */
tensor *nn_gather(tape *t, tensor *x, const uint32_t *index, uint32_t count);
/* out[index[i]] += x[i], `rows` rows. */
tensor *nn_scatter(tape *t, tensor *x, const uint32_t *index, uint32_t rows);
tensor *nn_slice_rows(tape *t, tensor *x, uint32_t first, uint32_t count);
tensor *nn_slice_columns(tape *t, tensor *x, uint32_t first, uint32_t count);
/* [a|b|...]: the columns side by side, up to 8. */
tensor *nn_concat_columns(tape *t, uint32_t count, tensor *const *parts);
/* The rows of x above those of y. */
tensor *nn_concat_rows(tape *t, tensor *x, tensor *y);

/* --- Segments of rows, neighbours (segment.c, neighbour.c) ---------------------------------------------------- */

/* Segment i is the rows start[i] .. start[i+1]-1; start[0] is 0, and the last of count + 1 entries all rows. */
typedef struct segments {
    uint32_t count;
    const uint32_t *start;
} segments;

tensor *nn_segment_sum(tape *t, tensor *x, segments s); /* -> one row per segment; zeros for an empty one */
tensor *nn_segment_mean(tape *t, tensor *x, segments s);
tensor *nn_segment_max(tape *t, tensor *x, segments s);
tensor *nn_segment_softmax(tape *t, tensor *x, segments s);   /* over the rows of a segment, each column on its own */
tensor *nn_segment_broadcast(tape *t, tensor *x, segments s); /* one row per segment -> each row of the segment */

/* The neighbours of row i are index[start[i]] .. index[start[i+1]-1]: edges sorted by where they go to. */
typedef struct neighbours {
    uint32_t rows;
    const uint32_t *start, *index;
} neighbours;

tensor *nn_neighbour_sum(tape *t, tensor *x, neighbours e); /* -> one row per row of e; zeros without neighbours */
tensor *nn_neighbour_mean(tape *t, tensor *x, neighbours e);
tensor *nn_neighbour_max(tape *t, tensor *x, neighbours e);

/* The mean of relu(from[source] + to[row] + own[edge]) over the edges into a row: n x m, rows x m, edges x m -> rows x
 * m. edge.c */
tensor *nn_edge_mean(tape *t, tensor *from, tensor *to, tensor *own, neighbours e);

/* --- Groups of columns, products by segment (heads.c) --------------------------------------------------------- */

/* Columns in as many groups as `factors` has columns; each group of a row times its factor: n x m, n x g -> n x m. */
tensor *nn_mul_groups(tape *t, tensor *x, tensor *factors);
/* Each segment of rows times a matrix of its own, which stand below each other in w: n x k, (segments k) x m -> n x m.
 */
tensor *nn_segment_matmul(tape *t, tensor *x, tensor *w, segments s);

/* --- Norms, dropout, softmax, attention, recurrence ----------------------------------------------------------- */

/* Each row to mean 0 and variance 1, then times gain plus offset (1 x m each). norm.c */
tensor *nn_layer_norm(tape *t, tensor *x, tensor *gain, tensor *offset);
/* Each row to length 1; one of (almost) length 0 stays. unit.c */
tensor *nn_l2_normalize(tape *t, tensor *x);
/* Each column, over the rows of this tape while training, else with the running mean and variance (state, 1 x m).
 * gain and offset may both be NULL. batch_norm.c */
tensor *nn_batch_norm(tape *t, tensor *x, tensor *gain, tensor *offset, tensor *mean, tensor *variance, float momentum);
/* Sets a share of the elements to 0 and the others to more, while training. dropout.c */
tensor *nn_dropout(tape *t, tensor *x, float rate);
void dropout_mask(rng *r, float rate, size_t count, float *mask); /* 0, or 1 / (1 - rate) */
tensor *nn_softmax(tape *t, tensor *x);                           /* each row. softmax.c */
/* log(sum of exp(sharpness x)) / sharpness of each row: a little more than its largest, the less so the sharper.
 * -> n x 1. softmax.c */
tensor *nn_smooth_max(tape *t, tensor *x, float sharpness);

/* Attention of each segment's rows to each other: softmax(q k' / sqrt(m / heads) + bias) v, heads beside each other in
 * the columns. `bias`, or NULL, has a length x length matrix for each segment, one after the other; -INFINITY hides.
 * n x m, n x m, n x m -> n x m. attention.c */
typedef struct attention_options {
    segments s;
    uint32_t heads;
    const float *bias;
    tensor *head_bias; /* or NULL: learned, a row for each pair of rows of a segment in turn, a column for each head */
    float dropout;
} attention_options;
tensor *nn_attention(tape *t, tensor *q, tensor *k, tensor *v, const attention_options *options);

/* gates: n x 4h, before activation, in the order input, forget, cell, output; cell: n x h. Returns the new hidden
 * state, n x h, and the new cell. lstm.c */
tensor *nn_lstm_cell(tape *t, tensor *gates, tensor *cell, tensor **new_cell);

/* --- How far rows are from those of another distribution (discrepancy.c) --------------------------------------- */

/* Moments of all rows of a matrix, 1 x m each: their mean first, then the central ones from the second on.
 * discrepancy.c */
typedef struct moments {
    segments all;
    tensor *centered, *power; /* NULL before the first */
} moments;
moments nn_moments(tape *t, const tensor *x);
tensor *nn_next_moment(tape *t, tensor *x, moments *m);

/* Central moment discrepancy: the distances of the means and of the central moments from the second to the fifth, added
 * up. n x m, k x m -> 1 x 1 */
tensor *nn_cmd(tape *t, tensor *x, tensor *y);
/* Maximum mean discrepancy, squared, with three Gaussian kernels. n x m, k x m -> 1 x 1 */
tensor *nn_mmd(tape *t, tensor *x, tensor *y);

/* --- Losses (loss.c) ------------------------------------------------------------------------------------------ */

typedef enum loss_kind {
    LOSS_MSE,
    LOSS_MAE,
    LOSS_HUBER,    /* of size `delta` */
    LOSS_RELATIVE, /* ((p - y) / y)^2 */
    LOSS_LOG,      /* (log p - log y)^2; p has to be positive */
    LOSS_MAPE,     /* |p - y| / |y| */
    LOSS_HYBRID,   /* mse_weight MSE + mape_weight MAPE */
    LOSS_COUNT
} loss_kind;

typedef struct loss_options {
    loss_kind kind;
    float delta;                   /* 0: 1 */
    float mse_weight, mape_weight; /* both 0: 1000 and 1, as CDMPP has them */
    const float *weights;          /* one per row, or NULL */
    const float *mask;             /* one per element, or NULL: what an element counts; with 0 its target may be NaN */
    float scale;                   /* of the sum. For a mean: 1 / sum of the weights, over the whole batch. */
} loss_options;

/* scale * sum over elements of weight * loss(prediction, target): n x m -> 1 x 1. Targets below 1e-6 count as 1e-6
 * where they divide. */
tensor *nn_loss(tape *t, tensor *prediction, const float *target, const loss_options *options);

#endif
