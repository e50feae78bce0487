/* label_scale.c - fits, applies and stores transforms of labels. */
#include "predictor/gnn/label_scale.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"

const char *const label_form_names[LABEL_FORMS] = {"log", "log1p", "raw", "standard", "box-cox", "quantile"};

static const double MAX_POWER = 2, POWER_STEP = 1e-4, MAX_LABEL = 1e18;

bool label_is_valid(label_form form, double label) {
    bool is_positive = form == LABEL_LOG || form == LABEL_BOX_COX || form == LABEL_QUANTILE;
    return isfinite(label) && (is_positive ? label > 0 : label >= 0);
}

/* --- Normal distribution ------------------------------------------------------------------------------------- */

static double normal_cdf(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* Quantile of the normal distribution, by bisection. */
static double normal_quantile(double share) {
    double low = -10, high = 10;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(normal_cdf(middle) < share ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static void find_quantiles(label_scale *s) {
    for (uint32_t i = 0; i < LABEL_KNOTS; i++) s->quantiles[i] = normal_quantile((i + 0.5) / LABEL_KNOTS);
}

/* --- Box-Cox ------------------------------------------------------------------------------------------------- */

static double box_cox(double log_label, double power) {
    return fabs(power) < 1e-9 ? log_label : expm1(power * log_label) / power;
}

/* Log-likelihood of the labels if their transforms are normal, up to a constant. */
static double likelihood(const double *labels, size_t count, double power) {
    double mean = 0, squares = 0, logs = 0;
    for (size_t i = 0; i < count; i++) {
        double log_label = log(labels[i]), value = box_cox(log_label, power), before = mean;
        mean += (value - mean) / (double)(i + 1);
        squares += (value - before) * (value - mean);
        logs += log_label;
    }
    return -0.5 * (double)count * log(squares / (double)count + 1e-300) + (power - 1) * logs;
}

/* The likelihood has one maximum: golden-section search. */
static double best_power(const double *labels, size_t count) {
    const double ratio = 0.5 * (sqrt(5) - 1);
    double low = -MAX_POWER, high = MAX_POWER;
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = likelihood(labels, count, a), at_b = likelihood(labels, count, b);
    while (high - low > POWER_STEP) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = likelihood(labels, count, a);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = likelihood(labels, count, b);
        }
    }
    return 0.5 * (low + high);
}

/* --- Transform and inverse ----------------------------------------------------------------------------------- */

/* The last knot before x that has a successor. */
static uint32_t knot_before(const double *knots, double x) {
    uint32_t low = 0, high = LABEL_KNOTS - 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(knots[middle] <= x ? &low : &high) = middle;
    }
    return low;
}

/* Linear interpolation between knots, extrapolated beyond the ends. */
static double interpolate(const double *from, const double *to, double x) {
    uint32_t i = knot_before(from, x);
    return to[i] + (x - from[i]) / (from[i + 1] - from[i]) * (to[i + 1] - to[i]);
}

/* f(y), without shift and scale. */
static double transform(const label_scale *s, double label) {
    switch (s->form) {
    case LABEL_LOG:
        return log(label);
    case LABEL_LOG1P:
        return log1p(label);
    case LABEL_BOX_COX:
        return box_cox(log(label), s->power);
    case LABEL_QUANTILE:
        return interpolate(s->knots, s->quantiles, log(label));
    default:
        return label;
    }
}

double label_to_target(const label_scale *s, double label) {
    assert(s->scale > 0);
    return (transform(s, label) - s->shift) / s->scale;
}

/* Values outside of the range of the transform are clamped to its end. */
static double undo_box_cox(double value, double power) {
    if (fabs(power) < 1e-9) return exp(value);
    return exp(log(fmax(1 + power * value, 1e-6)) / power);
}

double label_of_target(const label_scale *s, double target) {
    double value = target * s->scale + s->shift;
    switch (s->form) {
    case LABEL_LOG:
        return exp(value);
    case LABEL_LOG1P:
        return expm1(value);
    case LABEL_BOX_COX:
        return undo_box_cox(value, s->power);
    case LABEL_QUANTILE:
        return exp(interpolate(s->quantiles, s->knots, value));
    default:
        return value;
    }
}

