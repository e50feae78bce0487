/* optim.h - optimisers over flat blocks of parameters, gradients and moments.
 *
 * A step is one elementwise pass over the blocks: it does not depend on the number of threads. Definitions are those of
 * PyTorch. Clipping by the norm of the gradient and moving averages of parameters are in params.h. */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "foretell/status.h"

typedef enum optim_kind {
    OPTIM_SGD,
    OPTIM_ADAM,  /* weight decay is added to the gradient */
    OPTIM_ADAMW, /* weight decay shrinks the parameter */
} optim_kind;

typedef struct optim_options {
    optim_kind kind;
    double momentum; /* SGD */
    bool is_nesterov;
    double beta1, beta2, epsilon; /* Adam and AdamW */
    double weight_decay;
} optim_options;

/* Momentum 0, betas 0.9 and 0.999, epsilon 1e-8, no decay; AdamW has 0.01. */
optim_options optim_options_default(optim_kind kind);
/* "sgd", "adam", "adamw"; false for any other name. */
bool optim_find(const char *name, optim_kind *kind);

/* Parameters begin .. end-1. */
typedef struct optim_range {
    size_t begin, end;
} optim_range;

typedef struct optim optim;

/* For `count` parameters. Weight decay applies to the ranges `decayed`, in order and without overlap; NULL: to all. */
ft_status optim_new(const optim_options *options, size_t count, const optim_range *decayed, uint32_t decayed_count,
                    optim **result, ft_error *error);
void optim_free(optim *o);

/* One step. values, gradients: (count). `rate` comes from a schedule (schedule.h); `threads` may be NULL. */
void optim_step(optim *o, float *values, const float *gradients, double rate, pool *threads);
uint64_t optim_steps(const optim *o); /* number of steps so far */

/* Steps and moments as bytes, in the byte order of this machine. */
size_t optim_state_size(const optim *o);
void optim_save(const optim *o, void *state);
/* FT_ERR_DAMAGED, and nothing changed, when the state has another kind or number of parameters. */
ft_status optim_load(optim *o, const void *state, size_t size, ft_error *error);

#endif
