/* adapt.c - adapts a predictor to a few measurements: selects, fits, calibrates, scores and writes the new file.
 *
 * Scores are those of the new file, as opened from its own bytes, on models that nothing was fitted to. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/outfile.h"
#include "learn/adapt/adapt_fit.h"
#include "learn/score/metrics.h"
#include "predictor/core/family_common.h"

/* The memory of an adaptation. */
typedef struct owner {
    arena memory;
    adapt_notes notes;
} owner;

typedef struct job {
    const ft_predictor *from;
    const ft_dataset *data;
    const ft_adapt_options *options;
    adapt_method method;
    tune_options tuning;
    owner *owner;
    adapt_rows rows;
    adapt_result *results; /* per device of the rows */
    void *tuned;           /* whose networks were trained further; NULL: the old model stays */
    ft_adaptation *out;
    /* All metrics of the old model, in its order; one of them is adapted, the others do not change. */
    const ft_predictor **metrics;
    uint32_t metric_count;
    /* Of the new predictor: known devices first, then new ones. */
    const char **devices;
    const adjustment **adjustments; /* metric_count x device_count */
    ft_dtype *usual_dtypes;         /* per device */
    uint32_t dtypes;
    uint32_t device_count, known_count;
    json_t *header; /* of the old one */
    json_t *calibration, *accuracy, *adapted;
    buf bytes;
    ft_error *error;
} job;

static bool show_progress(void *user, double done_ratio, const char *what) {
    const job *j = user;
    return j->options->progress == NULL ||
           j->options->progress(j->options->user, (uint64_t)(done_ratio * 1000), 1000, what);
}

/* --- New file ------------------------------------------------------------------------------------------------ */

/* The header's description of a metric. */
static const json_t *header_of(const job *j, uint32_t metric) {
    return metric == 0 ? j->header : json_array_get(json_object_get(j->header, "also"), metric - 1);
}

/* Finds the predictors of the chain that share the model: one per metric. */
static ft_status find_metrics(job *j, const ft_predictor *chain) {
    size_t count = 1 + json_array_size(json_object_get(j->header, "also"));
    j->metrics = ARENA_ARRAY(&j->owner->memory, const ft_predictor *, count);
    if (j->metrics == NULL) return FT_NOMEM(j->error);
    for (; chain != NULL; chain = ft_predictor_next(chain))
        if (predictor_model(chain) == predictor_model(j->from) && predictor_output(chain) == j->metric_count)
            j->metrics[j->metric_count++] = chain;
    if (j->metric_count != count) return ft_fail(j->error, FT_ERR_USAGE, "pass the first predictor of the file");
    if (count > 1 && j->method >= ADAPT_TUNE_LAST)
        return ft_fail(
            j->error, FT_ERR_USAGE,
            "the model predicts %zu metrics, and its networks cannot be trained further for one of them: use "
            "refit",
            count);
    return FT_OK;
}

static uint32_t find_device(const job *j, const char *name) {
    uint32_t i = 0;
    while (i < j->device_count && strcmp(j->devices[i], name) != 0) i++;
    return i;
}

static void add_device(job *j, const char *name) {
    if (find_device(j, name) == j->device_count) j->devices[j->device_count++] = name;
}

/* The name of a device of the rows, as the predictor spells it. */
static const char *name_of(const job *j, uint32_t device) {
    uint32_t known = predictor_device_index(j->from, j->rows.devices[device]);
    return known != FT_NONE ? ft_predictor_device(j->from, known) : j->rows.devices[device];
}

/* Devices of the model come first; a model that was trained further also has the new devices. */
static ft_status join_devices(job *j) {
    uint32_t known = predictor_known_count(j->from), max = j->rows.device_count;
    for (uint32_t k = 0; k < j->metric_count; k++) max += ft_predictor_device_count(j->metrics[k]);
    j->devices = ARENA_ARRAY(&j->owner->memory, const char *, max);
    if (j->devices == NULL) return FT_NOMEM(j->error);
    for (uint32_t i = 0; i < known; i++) add_device(j, ft_predictor_device(j->from, i));
    for (uint32_t d = 0; j->tuned != NULL && d < j->rows.device_count; d++) add_device(j, name_of(j, d));
    assert(j->device_count <= max);
    j->known_count = j->device_count;
    for (uint32_t k = 0; k < j->metric_count; k++)
        for (uint32_t i = known; i < ft_predictor_device_count(j->metrics[k]); i++)
            add_device(j, ft_predictor_device(j->metrics[k], i));
    for (uint32_t d = 0; j->tuned == NULL && d < j->rows.device_count; d++) add_device(j, name_of(j, d));
    return FT_OK;
}

