#include "learn/evaluate/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/records.h"
#include "foretell/device.h"
#include "learn/score/filter.h"
#include "predictor/core/predictor.h"

/* Why records fall away, to tell when none is left. */
typedef struct losses {
    uint32_t in_part, of_choice, of_device, of_mode;
} losses;

/* --- What was asked for -------------------------------------------------------------------------------------- */

static const char *canonical(const char *device) {
    const char *name = ft_device_canonical(device);
    return name != NULL ? name : device;
}

static bool is_among(const char *const *list, uint32_t count, const char *text) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0) return true;
    return false;
}

static bool is_device_chosen(const ft_evaluate_options *options, const char *device) {
    if (options->device_count == 0) return true;
    for (uint32_t i = 0; i < options->device_count; i++)
        if (strcmp(canonical(options->devices[i]), canonical(device)) == 0) return true;
    return false;
}

/* Whether a setting has a pair, both as "key=value;key=value". */
static bool has_pair(const char *setting, const char *pair, size_t length) {
    while (*setting != '\0') {
        size_t own = strcspn(setting, ";");
        if (own == length && memcmp(setting, pair, length) == 0) return true;
        setting += own + (setting[own] == ';');
    }
    return false;
}

static bool is_setting_chosen(const ft_evaluate_options *options, const ft_record *record) {
    for (const char *at = options->setting != NULL ? options->setting : ""; *at != '\0';) {
        size_t length = strcspn(at, ";");
        if (length > 0 && !has_pair(record->setting, at, length)) return false;
        at += length + (at[length] == ';');
    }
    return !options->has_mode || record->mode == options->mode;
}

static bool is_chosen(const ft_evaluate_options *options, const ft_record *record) {
    return is_device_chosen(options, record->device) && is_setting_chosen(options, record) &&
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
    ft_fail(error, FT_ERR_USAGE, "the predictor does not know the device '%s'; it knows ", device);
    add_devices(error, predictor);
    return FT_ERR_USAGE;
}

static ft_status fail_metric(const ft_dataset *data, const char *metric, ft_error *error) {
    ft_fail(error, FT_ERR_UNSUPPORTED, "predictor and data set do not fit: the data set has no metric '%s'; it has",
            metric);
    for (uint32_t i = 0; i < ft_dataset_metric_count(data); i++) {
        add_word(error, i > 0 ? ", " : " ");
        add_word(error, ft_dataset_metric_name(data, i));
    }
    return FT_ERR_UNSUPPORTED;
}

static ft_status fail_empty(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                            const char *metric, const losses *l, ft_error *error) {
    if (ft_dataset_record_count(data) == 0) return ft_fail(error, FT_ERR_USAGE, "the data set has no records");
    if (l->in_part == 0)
        return ft_fail(error, FT_ERR_USAGE, "the %s part of the split '%s' is empty", ft_split_part_name(options->part),
                       options->split->spec);
    if (l->of_choice == 0)
        return ft_fail(error, FT_ERR_USAGE,
                       "no record is of the devices, families, settings, mode and times that were asked for");
    if (l->of_device == 0) {
        ft_fail(error, FT_ERR_UNSUPPORTED,
                "predictor and data set do not fit: none of %u records is of a device that the predictor knows: ",
                l->of_choice);
        add_devices(error, predictor);
        return FT_ERR_UNSUPPORTED;
    }
    if (l->of_mode == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "predictor and data set do not fit: one is of training and the other of inference");
    return ft_fail(error, FT_ERR_UNSUPPORTED, "none of %u records has the metric '%s'", l->of_mode, metric);
}

/* --- Choosing ------------------------------------------------------------------------------------------------ */

/* Names that nothing has are most likely misspelled. */
static ft_status check_names(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                             ft_error *error) {
    for (uint32_t i = 0; i < options->device_count; i++)
        if (!predictor_knows_device(predictor, options->devices[i]))
            return fail_device(predictor, options->devices[i], error);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < options->family_count; i++) {
        uint32_t record = 0, count = ft_dataset_record_count(data);
        while (record < count && strcmp(records[record].family, options->families[i]) != 0) record++;
        if (record == count) return dataset_unknown_family(data, options->families[i], error);
    }
    return FT_OK;
}

/* Whether a record can be predicted; counts what it falls away for. */
static bool look_at(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                    uint32_t index, double label, losses *l) {
    const ft_record *record = &ft_dataset_records(data)[index];
    if (!is_in_part(options, index)) return false;
    l->in_part++;
    if (!is_chosen(options, record) || filter_leaves_out(&options->filter, data, record)) return false;
    l->of_choice++;
    if (!predictor_knows_device(predictor, record->device)) return false;
    l->of_device++;
    if (!predictor_knows_mode(predictor, record->mode)) return false;
    l->of_mode++;
    return isfinite(label) && label > 0;
}

/* Devices beyond those that the predictor was trained on come after them. */
static ft_status find_device(selection *s, const char *name, uint32_t *device, ft_error *error) {
    uint32_t known = ft_predictor_device_count(s->predictor), i = 0;
    *device = predictor_device_index(s->predictor, name);
    if (*device != FT_NONE) return FT_OK;
    while (i < s->other_count && strcmp(ft_device_name(s->others[i]), canonical(name)) != 0) i++;
    if (i == SELECTION_MOST_OTHERS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d devices that the predictor was not trained on", i);
    if (i == s->other_count) {
        FT_TRY(ft_device_open(name, &s->others[i], error));
        s->other_count++;
    }
    *device = known + i;
    return FT_OK;
}

static ft_status choose(selection *s, const ft_dataset *data, const ft_evaluate_options *options, uint32_t column,
                        losses *l, ft_error *error) {
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        double label = records[i].metrics[column];
        if (!look_at(s->predictor, data, options, i, label, l)) continue;
        fit_row *row = &s->rows[s->count++];
        *row = (fit_row){.record = i, .graph = records[i].graph, .label = label};
        FT_TRY(find_device(s, records[i].device, &row->device, error));
    }
    s->left_out = l->of_choice - s->count;
    return FT_OK;
}

static ft_status find_predictor(const ft_predictor *first, const char *metric, const ft_predictor **found,
                                ft_error *error) {
    *found = metric != NULL ? ft_predictor_find(first, metric) : first;
    if (*found != NULL) return FT_OK;
    ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not tell '%s', but", metric);
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
    made.rows = calloc((size_t)ft_dataset_record_count(data) + 1, sizeof *made.rows);
    if (made.rows == NULL) return FT_NOMEM(error);
    losses l = {0};
    ft_status status = choose(&made, data, options, column, &l, error);
    if (status == FT_OK && made.count == 0) status = fail_empty(made.predictor, data, options, metric, &l, error);
    if (status == FT_OK)
        *s = made;
    else
        selection_free(&made);
    return status;
}

target_device selection_place(const selection *s, const fit_row *row) {
    uint32_t known = ft_predictor_device_count(s->predictor);
    if (row->device < known) return predictor_place(s->predictor, row->device);
    return (target_device){.index = FT_NONE, .sheet = s->others[row->device - known]};
}

void selection_free(selection *s) {
    free(s->rows);
    for (uint32_t i = 0; i < s->other_count; i++) ft_device_free(s->others[i]);
    *s = (selection){0};
}
