/* adapt_rows.c - selects devices, models and records of an adaptation. */
#include "learn/adapt/adapt_rows.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "foretell/device.h"
#include "learn/evaluate/select.h"

void adapt_note(adapt_notes *notes, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = notes->count < ADAPT_MAX_NOTES ? arena_string(notes->memory, text, strlen(text)) : NULL;
    if (kept != NULL) notes->items[notes->count++] = kept;
}

bool name_is_listed(const char *const *names, uint32_t count, const char *name) {
    uint32_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) i++;
    return count == 0 || i < count;
}

ft_status available_records_find(const ft_predictor *from, const ft_dataset *data, const char *split, uint64_t seed,
                                 arena *memory, available_records *available, ft_error *error) {
    ft_split made = {0};
    bool is_found = true;
    *available = (available_records){0};
    if (split != NULL)
        FT_TRY(ft_split_make(data, split, seed, &made, error));
    else
        FT_TRY(training_split(from, data, false, &made, &is_found, error));
    if (!is_found) return FT_OK;
    available->parts = arena_copy(memory, made.parts, ft_dataset_record_count(data));
    snprintf(available->spec, sizeof available->spec, "%s", made.spec);
    ft_split_free(&made);
    return available->parts != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Devices and records ------------------------------------------------------------------------------------- */

typedef struct maker {
    const ft_predictor *from;
    const ft_dataset *data;
    const ft_adapt_options *options;
    const ft_record *records;
    uint32_t count;
    arena *memory;
    adapt_notes *notes;
    available_records available;
    bool has_unused; /* the split leaves records of the devices unused: only these are learned from */
    bool *is_chosen; /* per unit */
    adapt_rows *rows;
    ft_error *error;
} maker;

static bool is_same_device(const char *a, const char *b) {
    const char *x = ft_device_canonical(a), *y = ft_device_canonical(b);
    return strcmp(x != NULL ? x : a, y != NULL ? y : b) == 0;
}

static bool is_wanted_device(const maker *m, const char *device) {
    const ft_adapt_options *o = m->options;
    uint32_t i = 0;
    while (i < o->device_count && !is_same_device(o->devices[i], device)) i++;
    return o->device_count == 0 || i < o->device_count;
}

/* Whether a record can be learned from or tested, on any device. */
static bool is_eligible(const maker *m, uint32_t i) {
    const ft_record *r = &m->records[i];
    double label = r->metrics[m->rows->column];
    if (!(isfinite(label) && label > 0) || strcmp(r->part, "support") == 0) return false;
    if (!name_is_listed(m->options->families, m->options->family_count, r->family)) return false;
    if (!predictor_supports_mode(m->from, r->mode)) return false;
    return m->available.parts == NULL || m->available.parts[i] == FT_PART_TEST ||
           m->available.parts[i] == FT_PART_UNUSED;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint32_t device_index(const adapt_rows *rows, const char *name) {
    uint32_t i = 0;
    while (i < rows->device_count && strcmp(rows->devices[i], name) != 0) i++;
    return i < rows->device_count ? i : FT_NONE;
}

static ft_status add_device(maker *m, const char *name) {
    adapt_rows *rows = m->rows;
    if (device_index(rows, name) != FT_NONE) return FT_OK;
    if (rows->device_count == ADAPT_MAX_DEVICES)
        return ft_fail(m->error, FT_ERR_LIMIT, "more than %d devices to adapt to", ADAPT_MAX_DEVICES);
    rows->devices[rows->device_count++] = name;
    return FT_OK;
}

/* The requested devices; by default those that the predictor does not know, or else all. */
static ft_status find_devices(maker *m) {
    adapt_rows *rows = m->rows;
    bool has_new = false;
    rows->devices = ARENA_ARRAY(m->memory, const char *, ADAPT_MAX_DEVICES);
    if (rows->devices == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < m->options->device_count; i++) {
        uint32_t r = 0;
        while (r < m->count && !(is_same_device(m->options->devices[i], m->records[r].device) && is_eligible(m, r)))
            r++;
        if (r == m->count) return dataset_unknown_device(m->data, m->options->devices[i], m->error);
    }
    for (uint32_t i = 0; m->options->device_count == 0 && i < m->count; i++)
        if (is_eligible(m, i) && predictor_device_index(m->from, m->records[i].device) == FT_NONE) has_new = true;
    for (uint32_t i = 0; i < m->count; i++) {
        const char *device = m->records[i].device;
        if (!is_eligible(m, i) || !is_wanted_device(m, device)) continue;
        if (has_new && predictor_device_index(m->from, device) != FT_NONE) continue;
        FT_TRY(add_device(m, device));
    }
    if (rows->device_count > 1) qsort(rows->devices, rows->device_count, sizeof *rows->devices, compare_names);
    if (rows->device_count == 0)
        return ft_fail(m->error, FT_ERR_USAGE, "the data set has no record of %s to learn from%s%s",
                       ft_predictor_metric(m->from),
                       m->available.parts != NULL ? ": all are in the training part of split " : "", m->available.spec);
    for (uint32_t i = 0; m->available.parts != NULL && i < m->count; i++)
        if (is_eligible(m, i) && m->available.parts[i] == FT_PART_UNUSED &&
            device_index(rows, m->records[i].device) != FT_NONE)
            m->has_unused = true;
    return FT_OK;
}

static bool is_usable(const maker *m, uint32_t i) {
    return is_eligible(m, i) && device_index(m->rows, m->records[i].device) != FT_NONE;
}

/* Where the split leaves records unused, only these are learned from. */
static bool may_learn(const maker *m, uint32_t i) {
    return is_usable(m, i) && (!m->has_unused || m->available.parts[i] == FT_PART_UNUSED);
}

/* --- Models -------------------------------------------------------------------------------------------------- */

typedef struct keyed_unit {
    uint64_t key;
    uint32_t unit;
} keyed_unit;

static int compare_keys(const void *a, const void *b) {
    const keyed_unit *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->unit > y->unit) - (x->unit < y->unit);
}

/* Selects `budget` units by a hash of name and seed, independent of the order of the records. */
static ft_status choose_by_seed(maker *m, const bool *is_candidate, uint32_t candidates) {
    const sampling_units *all = &m->rows->units;
    uint32_t found = 0, wanted = m->options->budget;
    keyed_unit *keyed = ARENA_ARRAY(m->memory, keyed_unit, (size_t)all->count + 1);
    if (keyed == NULL) return FT_NOMEM(m->error);
    if (candidates < wanted)
        return ft_fail(m->error, FT_ERR_USAGE, "the budget is %u %s, but only %u were measured: lower the budget",
                       wanted, all->are_tasks ? "tasks" : "models", candidates);
    for (uint32_t i = 0; i < all->count; i++) {
        if (!is_candidate[i]) continue;
        char text[512];
        snprintf(text, sizeof text, "%.480s:%llu", all->names[i], (unsigned long long)m->options->seed);
        keyed[found++] = (keyed_unit){.key = hash_bytes(text, strlen(text)).low, .unit = i};
    }
    if (found > 1) qsort(keyed, found, sizeof *keyed, compare_keys);
    assert(found == candidates);
    for (uint32_t i = 0; i < wanted; i++) m->rows->models[m->rows->model_count++] = keyed[i].unit;
    return FT_OK;
}

/* A task is matched by name, because the program listed for it may not have been measured. */
static uint32_t unit_of(const sampling_units *all, const listed_model *item, uint32_t graph) {
    for (uint32_t i = 0; all->are_tasks && i < all->count; i++)
        if (strcmp(all->names[i], item->name) == 0) return i;
    return graph != FT_NONE ? all->of_graph[graph] : FT_NONE;
}

static ft_status choose_by_list(maker *m, const bool *is_candidate) {
    model_list list;
    const sampling_units *all = &m->rows->units;
    uint32_t missing = 0, budget = m->options->budget > 0 ? m->options->budget : UINT32_MAX;
    FT_TRY(model_list_read(m->options->models, m->memory, &list, m->error));
    uint32_t *graphs = ARENA_ARRAY(m->memory, uint32_t, list.count);
    bool *is_added = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    if (graphs == NULL || is_added == NULL) return FT_NOMEM(m->error);
    FT_TRY(model_list_find(&list, m->data, m->memory, graphs, m->error));
    for (uint32_t i = 0; i < list.count && m->rows->model_count < budget; i++) {
        uint32_t unit = unit_of(all, &list.items[i], graphs[i]);
        if (unit == FT_NONE || !is_candidate[unit]) {
            missing++;
            continue;
        }
        if (is_added[unit]) continue;
        is_added[unit] = true;
        m->rows->weights[unit] = list.items[i].weight;
        m->rows->models[m->rows->model_count++] = unit;
    }
    if (m->rows->model_count == 0)
        return ft_fail(m->error, FT_ERR_USAGE,
                       "%s: none of its %u models has a measurement in the data set to learn from", m->options->models,
                       list.count);
    if (missing > 0)
        adapt_note(m->notes, "%u of the %u models of %s have no measurement in the data set yet", missing, list.count,
                   m->options->models);
    return FT_OK;
}

static ft_status choose_models(maker *m) {
    FT_TRY(sampling_units_find(m->data, m->memory, &m->rows->units, m->error));
    const sampling_units *all = &m->rows->units;
    uint32_t candidates = 0;
    bool *is_candidate = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    m->is_chosen = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    m->rows->models = ARENA_ARRAY(m->memory, uint32_t, (size_t)all->count + 1);
    m->rows->weights = ARENA_ARRAY(m->memory, double, (size_t)all->count + 1);
    if (is_candidate == NULL || m->is_chosen == NULL || m->rows->models == NULL || m->rows->weights == NULL)
        return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < all->count; i++) m->rows->weights[i] = 1;
    for (uint32_t i = 0; i < m->count; i++) {
        bool *candidate = &is_candidate[all->of_graph[m->records[i].graph]];
        if (*candidate || !may_learn(m, i)) continue;
        *candidate = true;
        candidates++;
    }
    if (m->options->models != NULL)
        FT_TRY(choose_by_list(m, is_candidate));
    else
        FT_TRY(choose_by_seed(m, is_candidate, candidates));
    for (uint32_t i = 0; i < m->rows->model_count; i++) m->is_chosen[m->rows->models[i]] = true;
    return FT_OK;
}

