/* descent.h - the training loop of a network: optimiser, learning-rate schedule, parallel steps, and the choice of the
 * parameters that are kept in the end.
 *
 * Training can be saved after any step and resumed with the same result. The caller defines the steps; when these do
 * not depend on the number of threads, neither does the result. */
#ifndef NN_DESCENT_H
#define NN_DESCENT_H

#include "nn/optim.h"
#include "nn/parallel.h"
#include "nn/schedule.h"

typedef struct descent_options {
    double rate;    /* highest learning rate */
    uint32_t steps; /* total */
    uint32_t parts; /* of a step, at most */
    uint64_t seed;
    pool *threads; /* may be NULL */
    /* The rest is optional. */
    const schedule_options *schedule; /* NULL: one cycle; its rate and total_steps are set from above */
    const optim_options *optimizer;   /* NULL: Adam */
    double clip;                      /* maximal norm of the gradient; 0: none */
    double average;                   /* decay of the moving average of the parameters, which is kept; 0: none */
    uint32_t check_steps;             /* between two validations; 0: 250 */
    bool keeps_best;                  /* keep the parameters with the best validation loss; else the last */
    uint32_t patience;                /* stop after this many validations without improvement; 0: never */
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
    float *average, *best,
        *saved;   /* (total_count) each; NULL when not used. saved: values while the average is in use */
    float *tasks; /* (task_capacity, total_count): gradients of a multi-task step; NULL before the first */
    uint32_t task_capacity;
} descent;

ft_status descent_open(descent *d, params *values, const descent_options *options, ft_error *error);
void descent_close(descent *d);
/* One step; *total: the sum of the losses of its parts. */
ft_status descent_step(descent *d, uint32_t parts, parallel_loss *loss, void *user, double *total, ft_error *error);

/* Combines the gradients of several tasks into `result` (count), uninitialised before. gradients[i]: (count), may be
 * overwritten. `random` is seeded by the step. */
typedef void descent_combine(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result);
/* The loss of one task of a part. */
typedef tensor *descent_task_loss(void *user, tape *t, uint32_t part, uint32_t task);
typedef struct descent_tasks {
    uint32_t parts, tasks;
    descent_task_loss *loss;
    descent_combine *combine;
    void *user; /* passed to loss */
} descent_tasks;
/* One step along the combined gradient of all tasks. The change of state (batch norms) is the mean of the tasks. */
ft_status descent_step_tasks(descent *d, const descent_tasks *step, double *total, ft_error *error);

/* Whether to validate now: every check_steps steps, and after the last. */
bool descent_is_validation_due(const descent *d);
bool descent_is_done(const descent *d);
/* Replace the values by their moving average for validation, and restore them. No effect without an average. */
void descent_use_average(descent *d);
void descent_restore_values(descent *d);
/* Reports a validation loss; NaN is ignored. To be called while the average is in use. */
void descent_report(descent *d, double loss);
/* Sets the values to those that are kept: the best, the average, or the last. */
void descent_finish(descent *d);

/* The state as floats: (descent_state_size). */
size_t descent_state_size(const descent *d);
void descent_save(const descent *d, float *state);
/* Resumes after `done` steps from their state. */
ft_status descent_load(descent *d, const float *state, uint32_t done, ft_error *error);

/* --- Gradients of several tasks (pcgrad.c) ------------------------------------------------------------------- */

enum { PCGRAD_MAX_TASKS = 64 };

/* A descent_combine: PCGrad (Yu et al. 2020). From the gradient of each task, in random order, the component against
 * the gradient of each other task is removed; the results are averaged. With more than PCGRAD_MAX_TASKS tasks, the
 * mean. */
void pcgrad(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result);

#endif
