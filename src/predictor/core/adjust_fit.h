/* adjust_fit.h - finds the weights of an adjustment from a few measurements.
 *
 * The logarithm of a measurement is that of the adjusted sum plus noise; weights are normal around what the model says
 * already. The most likely weights are found by a few Gauss-Newton steps, each a ridge regression; how far each kind of
 * weight may go, and how large the noise is, is what makes the measurements most likely (their evidence), so that ten
 * measurements move a few weights a little, and a hundred move many. A measurement far off counts less, as its noise is
 * taken to be larger. Nothing is random. */
#ifndef PREDICTOR_ADJUST_FIT_H
#define PREDICTOR_ADJUST_FIT_H

#include "predictor/core/adjust.h"

/* One measurement: what the model's prediction is made of, with features scaled by the adjustment. */
typedef struct adjust_case {
    double log_measured;
    double weight; /* 1, or less where a model was measured several times: its errors are alike */
    uint32_t row_count;
    uint32_t setting_count;
    double *repeats; /* per row: pieces of it */
    double *times;   /* row_count x terms */
    double *scaled;  /* row_count x features */
} adjust_case;

/* How sizes are scaled: to mean 0 and deviation 1 over all rows of some predictions. */
void adjust_fit_scaling(adjustment *a, const explanation *made_of, uint32_t count);
/* Copies into the arena; the adjustment has its scaling. */
ft_status adjust_case_make(const adjustment *a, const explanation *made_of, double measured, arena *memory,
                           adjust_case *out, ft_error *error);

typedef enum adjust_kind {
    ADJUST_SCALE,      /* the bias alone, the median ratio; with settings, one for each of their flags, too */
    ADJUST_REFIT,      /* all weights, from what the model says */
    ADJUST_REFIT_COSTS /* all weights, from prices of the terms that are fitted first: for devices unlike any known one
                        */
} adjust_kind;

enum { ADJUST_MIN_REFIT = 5 }; /* measurements: with fewer there is nothing but scale */

/* Sets the weights. *misfit is the negative logarithm of the evidence (0 for scale); may be NULL. */
ft_status adjust_fit(adjustment *a, adjust_kind kind, const adjust_case *const *cases, uint32_t count, double *misfit,
                     ft_error *error);

/* The logarithm of what is predicted for a case. */
double adjust_case_log(const adjustment *a, const adjust_case *c);

#endif
