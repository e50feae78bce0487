/* training.h - how a model is trained: micro-batches, recomputation, adapters, precision, the loss.
 *
 * Together with ft_parallel and the optimiser it decides the memory of a training step. docs/training-memory.md has the
 * rules. */
#ifndef FORETELL_TRAINING_H
#define FORETELL_TRAINING_H

#include "foretell/cost.h"

FT_C_BEGIN

/* name, text */
#define FT_PRECISION_LIST(X)                                                                                           \
    X(FT_PRECISION_AUTO, "auto")   /* mixed in types of 16 bits; pure with adapters */                                 \
    X(FT_PRECISION_PURE, "pure")   /* weights, gradients and moments in the type of the request */                     \
    X(FT_PRECISION_MIXED, "mixed") /* with float32 master weights and moments */                                       \
    X(FT_PRECISION_FP8, "fp8")     /* mixed; products read copies of their operands in 8 bits */

typedef enum ft_precision {
#define FT_PRECISION_ENUM(name, text) name,
    FT_PRECISION_LIST(FT_PRECISION_ENUM)
#undef FT_PRECISION_ENUM
} ft_precision;

/* The text above, and its inverse; false for any other text. */
FT_API const char *ft_precision_name(ft_precision precision);
FT_API bool ft_precision_parse(const char *text, ft_precision *precision);

typedef struct ft_training {
    ft_recompute recompute;
    ft_precision precision;
    int64_t micro_batch;      /* sequences that run at once; 0: the batch divided by `accumulation` */
    uint32_t accumulation;    /* micro-batches of a step, without `micro_batch`; 0 = 1 */
    uint32_t loss_chunks;     /* parts of the sequence whose logits are computed one after the other; 0 = 1 */
    uint32_t lora_rank;       /* of adapters, the base model is frozen; 0: all weights are trained */
    const char *lora_targets; /* modules that get adapters: "q_proj,v_proj"; NULL: every product of a layer */
    bool has_packed_base;     /* matrices of frozen layers are held in 4 bits (nf4, double quantisation) */
    bool has_packed_head;     /* and so is the matrix of the logits */
} ft_training;

enum { FT_MAX_MICRO_BATCHES = 65536, FT_MAX_LORA_RANK = 65536 };

FT_C_END

#endif
