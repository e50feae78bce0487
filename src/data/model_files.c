/* model_files.c - parallel reading of many model files. Files are read and packed on all threads, a few hundred at a
 * time; one thread adds them in order, so that graph indices are deterministic. */
#include "data/import.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/pool.h"
#include "data/pack.h"

enum { FILES_AT_A_TIME = 256 };

typedef struct reading {
    buf packed;
    ft_status status;
    ft_error error;
} reading;

typedef struct reader_pool {
    pool *threads;
    packer **packers; /* one per thread; NULL-terminated */
    reading *readings;
    const model_file *files; /* of the current batch */
} reader_pool;

/* Rejects graphs that cannot be bound: they would be useless in a data set. */
static ft_status check_binding(const ft_graph *graph, ft_error *error) {
    ft_graph *bound;
    FT_TRY(ft_graph_bind(graph, NULL, &bound, error));
    ft_graph_free(bound);
    return FT_OK;
}

static ft_status read_one(const char *path, packer *p, reading *r) {
    assert(path != NULL && p != NULL);
    ft_graph *graph;
    FT_TRY(ft_graph_read(path, &graph, &r->error));
    ft_status status = check_binding(graph, &r->error);
    if (status == FT_OK) status = pack_graph(p, graph, &r->packed, &r->error);
    ft_graph_free(graph);
    return status;
}

static void read_part(void *user, uint32_t part, uint32_t worker) {
    reader_pool *readers = user;
    reading *r = &readers->readings[part];
    r->packed.length = 0;
    r->status = read_one(readers->files[part].path, readers->packers[worker], r);
}

static ft_status add_one(import_job *job, builder *b, const reading *r, model_file *file) {
    file->graph = FT_NONE;
    if (r->status != FT_OK) FT_TRY(import_may_skip(job, file->path, r->status, &r->error));
    if (r->status != FT_OK) return import_skip(job, r->error.message, "the graph is unreadable");
    job->result->models++;
    return builder_add_packed(b, r->packed.data, r->packed.length, &file->graph, job->error);
}

static ft_status make_readers(reader_pool *readers, uint32_t file_count, ft_error *error) {
    if (file_count > 1) FT_TRY(pool_new(0, &readers->threads, error));
    uint32_t count = readers->threads != NULL ? pool_threads(readers->threads) : 1;
    readers->packers = calloc((size_t)count + 1, sizeof *readers->packers);
    readers->readings = calloc(FILES_AT_A_TIME, sizeof *readers->readings);
    if (readers->packers == NULL || readers->readings == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        readers->packers[i] = packer_new();
        if (readers->packers[i] == NULL) return FT_NOMEM(error);
    }
    return FT_OK;
}

static void free_readers(reader_pool *readers) {
    pool_free(readers->threads);
    for (packer **each = readers->packers; each != NULL && *each != NULL; each++) packer_free(*each);
    for (uint32_t i = 0; readers->readings != NULL && i < FILES_AT_A_TIME; i++) buf_free(&readers->readings[i].packed);
    free(readers->packers);
    free(readers->readings);
}

static ft_status add_all(import_job *job, builder *b, reader_pool *readers, model_file *files, uint32_t count) {
    for (uint32_t start = 0; start < count; start += FILES_AT_A_TIME) {
        uint32_t some = count - start < FILES_AT_A_TIME ? count - start : FILES_AT_A_TIME;
        readers->files = files + start;
        pool_run(readers->threads, some, read_part, readers);
        for (uint32_t i = 0; i < some; i++) FT_TRY(add_one(job, b, &readers->readings[i], &files[start + i]));
        FT_TRY(import_progress(job, start + some, count, files[start + some - 1].path));
    }
    return FT_OK;
}

ft_status model_files_add(import_job *job, builder *b, model_file *files, uint32_t count) {
    reader_pool readers = {0};
    ft_status status = make_readers(&readers, count, job->error);
    if (status == FT_OK) status = add_all(job, b, &readers, files, count);
    free_readers(&readers);
    return status;
}
