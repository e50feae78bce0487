/* torch_amounts.c - amounts of work of a kernel at the rates of a data sheet.
 *
 * For GPUs the data sheet is enough. CPUs have known effects that no data sheet lists and that models of one family
 * cannot teach: factors by kind of kernel, fresh pages of large blocks, loops that are not vectorised. */
#include "predictor/torch/torch_setting.h"

#include <assert.h>
#include <math.h>

/* --- Kinds of kernels on CPUs ------------------------------------------------------------------------------------- */

/* Factors by kind of kernel on CPUs, relative to a convolution. Calls of oneDNN cost most, fused loops next to nothing;
 * the weights of convolutions are reordered in every call; norms and attention pass over their input several times, and
 * loops with gaps (pads, concatenations, windows) are not vectorised. Coarse: training starts from these factors, and
 * the predictions of unseen families stay near them. */
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

/* --- Memory of CPUs ------------------------------------------------------------------------------------ */

/* glibc maps each block of more than 32 MiB and unmaps it when it is freed, so in every step the kernel hands out and
 * zeroes each of its pages. */
static const double LARGE_BYTES = 32 << 20, PAGE_BYTES = 4096, PAGE_US = 0.25;

/* Bytes that a kernel writes for a batch. */
static double written_bytes(const torch_row *row, double batch) {
    double bytes = 2 + 2 * row->features[TORCH_SIZE_WIDE];
    return batch * bytes * exp2((double)row->features[TORCH_SIZE_WRITTEN]);
}

static bool reorders_weights(torch_kind kind) {
    return kind == TORCH_CONV || kind == TORCH_POINTWISE || kind == TORCH_GROUPED || kind == TORCH_DEPTHWISE;
}

static double fresh_page_us(const torch_row *row, torch_kind kind, double batch) {
    static const double REORDERED = 2; /* pages of reordered weights are filled out of order */
    double bytes = 0, weights = row->terms[TORCH_WEIGHTS];
    if (batch * row->terms[TORCH_MOVED] > LARGE_BYTES) {
        double written = written_bytes(row, batch);
        if (written > LARGE_BYTES) bytes += written;
    }
    if (weights > LARGE_BYTES && reorders_weights(kind)) bytes += REORDERED * weights;
    return bytes / PAGE_BYTES * PAGE_US;
}

/* --- Scalar loops on CPUs ------------------------------------------------------------------------------------- */

/* A scalar element costs about thirty cycles: index arithmetic, a load, the division of a running mean. */
static const double SCALAR_US = 0.009;

/* Weights standardised in every step are read for their statistics, read again and written. */
static double standardised_bytes(const torch_row *row) {
    static const double PASSES = 3;
    return PASSES * row->made;
}

/* Products of cuBLAS; convolutions and recurrent layers are those of cuDNN. */
static bool is_matmul(torch_kind kind) {
    return kind == TORCH_LINEAR || kind == TORCH_MATMUL || kind == TORCH_ATTENTION;
}

/* --- Amounts ----------------------------------------------------------------------------------------------- */

void torch_amounts(const torch_row *row, torch_side side, const double anchors[static TORCH_ANCHORS], double batch,
                   double launches, float amounts[static TORCH_TERMS]) {
    for (uint32_t i = 0; i < TORCH_TERMS; i++)
        amounts[i] = (float)(row->terms[i] * anchors[i] * launches * (torch_term_scales[i] ? batch : 1));
    if (side == TORCH_GPU) {
        /* The kind is looked up only where it matters. */
        if (anchors[TORCH_MATMUL_RATE] != anchors[TORCH_PRODUCTS] && is_matmul(torch_row_kind(row)))
            amounts[TORCH_PRODUCTS] *= (float)(anchors[TORCH_MATMUL_RATE] / anchors[TORCH_PRODUCTS]);
        return;
    }
    assert(batch > 0 && launches > 0);
    torch_kind kind = torch_row_kind(row);
    kind_factors factors = factors_of(kind);
    amounts[TORCH_LAUNCHES] *= (float)factors.launches;
    amounts[TORCH_WEIGHTS] *= (float)factors.weights;
    if (reorders_weights(kind))
        amounts[TORCH_WEIGHTS] += (float)(standardised_bytes(row) * anchors[TORCH_WEIGHTS] * launches);
    amounts[TORCH_MOVED] *= (float)factors.moved;
    amounts[TORCH_SERIAL] += (float)(launches * (fresh_page_us(row, kind, batch) + SCALAR_US * row->scalar * batch));
}
