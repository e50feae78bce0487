#include "predictor/core/header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foretell/foretell.h"

#define FORMAT_NAME "foretell predictor"
/* Whoever reads the schema alone must not take an adapted predictor for the one it was made from. */
#define ADAPTED_SCHEMA "+adapted"

static const char *const mode_names[] = {[FT_INFER] = "infer", [FT_TRAIN] = "train"};

enum { MODE_COUNT = sizeof mode_names / sizeof mode_names[0] };

/* --- Making -------------------------------------------------------------------------------------------------- */

static json_t *make_devices(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < d->device_count; i++) {
        if (json_array_append_new(list, json_string(d->devices[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *make_modes(const predictor_metric *metric) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < MODE_COUNT; i++) {
        if ((metric->modes & 1U << i) != 0 && json_array_append_new(list, json_string(mode_names[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *make_dtypes(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < 32; i++) {
        if ((d->dtypes & 1U << i) != 0 && json_array_append_new(list, json_string(ft_dtype_name((ft_dtype)i))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *make_training(const predictor_description *d) {
    return json_pack("{s:s?, s:s?, s:I, s:s?, s:I}", "dataset", d->dataset_hash, "split", d->split_spec, "seed",
                     (json_int_t)d->seed, "split_hash", d->split_hash, "records", (json_int_t)d->records);
}

static json_t *make_schema(const predictor_description *d, const family *f) {
    return json_sprintf("%s%s", f->schema, d->adapted != NULL ? ADAPTED_SCHEMA : "");
}

/* The adjustment of a device; those of the first metric do not say of which they are. */
static bool add_adjustment(const predictor_description *d, uint32_t metric, uint32_t device, json_t *list) {
    const adjustment *a = d->adjustments[metric * d->device_count + device];
    json_t *item = a != NULL ? adjust_save(a, d->devices[device]) : NULL;
    if (a == NULL) return true;
    bool is_complete =
        metric == 0 ||
        (item != NULL && json_object_set_new(item, "metric", json_string(d->others[metric - 1].name)) == 0);
    return json_array_append_new(list, item) == 0 && is_complete;
}

/* What is told of adapting, with the adjustments. */
static json_t *make_adapted(const predictor_description *d) {
    json_t *made = json_copy((json_t *)d->adapted), *list = json_array();
    bool is_complete = made != NULL && list != NULL;
    for (uint32_t i = 0; is_complete && i < (1 + d->other_count) * d->device_count; i++)
        is_complete = add_adjustment(d, i / d->device_count, i % d->device_count, list);
    is_complete = is_complete && json_object_set_new(made, "known", json_integer(d->known_count)) == 0 &&
                  json_object_set(made, "adjustments", list) == 0;
    json_decref(list);
    if (is_complete) return made;
    json_decref(made);
    return NULL;
}

/* True when all went well; takes the reference over in any case. */
static bool set(json_t *root, const char *key, json_t *value) {
    return json_object_set_new(root, key, value) == 0;
}

static bool set_metric(json_t *root, const predictor_metric *metric) {
    return set(root, "metric", json_string(metric->name)) && set(root, "modes", make_modes(metric)) &&
           (metric->calibration == NULL || set(root, "calibration", json_incref((json_t *)metric->calibration)));
}

/* What the model tells besides its first metric. */
static json_t *make_others(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; list != NULL && i < d->other_count; i++) {
        json_t *item = json_object();
        bool is_complete = item != NULL && set_metric(item, &d->others[i]);
        if (json_array_append_new(list, item) == 0 && is_complete) continue;
        json_decref(list);
        list = NULL;
    }
    return list;
}

ft_status header_make(const predictor_description *d, const family *f, const json_t *params, json_t **root,
                      ft_error *error) {
    json_t *made = json_object();
    bool is_complete = made != NULL && set(made, "format", json_string(FORMAT_NAME)) &&
                       set(made, "foretell", json_string(ft_version_string())) &&
                       set(made, "family", json_string(f->name)) && set(made, "schema", make_schema(d, f)) &&
                       set_metric(made, &d->metric) && set(made, "devices", make_devices(d)) &&
                       set(made, "trained_on", make_training(d)) && set(made, "params", json_incref((json_t *)params));
    if (is_complete && d->dtypes != 0) is_complete = set(made, "dtypes", make_dtypes(d));
    if (is_complete && d->other_count > 0) is_complete = set(made, "also", make_others(d));
    if (is_complete && d->accuracy != NULL) is_complete = set(made, "accuracy", json_incref((json_t *)d->accuracy));
    if (is_complete && d->adapted != NULL) is_complete = set(made, "adapted", make_adapted(d));
    if (!is_complete) {
        json_decref(made);
        return FT_NOMEM(error);
    }
    *root = made;
    return FT_OK;
}

/* --- Parsing ------------------------------------------------------------------------------------------------- */

static ft_status keep(const json_t *value, arena *memory, const char **text, ft_error *error) {
    const char *found;
    FT_TRY(json_read_string(value, &found, error));
    *text = arena_string(memory, found, strlen(found));
    return *text != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status take_format(const json_t *value, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    if (strcmp(text, FORMAT_NAME) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT, "is '%s', but '%s' is expected", text, FORMAT_NAME);
}

static ft_status take_family(const json_t *value, header *h, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    h->family = family_find(text);
    if (h->family != NULL) return FT_OK;
    ft_fail(error, FT_ERR_UNSUPPORTED, "is '%s', which this foretell does not have; it has", text);
    for (uint32_t i = 0; error != NULL && i < family_total; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",",
                 families[i]->name);
    }
    return FT_ERR_UNSUPPORTED;
}

static ft_status take_schema(const json_t *value, const header *h, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    size_t length = strlen(h->family->schema);
    bool is_same = strncmp(text, h->family->schema, length) == 0;
    if (is_same && (text[length] == '\0' || strcmp(text + length, ADAPTED_SCHEMA) == 0)) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "is '%s': it was trained on other features than this foretell computes ('%s'); train it again", text,
                   h->family->schema);
}

static ft_status take_devices(const json_t *value, arena *memory, header *h, ft_error *error) {
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0 || count > HEADER_MAX_DEVICES)
        return ft_fail(error, FT_ERR_DAMAGED, "must be a list of 1 to %d names", HEADER_MAX_DEVICES);
    h->devices = ARENA_ARRAY(memory, const char *, count);
    if (h->devices == NULL) return FT_NOMEM(error);
    h->device_count = h->known_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        FT_TRY(keep(json_array_get(value, i), memory, &h->devices[i], error));
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(h->devices[i], h->devices[j]) == 0)
                return ft_fail(error, FT_ERR_DAMAGED, "has '%s' twice", h->devices[i]);
        }
    }
    return FT_OK;
}

/* --- Metrics ------------------------------------------------------------------------------------------------- */

static uint32_t number_of_mode(const char *text) {
    uint32_t mode = 0;
    while (mode < MODE_COUNT && strcmp(text, mode_names[mode]) != 0) mode++;
    return mode < MODE_COUNT ? mode : FT_NONE;
}

static uint32_t number_of_dtype(const char *text) {
    ft_dtype dtype;
    return ft_dtype_parse(text, &dtype) ? (uint32_t)dtype : FT_NONE;
}

/* A list of names, as the bits of their numbers; `number_of` knows the names (FT_NONE: not this one). */
static ft_status take_names(const json_t *value, uint32_t (*number_of)(const char *), const char *what, uint32_t *bits,
                            ft_error *error) {
    if (value == NULL) return FT_OK;
    if (!json_is_array(value)) return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a list is expected", json_kind(value));
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        const char *text;
        FT_TRY(json_read_string(item, &text, error));
        uint32_t number = number_of(text);
        if (number == FT_NONE) return ft_fail(error, FT_ERR_DAMAGED, "'%s' is no %s", text, what);
        *bits |= 1U << number;
    }
    return FT_OK;
}

static ft_status take_calibration(const json_t *value, const header *h, double *q90, ft_error *error) {
    for (uint32_t i = 0; i < h->device_count; i++) q90[i] = NAN;
    if (value == NULL) return FT_OK;
    if (!json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    for (uint32_t i = 0; i < h->device_count; i++) {
        const json_t *item = json_object_get(value, h->devices[i]);
        if (item == NULL) continue;
        ft_status status = json_read_number(json_object_get(item, "q90"), 0, 1e3, &q90[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'%s': 'q90'", h->devices[i]);
    }
    return FT_OK;
}

/* The keys of a metric; `key` is set to the one that is wrong. */
static ft_status take_metric(const json_t *object, arena *memory, const header *h, header_metric *metric,
                             const char **key, ft_error *error) {
    *key = "metric";
    FT_TRY(keep(json_object_get(object, *key), memory, &metric->name, error));
    *key = "modes";
    FT_TRY(take_names(json_object_get(object, *key), number_of_mode, "mode", &metric->modes, error));
    *key = "calibration";
    metric->q90 = ARENA_ARRAY(memory, double, h->device_count);
    if (metric->q90 == NULL) return FT_NOMEM(error);
    return take_calibration(json_object_get(object, *key), h, metric->q90, error);
}

/* The first stands in the header itself, the others in a list. */
static ft_status take_metrics(const json_t *root, arena *memory, header *h, ft_error *error) {
    const json_t *others = json_object_get(root, "also");
    size_t count = 1 + json_array_size(others);
    if (count > HEADER_MAX_METRICS || (others != NULL && !json_is_array(others)))
        return ft_fail(error, FT_ERR_DAMAGED, "header: 'also' must be a list of at most %d", HEADER_MAX_METRICS - 1);
    h->metrics = ARENA_ARRAY(memory, header_metric, count);
    if (h->metrics == NULL) return FT_NOMEM(error);
    for (; h->metric_count < count; h->metric_count++) {
        const json_t *object = h->metric_count == 0 ? root : json_array_get(others, h->metric_count - 1);
        const char *key;
        ft_status status = take_metric(object, memory, h, &h->metrics[h->metric_count], &key, error);
        if (status == FT_OK) continue;
        return h->metric_count == 0 ? ft_fail_prefix(error, status, "header: '%s'", key)
                                    : ft_fail_prefix(error, status, "header: 'also': %u: '%s'", h->metric_count, key);
    }
    if (count > 1 && !family_can(h->family, FAMILY_MULTI_METRIC))
        return ft_fail(error, FT_ERR_DAMAGED, "header: 'also': the model tells one metric");
    return FT_OK;
}

/* --- All keys ------------------------------------------------------------------------------------------------ */

static ft_status take_adapted(const json_t *value, header *h, ft_error *error) {
    double known;
    const json_t *list = json_object_get(value, "adjustments");
    ft_status status = json_read_number(json_object_get(value, "known"), 1, h->device_count, &known, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'known'");
    if (!json_is_array(list) || json_array_size(list) > (size_t)h->device_count * HEADER_MAX_METRICS)
        return ft_fail(error, FT_ERR_DAMAGED, "'adjustments' must be a list of at most %u for each metric",
                       h->device_count);
    h->known_count = (uint32_t)known;
    h->adjustments = list;
    return FT_OK;
}

static ft_status take_key(const json_t *root, const char *key, arena *memory, header *h, ft_error *error) {
    const json_t *value = json_object_get(root, key);
    if (strcmp(key, "format") == 0) return take_format(value, error);
    if (strcmp(key, "family") == 0) return take_family(value, h, error);
    if (strcmp(key, "schema") == 0) return take_schema(value, h, error);
    if (strcmp(key, "devices") == 0) return take_devices(value, memory, h, error);
    if (strcmp(key, "dtypes") == 0) return take_names(value, number_of_dtype, "type", &h->dtypes, error);
    if (strcmp(key, "adapted") == 0) return value != NULL ? take_adapted(value, h, error) : FT_OK;
    if (!json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    h->params = value;
    return FT_OK;
}

ft_status header_parse(const json_t *root, arena *memory, header *h, ft_error *error) {
    /* Each needs only those before it. */
    static const char *const keys[] = {"format", "family", "schema", "devices", "dtypes", "adapted", "params"};
    header made = {0};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        ft_status status = take_key(root, keys[i], memory, &made, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "header: '%s'", keys[i]);
    }
    FT_TRY(take_metrics(root, memory, &made, error));
    *h = made;
    return FT_OK;
}
