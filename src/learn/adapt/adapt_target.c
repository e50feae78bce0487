/* adapt_target.c - data sheet, base devices and expected error of a device to adapt to. */
#include "learn/adapt/adapt_target.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "foretell/device.h"

/* The data sheet is bundled, or in the folder of the data set. */
static ft_status open_sheet(const ft_dataset *data, adapt_target *t, ft_error *error) {
    FT_TRY(device_open(data->folder, t->name, &t->sheet, error));
    t->runtime = ft_device_runtime(t->sheet);
    return FT_OK;
}

/* A known device with another runtime is a different device of the same name. */
static ft_status check_clash(const ft_predictor *from, const adapt_target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_device_index(from, t->name);
    if (f->optional.rules == NULL || known >= predictor_known_count(from)) return FT_OK;
    const ft_rules *rules = f->optional.rules(predictor_model(from), known);
    if (rules == NULL || strcmp(ft_rules_name(rules), t->runtime) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "device names clash: '%s' has the runtime %s in the predictor, but %s in the data set: rename "
                   "one of them",
                   t->name, ft_rules_name(rules), t->runtime);
}

/* Whether a known device is of the same kind as the new one, as far as data sheets say. */
static ft_status is_of_kind(const ft_predictor *from, uint32_t known, const adapt_target *t, bool *is_same,
                            ft_error *error) {
    const char *name = ft_device_canonical(ft_predictor_device(from, known));
    ft_device *sheet = NULL;
    *is_same = true;
    if (name == NULL) return FT_OK;
    FT_TRY(ft_device_open(name, &sheet, error));
    *is_same = strcmp(ft_device_kind(sheet), ft_device_kind(t->sheet)) == 0;
    ft_device_free(sheet);
    return FT_OK;
}

static void add_base(const ft_predictor *from, uint32_t known, adapt_target *t) {
    const family *f = predictor_family(from);
    const ft_rules *rules = f->optional.rules != NULL ? f->optional.rules(predictor_model(from), known) : NULL;
    t->has_rules[t->base_count] = rules != NULL && strcmp(ft_rules_name(rules), t->runtime) != 0;
    t->bases[t->base_count++] = known;
}

static ft_status find_bases(const ft_predictor *from, bool has_work, adapt_target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_known_count(from), own = predictor_device_index(from, t->name);
    t->is_new = own == FT_NONE || own >= known;
    if (!t->is_new) {
        t->bases[t->base_count++] = own;
        return FT_OK;
    }
    /* The data sheet is the first base; a known device that behaves like the new one may be a better one. */
    if (predictor_reads_sheets(from) && ft_device_canonical(t->name) != NULL) t->bases[t->base_count++] = FT_NONE;
    if (f->optional.rules != NULL) FT_TRY(ft_rules_open(t->runtime, &t->rules, error));
    uint32_t before = t->base_count;
    for (uint32_t i = 0; i < known && t->base_count < ADAPT_MAX_BASES - 1; i++) {
        bool is_same;
        FT_TRY(is_of_kind(from, i, t, &is_same, error));
        if (is_same) add_base(from, i, t);
    }
    t->has_other_kind = t->base_count == before;
    for (uint32_t i = 0; t->has_other_kind && i < known && t->base_count < ADAPT_MAX_BASES - 1; i++)
        add_base(from, i, t);
    if (has_work) t->bases[t->base_count++] = ADJUST_WORK;
    assert(t->base_count <= ADAPT_MAX_BASES);
    return FT_OK;
}

ft_status adapt_target_open(adapt_target *t, const char *name, const ft_predictor *from, const ft_dataset *data,
                            bool has_work, ft_error *error) {
    t->name = name;
    FT_TRY(open_sheet(data, t, error));
    FT_TRY(check_clash(from, t, error));
    return find_bases(from, has_work, t, error);
}

void adapt_target_free(adapt_target *t) {
    ft_device_free(t->sheet);
    ft_rules_free(t->rules);
}

/* --- Expected errors ----------------------------------------------------------------------------------------- */

static bool has_text(const json_t *object, const char *key, const char *text) {
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

ft_status adapt_expected_error_read(const ft_predictor *from, uint32_t device, adapt_expected_error *expected,
                                    ft_error *error) {
    const char *text = ft_predictor_header(from);
    const json_t *row;
    json_t *header;
    size_t i;
    *expected = (adapt_expected_error){NAN, NAN};
    FT_TRY(json_parse(text, strlen(text), &header, error));
    json_array_foreach(json_object_get(header, "accuracy"), i, row) {
        const json_t *mape = json_object_get(row, "mape"), *rmspe = json_object_get(row, "rmspe");
        if (!has_text(row, "part", "valid") || !has_text(row, "device", ft_predictor_device(from, device)) ||
            !has_text(row, "metric", ft_predictor_metric(from)) || !json_is_number(mape) || !json_is_number(rmspe))
            continue;
        double mean = json_number_value(mape), square = json_number_value(rmspe);
        *expected = (adapt_expected_error){mean, sqrt(fmax(square * square - mean * mean, 0))};
    }
    json_decref(header);
    return FT_OK;
}

bool adapt_error_is_expected(const adapt_expected_error *expected, double mape, uint32_t models) {
    static const double MAX_DEVIATIONS = 2.33; /* of the mean: exceeded by chance once in a hundred */
    assert(models > 0);
    return isnan(expected->mape) || mape <= expected->mape + MAX_DEVIATIONS * expected->deviation / sqrt(models);
}
