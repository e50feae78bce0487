/* fitset.c - selects labelled rows by part, and divides the validation part. */
#include "learn/train/fitset.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "predictor/core/family_common.h"

/* A row takes some tens of bytes: enough for more records than a data set may have. */
static const uint64_t MEMORY_LIMIT = (uint64_t)16 << 30;

typedef struct maker {
    const ft_dataset *data;
    const ft_split *split;
    uint32_t metrics[FITSET_MAX_METRICS]; /* columns of the data set: set.metric, then set.others */
    uint32_t metric_count;
    bool with_operators;
    const ft_record *records;
    uint32_t count;
    fitset *out;
    bool has_one_valid; /* a single validation graph serves selection and calibration */
    ft_error *error;
} maker;

/* NaN when it was not measured. */
static double label_of(const maker *m, uint32_t record, uint32_t metric) {
    assert(record < m->count && metric < m->metric_count);
    return m->records[record].metrics[m->metrics[metric]];
}

static bool is_labelled(const maker *m, uint32_t record) {
    for (uint32_t k = 0; k < m->metric_count; k++)
        if (!isnan(label_of(m, record, k))) return true;
    return false;
}

static bool is_in(const maker *m, uint32_t record, ft_split_part part) {
    if (m->split->parts[record] != part || !is_labelled(m, record)) return false;
    return m->with_operators || strcmp(m->records[record].part, "support") != 0;
}

static ft_status check_label(const maker *m, uint32_t i, uint32_t metric) {
    double label = label_of(m, i, metric);
    if (m->split->parts[i] == FT_PART_UNUSED || isnan(label) || (isfinite(label) && label > 0)) return FT_OK;
    return ft_fail(m->error, FT_ERR_DAMAGED,
                   "record %u (line %u of records.csv; %s on %s): %s is %g, but must be positive: correct the "
                   "table, or clear the cell",
                   i + 1, i + 2, m->records[i].name, m->records[i].device,
                   ft_dataset_metric_name(m->data, m->metrics[metric]), label);
}

static ft_status check_labels(const maker *m) {
    for (uint32_t i = 0; i < m->count; i++)
        for (uint32_t k = 0; k < m->metric_count; k++) FT_TRY(check_label(m, i, k));
    return FT_OK;
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t fitset_device(const fit_set *set, const char *name) {
    const char *const *found =
        set->device_count == 0 ? NULL
                               : bsearch(&name, set->devices, set->device_count, sizeof *set->devices, compare_names);
    return found != NULL ? (uint32_t)(found - set->devices) : FT_NONE;
}

/* The devices of the training rows: no others can be predicted. */
static ft_status find_devices(maker *m) {
    fitset *out = m->out;
    map seen;
    map_init(&seen, &out->memory);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t known;
        if (!is_in(m, i, FT_PART_TRAIN)) continue;
        if (!map_add(&seen, m->records[i].device, 0, &known)) return FT_NOMEM(m->error);
    }
    const char **names = ARENA_ARRAY(&out->memory, const char *, seen.count);
    if (names == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < seen.capacity; i++)
        if (seen.slots[i].key != NULL) names[out->set.device_count++] = seen.slots[i].key;
    if (out->set.device_count > 1) qsort(names, out->set.device_count, sizeof *names, compare_names);
    out->set.devices = names;
    return FT_OK;
}

/* --- Dividing the validation part ---------------------------------------------------------------------------- */

typedef struct keyed_graph {
    const char *family;
    uint64_t key;
    uint32_t graph;
} keyed_graph;

static int compare_keys(const void *a, const void *b) {
    const keyed_graph *x = a, *y = b;
    int order = strcmp(x->family, y->family);
    if (order != 0) return order;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->graph > y->graph) - (x->graph < y->graph);
}

/* Marks the graphs reserved for calibration: two of three of each family, so that both parts have the same
 * distribution, in the order of a hash of their content, so that neither the order of the data nor the seed moves a
 * graph from one to the other for a given validation part. */
