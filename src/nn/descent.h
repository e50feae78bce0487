/* descent.h - a network on its way: Adam with one cycle of learning rates, in steps whose parts run side by side.
 *
 * It can stop after any step and go on later as if it had not. What is in a step is the caller's business; as long as
 * that does not depend on the number of threads, neither does the result. */
#ifndef NN_DESCENT_H
#define NN_DESCENT_H

#include "nn/optim.h"
#include "nn/parallel.h"
#include "nn/schedule.h"

typedef struct descent_options {
    double rate;    /* highest of the cycle */
    uint32_t steps; /* in all */
    uint32_t parts; /* of a step at most */
    uint64_t seed;
    pool *threads; /* may be NULL */
} descent_options;

typedef struct descent {
    descent_options options;
    params *values; /* borrowed; they change with every step */
    uint32_t done;  /* steps so far */
    schedule_options cycle;
    optim *optimizer;
    parallel *workers;
} descent;

ft_status descent_open(descent *d, params *values, const descent_options *options, ft_error *error);
void descent_close(descent *d);
/* One step; *total is the sum of the losses of its parts. */
ft_status descent_step(descent *d, uint32_t parts, parallel_loss *loss, void *user, double *total, ft_error *error);

/* The state as floats, as many as descent_state_size says. */
size_t descent_state_size(const descent *d);
void descent_save(const descent *d, float *state);
/* Goes on after so many steps with the state that they had led to. */
ft_status descent_load(descent *d, const float *state, uint32_t done, ft_error *error);

#endif
