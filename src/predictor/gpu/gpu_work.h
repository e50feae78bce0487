/* gpu_work.h - the launches of a GPU for a kernel of a model: kind, sizes and traffic of each.
 *
 * A measured kernel is one launch. A kernel of a model may be several: attention without a fused kernel is two products
 * and what happens to the scores between them, and a training step adds the gradients. */
#ifndef PREDICTOR_GPU_WORK_H
#define PREDICTOR_GPU_WORK_H

#include "base/arena.h"
#include "predictor/core/model_view.h"

/* name, text: kinds have trees of their own */
#define GPU_KIND_LIST(X)                                                                                               \
    X(GPU_PRODUCT, "product")     /* of two matrices */                                                                \
    X(GPU_BATCHED, "batched")     /* several products in one launch */                                                 \
    X(GPU_CONV, "convolution")    /* and its gradients */                                                              \
    X(GPU_PREFILL, "prefill")     /* fused attention with several queries */                                           \
    X(GPU_DECODE, "decode")       /* with one query a sequence */                                                      \
    X(GPU_EXPERTS, "experts")     /* of a mixture */                                                                   \
    X(GPU_VECTOR, "vector")       /* elementwise operators, copies */                                                  \
    X(GPU_REDUCTION, "reduction") /* norms, softmax, pools */                                                          \
    X(GPU_OTHER, "other")

typedef enum gpu_kind {
#define GPU_KIND_ENUM(name, text) name,
    GPU_KIND_LIST(GPU_KIND_ENUM)
#undef GPU_KIND_ENUM
        GPU_KINDS
} gpu_kind;

typedef enum gpu_pass { GPU_FORWARD, GPU_INPUT_GRADIENT, GPU_WEIGHT_GRADIENT } gpu_pass;

/* Equal launches of a kernel. */
typedef struct gpu_work {
    gpu_kind kind;
    gpu_pass pass;
    uint32_t kernel;        /* of the kernels of the model */
    uint32_t unused;        /* keeps rows free of padding: equal ones are equal bytes */
    double times;           /* how often it is launched; a fraction where its time is a share of this one's */
    double flops;           /* of products: two for each multiply-accumulate */
    double read, write;     /* bytes */
    double m, n, k, batch;  /* of products; elements, length and operands of others */
    double window, stride;  /* of convolutions; keys per query of attention */
    double width, channels; /* of the map, input channels in a group; heads and heads of keys of attention */
    double operation;       /* a number for the operator, which orders vector operators */
} gpu_work;

/* What a request says of kernels, besides their type. */
typedef struct gpu_runtime {
    int source;          /* gpu_source */
    double kernel, type; /* numbers for the names of the kernel and of the arithmetic; NaN: unknown */
    bool is_fused;       /* attention is one kernel */
    bool is_compiled;
    double tf32_conv, tf32_matmul; /* 1: products of float32 run as TensorFloat-32 */
} gpu_runtime;

/* Where a kernel was measured, which decides how much of a launch its time contains. */
typedef enum gpu_source { GPU_EAGER, GPU_VLLM, GPU_SGLANG, GPU_TRTLLM, GPU_LIBRARY, GPU_SOURCES } gpu_source;

/* The setting of a record or a request. */
void gpu_runtime_of(const ft_request *request, gpu_runtime *runtime);

/* The launches of all kernels, in their order, from `memory`. FT_ERR_UNSUPPORTED: collectives, which no GPU runs alone.
 */
ft_status gpu_works_of(model_view *s, const ft_rules *rules, const gpu_runtime *runtime, arena *memory,
                       gpu_work **works, uint32_t *count, ft_error *error);

#endif
