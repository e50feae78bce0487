/* metadata.c - the JSON header of a predictor file: made from a description, and parsed. */
#include "predictor/core/predictor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foretell/foretell.h"

#define FORMAT_NAME "foretell predictor"
/* Appended to the schema, so that a version that cannot read adapted predictors refuses them. */
#define ADAPTED_SCHEMA "+adapted"

static const char *const mode_names[] = {[FT_INFER] = "infer", [FT_TRAIN] = "train"};

enum { MODE_COUNT = sizeof mode_names / sizeof mode_names[0] };

/* --- Making -------------------------------------------------------------------------------------------------- */

static json_t *make_devices(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < d->device_count; i++) list = json_list_with(list, json_string(d->devices[i]));
    return list;
}

static json_t *make_modes(const predictor_metric *metric) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < MODE_COUNT; i++)
        if ((metric->modes & 1U << i) != 0) list = json_list_with(list, json_string(mode_names[i]));
    return list;
}

static json_t *make_dtypes(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < 32; i++)
        if ((d->dtypes & 1U << i) != 0) list = json_list_with(list, json_string(ft_dtype_name((ft_dtype)i)));
    return list;
}

/* {"rtx-3090": "float16", ...} of the devices where it is known. */
static json_t *make_usual_dtypes(const predictor_description *d) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < d->device_count; i++)
        if (d->usual_dtypes[i] != FT_DTYPE_UNKNOWN)
            object = json_with(object, d->devices[i], json_string(ft_dtype_name(d->usual_dtypes[i])));
    return object;
}

static json_t *make_training(const predictor_description *d) {
    return json_pack("{s:s?, s:s?, s:I, s:s?, s:I}", "dataset", d->dataset_hash, "split", d->split_spec, "seed",
                     (json_int_t)d->seed, "split_hash", d->split_hash, "records", (json_int_t)d->records);
}

static json_t *make_schema(const predictor_description *d, const family *f) {
    return json_sprintf("%s%s", f->schema, d->adapted != NULL ? ADAPTED_SCHEMA : "");
}

/* The correction of a device; those of the first metric are stored without its name. */
static bool add_adjustment(const predictor_description *d, uint32_t metric, uint32_t device, json_t *list) {
    const adjustment *a = d->adjustments[metric * d->device_count + device];
    json_t *item = a != NULL ? adjust_save(a, d->devices[device]) : NULL;
    if (a == NULL) return true;
    bool is_complete = metric == 0 || json_put(item, "metric", json_string(d->others[metric - 1].name));
    return json_add(list, item) && is_complete;
}

/* The report of adapting, with the corrections. */
static json_t *make_adapted(const predictor_description *d) {
    json_t *list = json_array();
    bool is_complete = list != NULL;
    for (uint32_t i = 0; is_complete && i < (1 + d->other_count) * d->device_count; i++)
        is_complete = add_adjustment(d, i / d->device_count, i % d->device_count, list);
    if (!is_complete) {
        json_decref(list);
        return NULL;
    }
    json_t *made = json_with(json_clone_object(d->adapted), "known", json_integer(d->known_count));
    return json_with(made, "adjustments", list);
}

/* Adds a metric to an object that is being made. */
static json_t *with_metric(json_t *root, const predictor_metric *metric) {
    root = json_with(root, "metric", json_string(metric->name));
    root = json_with(root, "modes", make_modes(metric));
    if (metric->calibration == NULL) return root;
    return json_with(root, "calibration", json_incref((json_t *)metric->calibration));
}

/* The metrics of the model besides its first. */
static json_t *make_others(const predictor_description *d) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < d->other_count; i++)
        list = json_list_with(list, with_metric(json_object(), &d->others[i]));
    return list;
}