static ft_status divide(maker *m, bool *is_reserved, uint32_t *total) {
    uint32_t graph_count = ft_dataset_graph_count(m->data), found = 0;
    arena *memory = &m->out->memory;
    bool *is_seen = ARENA_ARRAY(memory, bool, graph_count);
    keyed_graph *graphs = ARENA_ARRAY(memory, keyed_graph, graph_count);
    if (is_seen == NULL || graphs == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t graph = m->records[i].graph;
        if (!is_in(m, i, FT_PART_VALID) || fitset_device(&m->out->set, m->records[i].device) == FT_NONE) continue;
        if (is_seen[graph]) continue;
        is_seen[graph] = true;
        const char *id = ft_dataset_graph_id(m->data, graph);
        graphs[found++] =
            (keyed_graph){.family = m->records[i].family, .key = hash_bytes(id, strlen(id)).low, .graph = graph};
    }
    if (found > 1) qsort(graphs, found, sizeof *graphs, compare_keys);
    assert(found <= graph_count);
    *total = found;
    for (uint32_t i = 0; i < found; i++) is_reserved[graphs[i].graph] = i % 3 != 1;
    return FT_OK;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* Selects the rows of a part; those of reserved graphs go to calibration instead. */
static ft_status select_rows(maker *m, ft_split_part part, const bool *is_reserved, uint8_t *calibration,
                             fit_rows *rows) {
    uint32_t room = 0, found = 0;
    for (uint32_t i = 0; i < m->count; i++) room += is_in(m, i, part);
    fit_row *items = ARENA_ARRAY(&m->out->memory, fit_row, room);
    if (items == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < m->count; i++) {
        const ft_record *record = &m->records[i];
        if (!is_in(m, i, part)) continue;
        uint32_t device = fitset_device(&m->out->set, record->device);
        if (device == FT_NONE) continue;
        bool is_kept = is_reserved == NULL || !is_reserved[record->graph];
        if (!is_kept) calibration[i] = FT_PART_TEST;
        if (is_kept || m->has_one_valid)
            items[found++] =
                (fit_row){.record = i, .graph = record->graph, .device = device, .label = label_of(m, i, 0)};
    }
    *rows = (fit_rows){.items = items, .count = found};
    return FT_OK;
}

static ft_status select_valid(maker *m) {
    fitset *out = m->out;
    uint32_t total = 0;
    bool *is_reserved = ARENA_ARRAY(&out->memory, bool, ft_dataset_graph_count(m->data));
    uint8_t *parts = ARENA_ARRAY(&out->memory, uint8_t, m->count);
    if (is_reserved == NULL || parts == NULL) return FT_NOMEM(m->error);
    FT_TRY(divide(m, is_reserved, &total));
    if (total == 0)
        return ft_fail(m->error, FT_ERR_USAGE,
                       "split '%s' has no graph with %s for validation, which intervals are calibrated on: use more "
                       "data or another split",
                       m->split->spec, out->set.metric);
    m->has_one_valid = total == 1;
    FT_TRY(select_rows(m, FT_PART_VALID, is_reserved, parts, &out->set.valid));
    for (uint32_t i = 0; i < m->count; i++) out->calibration.counts[parts[i]]++;
    out->valid_count = out->calibration.counts[FT_PART_TEST] + (m->has_one_valid ? 0 : out->set.valid.count);
    out->calibration.parts = parts;
    return FT_OK;
}

/* The modes of the training rows that have the metric. */
static uint32_t modes_of(const maker *m, uint32_t metric) {
    const fit_rows *train = &m->out->set.train;
    uint32_t modes = 0;
    for (uint32_t i = 0; i < train->count; i++)
        if (!isnan(label_of(m, train->items[i].record, metric))) modes |= 1U << m->records[train->items[i].record].mode;
    return modes;
}

static ft_status find_modes(maker *m) {
    const fit_set *set = &m->out->set;
    m->out->modes = modes_of(m, 0);
    for (uint32_t i = 0; i < set->other_count; i++) m->out->other_modes[i] = modes_of(m, i + 1);
    for (uint32_t k = 0; k < m->metric_count; k++)
        if ((k == 0 ? m->out->modes : m->out->other_modes[k - 1]) == 0)
            return ft_fail(m->error, FT_ERR_USAGE,
                           "split '%s' has no training record with %s: use another split or metric", m->split->spec,
                           k == 0 ? set->metric : set->others[k - 1]);
    return FT_OK;
}

static ft_status find_dtypes(const maker *m) {
    fitset *out = m->out;
    const fit_rows *train = &out->set.train;
    for (uint32_t i = 0; i < train->count; i++) out->dtypes |= 1U << m->records[train->items[i].record].dtype;
    return usual_dtypes_find(m->records, *train, out->set.device_count, &out->usual, &out->memory, m->error);
}

static ft_status make(maker *m) {
    fitset *out = m->out;
    FT_TRY(check_labels(m));
    FT_TRY(find_devices(m));
    FT_TRY(select_rows(m, FT_PART_TRAIN, NULL, NULL, &out->set.train));
    FT_TRY(find_modes(m));
    FT_TRY(find_dtypes(m));
    FT_TRY(select_valid(m));
    for (uint32_t i = 0; i < m->count; i++)
        out->test_count += is_in(m, i, FT_PART_TEST) && fitset_device(&out->set, m->records[i].device) != FT_NONE;
    return FT_OK;
}

/* "time_us, peak_bytes" */
static void list_metrics(const ft_dataset *data, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < ft_dataset_metric_count(data) && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? ", " : "", ft_dataset_metric_name(data, i));
}

