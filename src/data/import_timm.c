/* import_timm.c - import of step times and peak memory of timm's image models, whose graphs are ONNX files beside
 * the tables.
 *
 * Only graphs that a row refers to are read. Rows are added in the order of the tables. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "data/import.h"
#include "data/timm.h"

typedef struct timm_import {
    import_job *job;
    builder *builder;
    arena memory;
    name_list graphs;
    timm_rows rows;
    model_file *files;
    uint32_t file_count;
    map by_name; /* from the file name of a graph to its index in `files` */
} timm_import;

static ft_status list_files(timm_import *t) {
    t->files = ARENA_ARRAY(&t->memory, model_file, (size_t)t->graphs.count + 1);
    if (t->files == NULL) return FT_NOMEM(t->job->error);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const char *name = t->rows.items[i].graph;
        uint32_t at;
        if (!map_add(&t->by_name, name, t->file_count, &at)) return FT_NOMEM(t->job->error);
        if (at != t->file_count) continue;
        const char *path = arena_format(&t->memory, "%s/graphs/%s", t->job->source, name);
        if (path == NULL) return FT_NOMEM(t->job->error);
        t->files[t->file_count++] = (model_file){.path = path};
    }
    return FT_OK;
}

static ft_status add_row(timm_import *t, const timm_row *row) {
    uint32_t at = 0;
    char where[4200];
    snprintf(where, sizeof where, "%s: line %llu", row->table, (unsigned long long)row->line);
    map_get(&t->by_name, row->graph, &at);
    if (t->files[at].graph == FT_NONE) return import_skip(t->job, where, "its graph is unreadable");
    ft_record record = {.graph = t->files[at].graph,
                        .name = row->name,
                        .family = row->family,
                        .device = row->device,
                        .setting = row->setting,
                        .part = "",
                        .batch = row->batch,
                        .dtype = row->dtype,
                        .mode = row->mode,
                        .metrics = row->metrics};
    return import_record(t->job, t->builder, &record, where);
}

static ft_status read_graph_names(timm_import *t) {
    const char *folder = arena_format(&t->memory, "%s/graphs", t->job->source);
    if (folder == NULL) return FT_NOMEM(t->job->error);
    return name_list_read(folder, &t->graphs, t->job->error);
}

static ft_status run(timm_import *t) {
    FT_TRY(read_graph_names(t));
    FT_TRY(timm_tables_read(t->job, &t->graphs, &t->memory, &t->rows));
    if (t->rows.table_count == 0)
        return ft_fail(t->job->error, FT_ERR_FORMAT,
                       "%s: contains neither benchmark.csv nor train_memory_a100.csv (or .csv.gz)", t->job->source);
    FT_TRY(list_files(t));
    FT_TRY(builder_new(t->job->folder, timm_metrics, TIMM_METRICS, &t->builder, t->job->error));
    FT_TRY(model_files_add(t->job, t->builder, t->files, t->file_count));
    for (uint32_t i = 0; i < t->rows.count; i++) FT_TRY(add_row(t, &t->rows.items[i]));
    return import_finish(t->job, t->builder);
}

static ft_status import_timm(import_job *job) {
    timm_import t = {.job = job};
    arena_init(&t.memory, UINT64_MAX);
    map_init(&t.by_name, &t.memory);
    ft_status status = run(&t);
    builder_free(t.builder);
    name_list_free(&t.graphs);
    arena_free(&t.memory);
    return status;
}

const importer timm_importer = {"timm", "step times and memory of timm's image models, with their ONNX graphs",
                                import_timm};
