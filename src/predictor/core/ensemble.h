/* ensemble.h - trains the networks of an ensemble one after another: progress, log, checkpoints, and resuming after a
 * stop. A family supplies its networks and how one of them takes a step; the rest is the same for all. */
#ifndef PREDICTOR_CORE_ENSEMBLE_H
#define PREDICTOR_CORE_ENSEMBLE_H

#include "nn/descent.h"
#include "predictor/core/family.h"

/* The network in training. */
typedef struct ensemble_member {
    uint32_t index;   /* among the networks */
    uint64_t seed;    /* of this network */
    void *training;   /* the family's state of its training, set by begin */
    descent *descent; /* set by begin; left NULL: there is nothing that this network could learn from */
} ensemble_member;

typedef struct ensemble {
    const fit_context *context;
    uint32_t count; /* networks */
    void *user;     /* passed to all functions */
    /* The parameters of a network; training changes them in place. */
    params *(*values)(void *user, uint32_t index);
    ft_status (*begin)(void *user, ensemble_member *member, ft_error *error);
    ft_status (*step)(void *user, const ensemble_member *member, double *loss, ft_error *error);
    /* The mean error in percent on the validation part; NaN when that is empty. */
    ft_status (*validate)(void *user, const ensemble_member *member, double *mape, ft_error *error);
    /* The keys that identify the network in the log: a new object; NULL when out of memory. */
    json_t *(*describe)(void *user, uint32_t index);
    /* Frees member->training. */
    void (*end)(void *user, const ensemble_member *member);
} ensemble;

/* Resumes from the checkpoint of the context, if there is one. Stopped and resumed, the networks get the same bytes as
 * without the stop. */
ft_status ensemble_train(const ensemble *e, ft_error *error);

#endif
