/* boost_internal.h - the parts of boosting: checks of its input, gradients, libxgboost. */
#ifndef NN_BOOST_INTERNAL_H
#define NN_BOOST_INTERNAL_H

#include <xgboost/c_api.h>

#include "nn/tree/boost.h"

/* --- Checks (boost_check.c) ---------------------------------------------------------------------------------- */

/* Checks all input before libxgboost gets it, whose own errors are stack traces, or missing. */
ft_status boost_check(const boost_rows *train, const boost_rows *valid, const boost_options *options,
                      const boost_hooks *hooks, const forest *start, ft_error *error);
/* Whether validation rows can be scored. */
bool boost_has_score(const boost_rows *valid, const boost_hooks *hooks);

/* --- Gradients (boost_gradient.c) ---------------------------------------------------------------------------- */

/* All arrays have one element per row: (count). */

/* Squared error on the labels: gradient weight * (margin - label), hessian weight. */
void boost_squared_error(const boost_rows *rows, const float *margins, float *gradients, float *hessians);
/* Weighted mean of label - offset. */
double boost_mean_label(const boost_rows *rows);
/* Root of the weighted mean squared error. */
double boost_rmse(const boost_rows *rows, const float *margins);
/* An error for gradients that are not finite and for negative hessians. */
ft_status boost_check_gradients(const float *gradients, const float *hessians, size_t count, ft_error *error);
/* Keeps a random share of the rows, determined by seed and round, and sets the gradients of the others to 0. */
void boost_sample(double share, uint64_t seed, uint32_t round, float *gradients, float *hessians, size_t count);
/* Rounds to a grid of 2^k, with the smallest k for which sums of any of the values, in doubles and in any order, are
 * exact. Only values below 2^-28 of the sum of all change. */
void boost_round_to_grid(float *values, size_t count);

/* --- libxgboost (boost_library.c) ---------------------------------------------------------------------------- */

#define BOOST_LIBRARY_NAME "libxgboost.so.0"

typedef struct boost_library {
    __typeof__(&XGBGetLastError) last_error;
    __typeof__(&XGBSetGlobalConfig) configure;
    __typeof__(&XGDMatrixCreateFromMat_omp) matrix_new;
    __typeof__(&XGDMatrixSetFloatInfo) matrix_set;
    __typeof__(&XGDMatrixFree) matrix_free;
    __typeof__(&XGBoosterCreate) booster_new;
    __typeof__(&XGBoosterFree) booster_free;
    __typeof__(&XGBoosterSetParam) booster_set;
    __typeof__(&XGBoosterBoostOneIter) boost;
    __typeof__(&XGBoosterPredict) predict;
    __typeof__(&XGBoosterSaveModelToBuffer) save;
} boost_library;

/* Loads the library; it stays loaded. `name` is BOOST_LIBRARY_NAME, except in tests. */
ft_status boost_library_open(const char *name, boost_library *library, ft_error *error);
/* Fails with the last error of libxgboost; `action` is what failed. */
ft_status boost_library_fail(const boost_library *library, const char *action, ft_error *error);
/* Adds the only tree of a model, given as libxgboost's JSON, in which numbers represent floats exactly. */
ft_status boost_export_tree(const char *text, size_t size, forest *f, ft_error *error);

#endif
