/* workload.h - workloads: parsing their keys, and building the stages that compute them, before any schedule.
 *
 * A key names a function and its arguments: ["conv2d_layer", 1, 64, 56, 56, 64, 3, 3, 1, "SAME"]. The definitions are
 * those that were tuned: TVM's operator library, stage for stage, as steps number them. */
#ifndef PROGRAM_WORKLOAD_H
#define PROGRAM_WORKLOAD_H

#include "program/stage.h"

enum { WORKLOAD_MAX_ARGS = 16 };

typedef enum workload_kind {
    WORKLOAD_MATMUL,
    WORKLOAD_BATCH_MATMUL,
    WORKLOAD_CONV2D,
    WORKLOAD_DEPTHWISE,
    WORKLOAD_POOL,
    WORKLOAD_REDUCTION,
    WORKLOAD_RELU,
    WORKLOAD_TANH,
    WORKLOAD_SIGMOID,
    WORKLOAD_ADD,
    WORKLOAD_MUL,
    WORKLOAD_BIAS,
    WORKLOAD_TRANSPOSE,
    WORKLOAD_KINDS
} workload_kind;

/* The arguments by meaning; 0 for those that a workload does not have. */
typedef struct workload {
    workload_kind kind;
    const char *name;         /* static: "matmul_layer" */
    bool is_first_transposed; /* products of batches: the first factor is stored as (k, m) */
    bool is_transposed;       /* products: the second factor is stored as (n, k) */
    bool has_add, has_relu;   /* the epilogue */
    bool is_average;          /* pool */
    bool keeps_dims;          /* reduction */
    uint32_t dims;            /* reduction, elementwise, bias, transpose: of the input */
    int64_t shape[PROG_MAX_DIMS];
    bool is_reduced[PROG_MAX_DIMS];
    int64_t batch, channels, m, k, n; /* products */
    int64_t height, width, out_channels, kernel_height, kernel_width, stride;
    int64_t pad_top, pad_left, pad_bottom, pad_right;
} workload;

/* Unknown names, wrong arguments and impossible sizes are errors. */
ft_status workload_parse(const char *key, const char *fused, workload *w, ft_error *error);
/* The number of windows in each direction. */
int64_t workload_out_height(const workload *w);
int64_t workload_out_width(const workload *w);

/* Adds the stages of the workload to an empty program. */
ft_status workload_build(const workload *w, prog *p);

/* Floating-point multiplications, additions, comparisons and divisions of the definition. */
double workload_flops(const workload *w);

#endif