ft_status metadata_make(const predictor_description *d, const family *f, const json_t *params, json_t **root,
                        ft_error *error) {
    json_t *made = json_with(json_object(), "format", json_string(FORMAT_NAME));
    made = json_with(made, "foretell", json_string(ft_version_string()));
    made = json_with(made, "family", json_string(f->name));
    made = json_with(made, "schema", make_schema(d, f));
    made = with_metric(made, &d->metric);
    made = json_with(made, "devices", make_devices(d));
    made = json_with(made, "trained_on", make_training(d));
    made = json_with(made, "params", json_incref((json_t *)params));
    if (d->dtypes != 0) made = json_with(made, "dtypes", make_dtypes(d));
    if (d->usual_dtypes != NULL) made = json_with(made, "usual_dtypes", make_usual_dtypes(d));
    if (d->other_count > 0) made = json_with(made, "also", make_others(d));
    if (d->accuracy != NULL) made = json_with(made, "accuracy", json_incref((json_t *)d->accuracy));
    if (d->adapted != NULL) made = json_with(made, "adapted", make_adapted(d));
    *root = made;
    return made != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Parsing ------------------------------------------------------------------------------------------------- */

static ft_status copy_text(const json_t *value, arena *memory, const char **text, ft_error *error) {
    const char *found;
    FT_TRY(json_read_string(value, &found, error));
    *text = arena_string(memory, found, strlen(found));
    return *text != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status check_format(const json_t *value, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    if (strcmp(text, FORMAT_NAME) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT, "is '%s', but '%s' is expected", text, FORMAT_NAME);
}

static ft_status find_family(const json_t *value, metadata *m, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    m->family = family_find(text);
    if (m->family != NULL) return FT_OK;
    ft_fail(error, FT_ERR_UNSUPPORTED, "is '%s', which this foretell does not have; it has", text);
    for (uint32_t i = 0; error != NULL && i < family_total; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",",
                 families[i]->name);
    }
    return FT_ERR_UNSUPPORTED;
}

static ft_status check_schema(const json_t *value, const metadata *m, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    size_t length = strlen(m->family->schema);
    bool is_same = strncmp(text, m->family->schema, length) == 0;
    if (is_same && (text[length] == '\0' || strcmp(text + length, ADAPTED_SCHEMA) == 0)) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "is '%s': it was trained on other features than this foretell computes ('%s'); train it again", text,
                   m->family->schema);
}

static ft_status parse_devices(const json_t *value, arena *memory, metadata *m, ft_error *error) {
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0 || count > METADATA_MAX_DEVICES)
        return ft_fail(error, FT_ERR_DAMAGED, "must be a list of 1 to %d names", METADATA_MAX_DEVICES);
    m->devices = ARENA_ARRAY(memory, const char *, count);
    if (m->devices == NULL) return FT_NOMEM(error);
    m->device_count = m->known_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        FT_TRY(copy_text(json_array_get(value, i), memory, &m->devices[i], error));
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(m->devices[i], m->devices[j]) == 0)
                return ft_fail(error, FT_ERR_DAMAGED, "has '%s' twice", m->devices[i]);
        }
    }
    return FT_OK;
}

/* --- Metrics ------------------------------------------------------------------------------------------------- */

static uint32_t mode_index(const char *text) {
    uint32_t mode = 0;
    while (mode < MODE_COUNT && strcmp(text, mode_names[mode]) != 0) mode++;
    return mode < MODE_COUNT ? mode : FT_NONE;
}

static uint32_t dtype_index(const char *text) {
    ft_dtype dtype;
    return ft_dtype_parse(text, &dtype) ? (uint32_t)dtype : FT_NONE;
}

/* A list of names, as the bits of their indices; `index_of` returns FT_NONE for a name that is not one of them. */
static ft_status parse_names(const json_t *value, uint32_t (*index_of)(const char *), const char *what, uint32_t *bits,
                             ft_error *error) {
    if (value == NULL) return FT_OK;
    if (!json_is_array(value)) return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a list is expected", json_kind(value));
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        const char *text;
        FT_TRY(json_read_string(item, &text, error));
        uint32_t index = index_of(text);
        if (index == FT_NONE) return ft_fail(error, FT_ERR_DAMAGED, "'%s' is not a %s", text, what);
        assert(index < 32);
        *bits |= 1U << index;
    }
    return FT_OK;
}

