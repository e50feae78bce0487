/* sample_space.h - the models of a pool as points: of what a predictor says that their time is made.
 *
 * A model is its shares of time by term, and the sizes and flags of its kernels on average, weighted by their time,
 * over the devices that are looked at; for families that do not tell (predictor/core/family.h) it is the logarithm of
 * its time. A task of tensor programs is the mean of its programs. That is what adapting can move
 * (predictor/core/adjust.h): models that lie apart here teach it different things. */
#ifndef LEARN_SAMPLE_SPACE_H
#define LEARN_SAMPLE_SPACE_H

#include "base/arena.h"
#include "foretell/adapt.h"
#include "predictor/core/predictor.h"

typedef struct sample_space {
    uint32_t count, width;
    double *points;    /* count x width, scaled so that a step of one in any direction matters about as much */
    double *unsure;    /* per model: the logarithm of the widest interval of its devices */
    uint32_t *records; /* per model: its first record of the pool */
    double *members;   /* per model: how many programs the task has; 1 of models that are no tasks */
} sample_space;

/* Memory is from the arena. */
ft_status sample_space_make(const ft_predictor *predictor, const ft_dataset *data, const ft_sample_options *options,
                            arena *memory, sample_space *space, ft_error *error);

#endif