double label_spread(const label_scale *s, double target, double apart) {
    if (s->form == LABEL_LOG) return apart * s->scale;
    double label = label_of_target(s, target);
    double low = label_of_target(s, target - apart), high = label_of_target(s, target + apart);
    return 0.5 * fabs(high - low) / fmax(fabs(label), 1e-9);
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void place_knots(label_scale *s, const double *sorted, size_t count) {
    for (uint32_t i = 0; i < LABEL_KNOTS; i++) {
        double at = (i + 0.5) / LABEL_KNOTS * (double)(count - 1);
        size_t below = (size_t)at;
        double low = log(sorted[below]), high = log(sorted[below + 1 < count ? below + 1 : below]);
        s->knots[i] = low + (at - (double)below) * (high - low);
        if (i > 0) s->knots[i] = fmax(s->knots[i], s->knots[i - 1] + 1e-9);
    }
}

label_scale label_scale_fit(label_form form, double *labels, size_t count) {
    assert(count > 0);
    label_scale s = {.form = form, .scale = 1};
    double mean = 0, squares = 0;
    qsort(labels, count, sizeof *labels, by_size); /* so that the fit does not depend on the order */
    if (form == LABEL_BOX_COX) s.power = best_power(labels, count);
    if (form == LABEL_QUANTILE) {
        find_quantiles(&s);
        place_knots(&s, labels, count);
        return s;
    }
    for (size_t i = 0; i < count; i++) {
        double value = transform(&s, labels[i]), before = mean;
        mean += (value - mean) / (double)(i + 1);
        squares += (value - before) * (value - mean);
    }
    s.shift = form == LABEL_RAW ? 0 : mean;
    s.scale = form == LABEL_RAW ? mean : sqrt(squares / (double)count);
    if (!(s.scale > 1e-6)) s.scale = 1;
    return s;
}

/* --- Files --------------------------------------------------------------------------------------------------- */

json_t *label_scale_save(const label_scale *s, json_t *object) {
    object = json_with(object, "shift", json_real(s->shift));
    object = json_with(object, "scale", json_real(s->scale));
    if (s->form == LABEL_BOX_COX) object = json_with(object, "power", json_real(s->power));
    if (s->form != LABEL_QUANTILE) return object;
    json_t *knots = json_array();
    for (uint32_t i = 0; i < LABEL_KNOTS; i++) knots = json_list_with(knots, json_real(s->knots[i]));
    return json_with(object, "knots", knots);
}

static ft_status load_knots(const json_t *list, label_scale *s, ft_error *error) {
    if (json_array_size(list) != LABEL_KNOTS)
        return ft_fail(error, FT_ERR_DAMAGED, "columns: %zu knots; %d are expected", json_array_size(list),
                       LABEL_KNOTS);
    find_quantiles(s);
    for (uint32_t i = 0; i < LABEL_KNOTS; i++) {
        if (json_read_number(json_array_get(list, i), -1e3, 1e3, &s->knots[i], error) != FT_OK)
            return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: 'knots'");
        if (i > 0 && !(s->knots[i] > s->knots[i - 1]))
            return ft_fail(error, FT_ERR_DAMAGED, "columns: knots are not increasing");
    }
    return FT_OK;
}

ft_status label_scale_load(const json_t *object, label_form form, label_scale *s, ft_error *error) {
    *s = (label_scale){.form = form};
    if (json_read_number(json_object_get(object, "shift"), -MAX_LABEL, MAX_LABEL, &s->shift, error) != FT_OK ||
        json_read_number(json_object_get(object, "scale"), 1 / MAX_LABEL, MAX_LABEL, &s->scale, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: 'shift' or 'scale'");
    if (form == LABEL_BOX_COX &&
        json_read_number(json_object_get(object, "power"), -MAX_POWER, MAX_POWER, &s->power, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: 'power'");
    return form == LABEL_QUANTILE ? load_knots(json_object_get(object, "knots"), s, error) : FT_OK;
}
