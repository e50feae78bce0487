/* adapt_tune.h - adapts a predictor by training its networks further (tune in predictor/core/family.h), for devices
 * that it knows; where a family reads data sheets, also for new ones, and beside some of what it was trained on at
 * first, when that is in the data set. Errors in cross-validation come from networks that were trained without the
 * models at hand.
 */
#ifndef LEARN_ADAPT_TUNE_H
#define LEARN_ADAPT_TUNE_H

#include "learn/adapt/adapt_fit.h"

/* One result per device of the rows, without an adjustment; *tuned is the new model, the caller's to free. */
ft_status adapt_tune(const ft_predictor *from, const adapt_rows *rows, adapt_method method, const tune_options *options,
                     uint64_t seed, const fit_context *context, adapt_result *results, void **tuned, ft_error *error);

#endif
