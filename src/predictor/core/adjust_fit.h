/* adjust_fit.h - fits the correction of a device (adjust.h) to a few measurements, by ridge regression with evidence
 * maximisation.
 *
 * The logarithm of a measurement is that of the corrected sum plus noise; the prior of the weights is normal around a
 * center, at first no correction. A few Gauss-Newton steps, each a ridge regression, find the most likely weights. The
 * prior variance of each kind of weight and the variance of the noise maximise the evidence of the measurements, so
 * that ten measurements move a few weights a little, and a hundred move many. Outliers count less (Huber): their noise
 * is assumed to be larger. Nothing is random. */
#ifndef PREDICTOR_CORE_ADJUST_FIT_H
#define PREDICTOR_CORE_ADJUST_FIT_H

#include "predictor/core/adjust.h"

/* One measurement with the explanation of the model's prediction, its features standardised. */
typedef struct adjust_case {
    double log_measured;
    double weight; /* 1, or less where a model was measured several times, as its errors are correlated */
    uint32_t row_count;
    uint32_t setting_count;
    double *repeats; /* per row: how many pieces are equal to it */
    double *times;   /* row_count x terms */
    double *scaled;  /* row_count x features */
} adjust_case;

/* Standardises sizes: to mean 0 and deviation 1 over all rows of some predictions. */
void adjust_fit_scaling(adjustment *a, const explanation *made_of, uint32_t count);
/* Copies into the arena; adjust_fit_scaling() comes first. */
ft_status adjust_case_make(const adjustment *a, const explanation *made_of, double measured, arena *memory,
                           adjust_case *out, ft_error *error);

typedef enum adjust_kind {
    ADJUST_SCALE,       /* the bias alone, the median ratio; with settings, also a weight for each of their flags */
    ADJUST_REFIT,       /* all weights, with a prior around no correction */
    ADJUST_REFIT_COSTS, /* the same around factors of the terms that are fitted first: for devices unlike all known ones
                         */
    /* Of the base ADJUST_WORK: rates of some of its terms. */
    ADJUST_FLOPS,
    ADJUST_OPERATORS,
    ADJUST_FLOPS_BYTES,
    ADJUST_ALL_WORK,
    ADJUST_KINDS
} adjust_kind;

enum { ADJUST_MIN_REFIT = 5 }; /* measurements; with fewer, only the scale is fitted */

/* Sets the weights. *misfit is the negative logarithm of the evidence (0 for scale); may be NULL. */
ft_status adjust_fit(adjustment *a, adjust_kind kind, const adjust_case *const *cases, uint32_t count, double *misfit,
                     ft_error *error);

/* adjust_work.c: sets the rates of the kind's terms by non-negative least squares of the relative error, and the bias
 * to 0. */
ft_status adjust_fit_work(adjustment *a, adjust_kind kind, const adjust_case *const *cases, uint32_t count,
                          ft_error *error);

/* The logarithm of the corrected prediction of a case. */
double adjust_case_log(const adjustment *a, const adjust_case *c);

#endif