/* Earlier adjustments stay for devices and metrics that are not adapted now. */
static ft_status join_adjustments(job *j) {
    j->adjustments = ARENA_ARRAY(&j->owner->memory, const adjustment *, (size_t)j->metric_count * j->device_count);
    if (j->adjustments == NULL) return FT_NOMEM(j->error);
    for (uint32_t k = 0; k < j->metric_count; k++) {
        const adjustment **of_metric = j->adjustments + (size_t)k * j->device_count;
        for (uint32_t i = 0; i < ft_predictor_device_count(j->metrics[k]); i++)
            of_metric[find_device(j, ft_predictor_device(j->metrics[k], i))] = predictor_adjustment(j->metrics[k], i);
    }
    assert(predictor_output(j->from) < j->metric_count);
    const adjustment **own = j->adjustments + (size_t)predictor_output(j->from) * j->device_count;
    for (uint32_t d = 0; d < j->rows.device_count; d++)
        own[find_device(j, name_of(j, d))] = j->tuned == NULL ? j->results[d].adjusted : NULL;
    return FT_OK;
}

/* The types of the measurements, on the devices that are adapted; on others those that the predictor was trained on. */
static ft_status join_dtypes(job *j) {
    const ft_record *records = ft_dataset_records(j->data);
    ft_dtype *measured;
    const fit_rows rows = {.items = j->rows.learned, .count = j->rows.learned_count};
    FT_TRY(usual_dtypes_find(records, rows, j->rows.device_count, &measured, &j->owner->memory, j->error));
    j->usual_dtypes = ARENA_ARRAY(&j->owner->memory, ft_dtype, (size_t)j->device_count + 1);
    if (j->usual_dtypes == NULL) return FT_NOMEM(j->error);
    for (uint32_t k = j->metric_count; k-- > 0;)
        for (uint32_t i = 0; i < ft_predictor_device_count(j->metrics[k]); i++)
            j->usual_dtypes[find_device(j, ft_predictor_device(j->metrics[k], i))] =
                predictor_usual_dtype(j->metrics[k], i);
    for (uint32_t d = 0; d < j->rows.device_count; d++) j->usual_dtypes[find_device(j, name_of(j, d))] = measured[d];
    j->dtypes = j->from->about.dtypes;
    for (uint32_t i = 0; j->dtypes != 0 && i < rows.count; i++) j->dtypes |= 1U << records[rows.items[i].record].dtype;
    return FT_OK;
}

static ft_status join_calibration(job *j) {
    const json_t *old = json_object_get(header_of(j, predictor_output(j->from)), "calibration");
    j->calibration = json_is_object(old) ? json_clone(old) : json_object();
    if (j->calibration == NULL) return FT_NOMEM(j->error);
    for (uint32_t d = 0; d < j->rows.device_count; d++) {
        const ft_adapted_device *a = &j->results[d].about;
        if (j->results[d].adjusted == NULL && j->tuned == NULL) continue; /* a kept device keeps its intervals too */
        json_t *one = json_pack("{s:f, s:I}", "q90", fmin(a->q90, 1e3), "n", (json_int_t)a->records);
        if (!json_put(j->calibration, name_of(j, d), one)) return FT_NOMEM(j->error);
    }
    return FT_OK;
}

/* The units that were learned from, by graph id or task name, which evaluations leave out; those of an earlier
 * adaptation of the same predictor come first. NULL when out of memory. */
