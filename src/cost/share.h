/* share.h - how the work of a training step divides between forward, backward and the optimiser.
 *
 * Who knows one time for a kernel of a step (a predictor, a measurement) divides it by these. */
#ifndef COST_SHARE_H
#define COST_SHARE_H

#include "foretell/cost.h"

/* They add up to 1. Inference is all forward. */
typedef struct work_share {
    double forward, backward, update;
} work_share;

/* Of some operators together: arithmetic and bytes moved count the same. The optimiser's step is shared out by
 * parameters. */
work_share work_share_of(const ft_cost *cost, const uint32_t *ops, uint32_t count);
/* All of it: floating-point operations and bytes, forward and backward. */
double work_amount_of(const ft_cost *cost, const uint32_t *ops, uint32_t count);

#endif
