/* import_cg.c - import of CG tables: one folder of them, or a folder with one sub-folder per family.
 *
 * Reading dominates the time, so the folders are read in parallel: each becomes a list of packed models. The lists
 * are then added in a fixed order, so that the data set does not depend on timing. Folders named after the family of
 * their models come before those that mix families, which hold samples of the others. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"
#include "base/map.h"
#include "base/pool.h"
#include "data/cg_folder.h"
#include "data/import.h"
#include "read/cg.h"

static const char *const metric_names[CG_METRICS] = {"time_us", "time_std_us"};

enum { PROGRESS_STEP = 32 };

typedef struct cg_import {
    import_job *job;
    arena memory;
    cg_folder *folders, **by_size;
    uint32_t folder_count;
    pthread_mutex_t lock; /* protects the fields below and the caller's progress function */
    uint64_t done, total;
    bool is_cancelled;
} cg_import;

/* --- One folder -------------------------------------------------------------------------------------------------- */

/* Reports progress; false: stop. The caller's function is never called concurrently. */
static bool report_progress(cg_import *c, const cg_folder *f, uint64_t more) {
    pthread_mutex_lock(&c->lock);
    c->done += more;
    ft_error ignored;
    import_job job = *c->job;
    job.error = &ignored;
    if (!c->is_cancelled && import_progress(&job, c->done, c->total, f->name) != FT_OK) c->is_cancelled = true;
    bool goes_on = !c->is_cancelled;
    pthread_mutex_unlock(&c->lock);
    return goes_on;
}

static ft_status read_models(cg_import *c, cg_folder *f, ft_source *source, packer *p) {
    bool is_over = false;
    uint64_t read = 0;
    while (!is_over) {
        FT_TRY(cg_folder_next(f, source, p, &is_over));
        read += !is_over;
        if (c->job->options->is_strict && f->skip_count > 0) return FT_OK; /* reported when it is added */
        if (read % PROGRESS_STEP != 0 && !is_over) continue;
        if (!report_progress(c, f, is_over ? read % PROGRESS_STEP : PROGRESS_STEP))
            return ft_fail(&f->error, FT_ERR_CANCELLED, "the import was cancelled; nothing was written");
    }
    return FT_OK;
}

static ft_status read_folder(cg_import *c, cg_folder *f) {
    ft_source *source;
    FT_TRY(ft_source_open(f->path, &source, &f->error));
    packer *p = packer_new();
    ft_status status = p != NULL ? read_models(c, f, source, p) : FT_NOMEM(&f->error);
    packer_free(p);
    ft_source_close(source);
    return status;
}

static void read_part(void *user, uint32_t part, uint32_t worker) {
    (void)worker;
    cg_import *c = user;
    cg_folder *f = c->by_size[part];
    f->status = read_folder(c, f);
}

static int by_descending_size(const void *a, const void *b) {
    const cg_folder *x = *(cg_folder *const *)a, *y = *(cg_folder *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->path, y->path);
}

/* The largest folders are read first: no thread is left with one of them at the end. */
static ft_status sort_by_size(cg_import *c) {
    char path[PATH_MAX];
    struct stat info;
    c->by_size = ARENA_ARRAY(&c->memory, cg_folder *, (size_t)c->folder_count + 1);
    if (c->by_size == NULL) return FT_NOMEM(c->job->error);
    for (uint32_t i = 0; i < c->folder_count; i++) {
        c->by_size[i] = &c->folders[i];
        for (int table = 0; table < CG_TABLES; table++)
            if (cg_find_table(c->folders[i].path, table, path, sizeof path) && stat(path, &info) == 0)
                c->folders[i].bytes += (uint64_t)info.st_size;
    }
    qsort(c->by_size, c->folder_count, sizeof(cg_folder *), by_descending_size);
    return FT_OK;
}

static ft_status read_all(cg_import *c) {
    pool *threads = NULL;
    FT_TRY(sort_by_size(c));
    if (c->folder_count > 1) FT_TRY(pool_new(c->job->options->threads, &threads, c->job->error));
    pool_run(threads, c->folder_count, read_part, c);
    pool_free(threads);
    for (uint32_t i = 0; i < c->folder_count; i++) {
        const cg_folder *f = &c->folders[i];
        if (f->status == FT_OK) continue;
        if (c->job->error != NULL) *c->job->error = f->error;
        return f->status;
    }
    return FT_OK;
}

/* --- Adding ------------------------------------------------------------------------------------------------------ */

static ft_status add_labels(cg_import *c, builder *b, const cg_folder *f, const cg_model *m, uint32_t graph) {
    char where[640];
    for (uint32_t i = 0; i < m->label_count; i++) {
        const cg_label *l = &m->labels[i];
        if (isnan(l->metrics[CG_TIME])) continue; /* not measured */
        ft_record record = {.graph = graph,
                            .name = m->name,
                            .family = m->family,
                            .device = l->device,
                            .setting = "",
                            .part = m->part,
                            .batch = 1,
                            .dtype = FT_FLOAT32,
                            .mode = FT_INFER,
                            .metrics = l->metrics};
        snprintf(where, sizeof where, "%s: model '%s' on %s", f->path, m->name, l->device);
        FT_TRY(import_record(c->job, b, &record, where));
    }
    return FT_OK;
}

static bool has_time(const cg_model *m) {
    for (uint32_t i = 0; i < m->label_count; i++) {
        if (!isnan(m->labels[i].metrics[CG_TIME])) return true;
    }
    return false;
}

