/* pcgrad.h - one gradient of several tasks that may pull in different directions (PCGrad, Yu et al. 2020).
 *
 * The gradient of each task is taken in turn; from it, in random order, goes the part that points against the gradient
 * of another task. What is left of all of them is averaged. */
#ifndef NN_PCGRAD_H
#define NN_PCGRAD_H

#include "nn/descent.h"

enum { PCGRAD_MAX_TASKS = 64 };

/* A descent_combine. With more tasks than PCGRAD_MAX_TASKS, the mean. */
void pcgrad(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result);

#endif
