/* adjust.c - corrections for one device: applied to predictions, stored in files and loaded; see adjust.h. */
#include "predictor/core/adjust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/family_common.h"

/* Standardised sizes are bounded to this many deviations, and the logarithm of a correction to this magnitude. */
static const double MAX_SIZE = 5, MAX_LOG = 8;

/* --- Making -------------------------------------------------------------------------------------------------- */

void adjust_free(adjustment *a) {
    if (a == NULL) return;
    ft_rules_free(a->rules);
    free(a->runtime);
    free(a->mean);
    free(a->inverse);
    free(a->weights);
    free(a);
}

/* Only bundled rules are opened, by name: a file must not make foretell open paths. */
static ft_status open_rules(adjustment *a, const char *runtime, ft_error *error) {
    uint32_t i = 0;
    if (runtime == NULL) return FT_OK;
    while (i < ft_rules_count() && strcmp(ft_rules_name_at(i), runtime) != 0) i++;
    if (i == ft_rules_count())
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "the runtime '%s' is not bundled ('foretell list runtimes' lists those that are)", runtime);
    a->runtime = strdup(runtime);
    if (a->runtime == NULL) return FT_NOMEM(error);
    return ft_rules_open(runtime, &a->rules, error);
}

ft_status adjust_new(uint32_t base, const char *runtime, uint32_t terms, uint32_t sizes, uint32_t features,
                     adjustment **out, ft_error *error) {
    adjustment *a = calloc(1, sizeof *a);
    if (a == NULL) return FT_NOMEM(error);
    *a = (adjustment){.base = base, .terms = terms, .sizes = sizes, .features = features};
    a->mean = calloc((size_t)sizes + 1, sizeof *a->mean);
    a->inverse = calloc((size_t)sizes + 1, sizeof *a->inverse);
    a->weights = calloc(adjust_weight_count(a), sizeof *a->weights);
    bool has_memory = a->mean != NULL && a->inverse != NULL && a->weights != NULL;
    ft_status status = has_memory ? open_rules(a, runtime, error) : FT_NOMEM(error);
    if (status != FT_OK)
        adjust_free(a);
    else
        *out = a;
    return status;
}

/* --- Using --------------------------------------------------------------------------------------------------- */

void adjust_scale(const adjustment *a, const float *features, double *scaled) {
    for (uint32_t i = 0; i < a->sizes; i++) {
        double x = ((double)features[i] - a->mean[i]) * a->inverse[i];
        scaled[i] = fmin(fmax(x, -MAX_SIZE), MAX_SIZE);
    }
    for (uint32_t i = a->sizes; i < a->features; i++) scaled[i] = features[i];
}

static double bounded_exp(double x) {
    return exp(fmin(fmax(x, -MAX_LOG), MAX_LOG));
}

/* Rates of devices differ by far more than corrections. */
static double rate(double x) {
    static const double MAX_RATE = 60;
    return x <= ADJUST_NO_RATE ? 0 : exp(fmin(fmax(x, -MAX_RATE), MAX_RATE));
}

void adjust_factors(const adjustment *a, double factors[static ADJUST_MAX_TERMS]) {
    assert(a->terms <= ADJUST_MAX_TERMS);
    for (uint32_t i = 0; i < a->terms; i++)
        factors[i] = a->base == ADJUST_WORK ? rate(a->weights[1 + i]) : bounded_exp(a->weights[1 + i]);
}

double adjust_spread(const adjustment *a, double spread) {
    static const double MIN_RATIO = 0.5, MAX_RATIO = 3;
    return a->spread > 0 ? fmin(fmax(spread / a->spread, MIN_RATIO), MAX_RATIO) : spread;
}

double adjust_row(const adjustment *a, const double *factors, const double *terms, const double *scaled,
                  double *times) {
    double shift = a->weights[0], sum = 0;
    const float *weights = a->weights + 1 + a->terms;
    for (uint32_t i = 0; i < a->features; i++) shift += weights[i] * scaled[i];
    double factor = bounded_exp(shift);
    for (uint32_t i = 0; i < a->terms; i++) {
        times[i] = terms[i] * factors[i] * factor;
        sum += times[i];
    }
    return sum;
}

