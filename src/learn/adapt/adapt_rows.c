/* adapt_rows.c - see adapt_rows.h. */
#include "learn/adapt/adapt_rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "foretell/device.h"
#include "learn/adapt/model_list.h"
#include "learn/adapt/trained.h"

void adapt_note(adapt_notes *notes, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = notes->count < ADAPT_MOST_NOTES ? arena_string(notes->memory, text, strlen(text)) : NULL;
    if (kept != NULL) notes->items[notes->count++] = kept;
}

bool is_listed(const char *const *names, uint32_t count, const char *name) {
    uint32_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) i++;
    return count == 0 || i < count;
}

ft_status open_records_find(const ft_predictor *from, const ft_dataset *data, const char *split, uint64_t seed,
                            arena *memory, open_records *open, ft_error *error) {
    ft_split made = {0};
    bool is_found = true;
    *open = (open_records){0};
    if (split != NULL)
        FT_TRY(ft_split_make(data, split, seed, &made, error));
    else
        FT_TRY(trained_split(from, data, false, &made, &is_found, error));
    if (!is_found) return FT_OK;
    open->parts = arena_copy(memory, made.parts, ft_dataset_record_count(data));
    snprintf(open->spec, sizeof open->spec, "%s", made.spec);
    ft_split_free(&made);
    return open->parts != NULL ? FT_OK : FT_NOMEM(error);
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
    open_records open;
    bool has_unused; /* the split leaves records of the devices unused: they are learned from */
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

/* Whether a record could be learned from or tested, on any device. */
static bool is_fit(const maker *m, uint32_t i) {
    const ft_record *r = &m->records[i];
    double label = r->metrics[m->rows->column];
    if (!(isfinite(label) && label > 0) || strcmp(r->part, "support") == 0) return false;
    if (!is_listed(m->options->families, m->options->family_count, r->family)) return false;
    if (!predictor_knows_mode(m->from, r->mode)) return false;
    return m->open.parts == NULL || m->open.parts[i] == FT_PART_TEST || m->open.parts[i] == FT_PART_UNUSED;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint32_t device_number(const adapt_rows *rows, const char *name) {
    uint32_t i = 0;
    while (i < rows->device_count && strcmp(rows->devices[i], name) != 0) i++;
    return i < rows->device_count ? i : FT_NONE;
}

static ft_status add_device(maker *m, const char *name) {
    adapt_rows *rows = m->rows;
    if (device_number(rows, name) != FT_NONE) return FT_OK;
    if (rows->device_count == ADAPT_MOST_DEVICES)
        return ft_fail(m->error, FT_ERR_LIMIT, "more than %d devices to adapt to", ADAPT_MOST_DEVICES);
    rows->devices[rows->device_count++] = name;
    return FT_OK;
}

/* Those that were asked for; else those that the predictor does not know; else all. */
static ft_status find_devices(maker *m) {
    adapt_rows *rows = m->rows;
    bool has_new = false;
    rows->devices = ARENA_ARRAY(m->memory, const char *, ADAPT_MOST_DEVICES);
    if (rows->devices == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < m->options->device_count; i++) {
        uint32_t r = 0;
        while (r < m->count && !(is_same_device(m->options->devices[i], m->records[r].device) && is_fit(m, r))) r++;
        if (r == m->count) return dataset_unknown_device(m->data, m->options->devices[i], m->error);
    }
    for (uint32_t i = 0; m->options->device_count == 0 && i < m->count; i++)
        if (is_fit(m, i) && predictor_device_index(m->from, m->records[i].device) == FT_NONE) has_new = true;
    for (uint32_t i = 0; i < m->count; i++) {
        const char *device = m->records[i].device;
        if (!is_fit(m, i) || !is_wanted_device(m, device)) continue;
        if (has_new && predictor_device_index(m->from, device) != FT_NONE) continue;
        FT_TRY(add_device(m, device));
    }
    if (rows->device_count > 1) qsort(rows->devices, rows->device_count, sizeof *rows->devices, compare_names);
    if (rows->device_count == 0)
        return ft_fail(m->error, FT_ERR_USAGE, "the data set has no record of %s that could be learned from%s%s",
                       ft_predictor_metric(m->from), m->open.parts != NULL ? ": all are in the training of split " : "",
                       m->open.spec);
    for (uint32_t i = 0; m->open.parts != NULL && i < m->count; i++)
        if (is_fit(m, i) && m->open.parts[i] == FT_PART_UNUSED && device_number(rows, m->records[i].device) != FT_NONE)
            m->has_unused = true;
    return FT_OK;
}

static bool is_usable(const maker *m, uint32_t i) {
    return is_fit(m, i) && device_number(m->rows, m->records[i].device) != FT_NONE;
}

/* Where a split leaves records unused, those are learned from. */
static bool may_learn(const maker *m, uint32_t i) {
    return is_usable(m, i) && (!m->has_unused || m->open.parts[i] == FT_PART_UNUSED);
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

/* By a hash of content and seed: the order of the records does not matter. */
static ft_status choose_by_seed(maker *m, const bool *is_candidate, uint32_t candidates) {
    const units *all = &m->rows->units;
    uint32_t found = 0, wanted = m->options->budget;
    keyed_unit *keyed = ARENA_ARRAY(m->memory, keyed_unit, (size_t)all->count + 1);
    if (keyed == NULL) return FT_NOMEM(m->error);
    if (candidates < wanted)
        return ft_fail(m->error, FT_ERR_USAGE, "%u %s are asked for, but only %u were measured: lower the budget",
                       wanted, all->are_tasks ? "tasks" : "models", candidates);
    for (uint32_t i = 0; i < all->count; i++) {
        if (!is_candidate[i]) continue;
        char text[512];
        snprintf(text, sizeof text, "%.480s:%llu", all->names[i], (unsigned long long)m->options->seed);
        keyed[found++] = (keyed_unit){.key = hash_bytes(text, strlen(text)).low, .unit = i};
    }
    if (found > 1) qsort(keyed, found, sizeof *keyed, compare_keys);
    for (uint32_t i = 0; i < wanted; i++) m->rows->models[m->rows->model_count++] = keyed[i].unit;
    return FT_OK;
}

/* A task goes by its name, for the program that stands for it in a list may not have been measured. */
static uint32_t unit_of(const units *all, const listed_model *item, uint32_t graph) {
    for (uint32_t i = 0; all->are_tasks && i < all->count; i++)
        if (strcmp(all->names[i], item->name) == 0) return i;
    return graph != FT_NONE ? all->of[graph] : FT_NONE;
}

static ft_status choose_by_list(maker *m, const bool *is_candidate) {
    model_list list;
    const units *all = &m->rows->units;
    uint32_t missing = 0, budget = m->options->budget > 0 ? m->options->budget : UINT32_MAX;
    FT_TRY(model_list_read(m->options->models, m->memory, &list, m->error));
    uint32_t *graphs = ARENA_ARRAY(m->memory, uint32_t, list.count);
    bool *is_taken = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    if (graphs == NULL || is_taken == NULL) return FT_NOMEM(m->error);
    FT_TRY(model_list_find(&list, m->data, m->memory, graphs, m->error));
    for (uint32_t i = 0; i < list.count && m->rows->model_count < budget; i++) {
        uint32_t unit = unit_of(all, &list.items[i], graphs[i]);
        if (unit == FT_NONE || !is_candidate[unit]) {
            missing++;
            continue;
        }
        if (is_taken[unit]) continue;
        is_taken[unit] = true;
        m->rows->weights[unit] = list.items[i].weight;
        m->rows->models[m->rows->model_count++] = unit;
    }
    if (m->rows->model_count == 0)
        return ft_fail(m->error, FT_ERR_USAGE,
                       "%s: none of its %u models has a measurement in the data set that could be learned from",
                       m->options->models, list.count);
    if (missing > 0)
        adapt_note(m->notes, "%u of the %u models of %s have no measurement in the data set yet", missing, list.count,
                   m->options->models);
    return FT_OK;
}

static ft_status choose_models(maker *m) {
    FT_TRY(units_find(m->data, m->memory, &m->rows->units, m->error));
    const units *all = &m->rows->units;
    uint32_t candidates = 0;
    bool *is_candidate = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    m->is_chosen = ARENA_ARRAY(m->memory, bool, (size_t)all->count + 1);
    m->rows->models = ARENA_ARRAY(m->memory, uint32_t, (size_t)all->count + 1);
    m->rows->weights = ARENA_ARRAY(m->memory, double, (size_t)all->count + 1);
    if (is_candidate == NULL || m->is_chosen == NULL || m->rows->models == NULL || m->rows->weights == NULL)
        return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < all->count; i++) m->rows->weights[i] = 1;
    for (uint32_t i = 0; i < m->count; i++) {
        bool *candidate = &is_candidate[all->of[m->records[i].graph]];
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
    return m->is_chosen[m->rows->units.of[graph]];
}

static ft_status take_rows(maker *m) {
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
                                                             .device = device_number(rows, r->device),
                                                             .label = r->metrics[rows->column]};
        } else if (!is_chosen(m, r->graph) && (m->open.parts == NULL || m->open.parts[i] == FT_PART_TEST)) {
            parts[i] = FT_PART_TEST;
            rows->held_count++;
        }
    }
    rows->held = (ft_split){.seed = m->options->seed, .parts = parts};
    rows->held.counts[FT_PART_TEST] = rows->held_count;
    snprintf(rows->held.spec, sizeof rows->held.spec, "%.200s%sheld out", m->open.spec,
             m->open.spec[0] != '\0' ? ", " : "");
    return FT_OK;
}

/* Models of one family say little of others. */
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
                   "all models that were learned from are of one family (%s): what is predicted for others, like %s, "
                   "may not gain by it",
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
        return ft_fail(error, FT_ERR_UNSUPPORTED, "predictor and data set do not fit: the data set has no metric '%s'",
                       ft_predictor_metric(from));
    for (uint32_t i = 0; i < options->family_count; i++) {
        uint32_t r = 0;
        while (r < m.count && strcmp(m.records[r].family, options->families[i]) != 0) r++;
        if (r == m.count) return dataset_unknown_family(data, options->families[i], error);
    }
    FT_TRY(open_records_find(from, data, options->split, options->seed, memory, &m.open, error));
    FT_TRY(find_devices(&m));
    FT_TRY(choose_models(&m));
    FT_TRY(take_rows(&m));
    note_one_family(&m);
    return FT_OK;
}
