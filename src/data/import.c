/* import.c - the list of importers, and the functions they share. */
#include "data/import.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "data/records.h"

static const importer *const importers[] = {&ansor_importer, &cg_importer,   &kernels_importer,
                                            &mlp_importer,   &npu_importer,  &perfseer_importer,
                                            &table_importer, &timm_importer, &trace_importer};

enum { IMPORTER_COUNT = sizeof importers / sizeof importers[0] };

uint32_t ft_import_kind_count(void) {
    return IMPORTER_COUNT;
}

const char *ft_import_kind_name(uint32_t index) {
    return index < IMPORTER_COUNT ? importers[index]->name : NULL;
}

const char *ft_import_kind_text(uint32_t index) {
    return index < IMPORTER_COUNT ? importers[index]->text : NULL;
}

static ft_status unknown_kind(const char *kind, ft_error *error) {
    char list[200];
    size_t used = 0;
    for (uint32_t i = 0; i < IMPORTER_COUNT; i++) {
        int wrote = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", importers[i]->name);
        if (wrote > 0 && (size_t)wrote < sizeof list - used) used += (size_t)wrote;
    }
    return ft_fail(error, FT_ERR_USAGE, "unknown kind of import '%s'; known: %s", kind, list);
}

ft_status ft_import(const char *kind, const char *source, const char *folder, const ft_import_options *options,
                    ft_import_result *result, ft_error *error) {
    FT_REQUIRE(error, kind, source, folder);
    static const ft_import_options none;
    ft_import_result made = {0};
    import_job job = {.source = source,
                      .folder = folder,
                      .options = options != NULL ? options : &none,
                      .result = &made,
                      .error = error};
    for (uint32_t i = 0; i < IMPORTER_COUNT; i++) {
        if (strcmp(importers[i]->name, kind) != 0) continue;
        if (job.options->networks != NULL && importers[i] != &ansor_importer)
            return ft_fail(error, FT_ERR_USAGE, "a table of networks applies to 'ansor' only, not to '%s'", kind);
        FT_TRY(time_filter_check(&job.options->filter, error));
        FT_TRY(importers[i]->run(&job));
        if (result != NULL) *result = made;
        return FT_OK;
    }
    return unknown_kind(kind, error);
}

/* --- For importers ----------------------------------------------------------------------------------------------- */

ft_status import_skip(import_job *job, const char *where, const char *why) {
    assert(where != NULL && why != NULL);
    if (job->options->is_strict) return ft_fail(job->error, FT_ERR_DAMAGED, "%s: %s", where, why);
    job->result->skipped++;
    if (job->options->skip != NULL) job->options->skip(job->options->user, where, why);
    return FT_OK;
}

ft_status import_may_skip(import_job *job, const char *path, ft_status status, const ft_error *why) {
    assert(status != FT_OK);
    if (status == FT_ERR_NOMEM) return FT_NOMEM(job->error);
    /* A file that is absent or may not be read is as it is; one that can be opened failed by chance. */
    if (status != FT_ERR_IO || access(path, R_OK) != 0) return FT_OK;
    return ft_fail(job->error, status, "%s", why->message);
}

ft_status import_skip_short_row(import_job *job, const csv *rows, uint32_t found, uint32_t expected) {
    char where[MAX_CELL];
    snprintf(where, sizeof where, "%.400s: line %llu: has %u fields, but the header has %u", rows->name,
             (unsigned long long)rows->line, found, expected);
    return import_skip(job, where, "the row is incomplete");
}

ft_status import_progress(import_job *job, uint64_t done, uint64_t total, const char *what) {
    if (job->options->progress == NULL || job->options->progress(job->options->user, done, total, what)) return FT_OK;
    return ft_fail(job->error, FT_ERR_CANCELLED, "the import was cancelled; nothing was written");
}

bool import_filter_rejects(import_job *job, double time_us, double noise) {
    bool is_out = time_filter_rejects(&job->options->filter, time_us, noise);
    job->result->filtered += is_out;
    return is_out;
}

/* Filters by the time and the standard deviation in the record. */
static bool filter_rejects(import_job *job, const builder *b, const ft_record *record) {
    uint32_t time = builder_metric(b, "time_us"), apart = builder_metric(b, "time_std_us");
    if (time == FT_NONE || isnan(record->metrics[time])) return false;
    double noise = apart == FT_NONE ? 0 : record->metrics[apart] / record->metrics[time];
    return import_filter_rejects(job, record->metrics[time], noise);
}