ft_status adjust_explain(const family *f, const void *model, const predict_input *in, model_output *out,
                         explanation *made_of, ft_error *error) {
    *out = (model_output){.spread = 1, .provenance = FT_LEARNED};
    if (f->optional.explain != NULL) return f->optional.explain(model, in, out, made_of, error);
    FT_TRY(f->predict(model, in, out, error));
    double *time = ARENA_NEW(in->memory, double);
    float *feature = ARENA_NEW(in->memory, float);
    if (time == NULL || feature == NULL) return FT_NOMEM(error);
    *time = out->value;
    *feature = (float)log2(fmax(out->value, 1e-9));
    *made_of = (explanation){.count = 1, .row_count = 1, .term_count = 1, .times = time};
    made_of->size_count = made_of->feature_count = 1;
    made_of->features = feature;
    return FT_OK;
}

/* The corrected times of the rows. */
static ft_status adjust_rows(const adjustment *a, const explanation *p, arena *memory, double **sums, ft_error *error) {
    assert(a->features <= ADJUST_MAX_FEATURES);
    double scaled[ADJUST_MAX_FEATURES], times[ADJUST_MAX_TERMS], factors[ADJUST_MAX_TERMS];
    if (p->term_count != a->terms || p->size_count != a->sizes || p->feature_count != a->features)
        return ft_fail(error, FT_ERR_DAMAGED,
                       "the correction has %u terms and %u features, but the model has %u and %u", a->terms,
                       a->features, p->term_count, p->feature_count);
    *sums = ARENA_ARRAY(memory, double, (size_t)p->row_count + 1);
    if (*sums == NULL) return FT_NOMEM(error);
    adjust_factors(a, factors);
    for (uint32_t i = 0; i < p->row_count; i++) {
        adjust_scale(a, p->features + (size_t)i * p->feature_count, scaled);
        (*sums)[i] = adjust_row(a, factors, p->times + (size_t)i * p->term_count, scaled, times);
    }
    return FT_OK;
}

