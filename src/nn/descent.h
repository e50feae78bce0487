/* descent.h - a network on its way: an optimiser and a schedule of learning rates, in steps whose parts run side by
 * side; and what of the parameters is kept in the end.
 *
 * It can stop after any step and go on later as if it had not. What is in a step is the caller's business; as long as
 * that does not depend on the number of threads, neither does the result. */
#ifndef NN_DESCENT_H
#define NN_DESCENT_H

#include "nn/optim.h"
#include "nn/parallel.h"
#include "nn/schedule.h"

typedef struct descent_options {
    double rate;    /* highest */
    uint32_t steps; /* in all */
    uint32_t parts; /* of a step at most */
    uint64_t seed;
    pool *threads; /* may be NULL */
    /* All that follows may be left out. */
    const schedule_options *schedule; /* NULL: one cycle; its rate and total_steps are set from above */
    const optim_options *optimizer;   /* NULL: Adam */
    double clip;                      /* of the length of the gradient; 0: none */
    double average;                   /* decay of a moving average of the parameters, which is kept; 0: none */
    uint32_t check_steps;             /* between two looks at the validation part; 0: 250 */
    bool keeps_best;                  /* of the reports; else the last */
    uint32_t patience;                /* reports without a better one after which it is over; 0: never */
} descent_options;

typedef struct descent {
    descent_options options;
    params *values; /* borrowed; they change with every step */
    uint32_t done;  /* steps so far */
    schedule_options cycle;
    optim *optimizer;
    parallel *workers;
    schedule_state schedule; /* of plateau */
    early_stop reports;
    float *average, *best, *shown; /* as long as the values; NULL when they are not kept */
    float *tasks;                  /* gradients of a step of several losses; made when there is one */
    uint32_t task_capacity;
} descent;

ft_status descent_open(descent *d, params *values, const descent_options *options, ft_error *error);
void descent_close(descent *d);
/* One step; *total is the sum of the losses of its parts. */
ft_status descent_step(descent *d, uint32_t parts, parallel_loss *loss, void *user, double *total, ft_error *error);

/* Makes one gradient of several, `count` floats each, one for each task; they may be overwritten. `result` is unset
 * before. The random numbers are those of the step. */
typedef void descent_combine(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result);
/* The loss of one task of a part. */
typedef tensor *descent_task_loss(void *user, tape *t, uint32_t part, uint32_t task);
/* One step down what `combine` makes of the gradients of each task. What batch norms learn is the mean of all tasks. */
ft_status descent_step_tasks(descent *d, uint32_t parts, uint32_t tasks, descent_task_loss *loss,
                             descent_combine *combine, void *user, double *total, ft_error *error);

/* Whether the next step is one before which to look at the validation part: every check_steps, and the last. */
bool descent_is_validation_due(const descent *d);
bool descent_is_done(const descent *d);
/* Puts the moving average in the place of the values for a look, and takes it away again. Nothing without one. */
void descent_use_average(descent *d);
void descent_restore_values(descent *d);
/* What a look found, the smaller the better; NaN: nothing. To be called between show and hide. */
void descent_report(descent *d, double loss);
/* Makes the values those that are kept: the best, or the average, or the last. */
void descent_finish(descent *d);

/* The state as floats, as many as descent_state_size says. */
size_t descent_state_size(const descent *d);
void descent_save(const descent *d, float *state);
/* Goes on after so many steps with the state that they had led to. */
ft_status descent_load(descent *d, const float *state, uint32_t done, ft_error *error);

/* --- Gradients of several tasks (pcgrad.c) ------------------------------------------------------------------- */

enum { PCGRAD_MAX_TASKS = 64 };

/* A descent_combine: PCGrad (Yu et al. 2020). From the gradient of each task, in random order, the component against
 * the gradient of each other task is removed; the results are averaged. With more than PCGRAD_MAX_TASKS tasks, the
 * mean. */
void pcgrad(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result);

#endif