/* A value that the metric cannot have is an error and not skipped: its source is likely to be in another unit. */
static ft_status check_values(const import_job *job, const builder *b, const ft_record *record, const char *where) {
    for (uint32_t i = 0; i < builder_metric_count(b); i++) {
        const char *name = builder_metric_name(b, i);
        metric_range range = metric_range_of(name);
        double value = record->metrics[i];
        if (isnan(value) || (value >= range.min && value <= range.max)) continue;
        return ft_fail(job->error, FT_ERR_DAMAGED, "%s: %s is %g; expected %s%s", where, name, value, range.text,
                       strcmp(name, "time_us") == 0 ? " (--min-time and --max-time leave out such measurements)" : "");
    }
    return FT_OK;
}

ft_status import_record(import_job *job, builder *b, const ft_record *record, const char *where) {
    builder_outcome outcome;
    if (filter_rejects(job, b, record)) return FT_OK;
    FT_TRY(check_values(job, b, record, where));
    FT_TRY(builder_add_record(b, record, &outcome, job->error));
    switch (outcome) {
    case RECORD_ADDED:
        job->result->records++;
        break;
    case RECORD_REPEATED:
        return import_skip(job, where, "duplicate measurement");
    case RECORD_CONTRADICTS:
        return import_skip(job, where, "duplicate measurement, with other values");
    }
    return FT_OK;
}

ft_status import_finish(import_job *job, builder *b) {
    if (job->result->records == 0)
        return ft_fail(job->error, FT_ERR_FORMAT,
                       "%s: contains no measurement that can be imported (%llu were skipped%s)", job->source,
                       (unsigned long long)job->result->skipped,
                       job->result->filtered > 0 ? ", others filtered out" : "");
    job->result->graphs = builder_graph_count(b);
    return builder_finish(b, job->error);
}

/* --- Units ------------------------------------------------------------------------------------------------------- */

static const metric_unit units[] = {
    {"_ms", "_us", 3, 1},
    {"_ns", "_us", -3, 1},
    {"_s", "_us", 6, 1},
    {"_kib", "_bytes", 0, 1024},
    {"_mib", "_bytes", 0, 1024.0 * 1024},
    {"_gib", "_bytes", 0, 1024.0 * 1024 * 1024},
    {"_percent", "_ratio", -2, 1},
};
static const metric_unit as_it_is = {"", "", 0, 1};

bool metric_canonical_name(const char *column, char *name, size_t size, const metric_unit **unit) {
    size_t length = strlen(column), stem = length;
    *unit = &as_it_is;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t ending = strlen(units[i].ending);
        if (length <= ending || strcmp(column + length - ending, units[i].ending) != 0) continue;
        *unit = &units[i];
        stem = length - ending;
        break;
    }
    int wrote = snprintf(name, size, "%.*s%s", (int)stem, column, (*unit)->kept);
    return wrote > 0 && (size_t)wrote < size && is_metric_name(name);
}

bool metric_parse(const char *text, size_t length, const metric_unit *unit, double *value) {
    char shifted[80];
    bool has_exponent = memchr(text, 'e', length) != NULL || memchr(text, 'E', length) != NULL;
    if (length >= sizeof shifted - 8) return false;
    int size = has_exponent ? snprintf(shifted, sizeof shifted, "%.*s", (int)length, text)
                            : snprintf(shifted, sizeof shifted, "%.*se%d", (int)length, text, unit->shift);
    if (size < 0 || !text_double(shifted, (size_t)size, value)) return false;
    *value *= has_exponent ? pow(10, unit->shift) * unit->factor : unit->factor;
    if (unit->factor > 1) *value = round(*value); /* bytes are integers */
    return *value > 0 && isfinite(*value);
}

/* --- Folders ----------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(name_list *list, uint32_t *capacity, const char *name) {
    if (list->count == *capacity) {
        uint32_t larger = *capacity == 0 ? 64 : *capacity * 2;
        char **names = realloc(list->names, larger * sizeof *names);
        if (names == NULL) return false;
        list->names = names;
        *capacity = larger;
    }
    list->names[list->count] = strdup(name);
    if (list->names[list->count] == NULL) return false;
    list->count++;
    return true;
}

ft_status name_list_read(const char *folder, name_list *list, ft_error *error) {
    *list = (name_list){0};
    DIR *entries = opendir(folder);
    if (entries == NULL) return ft_fail_file(error, NULL, folder, errno);
    uint32_t capacity = 0;
    ft_status status = FT_OK;
    for (const struct dirent *entry; status == FT_OK && (errno = 0, entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.' && !add_name(list, &capacity, entry->d_name)) status = FT_NOMEM(error);
    if (status == FT_OK && errno != 0) status = ft_fail_file(error, folder, "cannot list", errno);
    closedir(entries);
    if (status != FT_OK) {
        name_list_free(list);
        return status;
    }
    if (list->count > 0) qsort(list->names, list->count, sizeof *list->names, by_name);
    return FT_OK;
}

void name_list_free(name_list *list) {
    for (uint32_t i = 0; i < list->count; i++) free(list->names[i]);
    free(list->names);
    *list = (name_list){0};
}
