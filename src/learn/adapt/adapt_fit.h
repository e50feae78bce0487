/* adapt_fit.h - adjusts a predictor to what was measured, device by device (predictor/core/adjust.h).
 *
 * What is best for a device, which known device to predict a new one from, whether scale alone will do, is found by
 * cross-validation over the measured models; so are the intervals, from errors on models that were not fitted to. */
#ifndef LEARN_ADAPT_FIT_H
#define LEARN_ADAPT_FIT_H

#include "learn/adapt/adapt_rows.h"
#include "learn/adapt/adapt_trial.h"
#include "predictor/core/adjust_fit.h"

/* The last two train networks further (adapt_tune.h). */
typedef enum adapt_method { ADAPT_AUTO, ADAPT_SCALE, ADAPT_REFIT, ADAPT_TUNE_LAST, ADAPT_TUNE_ALL } adapt_method;

/* NULL is auto. */
ft_status adapt_method_parse(const char *text, adapt_method *method, ft_error *error);

/* "none", "cmd" or "mmd"; NULL is cmd. */
ft_status adapt_distance_parse(const char *text, tune_distance *distance, ft_error *error);

typedef struct adapt_result {
    ft_adapted_device about;
    adapt_errors plain;   /* in cross-validation when each model counts once, whatever it stands for */
    adjustment *adjusted; /* the caller's to free; NULL: the device is kept as it is */
} adapt_result;

/* One result per device of the rows, in their order. */
ft_status adapt_fit(const ft_predictor *from, const adapt_rows *rows, adapt_method method, uint64_t seed,
                    const fit_context *context, adapt_notes *notes, adapt_result *results, ft_error *error);

#endif
