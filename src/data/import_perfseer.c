/* import_perfseer.c - import of the PerfSeer / GAPP data set: a folder of pickled graphs, with labels in separate
 * files.
 *
 * The reader finds the label of a graph and stores it in the graph's meta. Its seven numbers for each mode become two
 * records: training step and inference on an RTX 3090. Files are read in parallel, in batches, and added in the order
 * of their names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/text.h"
#include "data/import.h"
#include "data/pack.h"
#include "foretell/device.h"

enum { FILES_AT_A_TIME = 512, MAX_FOLDERS_DEEP = 8 };
enum { METRIC_TIME, METRIC_COUNT = 7 };

static const char *const metric_names[METRIC_COUNT] = {"time_us",         "peak_bytes",        "util_ratio",
                                                       "peak_util_ratio", "memory_util_ratio", "peak_memory_util_ratio",
                                                       "average_bytes"};
/* The reader's names, after "train_" and "infer_", and the factors to our units. Times are per sample. */
static const char *const field_names[METRIC_COUNT] = {
    "time_per_sample_ms",          "memory_peak_mib",          "sm_util_average_percent", "sm_util_peak_percent",
    "memory_util_average_percent", "memory_util_peak_percent", "memory_average_mib"};
static const double factors[METRIC_COUNT] = {1e3, 1024.0 * 1024.0, 1e-2, 1e-2, 1e-2, 1e-2, 1024.0 * 1024.0};
static const char *const mode_prefixes[] = {[FT_INFER] = "infer_", [FT_TRAIN] = "train_"};

typedef struct pickled {
    char *path;
    buf packed;
    char family[64];
    int64_t batch;
    double metrics[2][METRIC_COUNT]; /* by mode */
    bool has_label, is_synthetic;
    ft_status status;
    ft_error error;
} pickled;

typedef struct perfseer_import {
    import_job *job;
    builder *builder;
    char **paths;
    uint32_t path_count, path_capacity;
    pickled *batch;
    packer **packers; /* one per thread */
    pool *threads;
} perfseer_import;

/* --- Finding the files ------------------------------------------------------------------------------------------- */

static bool is_pickle(const char *name) {
    size_t length = strlen(name);
    return (length > 4 && strcmp(name + length - 4, ".pkl") == 0) ||
           (length > 7 && strcmp(name + length - 7, ".pkl.gz") == 0);
}

static ft_status add_path(perfseer_import *p, char *path) {
    if (p->path_count == p->path_capacity) {
        uint32_t larger = p->path_capacity == 0 ? 1024 : p->path_capacity * 2;
        char **paths = realloc(p->paths, larger * sizeof *paths);
        if (paths == NULL) return FT_NOMEM(p->job->error);
        p->paths = paths;
        p->path_capacity = larger;
    }
    p->paths[p->path_count++] = path;
    return FT_OK;
}

static ft_status walk(perfseer_import *p, const char *folder, int depth);

static ft_status visit_entry(perfseer_import *p, char *path, const char *name, int depth, bool *is_kept) {
    struct stat info;
    *is_kept = false;
    if (lstat(path, &info) != 0) return FT_OK;
    if (S_ISDIR(info.st_mode)) return depth < MAX_FOLDERS_DEEP ? walk(p, path, depth + 1) : FT_OK;
    if (!is_pickle(name)) return FT_OK;
    FT_TRY(add_path(p, path));
    *is_kept = true;
    return FT_OK;
}

