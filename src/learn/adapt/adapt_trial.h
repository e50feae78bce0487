/* adapt_trial.h - one way to adjust a predictor to the measured records of a device, tried by cross-validation. */
#ifndef LEARN_ADAPT_TRIAL_H
#define LEARN_ADAPT_TRIAL_H

#include "learn/adapt/adapt_rows.h"
#include "learn/adapt/adapt_target.h"
#include "predictor/core/adjust_fit.h"

/* What the model says of one measured record, from each base. */
typedef struct adapt_look {
    const fit_row *row;
    arena memory;
    explanation *made_of;
    model_output *said; /* its value is NaN where the base cannot tell */
} adapt_look;

/* The measured records of a device as one base sees them, and which fold each is in. */
typedef struct adapt_trial {
    const adapt_rows *rows;
    const adapt_target *target;
    uint32_t base; /* of the target's */
    adapt_look **looks;
    uint32_t count, folds;
    const uint32_t *fold; /* per record */
    adjustment *adjusted;
    adjust_case *cases;
    const adjust_case **some; /* room for a part of them */
    double *off;              /* per record: log(measured / predicted), when it was not fitted to */
    arena memory;
} adapt_trial;

/* In percent: what models are off by in the mean, and more so when some are far off. */
typedef struct adapt_errors {
    double mape, rmspe;
} adapt_errors;

/* What it is about is the caller's to set: all above `adjusted`. It is closed in any case. */
ft_status adapt_trial_open(adapt_trial *t, ft_error *error);
void adapt_trial_close(adapt_trial *t);
/* Fits to all folds but one (FT_NONE: to all). */
ft_status adapt_trial_fit(adapt_trial *t, adjust_kind kind, uint32_t left_out, ft_error *error);
/* How far off records are in folds that were left out; and as the predictor says it now. */
ft_status adapt_trial_validate(adapt_trial *t, adjust_kind kind, ft_error *error);
void adapt_trial_keep(adapt_trial *t);
/* After either: the mean absolute error in percent. */
double adapt_trial_mape(const adapt_trial *t);
/* The same, and the root of the mean square, when each model counts once, whatever it stands for. */
adapt_errors adapt_trial_plain(const adapt_trial *t);
/* After validation: the quantile of how many spreads records were off, when they were not fitted to. */
ft_status adapt_trial_quantile(const adapt_trial *t, double *q90, ft_error *error);

/* How far off a model was, and how much it stands for. */
typedef struct adapt_score {
    double value, weight;
} adapt_score;

/* The quantile for 90 % intervals from scores of few models, larger than that of many: as if there were one more,
 * beyond all others. With fewer than nine there is no order statistic that holds it, and the quantile of Student's
 * distribution takes its place. Sorts them. */
double adapt_quantile(adapt_score *scores, uint32_t count);

#endif
