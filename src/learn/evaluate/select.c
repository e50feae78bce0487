/* select.c - selects the records of an evaluation. */
#include "learn/evaluate/select.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "data/dataset.h"
#include "data/records.h"
#include "foretell/device.h"
#include "learn/score/filter.h"
#include "predictor/core/predictor.h"

/* The number of records that pass each filter, for the message when none is left. */
typedef struct filter_counts {
    uint32_t in_part, requested, adapted, of_device, of_mode;
} filter_counts;

/* The inputs of a selection. */
typedef struct chooser {
    const ft_predictor *predictor;
    const ft_dataset *data;
    const ft_evaluate_options *options;
    bool *is_adapted; /* per record: of a model that the predictor was adapted with; NULL: none is */
    filter_counts counts;
} chooser;

/* --- Requested records --------------------------------------------------------------------------------------- */

static const char *canonical(const char *device) {
    const char *name = ft_device_canonical(device);
    return name != NULL ? name : device;
}

static bool is_among(const char *const *list, uint32_t count, const char *text) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0) return true;
    return false;
}

static bool is_device_requested(const ft_evaluate_options *options, const char *device) {
    if (options->device_count == 0) return true;
    for (uint32_t i = 0; i < options->device_count; i++)
        if (strcmp(canonical(options->devices[i]), canonical(device)) == 0) return true;
    return false;
}

/* Whether a setting "key=value;key=value" contains a pair "key=value". */
static bool has_pair(const char *setting, const char *pair, size_t length) {
    while (*setting != '\0') {
        size_t own = strcspn(setting, ";");
        if (own == length && memcmp(setting, pair, length) == 0) return true;
        setting += own + (setting[own] == ';');
    }
    return false;
}

static bool is_setting_requested(const ft_evaluate_options *options, const ft_record *record) {
    for (const char *at = options->setting != NULL ? options->setting : ""; *at != '\0';) {
        size_t length = strcspn(at, ";");
        if (length > 0 && !has_pair(record->setting, at, length)) return false;
        at += length + (at[length] == ';');
    }
    return !options->has_mode || record->mode == options->mode;
}

static bool is_requested(const ft_evaluate_options *options, const ft_record *record) {
    return is_device_requested(options, record->device) && is_setting_requested(options, record) &&
           (options->family_count == 0 || is_among(options->families, options->family_count, record->family));
}

static bool is_in_part(const ft_evaluate_options *options, uint32_t record) {
    return options->split == NULL || options->split->parts[record] == options->part;
}

/* --- Messages ------------------------------------------------------------------------------------------------ */

static void add_word(ft_error *error, const char *word) {
    size_t length = error != NULL ? strlen(error->message) : 0;
    if (error != NULL) snprintf(error->message + length, sizeof error->message - length, "%s", word);
}

static void add_devices(ft_error *error, const ft_predictor *predictor) {
    for (uint32_t i = 0; i < ft_predictor_device_count(predictor); i++) {
        if (i > 0) add_word(error, ", ");
        add_word(error, ft_predictor_device(predictor, i));
    }
}

static ft_status fail_device(const ft_predictor *predictor, const char *device, ft_error *error) {
    ft_fail(error, FT_ERR_USAGE, "the predictor does not support the device '%s'; it supports ", device);
    add_devices(error, predictor);
    return FT_ERR_USAGE;
}

static ft_status fail_metric(const ft_dataset *data, const char *metric, ft_error *error) {
    ft_fail(error, FT_ERR_UNSUPPORTED, "predictor and data set do not match: the data set has no metric '%s'; it has",
            metric);
    for (uint32_t i = 0; i < ft_dataset_metric_count(data); i++) {
        add_word(error, i > 0 ? ", " : " ");
        add_word(error, ft_dataset_metric_name(data, i));
    }
    return FT_ERR_UNSUPPORTED;
}

static ft_status fail_empty(const chooser *c, const char *metric, ft_error *error) {
    const filter_counts *counts = &c->counts;
    if (ft_dataset_record_count(c->data) == 0) return ft_fail(error, FT_ERR_USAGE, "the data set has no records");
    if (counts->in_part == 0)
        return ft_fail(error, FT_ERR_USAGE, "the %s part of the split '%s' is empty",
                       ft_split_part_name(c->options->part), c->options->split->spec);
    if (counts->requested == 0)
        return ft_fail(error, FT_ERR_USAGE,
                       "no record matches the requested devices, families, settings, mode and times");
    if (counts->adapted == counts->requested)
        return ft_fail(error, FT_ERR_USAGE,
                       "all %u records are of models that the predictor was adapted with: measure others, or evaluate "
                       "these with --split all",
                       counts->adapted);
    if (counts->of_device == 0) {
        ft_fail(error, FT_ERR_UNSUPPORTED,
                "predictor and data set do not match: none of %u records is of a device that the predictor supports: ",
                counts->requested - counts->adapted);
        add_devices(error, c->predictor);
        return FT_ERR_UNSUPPORTED;
    }
    if (counts->of_mode == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "predictor and data set do not match: one is for training and the other for inference");
    return ft_fail(error, FT_ERR_UNSUPPORTED, "none of %u records has the metric '%s'", counts->of_mode, metric);
}

