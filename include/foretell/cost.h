/* cost.h - cost of a model by exact arithmetic, without learning: work, parameters, bytes moved, memory over time.
 *
 * MAC = one multiply and one add; FLOP = one floating-point (or integer) arithmetic operation, so a matrix product
 * counts 2 FLOPs per MAC. Counts saturate at UINT64_MAX instead of wrapping. docs/cost.md states every rule. */
#ifndef FORETELL_COST_H
#define FORETELL_COST_H

#include "foretell/graph.h"
#include "foretell/kernel.h"

FT_C_BEGIN

typedef enum ft_mode { FT_INFER, FT_TRAIN } ft_mode;

/* name, text */
#define FT_OPTIMIZER_LIST(X)                                                                                           \
    X(FT_SGD, "sgd")                                                                                                   \
    X(FT_MOMENTUM, "momentum")                                                                                         \
    X(FT_ADAM, "adam")                                                                                                 \
    X(FT_ADAMW, "adamw")                                                                                               \
    X(FT_ADAFACTOR, "adafactor")                                                                                       \
    X(FT_LION, "lion")                                                                                                 \
    X(FT_MUON, "muon")                                                                                                 \
    X(FT_ADAMW_8BIT, "adamw-8bit")                                                                                     \
    X(FT_ADAMW_PAGED, "adamw-paged")                                                                                   \
    X(FT_ADAMW_8BIT_PAGED, "adamw-8bit-paged")

typedef enum ft_optimizer {
#define FT_OPTIMIZER_ENUM(name, text) name,
    FT_OPTIMIZER_LIST(FT_OPTIMIZER_ENUM)
#undef FT_OPTIMIZER_ENUM
} ft_optimizer;

/* The text above, and its inverse; false for any other text. */
FT_API const char *ft_optimizer_name(ft_optimizer optimizer);
FT_API bool ft_optimizer_parse(const char *text, ft_optimizer *optimizer);

/* What data-parallel ranks divide between them instead of keeping a copy each: name, text */
#define FT_SHARDING_LIST(X)                                                                                            \
    X(FT_SHARD_NONE, "none")                                                                                           \
    X(FT_SHARD_OPTIMIZER, "zero1") /* optimiser state and master weights */                                            \
    X(FT_SHARD_GRADIENTS, "zero2") /* gradients too */                                                                 \
    X(FT_SHARD_WEIGHTS, "zero3")   /* weights too: ZeRO 3, FSDP */

typedef enum ft_sharding {
#define FT_SHARDING_ENUM(name, text) name,
    FT_SHARDING_LIST(FT_SHARDING_ENUM)
#undef FT_SHARDING_ENUM
} ft_sharding;

/* What backward computes again instead of keeping it: name, text */
#define FT_RECOMPUTE_LIST(X)                                                                                           \
    X(FT_RECOMPUTE_NONE, "none")                                                                                       \
    X(FT_RECOMPUTE_SELECTIVE, "selective") /* of each layer, all but attention and every second product */             \
    X(FT_RECOMPUTE_FULL, "full")           /* each layer from its input */

typedef enum ft_recompute {
#define FT_RECOMPUTE_ENUM(name, text) name,
    FT_RECOMPUTE_LIST(FT_RECOMPUTE_ENUM)
#undef FT_RECOMPUTE_ENUM
} ft_recompute;

/* The texts above and their inverses; "fsdp" is zero3. False for any other text. */
FT_API const char *ft_sharding_name(ft_sharding sharding);
FT_API bool ft_sharding_parse(const char *text, ft_sharding *sharding);
FT_API const char *ft_recompute_name(ft_recompute recompute);
FT_API bool ft_recompute_parse(const char *text, ft_recompute *recompute);

typedef struct ft_cost_options {
    ft_mode mode;
    ft_optimizer optimizer;
    ft_dtype dtype;           /* type of floating-point tensors; FT_DTYPE_UNKNOWN: as in the file */
    bool is_mixed;            /* training: dtype for activations, float32 master weights beside them */
    bool has_inplace;         /* an activation may overwrite its input when it is the last reader */
    bool has_fused_attention; /* attention decomposed in the graph runs as one kernel, which never stores the scores */
    uint64_t workspace_bytes; /* limit for the scratch of an operator (im2col and the like), 0 = none */
    /* Of the memory timeline of training: */
    ft_sharding sharding;   /* by which ft_tensor.replicas ranks hold a parameter together */
    ft_recompute recompute; /* by layers, as the names of weights number them */
    uint32_t in_flight;     /* micro-batches whose activations are alive at once, as in a pipeline; 0 = 1 */
    bool keeps_gathered;    /* sharded weights and gradients stay whole during a step, as in a pipeline; gradients of
                               mixed precision in float32 */
    bool has_accumulation;  /* gradients of earlier micro-batches are there when a step begins */
    bool is_decomposed;     /* language models without a compiler: RMS norms run in float32 as several operators, which
                               keep it; keys and values are repeated for every head that reads them */
} ft_cost_options;