static json_t *list_units(const job *j, bool are_tasks) {
    const json_t *old = json_object_get(json_object_get(j->header, "adapted"), are_tasks ? "tasks" : "graphs"), *item;
    json_t *list = json_array();
    size_t i;
    json_array_foreach(old, i, item) list = json_list_with(list, json_incref((json_t *)(uintptr_t)item));
    for (uint32_t m = 0; are_tasks == j->rows.units.are_tasks && m < j->rows.model_count; m++)
        list = json_list_with(list, json_string(j->rows.units.names[j->rows.models[m]]));
    return list;
}

static json_t *list_methods(const job *j) {
    json_t *list = json_array();
    for (uint32_t d = 0; d < j->rows.device_count; d++) {
        const ft_adapted_device *a = &j->results[d].about;
        json_t *one = json_pack("{s:s, s:s, s:s?, s:I, s:I}", "device", a->device, "method", a->method, "base", a->base,
                                "models", (json_int_t)a->models, "measurements", (json_int_t)a->records);
        list = json_list_with(list, one);
    }
    return list;
}

/* Copies the scores of the metrics that are not adapted. */
static ft_status keep_accuracy(job *j) {
    const json_t *old = json_object_get(j->header, "accuracy"), *item;
    size_t i;
    j->accuracy = json_array();
    if (j->accuracy == NULL) return FT_NOMEM(j->error);
    json_array_foreach(old, i, item) {
        const char *metric = json_string_value(json_object_get(item, "metric"));
        if (metric == NULL || strcmp(metric, ft_predictor_metric(j->from)) == 0 || j->metric_count == 1) continue;
        if (!json_add(j->accuracy, json_incref((json_t *)item))) return FT_NOMEM(j->error);
    }
    return FT_OK;
}

static ft_status describe(job *j) {
    const char *text = ft_predictor_header(j->from);
    char from[HASH_TEXT];
    hash_text(hash_bytes(text, strlen(text)), from);
    bool are_tasks = j->rows.units.are_tasks;
    json_t *methods = list_methods(j), *learned = list_units(j, are_tasks), *others = list_units(j, !are_tasks);
    j->adapted = json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "from", from, "dataset", ft_dataset_hash(j->data), "seed",
                           (json_int_t)j->options->seed, "measurements", (json_int_t)j->rows.learned_count, "methods",
                           methods, are_tasks ? "tasks" : "graphs", learned);
    if (j->adapted == NULL || others == NULL) {
        json_decref(others);
        return FT_NOMEM(j->error);
    }
    if (json_array_size(others) == 0)
        json_decref(others);
    else if (!json_put(j->adapted, are_tasks ? "graphs" : "tasks", others))
        return FT_NOMEM(j->error);
    if (j->metric_count > 1 && !json_put(j->adapted, "metric", json_string(ft_predictor_metric(j->from))))
        return FT_NOMEM(j->error);
    return keep_accuracy(j);
}

static predictor_metric metric_of(const job *j, uint32_t k) {
    const ft_predictor *p = j->metrics[k];
    const json_t *header = header_of(j, k);
    predictor_metric made = {.name = ft_predictor_metric(p)};
    made.calibration = p == j->from ? j->calibration : json_object_get(header, "calibration");
    for (uint32_t i = FT_INFER; json_array_size(json_object_get(header, "modes")) > 0 && i <= FT_TRAIN; i++)
        if (predictor_supports_mode(p, (ft_mode)i)) made.modes |= 1U << i;
    return made;
}

static ft_status encode(job *j) {
    const json_t *trained = json_object_get(j->header, "trained_on");
    predictor_metric *others = ARENA_ARRAY(&j->owner->memory, predictor_metric, j->metric_count);
    if (others == NULL) return FT_NOMEM(j->error);
    for (uint32_t k = 1; k < j->metric_count; k++) others[k - 1] = metric_of(j, k);
    const predictor_description about = {
        .metric = metric_of(j, 0),
        .others = others,
        .other_count = j->metric_count - 1,
        .devices = j->devices,
        .device_count = j->device_count,
        .dtypes = j->dtypes,
        .usual_dtypes = j->usual_dtypes,
        .dataset_hash = json_string_value(json_object_get(trained, "dataset")),
        .split_spec = json_string_value(json_object_get(trained, "split")),
        .split_hash = json_string_value(json_object_get(trained, "split_hash")),
        .seed = (uint64_t)json_integer_value(json_object_get(trained, "seed")),
        .records = (uint64_t)json_integer_value(json_object_get(trained, "records")),
        .accuracy = j->accuracy,
        .adapted = j->adapted,
        .known_count = j->known_count,
        .adjustments = j->adjustments,
    };
    buf_free(&j->bytes);
    FT_TRY(predictor_encode(&about, predictor_family(j->from), j->tuned != NULL ? j->tuned : predictor_model(j->from),
                            &j->bytes, j->error));
    return j->bytes.failed ? FT_NOMEM(j->error) : FT_OK;
}

