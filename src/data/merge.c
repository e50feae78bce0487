/* merge.c - merging of several data sets into one. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/import.h"

typedef struct merger {
    import_job *job;
    ft_dataset **parts;
    uint32_t part_count;
    const char *metrics[MAX_METRICS]; /* union of the metrics, in order of appearance */
    uint32_t metric_count;
    uint64_t total, done;
    builder *builder;
} merger;

static uint32_t metric_index(const merger *m, const char *name) {
    for (uint32_t i = 0; i < m->metric_count; i++) {
        if (strcmp(m->metrics[i], name) == 0) return i;
    }
    return FT_NONE;
}

static ft_status collect_metrics(merger *m, const ft_dataset *d) {
    for (uint32_t i = 0; i < d->records.metric_count; i++) {
        if (metric_index(m, d->records.metrics[i]) != FT_NONE) continue;
        if (m->metric_count == MAX_METRICS)
            return ft_fail(m->job->error, FT_ERR_LIMIT, "the data sets have more than %d different metrics",
                           MAX_METRICS);
        m->metrics[m->metric_count++] = d->records.metrics[i];
    }
    return FT_OK;
}

static ft_status open_parts(merger *m, const char *const *folders) {
    for (uint32_t i = 0; i < m->part_count; i++) {
        FT_TRY(ft_dataset_open(folders[i], &m->parts[i], m->job->error));
        FT_TRY(collect_metrics(m, m->parts[i]));
        m->total += m->parts[i]->records.count;
    }
    return FT_OK;
}

static ft_status add_record(merger *m, const ft_dataset *d, uint32_t row, const uint32_t *graphs) {
    double values[MAX_METRICS];
    char where[640];
    ft_record r = d->records.rows[row];
    for (uint32_t i = 0; i < m->metric_count; i++) values[i] = NAN;
    for (uint32_t i = 0; i < d->records.metric_count; i++) {
        uint32_t at = metric_index(m, d->records.metrics[i]);
        assert(at < m->metric_count); /* collect_metrics saw all of them */
        values[at] = r.metrics[i];
    }
    r.graph = graphs[r.graph];
    r.metrics = values;
    snprintf(where, sizeof where, "%s: record %u ('%s' on %s)", d->folder, row + 1, r.name, r.device);
    FT_TRY(builder_add_device(m->builder, d->folder, r.device, m->job->error));
    return import_record(m->job, m->builder, &r, where);
}

static ft_status add_graphs(merger *m, const ft_dataset *d, buf *bytes, uint32_t *graphs) {
    for (uint32_t i = 0; i < d->graphs.count; i++) {
        FT_TRY(dataset_graph_bytes(d, i, bytes, m->job->error));
        FT_TRY(builder_add_packed(m->builder, bytes->data, bytes->length, &graphs[i], m->job->error));
        m->job->result->models++;
    }
    return FT_OK;
}

static ft_status add_part(merger *m, const ft_dataset *d, uint32_t *graphs) {
    buf bytes = {0};
    ft_status status = add_graphs(m, d, &bytes, graphs);
    buf_free(&bytes);
    FT_TRY(status);
    for (uint32_t i = 0; i < d->records.count; i++) {
        FT_TRY(add_record(m, d, i, graphs));
        if (++m->done % 1024 == 0) FT_TRY(import_progress(m->job, m->done, m->total, d->folder));
    }
    return FT_OK;
}

static ft_status merge(merger *m, const char *const *folders) {
    FT_TRY(open_parts(m, folders));
    FT_TRY(builder_new(m->job->folder, m->metrics, m->metric_count, &m->builder, m->job->error));
    for (uint32_t i = 0; i < m->part_count; i++) {
        uint32_t *graphs = calloc((size_t)m->parts[i]->graphs.count + 1, sizeof *graphs);
        ft_status status = graphs != NULL ? add_part(m, m->parts[i], graphs) : FT_NOMEM(m->job->error);
        free(graphs);
        FT_TRY(status);
    }
    return import_finish(m->job, m->builder);
}

ft_status ft_dataset_merge(const char *const *folders, uint32_t count, const char *folder,
                           const ft_import_options *options, ft_import_result *result, ft_error *error) {
    FT_REQUIRE(error, folder);
    if (count > 0) FT_REQUIRE(error, folders);
    static const ft_import_options none;
    ft_import_result made = {0};
    import_job job = {.source = count > 0 ? folders[0] : "",
                      .folder = folder,
                      .options = options != NULL ? options : &none,
                      .result = &made,
                      .error = error};
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "no data set to merge");
    merger m = {.job = &job, .part_count = count, .parts = calloc(count, sizeof *m.parts)};
    ft_status status = m.parts != NULL ? merge(&m, folders) : FT_NOMEM(error);
    builder_free(m.builder);
    for (uint32_t i = 0; m.parts != NULL && i < count; i++) ft_dataset_free(m.parts[i]);
    free(m.parts);
    if (status == FT_OK && result != NULL) *result = made;
    return status;
}
