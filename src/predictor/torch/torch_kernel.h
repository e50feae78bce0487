/* torch_kernel.h - the kernels that PyTorch launches for a model: shapes, work, and bytes by type.
 *
 * Under autocast ("amp") a tensor has 16 or 32 bits depending on its producer: products output 16, norms and softmax
 * 32, and operators that join the two 32, so the residual stream of a transformer is float32 and that of a ResNet
 * float16. Twice the bytes are nearly twice the time of most kernels, so types are propagated through the graph by
 * autocast's rules. A tensor of another type than a kernel needs is cast first, which moves bytes too. */
#ifndef PREDICTOR_TORCH_KERNEL_H
#define PREDICTOR_TORCH_KERNEL_H

#include "base/arena.h"
#include "graph/fuse.h"
#include "predictor/core/model_view.h"

/* name, words of kernel types that denote it */
#define TORCH_KIND_LIST(X)                                                                                             \
    X(TORCH_CONV, "conv convtrans")                                                                                    \
    X(TORCH_POINTWISE, "") /* a convolution with a window of one pixel */                                              \
    X(TORCH_GROUPED, "")   /* a convolution in groups, of several channels each */                                     \
    X(TORCH_DEPTHWISE, "dwconv")                                                                                       \
    X(TORCH_LINEAR, "fc")                                                                                              \
    X(TORCH_MATMUL, "matmul")                                                                                          \
    X(TORCH_ATTENTION, "attention")                                                                                    \
    X(TORCH_BATCH_NORM, "bn")                                                                                          \
    X(TORCH_LAYER_NORM, "ln rmsnorm")                                                                                  \
    X(TORCH_GROUP_NORM, "gn in mvn lrn")                                                                               \
    X(TORCH_SOFTMAX, "softmax")                                                                                        \
    X(TORCH_ACTIVATION, "relu leakyrelu")                                                                              \
    X(TORCH_SMOOTH, "gelu silu hswish hsigmoid sigmoid tanh mish elu erf exp softplus pow sqrt")                       \
    X(TORCH_ELEMENTWISE, "add sub mul div neg max min where")                                                          \
    X(TORCH_CONCAT, "concat")                                                                                          \
    X(TORCH_COPY, "copy gather tile depthtospace spacetodepth scatternd")                                              \
    X(TORCH_PAD, "pad")                                                                                                \
    X(TORCH_CAST, "cast")                                                                                              \
    X(TORCH_MAX_POOL, "maxpool")                                                                                       \
    X(TORCH_AVERAGE_POOL, "avgpool")                                                                                   \
    X(TORCH_REDUCTION, "gap mean var reducesum reducemax reducel2 gmp l2norm")                                         \
    X(TORCH_RESIZE, "resize")                                                                                          \
    X(TORCH_RECURRENT, "lstm gru rnn")                                                                                 \
    X(TORCH_OTHER, "")

typedef enum torch_kind {
#define TORCH_KIND_ENUM(name, words) name,
    TORCH_KIND_LIST(TORCH_KIND_ENUM)
#undef TORCH_KIND_ENUM
        TORCH_KINDS
} torch_kind;

/* Amounts are those of the whole batch; shapes are those of one image. */
typedef struct torch_kernel {
    torch_kind kind;
    uint32_t holds;  /* bit k: an operator of kind k is in it */
    bool is_strided; /* reads a transposed tensor */
    bool is_deep;    /* attention over more than four dimensions, for which there is no fused kernel */
    double launches;
    double macs, flops;    /* products; arithmetic besides them */
    double read16, read32; /* elements of activations, by width under autocast */
    double write16, write32;
    double cast;                   /* elements that autocast casts for this kernel */
    double weights;                /* elements */
    double made;                   /* elements of weights computed in every step, besides `weights` */
    double scalar;                 /* elements that CPUs process one by one (torch_scalar_elems) */
    double scores;                 /* elements of attention's scores */
    double serial;                 /* maps that interpolation processes serially */
    double depth, columns, groups; /* of the product, per group: inner and outer size */
    double height, width;          /* of the output map, or rows of a matrix */
    double in_channels, out_channels;
    double window, stride; /* one side */
    double reduced;        /* elements per result of a norm, a pool or a reduction */
    double inputs;         /* tensors that are read */
} torch_kernel;

/* One per kernel, in order. */
ft_status torch_kernels_of(model_view *s, const ft_rules *rules, arena *memory, torch_kernel **items, uint32_t *count,
                           ft_error *error);

/* --- Scalar loops (torch_scalar.c) ---------------------------------------------------------------------------
 *
 * Most loops of torch.compile on a CPU are vectorised and shared among the cores, so hardly any of them matters beside
 * a convolution. A few are not: they are slower by two orders of magnitude and dominate the time of a model. */

/* Elements that the busiest core processes one by one, for the whole batch; `k` has the kind and the attention scores.
 */
double torch_scalar_elems(const ft_graph *graph, const ft_kernel *kernel, const torch_kernel *k);

#endif
