/* model_files.c - parallel reading of many model files. Files are read and packed on all threads, in batches; one
 * thread adds them in order, so that graph indices are deterministic. */
#include "data/import.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/pool.h"
#include "data/pack.h"

enum { FILES_A_BATCH = 64 };

typedef struct reading {
    buf packed;
    model_file *file;
    ft_status status;
    ft_error error;
} reading;

typedef struct reader_pool {
    pool *threads;
    packer **packers;  /* one per thread; NULL-terminated */
    reading *readings; /* two batches */
    import_job *job;
    builder *builder;
    model_file *files;
    uint32_t count, begun, done;
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

static ft_status begin_files(void *user, uint32_t first, uint32_t *count, ft_error *error) {
    (void)error;
    reader_pool *readers = user;
    for (; *count < FILES_A_BATCH && readers->begun < readers->count; ++*count)
        readers->readings[first + *count].file = &readers->files[readers->begun++];
    return FT_OK;
}

static void read_part(void *user, uint32_t item, uint32_t worker) {
    reader_pool *readers = user;
    reading *r = &readers->readings[item];
    r->packed.length = 0;
    r->status = read_one(r->file->path, readers->packers[worker], r);
}

static ft_status add_one(import_job *job, builder *b, const reading *r) {
    r->file->graph = FT_NONE;
    if (r->status != FT_OK) FT_TRY(import_may_skip(job, r->file->path, r->status, &r->error));
    if (r->status != FT_OK) return import_skip(job, r->error.message, "the graph is unreadable");
    job->result->models++;
    return builder_add_packed(b, r->packed.data, r->packed.length, &r->file->graph, job->error);
}

static ft_status add_files(void *user, uint32_t first, uint32_t count, ft_error *error) {
    reader_pool *readers = user;
    import_job job = *readers->job;
    job.error = error;
    for (uint32_t i = first; i < first + count; i++) FT_TRY(add_one(&job, readers->builder, &readers->readings[i]));
    readers->done += count;
    return import_progress(&job, readers->done, readers->count, readers->files[readers->done - 1].path);
}

static ft_status make_readers(reader_pool *readers, uint32_t file_count, uint32_t threads, ft_error *error) {
    if (file_count > 1) FT_TRY(pool_new(threads, &readers->threads, error));
    uint32_t count = readers->threads != NULL ? pool_threads(readers->threads) : 1;
    readers->packers = calloc((size_t)count + 1, sizeof *readers->packers);
    readers->readings = calloc((size_t)2 * FILES_A_BATCH, sizeof *readers->readings);
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
    for (uint32_t i = 0; readers->readings != NULL && i < 2 * FILES_A_BATCH; i++)
        buf_free(&readers->readings[i].packed);
    free(readers->packers);
    free(readers->readings);
}

ft_status model_files_add(import_job *job, builder *b, model_file *files, uint32_t count) {
    static const batch_steps steps = {.size = FILES_A_BATCH, .read = begin_files, .work = read_part, .take = add_files};
    reader_pool readers = {.job = job, .builder = b, .files = files, .count = count};
    ft_status status = make_readers(&readers, count, job->options->threads, job->error);
    if (status == FT_OK) status = batches_run(readers.threads, &steps, &readers, job->error);
    free_readers(&readers);
    return status;
}
