/* adapt_trial.h - one candidate adjustment of a predictor to the measured records of a device, scored by
 * cross-validation. */
#ifndef LEARN_ADAPT_TRIAL_H
#define LEARN_ADAPT_TRIAL_H

#include "learn/adapt/adapt_rows.h"
#include "learn/adapt/adapt_target.h"
#include "learn/score/intervals.h"
#include "predictor/core/adjust_fit.h"

/* The predictions for one measured record, one per base of its device. */
typedef struct adapt_prediction {
    const fit_row *row;
    arena memory;
    explanation *explanations;
    model_output *outputs; /* the value is NaN where the base cannot predict the record */
} adapt_prediction;

/* The measured records of a device as predicted from one base, with their folds. */
typedef struct adapt_trial {
    /* set by the caller */
    const adapt_rows *rows;
    const adapt_target *target;
    uint32_t base; /* index of target->bases */
    adapt_prediction **predictions;
    uint32_t count, folds;
    const uint32_t *fold; /* per record */
    /* private */
    adjustment *adjusted;
    adjust_case *cases;
    const adjust_case **some; /* scratch space for some of the cases */
    double *off;              /* per record: log(measured / predicted), predicted without having been fitted to it */
    arena memory;
} adapt_trial;

/* Errors in percent. */
typedef struct adapt_errors {
    double mape, rmspe;
} adapt_errors;

/* The trial has to be closed even after a failure. */
ft_status adapt_trial_open(adapt_trial *t, ft_error *error);
void adapt_trial_close(adapt_trial *t);
/* Fits to all folds but one (FT_NONE: to all). */
ft_status adapt_trial_fit(adapt_trial *t, adjust_kind kind, uint32_t left_out, ft_error *error);
/* Sets `off` by cross-validation; or from the predictor as it is. */
ft_status adapt_trial_validate(adapt_trial *t, adjust_kind kind, ft_error *error);
void adapt_trial_keep(adapt_trial *t);
/* After either: the mean absolute error in percent, units weighted by the share of the pool that they represent. */
double adapt_trial_mape(const adapt_trial *t);
/* The same, and the root mean square, with equal weights for all units. */
adapt_errors adapt_trial_plain(const adapt_trial *t);
/* After adapt_trial_validate: the quantile of |off| / spread, where spreads are relative to that of typical
 * predictions, which is set in `adjusted`. `base_q90`: the quantile of the base, whose intervals are what is expected
 * without any measurement; NaN: not calibrated. */
ft_status adapt_trial_quantile(adapt_trial *t, double base_q90, double *q90, ft_error *error);

#endif