ft_status adjust_predict(const adjustment *a, const family *f, const void *model, const predict_input *in,
                         model_output *out, ft_error *error) {
    const target_device *target = in->target;
    const target_device base = {.index = a->base, .sheet = target->sheet, .rules = a->rules, .output = target->output};
    predict_input of_base = *in;
    of_base.target = &base;
    explanation p = {0};
    model_output made = {0};
    double *sums, value = 0;
    if (a->base == FT_NONE && target->sheet == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "the correction is based on the data sheet of this device, but there is none");
    if (a->base == ADJUST_WORK)
        FT_TRY(adjust_explain_work(&of_base, &made, &p, error));
    else
        FT_TRY(adjust_explain(f, model, &of_base, &made, &p, error));
    FT_TRY(adjust_rows(a, &p, in->memory, &sums, error));
    for (uint32_t i = 0; i < p.count; i++) value += sums[p.row_of != NULL ? p.row_of[i] : i];
    if (!(value > 0 && isfinite(value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    bool is_by_piece = made.parts != NULL && made.part_count == p.count;
    for (uint32_t i = 0; made.parts != NULL && i < made.part_count; i++)
        made.parts[i].value =
            is_by_piece ? sums[p.row_of != NULL ? p.row_of[i] : i] : made.parts[i].value * value / made.value;
    made.value = value;
    made.spread = adjust_spread(a, made.spread);
    *out = made;
    return FT_OK;
}

/* --- In the file --------------------------------------------------------------------------------------------- */

static const char work_name[] = "work";

json_t *adjust_save(const adjustment *a, const char *device) {
    json_t *base = a->base == FT_NONE       ? json_null()
                   : a->base == ADJUST_WORK ? json_string(work_name)
                                            : json_integer(a->base);
    return json_pack("{s:s, s:o, s:s?, s:i, s:i, s:i, s:f}", "device", device, "base", base, "runtime", a->runtime,
                     "terms", (int)a->terms, "sizes", (int)a->sizes, "features", (int)a->features, "spread",
                     (double)a->spread);
}

bool adjust_save_floats(const adjustment *a, float_block *block) {
    return float_block_add(block, a->mean, a->sizes) && float_block_add(block, a->inverse, a->sizes) &&
           float_block_add(block, a->weights, adjust_weight_count(a));
}

/* A known device, null for the data sheet, or "work". */
static ft_status read_base(const json_t *value, uint32_t known_devices, uint32_t *base, ft_error *error) {
    double number = 0;
    const char *name = json_string_value(value);
    *base = name != NULL && strcmp(name, work_name) == 0 ? ADJUST_WORK : FT_NONE;
    if (*base == ADJUST_WORK || json_is_null(value)) return FT_OK;
    ft_status status = json_read_number(value, 0, (double)known_devices - 1, &number, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'base'");
    *base = (uint32_t)number;
    return FT_OK;
}

static ft_status read_spread(const json_t *value, double *spread, ft_error *error) {
    *spread = 0;
    if (value == NULL) return FT_OK; /* of an earlier version */
    ft_status status = json_read_number(value, 0, 1e6, spread, error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "'spread'");
}

static ft_status read_count(const json_t *object, const char *key, uint32_t maximum, uint32_t *count, ft_error *error) {
    double value;
    ft_status status = json_read_number(json_object_get(object, key), 0, maximum, &value, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'%s'", key);
    *count = (uint32_t)value;
    return FT_OK;
}

size_t adjust_float_count(const json_t *object) {
    uint32_t terms, sizes, features;
    if (read_count(object, "terms", ADJUST_MAX_TERMS, &terms, NULL) != FT_OK ||
        read_count(object, "features", ADJUST_MAX_FEATURES, &features, NULL) != FT_OK ||
        read_count(object, "sizes", features, &sizes, NULL) != FT_OK)
        return SIZE_MAX / 8192; /* files have fewer devices than that */
    return 2 * (size_t)sizes + 1 + terms + features;
}

static ft_status read_floats(const float **block, size_t *left, float *to, size_t count, ft_error *error) {
    if (count > *left) return ft_fail(error, FT_ERR_DAMAGED, "the block of floats is too short");
    FT_TRY(block_check_weights(*block, count, error));
    if (count > 0) memcpy(to, *block, count * sizeof *to);
    *block += count;
    *left -= count;
    return FT_OK;
}

ft_status adjust_load(const json_t *object, uint32_t known_devices, const float **block, size_t *left, adjustment **out,
                      ft_error *error) {
    uint32_t base, terms, sizes, features;
    double spread;
    const json_t *runtime = json_object_get(object, "runtime");
    if (!json_is_object(object) || known_devices == 0)
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(object));
    FT_TRY(read_base(json_object_get(object, "base"), known_devices, &base, error));
    FT_TRY(read_spread(json_object_get(object, "spread"), &spread, error));
    FT_TRY(read_count(object, "terms", ADJUST_MAX_TERMS, &terms, error));
    FT_TRY(read_count(object, "features", ADJUST_MAX_FEATURES, &features, error));
    FT_TRY(read_count(object, "sizes", features, &sizes, error));
    if (base == ADJUST_WORK && (terms != ADJUST_WORK_TERMS || features != 0))
        return ft_fail(error, FT_ERR_DAMAGED, "work has %d terms and no features, but %u and %u are stored",
                       ADJUST_WORK_TERMS, terms, features);
    adjustment *a;
    FT_TRY(adjust_new(base, json_string_value(runtime), terms, sizes, features, &a, error));
    a->spread = (float)spread;
    ft_status status = read_floats(block, left, a->mean, sizes, error);
    if (status == FT_OK) status = read_floats(block, left, a->inverse, sizes, error);
    if (status == FT_OK) status = read_floats(block, left, a->weights, adjust_weight_count(a), error);
    if (status != FT_OK)
        adjust_free(a);
    else
        *out = a;
    return status;
}