/* --- Scores -------------------------------------------------------------------------------------------------- */

typedef struct range {
    job *job;
    double from, to;
} range;

static bool show_range(void *user, uint64_t done, uint64_t total, const char *what) {
    const range *r = user;
    double ratio = total > 0 ? (double)done / (double)total : 0;
    return show_progress(r->job, r->from + (r->to - r->from) * ratio, what);
}

/* *found stays empty when the predictor supports none of the held-out records, for example not their setting. */
static ft_status evaluate(job *j, const ft_predictor *predictor, double from, double to, ft_evaluation *found) {
    range r = {j, from, to};
    ft_error reason = {.message = ""};
    const ft_evaluate_options options = {.metric = ft_predictor_metric(j->from),
                                         .split = &j->rows.held,
                                         .part = FT_PART_TEST,
                                         .threads = j->options->threads,
                                         .progress = show_range,
                                         .user = &r,
                                         .with_adapted = true}; /* the same records before and after */
    ft_status status = ft_evaluate(predictor, j->data, &options, found, &reason);
    if (status == FT_OK) return FT_OK;
    if (status != FT_ERR_UNSUPPORTED) return ft_fail(j->error, status, "%s", reason.message);
    adapt_note(&j->owner->notes, "%s adapting, no held-out record can be predicted: %s",
               predictor == j->from ? "before" : "after", reason.message);
    return FT_OK;
}

/* Whether the old predictor supports a device of the held-out records. */
static bool has_before(const job *j) {
    for (uint32_t d = 0; d < j->rows.device_count; d++)
        if (predictor_supports_device(j->from, j->rows.devices[d])) return true;
    return false;
}

static ft_status add_accuracy(job *j, const ft_evaluation *found) {
    const char *unit = j->rows.units.are_tasks ? "tasks" : "models";
    for (uint32_t i = 0; i < found->score_count; i++) {
        const ft_score *s = &found->scores[i];
        if (strcmp(s->family, "all") != 0) continue;
        json_t *one = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:f, s:f}", "part", "held out", "held_out", unit,
                                "split", found->split, "device", s->device, "metric", s->metric, "n", (json_int_t)s->n,
                                "mape", s->mape, "acc10", s->acc10, "coverage90", s->coverage90);
        if (!json_add(j->accuracy, one)) return FT_NOMEM(j->error);
    }
    return FT_OK;
}

static ft_status score(job *j) {
    ft_predictor *made = NULL;
    if (j->rows.held_count == 0) {
        adapt_note(&j->owner->notes,
                   "nothing is left to test on: all measured models were learned from. CV is the error to expect; with "
                   "a smaller budget the others are held out");
        return FT_OK;
    }
    if (has_before(j)) FT_TRY(evaluate(j, j->from, 0.7, 0.85, &j->out->before));
    FT_TRY(ft_predictor_open_memory(j->bytes.data, j->bytes.length, "the adapted predictor", &made, j->error));
    ft_status status = evaluate(j, made, 0.85, 1, &j->out->after);
    ft_predictor_free(made);
    FT_TRY(status);
    return add_accuracy(j, &j->out->after);
}

/* --- All steps ----------------------------------------------------------------------------------------------- */

static ft_status fill_result(job *j) {
    ft_adapted_device *devices = ARENA_ARRAY(&j->owner->memory, ft_adapted_device, j->rows.device_count);
    if (devices == NULL) return FT_NOMEM(j->error);
    for (uint32_t d = 0; d < j->rows.device_count; d++) devices[d] = j->results[d].about;
    j->out->devices = devices;
    j->out->device_count = j->rows.device_count;
    j->out->model_count = j->rows.model_count;
    j->out->notes = j->owner->notes.items;
    j->out->note_count = j->owner->notes.count;
    return FT_OK;
}