static ft_status add_one(cg_import *c, builder *b, map *seen, const cg_folder *f, const cg_model *m) {
    char where[512];
    uint32_t graph, ignored, before = seen->count;
    snprintf(where, sizeof where, "%s: model '%s'", f->path, m->name);
    const char *key = arena_format(&c->memory, "%s\n%s\n%s", m->family, m->index, m->name);
    if (key == NULL || !map_add(seen, key, 0, &ignored)) return FT_NOMEM(c->job->error);
    if (seen->count == before) return import_skip(c->job, where, "duplicate model (same family, index and name)");
    if (!has_time(m)) return import_skip(c->job, where, "it has no label for any device");
    FT_TRY(builder_add_packed(b, f->packed.data + m->offset, m->size, &graph, c->job->error));
    c->job->result->models++;
    return add_labels(c, b, f, m, graph);
}

static ft_status add_folder(cg_import *c, builder *b, map *seen, const cg_folder *f) {
    for (uint32_t i = 0; i < f->skip_count; i++) FT_TRY(import_skip(c->job, f->skips[i].where, f->skips[i].why));
    for (uint32_t i = 0; i < f->model_count; i++) FT_TRY(add_one(c, b, seen, f, &f->models[i]));
    return FT_OK;
}

static ft_status add_all(cg_import *c, builder *b) {
    map seen;
    map_init(&seen, &c->memory);
    for (int mixed = 0; mixed < 2; mixed++) {
        for (uint32_t i = 0; i < c->folder_count; i++) {
            if (c->folders[i].is_mixed == (mixed == 1)) FT_TRY(add_folder(c, b, &seen, &c->folders[i]));
        }
    }
    /* nn-Meter's own files lie beside the folders of the families. */
    const char *operators = arena_format(&c->memory, "%s/nnmeter", c->job->source);
    if (operators == NULL) return FT_NOMEM(c->job->error);
    FT_TRY(import_operators(c->job, b, operators, CG_TIME, CG_METRICS));
    return import_finish(c->job, b);
}

/* --- Finding the folders ----------------------------------------------------------------------------------------- */

static const char *last_part(arena *memory, const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/') start--;
    return arena_string(memory, path + start, length - start);
}

static ft_status add_table_folder(cg_import *c, uint32_t *capacity, const char *path) {
    assert(c->folder_count <= *capacity);
    if (!cg_reserve(&c->memory, (void **)&c->folders, c->folder_count, capacity, sizeof *c->folders))
        return FT_NOMEM(c->job->error);
    cg_folder *f = &c->folders[c->folder_count];
    *f = (cg_folder){.path = path, .name = last_part(&c->memory, path)};
    if (f->name == NULL) return FT_NOMEM(c->job->error);
    arena_init(&f->memory, UINT64_MAX);
    c->folder_count++;
    return FT_OK;
}

/* A folder that has some of the tables, but not all, is reported. */
static bool has_some_table(const char *path) {
    char file[PATH_MAX];
    for (int table = 0; table < CG_TABLES; table++) {
        if (cg_find_table(path, table, file, sizeof file)) return true;
    }
    return false;
}

static ft_status find_sub_folders(cg_import *c, const name_list *names) {
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        const char *path = arena_format(&c->memory, "%s/%s", c->job->source, names->names[i]);
        struct stat info;
        if (path == NULL) return FT_NOMEM(c->job->error);
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
        if (cg_matches_path(path))
            FT_TRY(add_table_folder(c, &capacity, path));
        else if (has_some_table(path))
            FT_TRY(import_skip(c->job, path, "models.csv, nodes.csv or edges.csv is missing"));
    }
    return FT_OK;
}

static ft_status find_folders(cg_import *c) {
    const char *source = c->job->source;
    uint32_t capacity = 0;
    if (cg_matches_path(source)) return add_table_folder(c, &capacity, source);
    name_list names;
    FT_TRY(name_list_read(source, &names, c->job->error));
    ft_status status = find_sub_folders(c, &names);
    name_list_free(&names);
    if (status != FT_OK || c->folder_count > 0) return status;
    return ft_fail(c->job->error, FT_ERR_FORMAT,
                   "%s: neither the folder nor its sub-folders have models.csv, nodes.csv and edges.csv (or .csv.gz)",
                   source);
}

/* The number of models, as far as it is cheap to find. */
static uint64_t count_models(const cg_folder *f) {
    char path[PATH_MAX];
    input in;
    if (!cg_find_table(f->path, CG_MODELS, path, sizeof path) ||
        input_open(path, FT_MAX_UNPACKED_BYTES, &in, NULL) != FT_OK)
        return 0;
    csv rows;
    csv_init(&rows, "", (const char *)in.bytes, in.size);
    uint64_t count = csv_skip(&rows, UINT64_MAX);
    input_close(&in);
    return count > 0 ? count - 1 : 0;
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static ft_status run(cg_import *c) {
    builder *b;
    FT_TRY(find_folders(c));
    for (uint32_t i = 0; i < c->folder_count; i++) c->total += count_models(&c->folders[i]);
    FT_TRY(builder_new(c->job->folder, metric_names, CG_METRICS, &b, c->job->error));
    ft_status status = read_all(c);
    if (status == FT_OK) status = add_all(c, b);
    builder_free(b);
    return status;
}

static ft_status import_cg(import_job *job) {
    cg_import c = {.job = job};
    arena_init(&c.memory, UINT64_MAX);
    pthread_mutex_init(&c.lock, NULL);
    ft_status status = run(&c);
    for (uint32_t i = 0; i < c.folder_count; i++) {
        arena_free(&c.folders[i].memory);
        buf_free(&c.folders[i].packed);
    }
    arena_free(&c.memory);
    pthread_mutex_destroy(&c.lock);
    return status;
}

const importer cg_importer = {"cg", "CG tables: models.csv, nodes.csv, edges.csv, or a folder of such folders",
                              import_cg};