static ft_status walk(perfseer_import *p, const char *folder, int depth) {
    name_list names;
    FT_TRY(name_list_read(folder, &names, p->job->error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < names.count && status == FT_OK; i++) {
        char *path = NULL;
        bool is_kept = false;
        if (asprintf(&path, "%s/%s", folder, names.names[i]) < 0)
            status = FT_NOMEM(p->job->error);
        else
            status = visit_entry(p, path, names.names[i], depth, &is_kept);
        if (!is_kept) free(path);
    }
    name_list_free(&names);
    return status;
}

/* --- Reading a file ---------------------------------------------------------------------------------------------- */

/* The style of all four stages, or "mixed". */
static void find_family(const ft_graph *graph, pickled *f) {
    const char *styles = ft_graph_meta(graph, "stage_styles");
    if (styles == NULL) return;
    size_t first = strcspn(styles, ",");
    bool is_same = first < sizeof f->family;
    for (const char *at = styles; is_same && *at != '\0'; at += strcspn(at, ",")) {
        if (*at == ',') at++;
        is_same = strcspn(at, ",") == first && strncmp(at, styles, first) == 0;
    }
    snprintf(f->family, sizeof f->family, "%.*s", is_same ? (int)first : 5, is_same ? styles : "mixed");
}

static int64_t find_batch(const ft_graph *graph) {
    const char *text = ft_graph_meta(graph, "batch");
    double batch;
    if (text != NULL && text_double(text, strlen(text), &batch) && batch >= 1 && batch <= 1 << 24)
        return (int64_t)batch;
    if (ft_graph_input_count(graph) == 0) return 1;
    const ft_tensor *input = &ft_graph_tensors(graph)[ft_graph_inputs(graph)[0]];
    return input->rank > 0 && input->dims[0] > 0 ? input->dims[0] : 1;
}

static void find_labels(const ft_graph *graph, pickled *f) {
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        for (int i = 0; i < METRIC_COUNT; i++) {
            char key[64];
            double *value = &f->metrics[mode][i];
            snprintf(key, sizeof key, "%s%s", mode_prefixes[mode], field_names[i]);
            const char *text = ft_graph_meta(graph, key);
            *value = NAN;
            if (text == NULL || !text_double(text, strlen(text), value)) continue;
            f->has_label = true;
            *value *= factors[i] * (i == METRIC_TIME ? (double)f->batch : 1);
        }
    }
}

static ft_status read_file(pickled *f, packer *p) {
    ft_graph *graph;
    FT_TRY(ft_graph_read(f->path, &graph, &f->error));
    f->batch = find_batch(graph);
    find_family(graph, f);
    find_labels(graph, f);
    f->is_synthetic = ft_graph_meta(graph, "synthetic") != NULL;
    ft_status status = pack_graph(p, graph, &f->packed, &f->error);
    ft_graph_free(graph);
    return status;
}

static void read_part(void *user, uint32_t part, uint32_t worker) {
    perfseer_import *p = user;
    p->batch[part].status = read_file(&p->batch[part], p->packers[worker]);
}

/* --- Adding ------------------------------------------------------------------------------------------------------ */

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* An invalid metric counts as not measured; a record without a time is dropped. */
static ft_status check_metrics(perfseer_import *p, pickled *f, ft_mode mode, uint32_t *count) {
    *count = 0;
    for (int i = 0; i < METRIC_COUNT; i++) {
        double *value = &f->metrics[mode][i];
        if (isnan(*value)) continue;
        ++*count;
        if (*value > 0 && isfinite(*value)) continue;
        char where[640];
        snprintf(where, sizeof where, "%s: %s%s", f->path, mode_prefixes[mode], field_names[i]);
        *value = NAN;
        --*count;
        FT_TRY(import_skip(p->job, where, "not a number above zero"));
    }
    return FT_OK;
}

/* The file name without its suffix and the batch in front: all batches of an architecture have the same name, so
 * that a split by name keeps them together. */
static void find_name(const pickled *f, char *name, size_t size) {
    const char *base = file_name(f->path);
    size_t digits = strncmp(base, "bs", 2) == 0 ? strspn(base + 2, "0123456789") : 0;
    if (digits > 0 && base[2 + digits] == '_') base += 3 + digits;
    snprintf(name, size, "%.*s", (int)strcspn(base, "."), base);
}

