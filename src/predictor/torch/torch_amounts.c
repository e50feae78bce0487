/* torch_amounts.c - see torch_amounts.h. GPUs are told by their data sheets; of processors some things are known that
 * no data sheet says, and that models of one family alone do not teach. */
#include "predictor/torch/torch_amounts.h"

#include <math.h>

/* --- Kinds on processors ------------------------------------------------------------------------------------- */

/* What kinds of kernels take on processors besides what is learned of them, beside a convolution. Calling oneDNN costs
 * most, fused loops next to nothing; the weights of convolutions are put into another order in every call; norms and
 * attention walk over their input several times, and loops with gaps (pads, concatenations, windows) are not
 * vectorised. Coarse, as learning starts from here, and leaves families that nobody has seen not far from here. */
typedef struct kind_factors {
    double launches, weights, moved;
} kind_factors;

static kind_factors factors_of(torch_kind kind) {
    switch (kind) {
    case TORCH_CONV:
        return (kind_factors){1, 1, 1};
    case TORCH_POINTWISE:
        return (kind_factors){0.9, 0.4, 1};
    case TORCH_GROUPED:
        return (kind_factors){1.3, 0.4, 1};
    case TORCH_DEPTHWISE:
        return (kind_factors){1, 0.4, 1};
    case TORCH_LINEAR:
    case TORCH_MATMUL:
        return (kind_factors){0.4, 0.25, 0.5};
    case TORCH_ATTENTION:
        return (kind_factors){0.6, 0.25, 4};
    case TORCH_RECURRENT:
        return (kind_factors){0.4, 0.25, 8};
    case TORCH_LAYER_NORM:
    case TORCH_GROUP_NORM:
    case TORCH_SOFTMAX:
        return (kind_factors){0.1, 0.25, 3};
    case TORCH_CONCAT:
    case TORCH_PAD:
    case TORCH_MAX_POOL:
    case TORCH_REDUCTION:
        return (kind_factors){0.1, 0.25, 4};
    case TORCH_COPY:
    case TORCH_AVERAGE_POOL:
    case TORCH_OTHER:
        return (kind_factors){0.1, 0.25, 2};
    case TORCH_RESIZE:
        return (kind_factors){0.1, 0.25, 8};
    default:
        return (kind_factors){0.1, 0.25, 1};
    }
}

/* --- Memory of processors ------------------------------------------------------------------------------------ */

/* glibc asks the system for each block of more than 32 MiB, and gives it back at once when it is freed. So each of its
 * pages is handed out, and filled with zeros, in every step. */
static const double LARGE_BYTES = 32 << 20, PAGE_BYTES = 4096, PAGE_US = 0.25;

/* What a kernel writes, of a batch. */
static double written_bytes(const torch_row *row, double batch) {
    double bytes = 2 + 2 * row->features[TORCH_SIZE_WIDE];
    return batch * bytes * exp2((double)row->features[TORCH_SIZE_WRITTEN]);
}

static bool has_weights_reordered(torch_kind kind) {
    return kind == TORCH_CONV || kind == TORCH_POINTWISE || kind == TORCH_GROUPED || kind == TORCH_DEPTHWISE;
}

static double fresh_us(const torch_row *row, torch_kind kind, double batch) {
    static const double REORDERED = 2; /* pages of weights are filled in leaps */
    double bytes = 0, weights = row->terms[TORCH_WEIGHTS];
    if (batch * row->terms[TORCH_MOVED] > LARGE_BYTES) {
        double written = written_bytes(row, batch);
        if (written > LARGE_BYTES) bytes += written;
    }
    if (weights > LARGE_BYTES && has_weights_reordered(kind)) bytes += REORDERED * weights;
    return bytes / PAGE_BYTES * PAGE_US;
}

/* --- Loops of processors ------------------------------------------------------------------------------------- */

/* An element that is taken alone costs some thirty cycles: index arithmetic, a load, a division of running means. */
static const double SCALAR_US = 0.009;

/* Weights that are standardised in every step are read for their statistics, read again and written. */
static double made_bytes(const torch_row *row) {
    static const double PASSES = 3;
    return PASSES * row->made;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

void torch_amounts(const torch_row *row, torch_side side, const double anchors[static TORCH_TERMS], double batch,
                   double times, float amounts[static TORCH_TERMS]) {
    for (uint32_t i = 0; i < TORCH_TERMS; i++)
        amounts[i] = (float)(row->terms[i] * anchors[i] * times * (torch_term_scales[i] ? batch : 1));
    if (side == TORCH_GPU) return;
    torch_kind kind = torch_row_kind(row);
    kind_factors usual = factors_of(kind);
    amounts[TORCH_LAUNCHES] *= (float)usual.launches;
    amounts[TORCH_WEIGHTS] *= (float)usual.weights;
    if (has_weights_reordered(kind))
        amounts[TORCH_WEIGHTS] += (float)(made_bytes(row) * anchors[TORCH_WEIGHTS] * times);
    amounts[TORCH_MOVED] *= (float)usual.moved;
    amounts[TORCH_SERIAL] += (float)(times * (fresh_us(row, kind, batch) + SCALAR_US * row->scalar * batch));
}
