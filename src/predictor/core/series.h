/* series.h - networks of a model that are trained one after the other: progress, log, checkpoints, and going on after a
 * stop. What a network is and what it learns from is the family's business. */
#ifndef PREDICTOR_SERIES_H
#define PREDICTOR_SERIES_H

#include "nn/descent.h"
#include "predictor/core/family.h"

typedef struct series {
    const fit_context *context;
    uint32_t units; /* networks */
    void *user;
    params *(*values)(void *user, uint32_t unit);
    /* Begins the training of a unit, with a seed of its own. *d is NULL when there is nothing that it could learn. */
    ft_status (*begin)(void *user, uint32_t unit, uint64_t seed, descent **d, ft_error *error);
    /* Of the unit that was begun: a step, the mean error in percent on the validation part (NaN: there is none), what
     * the log calls it (a new object; NULL when out of memory), and its end. */
    ft_status (*step)(void *user, double *loss, ft_error *error);
    ft_status (*check)(void *user, double *mape, ft_error *error);
    json_t *(*describe)(void *user);
    void (*end)(void *user);
} series;

ft_status series_train(const series *s, ft_error *error);

#endif