static ft_status add_file(perfseer_import *p, pickled *f) {
    if (f->status != FT_OK) FT_TRY(import_may_skip(p->job, f->path, f->status, &f->error));
    if (f->status != FT_OK) return import_skip(p->job, f->error.message, "the graph is unreadable");
    if (!f->has_label) return import_skip(p->job, f->path, "it has no label");
    char name[256];
    find_name(f, name, sizeof name);
    uint32_t graph, count;
    FT_TRY(builder_add_packed(p->builder, f->packed.data, f->packed.length, &graph, p->job->error));
    p->job->result->models++;
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        FT_TRY(check_metrics(p, f, (ft_mode)mode, &count));
        if (count == 0) continue;
        ft_record record = {.graph = graph,
                            .name = name,
                            .family = f->family,
                            .device = ft_device_canonical("rtx-3090"),
                            .setting = "",
                            .part = "",
                            .batch = f->batch,
                            .dtype = FT_FLOAT32,
                            .mode = (ft_mode)mode,
                            .is_synthetic = f->is_synthetic,
                            .metrics = f->metrics[mode]};
        FT_TRY(import_record(p->job, p->builder, &record, f->path));
    }
    return FT_OK;
}

static ft_status add_batch(perfseer_import *p, uint32_t start, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        pickled *f = &p->batch[i];
        buf_free(&f->packed);
        *f = (pickled){.path = p->paths[start + i]};
    }
    pool_run(p->threads, count, read_part, p);
    for (uint32_t i = 0; i < count; i++) FT_TRY(add_file(p, &p->batch[i]));
    return import_progress(p->job, start + count, p->path_count, file_name(p->paths[start + count - 1]));
}

static ft_status add_all(perfseer_import *p) {
    for (uint32_t start = 0; start < p->path_count; start += FILES_AT_A_TIME) {
        uint32_t left = p->path_count - start;
        FT_TRY(add_batch(p, start, left < FILES_AT_A_TIME ? left : FILES_AT_A_TIME));
    }
    return import_finish(p->job, p->builder);
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static ft_status make_workers(perfseer_import *p) {
    if (p->path_count > 1) FT_TRY(pool_new(p->job->options->threads, &p->threads, p->job->error));
    uint32_t count = p->threads != NULL ? pool_threads(p->threads) : 1;
    p->packers = calloc((size_t)count + 1, sizeof *p->packers); /* NULL-terminated */
    p->batch = calloc(FILES_AT_A_TIME, sizeof *p->batch);
    if (p->packers == NULL || p->batch == NULL) return FT_NOMEM(p->job->error);
    for (uint32_t i = 0; i < count; i++) {
        p->packers[i] = packer_new();
        if (p->packers[i] == NULL) return FT_NOMEM(p->job->error);
    }
    return FT_OK;
}

static ft_status run(perfseer_import *p) {
    FT_TRY(walk(p, p->job->source, 0));
    if (p->path_count == 0)
        return ft_fail(p->job->error, FT_ERR_FORMAT,
                       "%s: neither the folder nor its sub-folders have pickled graphs (*.pkl)", p->job->source);
    FT_TRY(make_workers(p));
    FT_TRY(builder_new(p->job->folder, metric_names, METRIC_COUNT, &p->builder, p->job->error));
    return add_all(p);
}

static ft_status import_perfseer(import_job *job) {
    perfseer_import p = {.job = job};
    ft_status status = run(&p);
    builder_free(p.builder);
    pool_free(p.threads);
    for (packer **each = p.packers; each != NULL && *each != NULL; each++) packer_free(*each);
    for (uint32_t i = 0; p.batch != NULL && i < FILES_AT_A_TIME; i++) buf_free(&p.batch[i].packed);
    for (uint32_t i = 0; i < p.path_count; i++) free(p.paths[i]);
    free(p.packers);
    free(p.batch);
    free(p.paths);
    return status;
}

const importer perfseer_importer = {"perfseer", "a PerfSeer or GAPP folder of pickled graphs and labels",
                                    import_perfseer};
