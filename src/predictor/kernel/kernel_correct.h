/* kernel_correct.h - correction of the sum over kernels: a factor for the whole model, from the mix of its kernels.
 *
 * Clocks that drop under load, caches that kernels leave warm for each other and overlapping work belong to no single
 * kernel. Boosted trees predict the factor by which the sum is off from the mix of kernels; the factor is bounded, so
 * that a model unlike all of training stays close to its sum. */
#ifndef PREDICTOR_KERNEL_CORRECT_H
#define PREDICTOR_KERNEL_CORRECT_H

#include "nn/tree/trees.h"
#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_train.h"

enum {
    MIX_WINDOWS = 4, /* sides of a convolution's window: 1, 3, 5, larger */
    MIX_HEIGHTS = 8, /* of its output, by powers of two */
    MIX_SPREADS = 5, /* sizes whose deviation over a model is a feature besides their mean */
    MIX_FEATURES = KERNEL_KINDS + 2 * (MIX_WINDOWS + MIX_HEIGHTS) + KERNEL_SIZES + MIX_SPREADS + 6
};

/* Statistics over the kernels of a model. Shares and sizes are weighted by time. */
typedef struct kernel_mix {
    double total, launches, longest;
    double product, moved, weights;
    double by_kind[KERNEL_KINDS];
    double by_window[2][MIX_WINDOWS],
        by_height[2][MIX_HEIGHTS]; /* [0] of matrix products and convolutions, [1] of depthwise convolutions */
    double sizes[KERNEL_SIZES], squares[MIX_SPREADS];
} kernel_mix;

void kernel_mix_add(kernel_mix *mix, const kernel_row *row, double time);
void kernel_mix_finish(const kernel_mix *mix, float features[static MIX_FEATURES]);

/* The factor of a model; 1 without a forest. */
double kernel_correct(const forest *f, const kernel_mix *mix);

/* Fits a forest for each device of a side; `times`: predicted time of each kernel of the table, kernels x devices. */
ft_status kernel_correct_fit(const kernel_side *side, const double *times, const kernel_config *config,
                             const fit_context *context, forest **forests, ft_error *error);

#endif
