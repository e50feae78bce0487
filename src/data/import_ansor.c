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
#include "base/pool.h"
#include "data/devices.h"
#include "data/import.h"
#include "data/networks.h"
#include "data/pack.h"
#include "data/records.h"
#include "foretell/device.h"
#include "graph/graph.h"
#include "program/program.h"
#include "program/record.h"

enum { LINES_A_BATCH = 512 };

static const char *const metric_names[] = {"time_us"};

/* A line of a log, and what a thread made of it. */
typedef struct log_line {
    buf text;
    uint64_t number;
    ft_status status; /* FT_ERR_NOMEM, or an error for which the line is skipped */
    ft_error error;
    bool is_record;
    bool is_unlowered; /* readable, but not the program */
    bool is_filtered;
    double seconds, noise;
    buf packed; /* the graph of the program */
    char task[FT_PROGRAM_TASK_SIZE];
    const char *function; /* that the task computes; static */
} log_line;

/* What a thread needs for a line. */
typedef struct log_worker {
    ansor_record record;
    autotvm_record tuned;
    ft_program *program; /* scratch: the lowered program of the record at hand */
    packer *packer;
    buf text;
} log_worker;

typedef struct ansor_import {
    import_job *job;
    builder *builder;
    pool *threads;
    log_worker **workers; /* one for each thread */
    log_line *lines;      /* two batches */
    lines log;
    uint64_t lines_done;
    const char *path, *device; /* of the current log */
    arena memory;              /* names of devices that logs bring with them */
    networks known;            /* if a table was given */
} ansor_import;

/* --- Lines, on any thread ---------------------------------------------------------------------------------------- */

/* Coefficient of variation of the runs: standard deviation over mean. */
static double noise_of(const ansor_record *record, double mean) {
    double sum = 0;
    for (uint32_t i = 0; i < record->cost_count; i++) {
        double away = record->costs[i] - mean;
        sum += away * away;
    }
    return record->cost_count > 1 ? sqrt(sum / record->cost_count) / mean : 0;
}

static ft_status pack_program(log_worker *w, log_line *l) {
    ft_graph *graph = NULL;
    FT_TRY(graph_new_program(w->text.data, &graph, &l->error));
    ft_status status = pack_graph(w->packer, graph, &l->packed, &l->error);
    ft_graph_free(graph);
    return status;
}

/* Programs that cannot be lowered are refused: their prediction would fail much later, without naming the line. */
static ft_status read_line(const ansor_import *a, log_worker *w, log_line *l) {
    workload work;
    FT_TRY(program_record_read(l->text.data, l->text.length, &w->record, &w->tuned, &l->is_record, &l->error));
    if (!l->is_record) return FT_OK;
    FT_TRY(ansor_mean_seconds(&w->record, &l->seconds, &l->error));
    l->noise = noise_of(&w->record, l->seconds);
    l->is_filtered = time_filter_rejects(&a->job->options->filter, l->seconds * 1e6, l->noise);
    if (l->is_filtered) return FT_OK;
    FT_TRY(program_text(&w->record, &w->text, l->task, &work, &l->error));
    l->function = work.name;
    ft_status status = program_lower_record(w->program, &w->record, &l->error);
    l->is_unlowered = status != FT_OK;
    return status == FT_OK ? pack_program(w, l) : status;
}

static void work_on_line(void *user, uint32_t item, uint32_t worker) {
    const ansor_import *a = user;
    log_line *l = &a->lines[item];
    l->is_record = l->is_unlowered = l->is_filtered = false;
    l->packed.length = 0;
    l->packed.failed = false;
    l->status = l->text.failed ? FT_NOMEM(&l->error) : read_line(a, a->workers[worker], l);
}

/* --- Lines, in order --------------------------------------------------------------------------------------------- */

static ft_status read_lines(void *user, uint32_t first, uint32_t *count, ft_error *error) {
    ansor_import *a = user;
    import_job job = *a->job;
    job.error = error;
    FT_TRY(import_progress(&job, a->lines_done, 0, "programs"));
    for (; *count < LINES_A_BATCH; ++*count) {
        const char *line;
        size_t length;
        log_line *l = &a->lines[first + *count];
        FT_TRY(lines_next(&a->log, &line, &length, error));
        if (line == NULL) return FT_OK;
        l->text.length = 0;
        l->text.failed = false;
        buf_add(&l->text, line, length);
        l->number = a->log.number;
    }
    return FT_OK;
}