static ft_status add_metric(maker *m, const char *name, const char **names) {
    uint32_t found = ft_dataset_metric(m->data, name);
    if (found == FT_NONE) {
        char text[256];
        list_metrics(m->data, text, sizeof text);
        return ft_fail(m->error, FT_ERR_USAGE, "the data set has no metric '%s'; it has %s", name,
                       text[0] != '\0' ? text : "none");
    }
    for (uint32_t i = 0; i < m->metric_count; i++)
        if (m->metrics[i] == found) return ft_fail(m->error, FT_ERR_USAGE, "the metric '%s' is listed twice", name);
    if (m->metric_count == FITSET_MAX_METRICS)
        return ft_fail(m->error, FT_ERR_LIMIT, "more than %d metrics", FITSET_MAX_METRICS);
    names[m->metric_count] = name;
    m->metrics[m->metric_count++] = found;
    return FT_OK;
}

/* "time_us", or "time_us,peak_bytes". */
static ft_status find_metrics(maker *m, const char *list) {
    arena *memory = &m->out->memory;
    const char **names = ARENA_ARRAY(memory, const char *, FITSET_MAX_METRICS);
    m->out->other_modes = ARENA_ARRAY(memory, uint32_t, FITSET_MAX_METRICS);
    if (names == NULL || m->out->other_modes == NULL) return FT_NOMEM(m->error);
    for (bool is_last = false; !is_last; list++) {
        size_t length = strcspn(list, ",");
        const char *name = arena_string(memory, list, length);
        if (name == NULL) return FT_NOMEM(m->error);
        FT_TRY(add_metric(m, name, names));
        list += length;
        is_last = *list == '\0';
    }
    m->out->set.metric = names[0];
    m->out->set.others = names + 1;
    m->out->set.other_count = m->metric_count - 1;
    return FT_OK;
}

ft_status fitset_make(const ft_dataset *data, const ft_split *split, const char *metric, bool with_operators,
                      fitset *out, ft_error *error) {
    maker m = {.data = data,
               .split = split,
               .with_operators = with_operators,
               .records = ft_dataset_records(data),
               .count = ft_dataset_record_count(data),
               .out = out,
               .error = error};
    *out = (fitset){.set = {.data = data}};
    arena_init(&out->memory, MEMORY_LIMIT);
    ft_status status = find_metrics(&m, metric);
    if (status == FT_OK) status = make(&m);
    if (status != FT_OK) fitset_free(out);
    return status;
}

void fitset_calibrate_on_all(fitset *f) {
    const fit_rows *parts[] = {&f->set.train, &f->set.valid};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        for (uint32_t i = 0; i < parts[p]->count; i++) {
            uint8_t *part = &f->calibration.parts[parts[p]->items[i].record];
            if (*part == FT_PART_TEST) continue; /* the only validation graph is in both */
            f->calibration.counts[*part]--;
            f->calibration.counts[ *part = FT_PART_TEST]++;
        }
    }
}

void fitset_free(fitset *f) {
    arena_free(&f->memory);
    *f = (fitset){0};
}