/* Inference, momentum, types as in the file, in-place and fused attention on, no workspace. */
FT_API ft_cost_options ft_cost_options_default(void);

typedef struct ft_work {
    uint64_t macs;
    uint64_t flops;
    uint64_t read_bytes;
    uint64_t write_bytes;
} ft_work;

typedef struct ft_op_cost {
    ft_work forward;
    ft_work backward_data;    /* gradients of the inputs; zero for inference */
    ft_work backward_weights; /* gradients of the parameters; zero for inference */
    uint64_t params;          /* trainable elements, each counted at the first operator that reads it */
    uint64_t param_bytes;
    uint64_t activation_elems; /* of its outputs */
    bool is_estimated;         /* operator or shapes unknown: the cost is estimated from its bytes */
} ft_op_cost;

typedef struct ft_cost {
    const ft_op_cost *ops; /* per operator of the graph */
    uint32_t op_count;
    ft_op_cost total;             /* sums of the above; is_estimated when any operator is */
    ft_work optimizer;            /* one step over all parameters; zero for inference */
    uint64_t tied_params;         /* of total.params: read by several operators, counted once */
    uint64_t buffers;             /* stored elements that are not trained: running statistics, tables */
    uint64_t weight_bytes;        /* parameters and buffers as held in memory */
    uint64_t stored_bytes;        /* weights on disk */
    uint64_t conv_matmul_outputs; /* output elements of convolutions and matrix products, "activations" of the papers */
    uint32_t estimated_ops;
    double coverage_ratio;     /* share of FLOPs + bytes whose operators are known */
    double coverage_ops_ratio; /* the same by count of operators */
    void *owner;
} ft_cost;

/* The cost of one step of a bound graph. ft_cost_free releases it; the graph need not exist any more. */
FT_API ft_status ft_cost_compute(const ft_graph *bound, const ft_cost_options *options, ft_cost *cost, ft_error *error);
FT_API void ft_cost_free(ft_cost *cost);

/* The cost of a fused kernel: the work of its operators, without the bytes that stay inside of it. */
FT_API ft_op_cost ft_cost_kernel(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels,
                                 uint32_t kernel);

/* FLOPs per byte moved; 0 when no byte moves. */
FT_API double ft_work_intensity(const ft_work *work);

/* --- Memory over time ---------------------------------------------------------------------------------------- */

typedef enum ft_phase { FT_PHASE_FORWARD, FT_PHASE_BACKWARD, FT_PHASE_OPTIMIZER } ft_phase;

/* The peak of the timeline. weight + gradient + optimizer + gathered + activation + workspace bytes = peak_bytes. */
typedef struct ft_memory {
    uint64_t weight_bytes;              /* parameters and buffers */
    uint64_t gradient_bytes;            /* gradients of parameters that exist at the peak */
    uint64_t optimizer_bytes;           /* moments and master weights */
    uint64_t master_bytes;              /* part of optimizer_bytes: float32 copies of weights */
    uint64_t gathered_bytes;            /* of sharded parameters: whole weights and gradients of layers that run */
    uint64_t activation_bytes;          /* alive at the peak, with the two parts below */
    uint64_t activation_gradient_bytes; /* part of activation_bytes: gradients of activations */
    uint64_t input_bytes;     /* part of activation_bytes: inputs, which the caller holds during the whole step */
    uint64_t workspace_bytes; /* alive at the peak */
    uint64_t saved_bytes;     /* kept for backward when forward ends, without inputs; 0 for inference */
    uint64_t peak_bytes;
    uint32_t peak_op; /* operator at the peak; FT_NONE for an empty graph and in the optimiser step */
    ft_phase peak_phase;
} ft_memory;

/* One operator of the timeline, to plot memory over time: called in order of time with the live bytes during the
 * operator. The optimiser step comes last, with FT_NONE for its operator. */
typedef void ft_memory_observer(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes);

/* Computes the memory timeline of one step of a bound graph. `observer` may be NULL; `user` is passed to it. */
FT_API ft_status ft_memory_plan(const ft_graph *bound, const ft_cost_options *options, ft_memory *memory,
                                ft_memory_observer *observer, void *user, ft_error *error);

FT_C_END

#endif