static ft_status add_program(ansor_import *a, import_job *job, const log_line *l, const char *where) {
    double time_us = l->seconds * 1e6;
    ft_record record = {.name = l->task,
                        .family = job->options->networks != NULL ? networks_of(&a->known, l->task) : l->function,
                        .device = a->device,
                        .setting = "",
                        .part = "",
                        .batch = 1,
                        .dtype = FT_FLOAT32,
                        .mode = FT_INFER,
                        .metrics = &time_us};
    FT_TRY(builder_add_packed(a->builder, l->packed.data, l->packed.length, &record.graph, job->error));
    job->result->models++;
    return import_record(job, a->builder, &record, where);
}

static ft_status add_line(ansor_import *a, import_job *job, const log_line *l) {
    char where[4200], reason[5000];
    snprintf(where, sizeof where, "%s: line %llu", a->path, (unsigned long long)l->number);
    if (l->status == FT_ERR_NOMEM) return FT_NOMEM(job->error);
    if (l->is_unlowered) {
        snprintf(reason, sizeof reason, "%s: %s", where, l->error.message);
        return import_skip(job, reason, "its steps cannot be lowered to a loop nest");
    }
    if (l->status != FT_OK) return import_skip(job, where, l->error.message);
    if (!l->is_record || import_filter_rejects(job, l->seconds * 1e6, l->noise)) return FT_OK;
    return add_program(a, job, l, where);
}

static ft_status add_lines(void *user, uint32_t first, uint32_t count, ft_error *error) {
    ansor_import *a = user;
    import_job job = *a->job;
    job.error = error;
    for (uint32_t i = first; i < first + count; i++) {
        FT_TRY(add_line(a, &job, &a->lines[i]));
    }
    a->lines_done += count;
    return FT_OK;
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
    static const batch_steps steps = {
        .size = LINES_A_BATCH, .read = read_lines, .work = work_on_line, .take = add_lines};
    a->path = path;
    a->device = ft_device_of_file(path);
    if (a->device == NULL) FT_TRY(find_described(a, path, &a->device, error));
    if (a->device == NULL)
        return ft_fail(error, FT_ERR_USAGE,
                       "%s: the device is unknown: name the log after it, as v100.jsonl ('foretell list devices'), or "
                       "describe it in " DEVICES_FOLDER "/NAME.json beside the log",
                       path);
    FT_TRY(lines_open(path, &a->log, error));
    ft_status status = batches_run(a->threads, &steps, a, error);
    lines_close(&a->log);
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

/* --- Threads ----------------------------------------------------------------------------------------------------- */

static ft_status make_workers(ansor_import *a) {
    ft_error *error = a->job->error;
    FT_TRY(pool_new(a->job->options->threads, &a->threads, error));
    a->workers = calloc((size_t)pool_threads(a->threads) + 1, sizeof *a->workers); /* NULL-terminated */
    a->lines = calloc((size_t)2 * LINES_A_BATCH, sizeof *a->lines);
    if (a->workers == NULL || a->lines == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < pool_threads(a->threads); i++) {
        log_worker *w = a->workers[i] = calloc(1, sizeof *w);
        if (w == NULL) return FT_NOMEM(error);
        w->packer = packer_new();
        if (w->packer == NULL) return FT_NOMEM(error);
        FT_TRY(ft_program_new(&w->program, error));
    }
    return FT_OK;
}

static void free_workers(ansor_import *a) {
    pool_free(a->threads);
    for (log_worker **w = a->workers; w != NULL && *w != NULL; w++) {
        ft_program_free((*w)->program);
        packer_free((*w)->packer);
        buf_free(&(*w)->text);
        free(*w);
    }
    for (uint32_t i = 0; a->lines != NULL && i < 2 * LINES_A_BATCH; i++) {
        buf_free(&a->lines[i].text);
        buf_free(&a->lines[i].packed);
    }
    free(a->workers);
    free(a->lines);
}

static ft_status import_ansor(import_job *job) {
    ansor_import a = {.job = job};
    arena_init(&a.memory, UINT64_MAX);
    ft_status status = builder_new(job->folder, metric_names, 1, &a.builder, job->error);
    if (status == FT_OK) status = make_workers(&a);
    if (status == FT_OK && job->options->networks != NULL)
        status = networks_read(job->options->networks, &a.known, job->error);
    if (status == FT_OK) status = add_source(&a);
    if (status == FT_OK) status = import_finish(job, a.builder);
    free_workers(&a);
    builder_free(a.builder);
    networks_free(&a.known);
    arena_free(&a.memory);
    return status;
}

const importer ansor_importer = {
    "ansor", "tensor programs and their times: logs of TVM's auto-scheduler, one file per device", import_ansor};
