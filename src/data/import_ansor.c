/* import_ansor.c - import of logs of TVM's auto-scheduler: tensor programs, each a graph of one operator, with their
 * times.
 *
 * A log belongs to one device and is named after it: v100.jsonl.gz. One that is not bundled is described beside it. The
 * name of a record is its task, its family the function that the task computes, so that splits by name hold out whole
 * tasks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lines.h"
#include "data/devices.h"
#include "data/import.h"
#include "data/networks.h"
#include "foretell/device.h"
#include "graph/graph.h"
#include "program/program.h"
#include "program/record.h"

enum { LINES_BETWEEN_LOOKS = 1024 };

static const char *const metric_names[] = {"time_us"};

typedef struct ansor_import {
    import_job *job;
    builder *builder;
    ansor_record record;
    autotvm_record tuned;
    ft_program *program; /* scratch: the lowered program of the current record */
    buf text;
    uint64_t lines_done;
    const char *path, *device; /* of the current log */
    arena memory;              /* names of devices that logs bring with them */
    networks known;            /* if a table was given */
} ansor_import;

/* --- Lines ------------------------------------------------------------------------------------------------------- */

static ft_status add_program(ansor_import *a, const workload *w, const char *task, double seconds, const char *where) {
    ft_error *error = a->job->error;
    ft_graph *graph = NULL;
    double time_us = seconds * 1e6;
    ft_record record = {.name = task,
                        .family = a->job->options->networks != NULL ? networks_of(&a->known, task) : w->name,
                        .device = a->device,
                        .setting = "",
                        .part = "",
                        .batch = 1,
                        .dtype = FT_FLOAT32,
                        .mode = FT_INFER,
                        .metrics = &time_us};
    FT_TRY(graph_new_program(a->text.data, &graph, error));
    ft_status status = builder_add_graph(a->builder, graph, &record.graph, error);
    ft_graph_free(graph);
    FT_TRY(status);
    a->job->result->models++;
    return import_record(a->job, a->builder, &record, where);
}

/* Checks that the program can be lowered. Otherwise its prediction would fail much later, without naming the line. */
static ft_status check_program(ansor_import *a, const char *where, bool *is_whole) {
    char reason[5000];
    ft_error why;
    ft_status status = program_lower_record(a->program, &a->record, &why);
    *is_whole = status == FT_OK;
    if (status == FT_OK) return FT_OK;
    if (status == FT_ERR_NOMEM) return FT_NOMEM(a->job->error);
    snprintf(reason, sizeof reason, "%s: %s", where, why.message);
    return import_skip(a->job, reason, "its steps cannot be lowered to a loop nest");
}

/* Coefficient of variation of the runs: standard deviation over mean. */
static double noise_of(const ansor_record *record, double mean) {
    double sum = 0;
    for (uint32_t i = 0; i < record->cost_count; i++) {
        double away = record->costs[i] - mean;
        sum += away * away;
    }
    return record->cost_count > 1 ? sqrt(sum / record->cost_count) / mean : 0;
}

static ft_status add_line(ansor_import *a, const char *line, size_t length, uint64_t number) {
    char where[4200], task[FT_PROGRAM_TASK_SIZE];
    ft_error why;
    bool is_record = false, is_whole = false;
    double seconds = 0;
    workload w;
    snprintf(where, sizeof where, "%s: line %llu", a->path, (unsigned long long)number);
    ft_status status = program_record_read(line, length, &a->record, &a->tuned, &is_record, &why);
    if (status == FT_OK && !is_record) return FT_OK;
    if (status == FT_OK) status = ansor_mean_seconds(&a->record, &seconds, &why);
    if (status == FT_OK && import_filter_rejects(a->job, seconds * 1e6, noise_of(&a->record, seconds))) return FT_OK;
    if (status == FT_OK) status = program_text(&a->record, &a->text, task, &w, &why);
    if (status == FT_ERR_NOMEM) return FT_NOMEM(a->job->error);
    if (status != FT_OK) return import_skip(a->job, where, why.message);
    FT_TRY(check_program(a, where, &is_whole));
    if (!is_whole) return FT_OK;
    return add_program(a, &w, task, seconds, where);
}

