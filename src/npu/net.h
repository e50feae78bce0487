/* net.h - a network as the accelerator runs it: passes over feature maps, and the operators that are left to the CPU.
 *
 * As in Arm's compiler (Vela), each operator becomes passes of a few block types; an operator without a lowering runs
 * on the CPU. Both are steps, in the order in which they run. Vela's names are used throughout: ifm and ofm are the
 * input and output feature maps of a pass. Everything lives in one arena. */
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

/* The hardware block that does the work of a pass. */
typedef enum npu_block_type {
    BLOCK_CONV,
    BLOCK_DEPTHWISE,
    BLOCK_VECTOR, /* matrix-vector product: fully connected */
    BLOCK_POOL,
    BLOCK_REDUCE, /* sum over the channels */
    BLOCK_ELEMENTWISE,
    BLOCK_COPY, /* DMA to another memory */
} npu_block_type;

typedef enum npu_math { MATH_OTHER, MATH_ADD, MATH_MUL, MATH_MAX_POOL } npu_math;
typedef enum npu_activation { ACTIVATION_NONE, ACTIVATION_CLAMP, ACTIVATION_TABLE } npu_activation;
typedef enum npu_upscale { UPSCALE_NONE, UPSCALE_NEAREST, UPSCALE_ZEROS } npu_upscale;

/* Groups of weights with similar compression, by their operator: the values are not in the graph.
 */
typedef enum npu_coding { CODING_CONV, CODING_DEPTHWISE, CODING_VECTOR, CODING_UNIFORM, CODING_KINDS } npu_coding;

typedef struct npu_tensor {
    npu_shape shape;
    int32_t bytes; /* per element */
    bool is_const, is_scalar;
    bool is_external; /* written or read by the CPU or the caller: stored as NHWC, in full */
    bool is_output;   /* of a segment: read by the CPU or the caller */
    bool is_variable; /* lives as long as the network */
    bool is_linear;   /* stored as NHWC, else in bricks of 16 channels (NHCWB16) */
    bool is_kept;     /* must not be overwritten */
    uint32_t producers, consumers;
} npu_tensor;

typedef struct npu_pass {
    uint32_t op; /* operator of the graph */
    npu_block_type block;
    npu_math math;
    npu_activation activation;
    bool has_table;
    int32_t table_bytes;
    uint32_t ifm, ifm2, ofm; /* tensors; ifm2 may be FT_NONE */
    npu_shape ifm_shape, ifm2_shape, ofm_shape;
    npu_shape read, read2, write; /* the part of each map that the pass reads or writes */
    int32_t kernel_w, kernel_h, stride_x, stride_y, dilation_x, dilation_y;
    npu_upscale upscale;
    bool is_unary;
    bool has_weights;
    npu_coding coding;
    int64_t weights;     /* elements */
    bool is_per_channel; /* quantisation scales */
    double reach;        /* log2 of the largest representable weight relative to 1 / sqrt(fan-in) */
    double live;         /* share of channels whose weights are not all zero */
    int32_t bias_bytes;  /* per element; 0: no bias */
    bool reuses_weights; /* the same weights as an earlier pass: later steps of a recurrent layer */
    bool is_tiled, has_read_offset, is_slice_write, is_transposed_conv;
    bool is_unaligned_write; /* its slice of the output does not begin on a brick of channels */
    uint32_t segment;        /* consecutive passes without a CPU step in between */
} npu_pass;

typedef struct npu_step {
    bool is_cpu;
    uint32_t index; /* of the pass, or of the operator that runs on the CPU */
} npu_step;

typedef struct npu_block_cache npu_block_cache; /* block.h */

/* The types of a model. All but the first are lowered with a byte for each float. */
typedef enum npu_types {
    TYPES_QUANTISED, /* feature maps of integers */
    TYPES_PAIRS,     /* floats between pairs of QuantizeLinear and DequantizeLinear, which a converter fuses */
    TYPES_FLOAT,     /* not quantised: 8 bits are assumed */
} npu_types;

typedef struct npu_net {
    arena *memory; /* borrowed */
    npu_tensor *tensors;
    uint32_t tensor_count, tensor_capacity;
    npu_pass *passes;
    uint32_t pass_count, pass_capacity;
    npu_step *steps;
    uint32_t step_count, step_capacity;
    uint32_t *tensor_of; /* by tensor of the graph; FT_NONE: none */
    const ft_graph *graph;
    uint32_t cpu_ops;                           /* operators that run on the CPU */
    const bool *is_npu;                         /* by operator */
    int64_t cpu_constant_bytes, constant_bytes; /* constants of CPU operators; constant inputs of passes */
    npu_block_cache *block_cache;               /* block configurations found so far; NULL: no cache */
    npu_types types;                            /* what the integers of its passes follow from */
} npu_net;

/* Lowers a bound graph, which must outlive the net. Everything is allocated from `memory`. A net is for one thread at a
 * time, as its estimates share the block cache. */
ft_status npu_lower(const ft_graph *bound, arena *memory, npu_net *net, ft_error *error);
static inline bool npu_is_supported(const npu_net *net, uint32_t op) {
    return net->is_npu[op];
}

/* The last pass of the segment of a pass. */
static inline uint32_t npu_segment_end(const npu_net *net, uint32_t pass) {
    while (pass + 1 < net->pass_count && net->passes[pass + 1].segment == net->passes[pass].segment) pass++;
    return pass;
}

/* Runs of the accelerator for one batch: it processes one sample at a time. */
double npu_runs_per_batch(const ft_graph *bound);

#endif