static bool is_chosen(const maker *m, uint32_t graph) {
    return m->is_chosen[m->rows->units.of_graph[graph]];
}

static ft_status select_rows(maker *m) {
    adapt_rows *rows = m->rows;
    uint8_t *parts = ARENA_ARRAY(m->memory, uint8_t, (size_t)m->count + 1);
    rows->learned = ARENA_ARRAY(m->memory, fit_row, (size_t)m->count + 1);
    if (parts == NULL || rows->learned == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < m->count; i++) {
        const ft_record *r = &m->records[i];
        parts[i] = FT_PART_UNUSED;
        if (!is_usable(m, i)) continue;
        if (is_chosen(m, r->graph) && may_learn(m, i)) {
            rows->learned[rows->learned_count++] = (fit_row){.record = i,
                                                             .graph = r->graph,
                                                             .device = device_index(rows, r->device),
                                                             .label = r->metrics[rows->column]};
        } else if (!is_chosen(m, r->graph) && (m->available.parts == NULL || m->available.parts[i] == FT_PART_TEST)) {
            parts[i] = FT_PART_TEST;
            rows->held_count++;
        }
    }
    assert(rows->learned_count + rows->held_count <= m->count);
    rows->held = (ft_split){.seed = m->options->seed, .parts = parts};
    rows->held.counts[FT_PART_TEST] = rows->held_count;
    snprintf(rows->held.spec, sizeof rows->held.spec, "%.200s%sheld out", m->available.spec,
             m->available.spec[0] != '\0' ? ", " : "");
    return FT_OK;
}