/* --- Models that the predictor was adapted with --------------------------------------------------------------- */

static bool mark_units(const json_t *list, bool are_tasks, const ft_dataset *data, arena *memory, bool *is_adapted) {
    const ft_record *records = ft_dataset_records(data);
    const json_t *item;
    map units;
    size_t i;
    uint32_t unused;
    map_init(&units, memory);
    json_array_foreach(list, i,
                       item) if (json_is_string(item) && !map_set(&units, json_string_value(item), 0)) return false;
    for (uint32_t r = 0; r < ft_dataset_record_count(data); r++)
        if (map_get(&units, are_tasks ? records[r].name : ft_dataset_graph_id(data, records[r].graph), &unused))
            is_adapted[r] = true;
    return true;
}

/* Models are known by the id of their graph, which is its content, so that they are found in any data set; tasks by
 * their name. *is_adapted: per record, owned by the caller; NULL when the predictor was not adapted. */
static ft_status find_adapted(const ft_predictor *predictor, const ft_dataset *data, bool **is_adapted,
                              ft_error *error) {
    const char *text = ft_predictor_header(predictor);
    json_t *header;
    arena memory;
    *is_adapted = NULL;
    FT_TRY(json_parse(text, strlen(text), &header, error));
    const json_t *adapted = json_object_get(header, "adapted");
    if (!json_is_object(adapted)) {
        json_decref(header);
        return FT_OK;
    }
    arena_init(&memory, UINT64_MAX);
    bool *marks = calloc((size_t)ft_dataset_record_count(data) + 1, sizeof *marks);
    bool has_memory = marks != NULL && mark_units(json_object_get(adapted, "graphs"), false, data, &memory, marks) &&
                      mark_units(json_object_get(adapted, "tasks"), true, data, &memory, marks);
    arena_free(&memory);
    json_decref(header);
    if (has_memory) {
        *is_adapted = marks;
        return FT_OK;
    }
    free(marks);
    return FT_NOMEM(error);
}

/* --- Selecting ----------------------------------------------------------------------------------------------- */

/* Names that do not occur are most likely misspelled. */
static ft_status check_names(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                             ft_error *error) {
    for (uint32_t i = 0; i < options->device_count; i++)
        if (!predictor_supports_device(predictor, options->devices[i]))
            return fail_device(predictor, options->devices[i], error);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < options->family_count; i++) {
        uint32_t record = 0, count = ft_dataset_record_count(data);
        while (record < count && strcmp(records[record].family, options->families[i]) != 0) record++;
        if (record == count) return dataset_unknown_family(data, options->families[i], error);
    }
    return FT_OK;
}

/* Whether a record can be evaluated; updates the counts. */
static bool is_usable(chooser *c, uint32_t index, double label) {
    const ft_record *record = &ft_dataset_records(c->data)[index];
    if (!is_in_part(c->options, index)) return false;
    c->counts.in_part++;
    if (!is_requested(c->options, record) || filter_rejects(&c->options->filter, c->data, record)) return false;
    c->counts.requested++;
    if (c->is_adapted != NULL && c->is_adapted[index]) {
        c->counts.adapted++;
        return false;
    }
    if (!predictor_supports_device(c->predictor, record->device)) return false;
    c->counts.of_device++;
    if (!predictor_supports_mode(c->predictor, record->mode)) return false;
    c->counts.of_mode++;
    return isfinite(label) && label > 0;
}

/* Devices that the predictor was not trained on are numbered after those that it was trained on. */
static ft_status find_device(selection *s, const char *name, uint32_t *device, ft_error *error) {
    uint32_t known = ft_predictor_device_count(s->predictor), i = 0;
    *device = predictor_device_index(s->predictor, name);
    if (*device != FT_NONE) return FT_OK;
    while (i < s->other_count && strcmp(ft_device_name(s->others[i]), canonical(name)) != 0) i++;
    if (i == SELECTION_MAX_OTHERS)
        return ft_fail(
            error, FT_ERR_LIMIT,
            "more than %d devices that the predictor was not trained on: evaluate fewer at a time (--device)", i);
    if (i == s->other_count) {
        FT_TRY(ft_device_open(name, &s->others[i], error));
        s->other_count++;
    }
    *device = known + i;
    return FT_OK;
}

static ft_status select_rows(selection *s, chooser *c, uint32_t column, ft_error *error) {
    const ft_record *records = ft_dataset_records(c->data);
    for (uint32_t i = 0; i < ft_dataset_record_count(c->data); i++) {
        double label = records[i].metrics[column];
        if (!is_usable(c, i, label)) continue;
        fit_row *row = &s->rows[s->count++];
        *row = (fit_row){.record = i, .graph = records[i].graph, .label = label};
        FT_TRY(find_device(s, records[i].device, &row->device, error));
    }
    assert(s->count + c->counts.adapted <= c->counts.requested);
    s->adapted = c->counts.adapted;
    s->left_out = c->counts.requested - s->count - s->adapted;
    return FT_OK;
}

