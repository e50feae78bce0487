/* sample_space.h - the models of a pool as points in a feature space, for selecting which ones to measure.
 *
 * The features of a model are its shares of predicted time by term, and the means of its kernels' sizes and flags,
 * weighted by time and averaged over devices; for families without explanations (predictor/core/family.h), the
 * logarithm of its time. A task of tensor programs is the mean of its programs. These are the directions that an
 * adjustment (predictor/core/adjust.h) can learn: models that are far apart here are informative about different
 * weights. */
#ifndef LEARN_SAMPLE_SPACE_H
#define LEARN_SAMPLE_SPACE_H

#include "base/arena.h"
#include "foretell/adapt.h"
#include "predictor/core/predictor.h"

typedef struct sample_space {
    uint32_t count, width;
    double *points;      /* count x width, scaled so that unit steps in all directions matter about equally */
    double *uncertainty; /* per point: the logarithm of the relative half width of its widest interval */
    uint32_t *records;   /* per point: its first record in the pool */
    double *members;     /* per point: the number of programs of the task; 1 for a model */
} sample_space;

/* Memory is from the arena. */
ft_status sample_space_make(const ft_predictor *predictor, const ft_dataset *data, const ft_sample_options *options,
                            arena *memory, sample_space *space, ft_error *error);

#endif
