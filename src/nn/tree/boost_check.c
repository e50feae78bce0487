/* boost_check.c - checks of the options and rows of boosting. */
#include <math.h>

#include "base/error.h"
#include "base/num.h"
#include "nn/tree/boost_internal.h"

enum { MAX_ROUNDS = 100000, MAX_TREE_DEPTH = 30, MAX_BINS = 65536 };

static bool is_share(double x) {
    return x > 0 && x <= 1;
}

static bool is_not_negative(double x) {
    return x >= 0 && isfinite(x);
}

static ft_status check_options(const boost_options *o, ft_error *error) {
    const char *wrong = o->rounds == 0 || o->rounds > MAX_ROUNDS     ? "rounds: 1 to 100000"
                        : o->depth == 0 || o->depth > MAX_TREE_DEPTH ? "depth: 1 to 30"
                        : o->max_bin < 2 || o->max_bin > MAX_BINS    ? "max_bin: 2 to 65536"
                        : o->max_leaves == 1                         ? "max_leaves: 0, or at least 2"
                        : !is_share(o->eta)                          ? "eta: above 0, at most 1"
                        : !is_share(o->subsample)                    ? "subsample: above 0, at most 1"
                        : !is_share(o->colsample)                    ? "colsample: above 0, at most 1"
                        : !is_not_negative(o->min_child_weight)      ? "min_child_weight: not negative"
                        : !is_not_negative(o->lambda)                ? "lambda: not negative"
                        : !is_not_negative(o->gamma)                 ? "gamma: not negative"
                        : isinf(o->base)                             ? "base: a finite number, or NaN"
                                                                     : NULL;
    return wrong == NULL ? FT_OK : ft_fail(error, FT_ERR_USAGE, "boosting: %s", wrong);
}

/* *bad: index of the first item (count) that is not finite. */
static bool are_finite(const float *items, size_t count, bool allows_nan, size_t *bad) {
    for (size_t i = 0; i < count; i++) {
        if (isfinite(items[i]) || (allows_nan && isnan(items[i]))) continue;
        *bad = i;
        return false;
    }
    return true;
}

static ft_status check_column(const float *items, size_t count, const char *set, const char *what, ft_error *error) {
    size_t bad = 0;
    if (items == NULL || are_finite(items, count, false, &bad)) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "boosting: %s row %zu: the %s is not a finite number", set, bad, what);
}

static ft_status check_weights(const boost_rows *rows, const char *set, ft_error *error) {
    double sum = 0;
    if (rows->weights == NULL) return FT_OK;
    FT_TRY(check_column(rows->weights, rows->count, set, "weight", error));
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->weights[i] < 0)
            return ft_fail(error, FT_ERR_DAMAGED, "boosting: %s row %zu: the weight is negative", set, i);
        sum += (double)rows->weights[i];
    }
    return sum > 0 ? FT_OK : ft_fail(error, FT_ERR_DAMAGED, "boosting: all %s weights are zero", set);
}

static ft_status check_rows(const boost_rows *rows, const char *set, ft_error *error) {
    size_t total, bad = 0;
    if (rows->count == 0) return ft_fail(error, FT_ERR_USAGE, "boosting: no %s rows", set);
    if (rows->features == 0 || rows->features > FOREST_MAX_FEATURES)
        return ft_fail(error, FT_ERR_LIMIT, "boosting: %s rows of %u features; 1 to %d are supported", set,
                       rows->features, FOREST_MAX_FEATURES);
    if (rows->count > UINT32_MAX || !num_mul_size(rows->count, rows->features, &total))
        return ft_fail(error, FT_ERR_LIMIT, "boosting: too many %s rows", set);
    if (!are_finite(rows->items, total, true, &bad))
        return ft_fail(error, FT_ERR_DAMAGED, "boosting: %s row %zu: feature %zu is infinite", set,
                       bad / rows->features, bad % rows->features);
    FT_TRY(check_column(rows->labels, rows->count, set, "label", error));
    FT_TRY(check_column(rows->offsets, rows->count, set, "offset", error));
    return check_weights(rows, set, error);
}

bool boost_has_score(const boost_rows *valid, const boost_hooks *hooks) {
    return valid != NULL && (hooks->score != NULL || valid->labels != NULL);
}

static ft_status check_monotone(const int8_t *signs, uint32_t features, ft_error *error) {
    for (uint32_t i = 0; signs != NULL && i < features; i++) {
        if (signs[i] < -1 || signs[i] > 1)
            return ft_fail(error, FT_ERR_USAGE, "boosting: monotone sign %d of feature %u: must be -1, 0 or 1",
                           signs[i], i);
    }
    return FT_OK;
}

static ft_status check_features(const boost_rows *train, const boost_rows *valid, const forest *start,
                                ft_error *error) {
    if (valid != NULL && valid->features != train->features)
        return ft_fail(error, FT_ERR_USAGE, "boosting: training rows have %u features, validation rows %u",
                       train->features, valid->features);
    if (start != NULL && forest_features(start) != train->features)
        return ft_fail(error, FT_ERR_USAGE, "boosting: rows have %u features, but the trees to resume from have %u",
                       train->features, forest_features(start));
    return FT_OK;
}

ft_status boost_check(const boost_rows *train, const boost_rows *valid, const boost_options *options,
                      const boost_hooks *hooks, const forest *start, ft_error *error) {
    FT_TRY(check_options(options, error));
    FT_TRY(check_rows(train, "training", error));
    if (valid != NULL) FT_TRY(check_rows(valid, "validation", error));
    FT_TRY(check_features(train, valid, start, error));
    FT_TRY(check_monotone(options->monotone, train->features, error));
    if (train->labels == NULL && hooks->gradient == NULL)
        return ft_fail(error, FT_ERR_USAGE, "boosting: labels or an objective are needed");
    if (options->patience > 0 && !boost_has_score(valid, hooks))
        return ft_fail(error, FT_ERR_USAGE, "boosting: patience needs validation rows with labels or a score");
    return FT_OK;
}
