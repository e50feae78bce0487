/* kernel_rows.h - terms and features of a kernel: amounts of each kind of work (terms), and properties that decide how
 * fast that work is done (features).
 *
 * The time of a kernel is the sum over terms of amount * unit cost * a multiplier that networks learn from the features
 * (kernel_net.h). Terms are amounts, so twice the work costs twice as much unless a feature changes the multiplier;
 * this is what extrapolates to models larger than all in training. A kernel is described by its work and not by its
 * name alone: kinds are grouped, so that a kind that was not in training is treated like its group. docs/kernel-sum.md
 * lists and explains all of them. */
#ifndef PREDICTOR_CORE_KERNEL_ROWS_H
#define PREDICTOR_CORE_KERNEL_ROWS_H

#include "base/arena.h"
#include "predictor/core/model_view.h"

/* Changes whenever a term or feature changes its meaning: files made for other ones are refused. */
#define KERNEL_ROWS_SCHEMA "kernel-rows-2"

/* name, amount */
#define KERNEL_TERM_LIST(X)                                                                                            \
    X(TERM_LAUNCH, "launches: one")                                                                                    \
    X(TERM_PRODUCT, "multiply-accumulates of convolutions and matrix products")                                        \
    X(TERM_DEPTHWISE, "multiply-accumulates of depthwise convolutions")                                                \
    X(TERM_MOVED, "bytes of activations read and written")                                                             \
    X(TERM_WEIGHTS, "bytes of weights of convolutions")                                                                \
    X(TERM_DENSE, "bytes of weights of matrix products")                                                               \
    X(TERM_UNFOLDED, "elements of the unfolded input of a convolution (im2col)")                                       \
    X(TERM_WINDOW, "elements that pooling and reductions read")                                                        \
    X(TERM_CHAIN, "additions one after the other, where too few outputs keep a device from doing them side by side")   \
    X(TERM_REREAD, "bytes of weights that an array of multipliers reads again, where an output does not stay on chip")

typedef enum kernel_term {
#define KERNEL_TERM_ENUM(name, text) name,
    KERNEL_TERM_LIST(KERNEL_TERM_ENUM)
#undef KERNEL_TERM_ENUM
        KERNEL_TERMS
} kernel_term;

/* Sizes: base-2 logarithms of amounts, 0 where a kernel has none. */
enum {
    FEATURE_IN_HEIGHT,
    FEATURE_OUT_HEIGHT,
    FEATURE_IN_CHANNELS,
    FEATURE_OUT_CHANNELS,
    FEATURE_WINDOW, /* one side of a convolution's kernel or of a pooling window */
    FEATURE_STRIDE,
    FEATURE_MOVED,
    FEATURE_PRODUCT, /* all multiply-accumulates */
    FEATURE_WEIGHTS,
    FEATURE_INTENSITY, /* multiply-accumulates per byte */
    FEATURE_INPUTS,    /* tensors read, not as a logarithm */
    FEATURE_LOG_INPUTS,
    FEATURE_POOLED, /* elements that pooling reads, per output */
    /* The share of padding when channels are processed 4, 8, 16, 32 at a time. */
    FEATURE_PAD_IN,
    FEATURE_PAD_OUT = FEATURE_PAD_IN + 4,
    KERNEL_SIZES = FEATURE_PAD_OUT + 4
};

/* Flags, 0 or 1: the kind of the root, the group of kinds, and what was fused to it. */
enum {
    FLAG_KIND = KERNEL_SIZES,
    KERNEL_KINDS = 24,
    FLAG_GROUP = FLAG_KIND + KERNEL_KINDS,
    KERNEL_GROUPS = 8,
    FLAG_FUSED = FLAG_GROUP + KERNEL_GROUPS,
    KERNEL_FUSED = 6,
    KERNEL_FEATURES = FLAG_FUSED + KERNEL_FUSED
};

/* Plain floats, so that equal kernels are equal bytes. */
typedef struct kernel_row {
    float terms[KERNEL_TERMS];
    float features[KERNEL_FEATURES];
} kernel_row;

/* One row for each kernel, in the order of the kernels. Without `has_array`, convolutions are described as work of
 * cores even where the rules assign them to an array of multipliers. */
ft_status kernel_rows_extract_as(model_view *s, const ft_rules *rules, bool has_array, arena *memory, kernel_row **rows,
                                 uint32_t *count, ft_error *error);
/* With arrays as in the rules. */
ft_status kernel_rows_extract(model_view *s, const ft_rules *rules, arena *memory, kernel_row **rows, uint32_t *count,
                              ft_error *error);

/* --- Arrays of multipliers ----------------------------------------------------------------------------------- */

enum {
    ARRAY_MULTIPLIERS = 256,
    ARRAY_COEFFICIENTS = 512, /* that it holds for one output and one way */
    ARRAY_WAYS = 5,           /* inputs are split 1, 2, 4, 8 or 16 ways */
    ARRAY_OUTPUTS = 1 << 18   /* elements of an output that stay on chip: half a megabyte in float16 */
};

/* Steps for one pixel of the output: of as many input channels, output channels and elements of the window. */
double array_steps(double inputs, double outputs, double window);

/* How often weights are read again: once for each part beyond the first that an output is made in. */
double array_rereads(double output_elements);

#endif