static ft_status parse_calibration(const json_t *value, const metadata *m, double *q90, ft_error *error) {
    for (uint32_t i = 0; i < m->device_count; i++) q90[i] = NAN;
    if (value == NULL) return FT_OK;
    if (!json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    for (uint32_t i = 0; i < m->device_count; i++) {
        const json_t *item = json_object_get(value, m->devices[i]);
        if (item == NULL) continue;
        ft_status status = json_read_number(json_object_get(item, "q90"), 0, 1e3, &q90[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'%s': 'q90'", m->devices[i]);
    }
    return FT_OK;
}

/* The keys of a metric; on an error, *key is the one at fault. */
static ft_status parse_metric(const json_t *object, arena *memory, const metadata *m, metadata_metric *metric,
                              const char **key, ft_error *error) {
    *key = "metric";
    FT_TRY(copy_text(json_object_get(object, *key), memory, &metric->name, error));
    *key = "modes";
    FT_TRY(parse_names(json_object_get(object, *key), mode_index, "mode", &metric->modes, error));
    *key = "calibration";
    metric->q90 = ARENA_ARRAY(memory, double, m->device_count);
    if (metric->q90 == NULL) return FT_NOMEM(error);
    return parse_calibration(json_object_get(object, *key), m, metric->q90, error);
}

/* The first stands in the header itself, the others in a list. */
static ft_status parse_metrics(const json_t *root, arena *memory, metadata *m, ft_error *error) {
    const json_t *others = json_object_get(root, "also");
    size_t count = 1 + json_array_size(others);
    if (count > METADATA_MAX_METRICS || (others != NULL && !json_is_array(others)))
        return ft_fail(error, FT_ERR_DAMAGED, "header: 'also' must be a list of at most %d", METADATA_MAX_METRICS - 1);
    m->metrics = ARENA_ARRAY(memory, metadata_metric, count);
    if (m->metrics == NULL) return FT_NOMEM(error);
    for (; m->metric_count < count; m->metric_count++) {
        const json_t *object = m->metric_count == 0 ? root : json_array_get(others, m->metric_count - 1);
        const char *key;
        ft_status status = parse_metric(object, memory, m, &m->metrics[m->metric_count], &key, error);
        if (status == FT_OK) continue;
        return m->metric_count == 0 ? ft_fail_prefix(error, status, "header: '%s'", key)
                                    : ft_fail_prefix(error, status, "header: 'also': %u: '%s'", m->metric_count, key);
    }
    if (count > 1 && !family_can(m->family, FAMILY_MULTI_METRIC))
        return ft_fail(error, FT_ERR_DAMAGED, "header: 'also': the family '%s' has one metric", m->family->name);
    return FT_OK;
}

/* --- All keys ------------------------------------------------------------------------------------------------ */

static ft_status parse_adapted(const json_t *value, metadata *m, ft_error *error) {
    double known;
    const json_t *list = json_object_get(value, "adjustments");
    ft_status status = json_read_number(json_object_get(value, "known"), 1, m->device_count, &known, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'known'");
    if (!json_is_array(list) || json_array_size(list) > (size_t)m->device_count * METADATA_MAX_METRICS)
        return ft_fail(error, FT_ERR_DAMAGED, "'adjustments' must be a list of at most %u for each metric",
                       m->device_count);
    m->known_count = (uint32_t)known;
    m->adjustments = list;
    return FT_OK;
}

static ft_status parse_usual_dtypes(const json_t *value, arena *memory, metadata *m, ft_error *error) {
    m->usual_dtypes = ARENA_ARRAY(memory, ft_dtype, m->device_count);
    if (m->usual_dtypes == NULL) return FT_NOMEM(error);
    if (value != NULL && !json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    for (uint32_t i = 0; i < m->device_count; i++) {
        const json_t *item = json_object_get(value, m->devices[i]);
        const char *text;
        m->usual_dtypes[i] = FT_DTYPE_UNKNOWN;
        if (item == NULL) continue;
        FT_TRY(json_read_string(item, &text, error));
        uint32_t index = dtype_index(text);
        if (index == FT_NONE) return ft_fail(error, FT_ERR_DAMAGED, "'%s' is not a type", text);
        m->usual_dtypes[i] = (ft_dtype)index;
    }
    return FT_OK;
}

static ft_status parse_key(const json_t *root, const char *key, arena *memory, metadata *m, ft_error *error) {
    const json_t *value = json_object_get(root, key);
    if (strcmp(key, "format") == 0) return check_format(value, error);
    if (strcmp(key, "family") == 0) return find_family(value, m, error);
    if (strcmp(key, "schema") == 0) return check_schema(value, m, error);
    if (strcmp(key, "devices") == 0) return parse_devices(value, memory, m, error);
    if (strcmp(key, "dtypes") == 0) return parse_names(value, dtype_index, "type", &m->dtypes, error);
    if (strcmp(key, "usual_dtypes") == 0) return parse_usual_dtypes(value, memory, m, error);
    if (strcmp(key, "adapted") == 0) return value != NULL ? parse_adapted(value, m, error) : FT_OK;
    if (!json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    m->params = value;
    return FT_OK;
}

ft_status metadata_parse(const json_t *root, arena *memory, metadata *m, ft_error *error) {
    /* In this order: parsing a key uses those before it. */
    static const char *const keys[] = {"format", "family",       "schema",  "devices",
                                       "dtypes", "usual_dtypes", "adapted", "params"};
    metadata made = {0};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        ft_status status = parse_key(root, keys[i], memory, &made, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "header: '%s'", keys[i]);
    }
    FT_TRY(parse_metrics(root, memory, &made, error));
    *m = made;
    return FT_OK;
}

uint32_t metadata_find_device(const metadata *m, const char *name) {
    uint32_t i = 0;
    while (i < m->device_count && strcmp(m->devices[i], name) != 0) i++;
    return i < m->device_count ? i : FT_NONE;
}

uint32_t metadata_find_metric(const metadata *m, const char *name) {
    uint32_t i = 0;
    while (i < m->metric_count && strcmp(m->metrics[i].name, name) != 0) i++;
    return i < m->metric_count ? i : FT_NONE;
}