static ft_status add_lines(ansor_import *a, lines *l) {
    const char *line;
    size_t length;
    for (;; a->lines_done++) {
        if (a->lines_done % LINES_BETWEEN_LOOKS == 0) FT_TRY(import_progress(a->job, a->lines_done, 0, "programs"));
        FT_TRY(lines_next(l, &line, &length, a->job->error));
        if (line == NULL) return FT_OK;
        FT_TRY(add_line(a, line, length, l->number));
    }
}

/* --- Files ------------------------------------------------------------------------------------------------------- */

static bool is_log(const char *name) {
    static const char *const endings[] = {".jsonl", ".jsonl.gz", ".json", ".json.gz", ".log", ".log.gz"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) return true;
    }
    return false;
}

/* A device that is not bundled is described beside its logs: my-gpu.jsonl and devices/my-gpu.json. NULL: it is not. */
static ft_status find_described(ansor_import *a, const char *path, const char **device, ft_error *error) {
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const char *folder = slash != NULL ? arena_string(&a->memory, path, (size_t)(slash - path)) : ".";
    *device = NULL;
    if (folder == NULL) return FT_NOMEM(error);
    for (size_t length = strlen(base); *device == NULL && length > 0; length--) {
        if (base[length] != '.') continue;
        const char *name = arena_string(&a->memory, base, length);
        if (name == NULL) return FT_NOMEM(error);
        const char *file = device_path(folder, name, &a->memory);
        if (file != NULL && access(file, F_OK) == 0) FT_TRY(device_resolve(folder, name, &a->memory, device, error));
    }
    return *device != NULL ? builder_add_device(a->builder, folder, *device, error) : FT_OK;
}

static ft_status add_log(ansor_import *a, const char *path) {
    ft_error *error = a->job->error;
    lines l;
    a->path = path;
    a->device = ft_device_of_file(path);
    if (a->device == NULL) FT_TRY(find_described(a, path, &a->device, error));
    if (a->device == NULL)
        return ft_fail(error, FT_ERR_USAGE,
                       "%s: the device is unknown: name the log after it, as v100.jsonl ('foretell list devices'), or "
                       "describe it in " DEVICES_FOLDER "/NAME.json beside the log",
                       path);
    FT_TRY(lines_open(path, &l, error));
    ft_status status = add_lines(a, &l);
    lines_close(&l);
    return status;
}

static ft_status add_folder(ansor_import *a) {
    name_list names;
    FT_TRY(name_list_read(a->job->source, &names, a->job->error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < names.count && status == FT_OK; i++) {
        char *path = NULL;
        if (!is_log(names.names[i])) continue;
        if (asprintf(&path, "%s/%s", a->job->source, names.names[i]) < 0) {
            status = FT_NOMEM(a->job->error);
            break;
        }
        status = add_log(a, path);
        free(path);
    }
    name_list_free(&names);
    return status;
}

static ft_status add_source(ansor_import *a) {
    const char *source = a->job->source;
    struct stat info;
    if (stat(source, &info) == 0 && S_ISDIR(info.st_mode)) return add_folder(a);
    if (!is_log(source))
        return ft_fail(a->job->error, FT_ERR_USAGE,
                       "%s: a log must be named DEVICE.jsonl, .json or .log, optionally with .gz", source);
    return add_log(a, source);
}

static ft_status import_ansor(import_job *job) {
    ansor_import *a = calloc(1, sizeof *a); /* the record is too large for the stack */
    if (a == NULL) return FT_NOMEM(job->error);
    a->job = job;
    arena_init(&a->memory, UINT64_MAX);
    ft_status status = builder_new(job->folder, metric_names, 1, &a->builder, job->error);
    if (status == FT_OK) status = ft_program_new(&a->program, job->error);
    if (status == FT_OK && job->options->networks != NULL)
        status = networks_read(job->options->networks, &a->known, job->error);
    if (status == FT_OK) status = add_source(a);
    if (status == FT_OK) status = import_finish(job, a->builder);
    builder_free(a->builder);
    ft_program_free(a->program);
    buf_free(&a->text);
    networks_free(&a->known);
    arena_free(&a->memory);
    free(a);
    return status;
}

const importer ansor_importer = {
    "ansor", "tensor programs and their times: logs of TVM's auto-scheduler, one file per device", import_ansor};
