/* torch_rows.h - terms (amounts of work) and features of a kernel, the inputs of the torch-sum predictor.
 *
 * Both are per image, so that a kernel is the same row at every batch size; terms that grow with the batch are
 * multiplied by it (torch_term_scales). docs/torch.md explains them. */
#ifndef PREDICTOR_TORCH_ROWS_H
#define PREDICTOR_TORCH_ROWS_H

#include "predictor/torch/torch_kernel.h"

/* Changes whenever a term or feature changes its meaning: files with another schema are errors. */
#define TORCH_ROWS_SCHEMA "torch-rows-3"

/* name, whether it grows with the batch, unit */
#define TORCH_TERM_LIST(X)                                                                                             \
    X(TORCH_LAUNCHES, false, "launches")                                                                               \
    X(TORCH_PRODUCTS, true, "multiply-accumulates of convolutions and matrix products")                                \
    X(TORCH_VECTOR_PRODUCTS, true, "multiply-accumulates of depthwise convolutions, which matrix units cannot do")     \
    X(TORCH_ATTENDED, true, "multiply-accumulates of attention")                                                       \
    X(TORCH_SCORES, true, "scores of attention, which older versions write to memory")                                 \
    X(TORCH_MOVED, true, "bytes of activations read and written")                                                      \
    X(TORCH_CASTS, true, "bytes that autocast moves to change types")                                                  \
    X(TORCH_WEIGHTS, false, "bytes of weights")                                                                        \
    X(TORCH_FLOPS, true, "arithmetic besides products")                                                                \
    X(TORCH_SERIAL, true, "maps that interpolation walks through one after the other")

typedef enum torch_term {
#define TORCH_TERM_ENUM(name, scales, text) name,
    TORCH_TERM_LIST(TORCH_TERM_ENUM)
#undef TORCH_TERM_ENUM
        TORCH_TERMS
} torch_term;

extern const bool torch_term_scales[TORCH_TERMS]; /* with the batch */

/* Unit costs by data sheet: one per term, and that of matrix products, which may run in another precision than
 * convolutions. */
enum { TORCH_MATMUL_RATE = TORCH_TERMS, TORCH_ANCHORS };

enum {
    TORCH_SIZES = 31, /* base-2 logarithms and shares; see set_sizes */
    TORCH_SIZE_GROUPS = 2,
    TORCH_SIZE_WINDOW = 7,
    TORCH_SIZE_STRIDE = 8,
    TORCH_SIZE_WRITTEN = 13, /* elements */
    TORCH_SIZE_WIDE = 17,    /* share of moved bytes that are 32-bit */
    TORCH_SIZE_EVEN_IN = 29,
    TORCH_SIZE_EVEN_OUT = 30,
    TORCH_FLAG_KIND = TORCH_SIZES,
    TORCH_FLAG_HOLDS = TORCH_FLAG_KIND + TORCH_KINDS,
    TORCH_FLAG_STRIDED = TORCH_FLAG_HOLDS + TORCH_KINDS,
    TORCH_FLAG_DEEP,
    TORCH_FEATURES,
    TORCH_FLAGS = TORCH_FEATURES - TORCH_SIZES
};

/* Floats without padding, so that equal kernels are equal bytes. */
typedef struct torch_row {
    float terms[TORCH_TERMS];
    float features[TORCH_FEATURES];
    float made, scalar; /* float32 only, for CPUs: bytes of computed weights, scalar elements of an image */
} torch_row;

/* Precision of tensors: autocast mixes 16 and 32 bits, otherwise all have `bytes`. */
typedef struct torch_precision {
    bool is_mixed;
    uint32_t bytes;
} torch_precision;

/* `batch`: that of the kernel's amounts. */
void torch_row_of(const torch_kernel *kernel, double batch, torch_precision precision, torch_row *row);

static inline torch_kind torch_row_kind(const torch_row *row) {
    uint32_t kind = 0;
    while (kind + 1 < TORCH_KINDS && row->features[TORCH_FLAG_KIND + kind] == 0) kind++;
    return (torch_kind)kind;
}

#endif