/* Models of one family are not representative of others: adds a note. */
static void note_one_family(maker *m) {
    const char *learned = NULL, *other = NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        const ft_record *r = &m->records[i];
        if (!is_usable(m, i)) continue;
        if (is_chosen(m, r->graph)) {
            if (learned != NULL && strcmp(learned, r->family) != 0) return;
            learned = r->family;
        }
    }
    for (uint32_t i = 0; learned != NULL && other == NULL && i < m->count; i++)
        if (is_usable(m, i) && strcmp(m->records[i].family, learned) != 0) other = m->records[i].family;
    if (other != NULL)
        adapt_note(m->notes,
                   "all models that were learned from are of one family (%s): predictions for others, like %s, may "
                   "not improve",
                   learned, other);
}

ft_status adapt_rows_make(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          arena *memory, adapt_notes *notes, adapt_rows *rows, ft_error *error) {
    maker m = {.from = from, .data = data, .options = options, .records = ft_dataset_records(data)};
    m.count = ft_dataset_record_count(data);
    m.memory = memory;
    m.notes = notes;
    m.rows = rows;
    m.error = error;
    *rows = (adapt_rows){.data = data, .column = ft_dataset_metric(data, ft_predictor_metric(from))};
    if (rows->column == FT_NONE)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "predictor and data set do not match: the data set has no metric '%s'",
                       ft_predictor_metric(from));
    for (uint32_t i = 0; i < options->family_count; i++) {
        uint32_t r = 0;
        while (r < m.count && strcmp(m.records[r].family, options->families[i]) != 0) r++;
        if (r == m.count) return dataset_unknown_family(data, options->families[i], error);
    }
    FT_TRY(available_records_find(from, data, options->split, options->seed, memory, &m.available, error));
    FT_TRY(find_devices(&m));
    FT_TRY(choose_models(&m));
    FT_TRY(select_rows(&m));
    note_one_family(&m);
    return FT_OK;
}
