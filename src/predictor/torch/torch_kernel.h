/* torch_kernel.h - what PyTorch launches for a model, kernel by kernel: shapes, work, and bytes by their type.
 *
 * Under autocast ("amp") a tensor has 16 or 32 bits depending on where it comes from: products give 16, norms and
 * softmax 32, and whatever joins the two gives 32, so the residual stream of a transformer is float32 and that of a
 * ResNet float16. Twice the bytes are nearly twice the time of most kernels; so types are followed through the graph by
 * autocast's own rules. A tensor of the other type than a kernel wants is cast first, which moves bytes too. */
#ifndef PREDICTOR_TORCH_KERNEL_H
#define PREDICTOR_TORCH_KERNEL_H

#include "base/arena.h"
#include "predictor/core/model_view.h"

/* name, words of the kernel vocabulary that mean it */
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
    bool is_strided; /* reads through a transposition */
    bool is_deep;    /* attention over more than four dimensions, for which there is no fused kernel */
    double launches;
    double macs, flops;    /* products; arithmetic besides them */
    double read16, read32; /* elements of activations by what autocast makes them */
    double write16, write32;
    double cast;                   /* elements that autocast casts for this kernel */
    double weights;                /* elements */
    double made;                   /* elements of weights that are worked out anew in every step, besides */
    double scalar;                 /* elements that processors take one by one: see torch_scalar.h */
    double scores;                 /* elements of attention's scores */
    double serial;                 /* maps that interpolation walks through one after the other */
    double depth, columns, groups; /* of the product: what is summed over, what comes out, of each group */
    double height, width;          /* of the output map, or rows of a matrix */
    double in_channels, out_channels;
    double window, stride; /* one side */
    double reduced;        /* elements that go into one result of a norm, a pool or a reduction */
    double inputs;         /* tensors that are read */
} torch_kernel;

/* One for each kernel, in their order. */
ft_status torch_kernels_of(model_view *s, const ft_rules *rules, arena *memory, torch_kernel **items, uint32_t *count,
                           ft_error *error);

#endif