static ft_status fit(job *j) {
    pool *threads = NULL;
    j->results = ARENA_ARRAY(&j->owner->memory, adapt_result, j->rows.device_count);
    if (j->results == NULL) return FT_NOMEM(j->error);
    FT_TRY(pool_new(j->options->threads, &threads, j->error));
    const fit_context context = {.threads = threads, .user = j, .progress = show_progress};
    const adapt_fit_options options = {.from = j->from,
                                       .rows = &j->rows,
                                       .method = j->method,
                                       .tuning = &j->tuning,
                                       .seed = j->options->seed,
                                       .context = &context,
                                       .notes = &j->owner->notes};
    ft_status status = j->method >= ADAPT_TUNE_LAST ? adapt_tune(&options, j->results, &j->tuned, j->error)
                                                    : adapt_fit(&options, j->results, j->error);
    pool_free(threads);
    return status;
}

static ft_status run(job *j, const ft_predictor *chain, const char *path) {
    const char *text = ft_predictor_header(j->from);
    if (j->options->models == NULL && j->options->budget == 0)
        return ft_fail(j->error, FT_ERR_USAGE,
                       "the models to learn from are missing: set a budget (--budget), or a list of models (--models)");
    FT_TRY(adapt_method_parse(j->options->method, &j->method, j->error));
    j->tuning.steps = j->options->steps;
    FT_TRY(adapt_distance_parse(j->options->discrepancy, &j->tuning.distance, j->error));
    FT_TRY(json_parse(text, strlen(text), &j->header, j->error));
    FT_TRY(find_metrics(j, chain));
    FT_TRY(adapt_rows_make(j->from, j->data, j->options, &j->owner->memory, &j->owner->notes, &j->rows, j->error));
    FT_TRY(fit(j));
    FT_TRY(join_devices(j));
    FT_TRY(join_adjustments(j));
    FT_TRY(join_dtypes(j));
    FT_TRY(join_calibration(j));
    FT_TRY(describe(j));
    FT_TRY(encode(j));
    FT_TRY(score(j));
    FT_TRY(encode(j)); /* with its scores */
    FT_TRY(fill_result(j));
    return outfile_write(path, j->bytes.data, j->bytes.length, j->error);
}

ft_status ft_adapt(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options, const char *path,
                   ft_adaptation *adaptation, ft_error *error) {
    FT_REQUIRE(error, from, data, options, path, adaptation);
    const ft_predictor *chosen = options->metric != NULL ? ft_predictor_find(from, options->metric) : from;
    *adaptation = (ft_adaptation){0};
    if (chosen == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not predict '%s'", options->metric);
    ft_adaptation made = {0};
    owner *o = calloc(1, sizeof *o);
    if (o == NULL) return FT_NOMEM(error);
    made.owner = o;
    arena_init(&o->memory, UINT64_MAX);
    o->notes.memory = &o->memory;
    job j = {.from = chosen, .data = data, .options = options, .owner = o, .out = &made, .error = error};
    ft_status status = run(&j, from, path);
    for (uint32_t d = 0; j.results != NULL && d < j.rows.device_count; d++) adjust_free(j.results[d].adjusted);
    if (j.tuned != NULL) predictor_family(chosen)->free(j.tuned);
    buf_free(&j.bytes);
    json_decref(j.header);
    json_decref(j.calibration);
    json_decref(j.accuracy);
    json_decref(j.adapted);
    if (status == FT_OK)
        *adaptation = made;
    else
        ft_adaptation_free(&made);
    return status;
}

void ft_adaptation_free(ft_adaptation *adaptation) {
    if (adaptation == NULL) return;
    owner *o = adaptation->owner;
    ft_evaluation_free(&adaptation->before);
    ft_evaluation_free(&adaptation->after);
    if (o != NULL) arena_free(&o->memory);
    free(o);
    *adaptation = (ft_adaptation){0};
}
