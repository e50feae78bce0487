/* adapt_fit.h - adapts a predictor to measured records: by an adjustment per device (adapt_fit), or by training its
 * networks further (adapt_tune).
 *
 * adapt_fit chooses method and base device by cross-validation over the measured models; intervals come from the same
 * errors, on models that were not fitted to. adapt_tune works for known devices and, where the family reads data
 * sheets, for new ones; some of the original training records take part when the data set has them. Its
 * cross-validation trains networks without the models of a fold. */
#ifndef LEARN_ADAPT_FIT_H
#define LEARN_ADAPT_FIT_H

#include "learn/adapt/adapt_rows.h"
#include "learn/adapt/adapt_trial.h"
#include "predictor/core/adjust_fit.h"

/* The last two are those of adapt_tune. */
typedef enum adapt_method { ADAPT_AUTO, ADAPT_SCALE, ADAPT_REFIT, ADAPT_TUNE_LAST, ADAPT_TUNE_ALL } adapt_method;

/* NULL is auto. */
ft_status adapt_method_parse(const char *text, adapt_method *method, ft_error *error);

/* "none", "cmd" or "mmd"; NULL is cmd. */
ft_status adapt_distance_parse(const char *text, tune_distance *distance, ft_error *error);

typedef struct adapt_fit_options {
    const ft_predictor *from;
    const adapt_rows *rows;
    adapt_method method;
    const tune_options *tuning; /* of adapt_tune */
    uint64_t seed;
    const fit_context *context;
    adapt_notes *notes;
} adapt_fit_options;

typedef struct adapt_result {
    ft_adapted_device about;
    adapt_errors plain;   /* in cross-validation, with equal weights for all models */
    adjustment *adjusted; /* owned by the caller; NULL: the device keeps its predictor */
} adapt_result;

/* One result per device of the rows, in their order. */
ft_status adapt_fit(const adapt_fit_options *options, adapt_result *results, ft_error *error);

/* One result per device of the rows, without an adjustment; *tuned is the new model, owned by the caller. */
ft_status adapt_tune(const adapt_fit_options *options, adapt_result *results, void **tuned, ft_error *error);

#endif