static ft_status find_predictor(const ft_predictor *first, const char *metric, const ft_predictor **found,
                                ft_error *error) {
    *found = metric != NULL ? ft_predictor_find(first, metric) : first;
    if (*found != NULL) return FT_OK;
    ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not predict '%s', but", metric);
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) {
        add_word(error, p != first ? ", '" : " '");
        add_word(error, ft_predictor_metric(p));
        add_word(error, "'");
    }
    return FT_ERR_UNSUPPORTED;
}

ft_status selection_make(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                         selection *s, ft_error *error) {
    selection made = {0};
    FT_TRY(find_predictor(predictor, options->metric, &made.predictor, error));
    FT_TRY(check_names(made.predictor, data, options, error));
    FT_TRY(time_filter_check(&options->filter, error));
    const char *metric = ft_predictor_metric(made.predictor);
    uint32_t column = ft_dataset_metric(data, metric);
    if (column == FT_NONE) return fail_metric(data, metric, error);
    chooser c = {.predictor = made.predictor, .data = data, .options = options};
    made.rows = calloc((size_t)ft_dataset_record_count(data) + 1, sizeof *made.rows);
    if (made.rows == NULL) return FT_NOMEM(error);
    ft_status status = options->with_adapted ? FT_OK : find_adapted(made.predictor, data, &c.is_adapted, error);
    if (status == FT_OK) status = select_rows(&made, &c, column, error);
    if (status == FT_OK && made.count == 0) status = fail_empty(&c, metric, error);
    free(c.is_adapted);
    if (status == FT_OK)
        *s = made;
    else
        selection_free(&made);
    return status;
}

target_device selection_target(const selection *s, const fit_row *row) {
    uint32_t known = ft_predictor_device_count(s->predictor);
    assert(row->device < known + s->other_count);
    if (row->device < known) return predictor_target(s->predictor, row->device);
    return (target_device){.index = FT_NONE, .sheet = s->others[row->device - known]};
}

void selection_free(selection *s) {
    free(s->rows);
    for (uint32_t i = 0; i < s->other_count; i++) ft_device_free(s->others[i]);
    *s = (selection){0};
}

/* --- Split of the training ----------------------------------------------------------------------------------- */

/* The description of the training in the header; NULL when it has none, or it was on another data set. */
static const json_t *training_on(const json_t *header, const ft_dataset *data) {
    const json_t *training = json_object_get(header, "trained_on");
    const char *hash = json_string_value(json_object_get(training, "dataset"));
    if (hash == NULL || strcmp(hash, ft_dataset_hash(data)) != 0) return NULL;
    return json_is_string(json_object_get(training, "split")) ? training : NULL;
}

static ft_status make_split(const json_t *training, const ft_dataset *data, ft_split *split, ft_error *error) {
    const char *hash = json_string_value(json_object_get(training, "split_hash"));
    ft_split made = {0};
    FT_TRY(ft_split_make(data, json_string_value(json_object_get(training, "split")),
                         (uint64_t)json_integer_value(json_object_get(training, "seed")), &made, error));
    if (hash != NULL && strcmp(hash, made.hash) != 0) {
        ft_split_free(&made);
        return ft_fail(
            error, FT_ERR_UNSUPPORTED,
            "the split that the predictor was trained with has other parts in this version of foretell: name "
            "the split to use (--split)");
    }
    *split = made;
    return FT_OK;
}

/* Moves the records that the predictor was adapted with from any part to training, so that they are not tested. */
static ft_status mark_adapted(const ft_predictor *predictor, const ft_dataset *data, ft_split *split, ft_error *error) {
    bool *is_adapted;
    FT_TRY(find_adapted(predictor, data, &is_adapted, error));
    for (uint32_t r = 0; is_adapted != NULL && r < ft_dataset_record_count(data); r++) {
        if (!is_adapted[r]) continue;
        split->counts[split->parts[r]]--;
        split->counts[FT_PART_TRAIN]++;
        split->parts[r] = FT_PART_TRAIN;
    }
    free(is_adapted);
    return FT_OK;
}

ft_status training_split(const ft_predictor *predictor, const ft_dataset *data, bool with_adapted, ft_split *split,
                         bool *is_found, ft_error *error) {
    const char *text = ft_predictor_header(predictor);
    json_t *header;
    FT_TRY(json_parse(text, strlen(text), &header, error));
    const json_t *training = training_on(header, data);
    ft_status status = training != NULL ? make_split(training, data, split, error) : FT_OK;
    if (status == FT_OK) *is_found = training != NULL;
    json_decref(header);
    if (status != FT_OK || !*is_found || !with_adapted) return status;
    status = mark_adapted(predictor, data, split, error);
    if (status != FT_OK) ft_split_free(split);
    return status;
}

ft_status ft_predictor_split(const ft_predictor *predictor, const ft_dataset *data, ft_split *split, bool *is_found,
                             ft_error *error) {
    FT_REQUIRE(error, predictor, data, split, is_found);
    return training_split(predictor, data, true, split, is_found, error);
}
