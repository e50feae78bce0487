/* cost.h - facts about a whole computed cost, for other rooms; the public side is foretell/cost.h. */
#ifndef COST_COST_H
#define COST_COST_H

#include "cost/params.h"
#include "foretell/cost.h"

/* A training step costs about three forward passes: the forward pass itself, and one for each of the two gradients,
 * that of the data and that of the weights. */
enum { COST_TRAINING_FORWARDS = 3 };

/* Shares of forward, backward and optimiser in the work of a training step; they add up to 1. Inference is all forward.
 * They divide one time for a kernel of a whole step (predicted or measured) between the phases. */
typedef struct work_share {
    double forward, backward, update;
} work_share;

/* Of some operators together. FLOPs and bytes moved have equal weight; the optimiser step is divided by parameters. */
work_share work_share_of(const ft_cost *cost, const uint32_t *ops, uint32_t count);
/* FLOPs plus bytes moved, forward and backward. */
double work_amount_of(const ft_cost *cost, const uint32_t *ops, uint32_t count);

/* The parameter marks that a cost was computed with; the cost owns them. */
const param_marks *cost_params(const ft_cost *cost);

#endif
