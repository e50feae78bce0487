/* net.h - a network as the accelerator runs it: passes over feature maps, and the steps that are left to the CPU.
 *
 * The compiler turns each operator into passes of a few kinds; an operator that it cannot turn into any runs on the
 * CPU. Both are steps, in the order in which they run. Everything lives in one arena. */
#ifndef NPU_NET_H
#define NPU_NET_H

#include "base/arena.h"
#include "base/error.h"
#include "foretell/graph.h"

typedef struct npu_shape {
    int64_t n, h, w, c;
} npu_shape;

static inline int64_t npu_elems(npu_shape s) {
    return s.n * s.h * s.w * s.c;
}

static inline bool npu_shape_equal(npu_shape a, npu_shape b) {
    return a.n == b.n && a.h == b.h && a.w == b.w && a.c == b.c;
}

static inline npu_shape npu_shape_min(npu_shape a, npu_shape b) {
    return (npu_shape){a.n < b.n ? a.n : b.n, a.h < b.h ? a.h : b.h, a.w < b.w ? a.w : b.w, a.c < b.c ? a.c : b.c};
}

static inline int64_t npu_div_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static inline int64_t npu_round_up(int64_t a, int64_t b) {
    return npu_div_up(a, b) * b;
}

/* Which engine does the work. */
typedef enum npu_block {
    BLOCK_CONV,
    BLOCK_DEPTHWISE,
    BLOCK_VECTOR, /* a matrix product with a vector: fully connected */
    BLOCK_POOL,
    BLOCK_REDUCE, /* sums over the depth */
    BLOCK_ELEMENTWISE,
    BLOCK_COPY, /* moves a tensor when it is to be in another memory */
} npu_block;

typedef enum npu_math { MATH_OTHER, MATH_ADD, MATH_MUL, MATH_MAX_POOL } npu_math;
typedef enum npu_activation { ACTIVATION_NONE, ACTIVATION_CLAMP, ACTIVATION_TABLE } npu_activation;
typedef enum npu_upscale { UPSCALE_NONE, UPSCALE_NEAREST, UPSCALE_ZEROS } npu_upscale;

/* How well weights compress is not in the graph; they are told apart by where they stand. */
typedef enum npu_coding { CODING_CONV, CODING_DEPTHWISE, CODING_VECTOR, CODING_UNIFORM, CODING_KINDS } npu_coding;

typedef struct npu_tensor {
    npu_shape shape;
    int32_t bytes; /* of an element */
    bool is_const, is_scalar;
    bool is_outside;  /* made or read by the CPU or the caller: stored plainly, in full */
    bool is_output;   /* of a run of passes: read by the CPU or the caller */
    bool is_variable; /* lives as long as the network */
    bool is_linear;   /* stored as NHWC, else in bricks of 16 channels */
    bool is_kept;     /* must not be overwritten */
    uint32_t producers, consumers;
} npu_tensor;

typedef struct npu_pass {
    uint32_t op; /* of the graph */
    npu_block block;
    npu_math math;
    npu_activation activation;
    bool has_table;
    int32_t table_bytes;
    uint32_t ifm, ifm2, ofm; /* tensors; ifm2 may be FT_NONE */
    npu_shape ifm_shape, ifm2_shape, ofm_shape;
    npu_shape read, read2, write; /* the part of them that it works on */
    int32_t kernel_w, kernel_h, stride_x, stride_y, dilation_x, dilation_y;
    npu_upscale upscale;
    bool is_unary;
    bool has_weights;
    npu_coding coding;
    int64_t weights;     /* elements */
    bool has_own_scales; /* of its channels */
    double reach;        /* of the weights, in octaves above the root of their fan-in */
    double live;         /* share of channels that are not dead */
    int32_t bias_bytes;  /* of an element; 0: none */
    bool is_repeat;      /* an earlier pass brought the same weights: the steps of a recurrent layer */
    bool is_tiled, has_read_offset, is_slice_write, is_transposed_conv;
    bool is_off_brick; /* its place in the output does not begin a brick of channels */
    uint32_t segment;  /* run of passes without a CPU step between them */
} npu_pass;

typedef struct npu_step {
    bool is_cpu;
    uint32_t index; /* of the pass, or of the operator */
} npu_step;

typedef struct npu_blockings npu_blockings; /* blockings.h */

typedef struct npu_net {
    arena *memory; /* borrowed */
    npu_tensor *tensors;
    uint32_t tensor_count, tensor_capacity;
    npu_pass *passes;
    uint32_t pass_count, pass_capacity;
    npu_step *steps;
    uint32_t step_count, step_capacity;
    uint32_t *tensor_of; /* of each tensor of the graph, FT_NONE: none */
    const ft_graph *graph;
    uint32_t cpu_ops;                           /* operators that run on the CPU */
    const bool *is_npu;                         /* of each operator */
    int64_t cpu_constant_bytes, constant_bytes; /* stored for the CPU; feature maps that are constants of passes */
    npu_blockings *blockings;                   /* how its passes are cut, as far as it was asked; NULL: not kept */
    bool is_assumed;                            /* the file is not quantised, and was taken as if it were */
} npu_net;

/* From a bound graph, which must outlive it. Everything is taken from `memory`. One net is for one thread at a time, as
 * estimates of it share what they find. */
ft_status npu_lower(const ft_graph *bound, arena *memory, npu_net *net, ft_error *error);
static inline bool npu_runs(const npu_net *net, uint32_t op) {
    return net->is_npu[op];
}

/* How often the accelerator, which knows no batches, runs for one. */
double npu_samples(const ft_graph *bound);

#endif
