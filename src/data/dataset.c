/* dataset.c - opening, checking and accessing a data set.
 *
 * Opening reads the index of graphs.ftg, parses records.csv and compares both with dataset.json. It checks what is
 * cheap: all of records.csv, which is read anyway, and header and index of graphs.ftg. Each graph is checked when it is
 * unpacked, all of them by ft_dataset_check. */
#include "data/dataset.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "data/pack.h"
#include "graph/graph.h"

/* Larger than a table of a few hundred metrics and a few million rows. */
#define MAX_DATASET_BYTES (UINT64_C(1) << 36)

char *dataset_path(arena *memory, const char *folder, const char *file) {
    return arena_format(memory, "%s/%s", folder, file);
}

/* --- Opening ----------------------------------------------------------------------------------------------------- */

/* "DIR: not a data set" helps more than the name of one missing file. */
static ft_status check_folder(const char *folder, ft_error *error) {
    struct stat info;
    if (stat(folder, &info) != 0) return ft_fail(error, FT_ERR_IO, "%s: no such data set", folder);
    if (!S_ISDIR(info.st_mode)) return ft_fail(error, FT_ERR_IO, "%s: not a data set: not a folder", folder);
    return FT_OK;
}

static ft_status list_graphs(ft_dataset *d, map *ids, ft_error *error) {
    uint32_t count = d->graphs.count;
    d->ids = arena_array(&d->memory, count, sizeof d->ids[0]);
    if (d->ids == NULL || !map_reserve(ids, count)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found;
        hash_text(graphfile_id(&d->graphs, i), d->ids[i]);
        if (!map_add(ids, d->ids[i], i, &found)) return FT_NOMEM(error);
        if (found != i)
            return ft_fail(error, FT_ERR_DAMAGED, "%s/%s: graph %s occurs twice", d->folder, GRAPHS_FILE, d->ids[i]);
    }
    return FT_OK;
}

static ft_status read_records(ft_dataset *d, const map *ids, ft_error *error) {
    const char *path = dataset_path(&d->memory, d->folder, RECORDS_FILE);
    input in;
    if (path == NULL) return FT_NOMEM(error);
    FT_TRY(input_open(path, MAX_DATASET_BYTES, &in, error));
    d->found.records.bytes = in.size;
    hash_text(hash_bytes(in.bytes, in.size), d->found.records.hash);
    records_source source = {
        .name = path, .text = (const char *)in.bytes, .size = in.size, .graphs = ids, .folder = d->folder};
    ft_status status = records_parse(&source, &d->memory, &d->records, error);
    input_close(&in);
    return status;
}

static ft_status read_files(ft_dataset *d, ft_error *error) {
    const char *path = dataset_path(&d->memory, d->folder, GRAPHS_FILE);
    if (path == NULL) return FT_NOMEM(error);
    FT_TRY(graphfile_open(path, &d->graphs, error));
    d->found.graphs.bytes = d->graphs.size;
    hash_text(d->graphs.hash, d->found.graphs.hash);
    arena scratch;
    map ids;
    arena_init(&scratch, MAX_DATASET_BYTES);
    map_init(&ids, &scratch);
    ft_status status = list_graphs(d, &ids, error);
    if (status == FT_OK) status = read_records(d, &ids, error);
    arena_free(&scratch);
    if (status != FT_OK) return status;
    d->found.graph_count = d->graphs.count;
    d->found.record_count = d->records.count;
    manifest_seal(&d->found);
    return FT_OK;
}

ft_status dataset_open_files(const char *folder, ft_dataset **data, ft_error *error) {
    FT_TRY(check_folder(folder, error));
    ft_dataset *d = calloc(1, sizeof *d);
    if (d == NULL) return FT_NOMEM(error);
    arena_init(&d->memory, MAX_DATASET_BYTES);
    d->folder = arena_string(&d->memory, folder, strlen(folder));
    ft_status status = d->folder != NULL ? read_files(d, error) : FT_NOMEM(error);
    if (status == FT_OK)
        *data = d;
    else
        ft_dataset_free(d);
    return status;
}

static ft_status has_changed(const char *folder, const char *file, ft_error *error) {
    return ft_fail(
        error, FT_ERR_DAMAGED,
        "%s/%s: has changed since the data set was created: import it again, or, if the change is intended, run "
        "'foretell data rehash %s'; 'foretell data check %s' checks all of it",
        folder, file, folder, folder);
}

static bool is_same_file(const manifest_file *a, const manifest_file *b) {
    return a->bytes == b->bytes && strcmp(a->hash, b->hash) == 0;
}

static ft_status compare(const char *folder, const manifest *made, const manifest *found, ft_error *error) {
    if (!is_same_file(&made->graphs, &found->graphs) || made->graph_count != found->graph_count)
        return has_changed(folder, GRAPHS_FILE, error);
    if (!is_same_file(&made->records, &found->records) || made->record_count != found->record_count)
        return has_changed(folder, RECORDS_FILE, error);
    return strcmp(made->hash, found->hash) == 0 ? FT_OK : has_changed(folder, MANIFEST_FILE, error);
}

static ft_status read_manifest(const char *folder, manifest *m, ft_error *error) {
    struct stat info;
    arena scratch;
    arena_init(&scratch, 1 << 20);
    const char *path = dataset_path(&scratch, folder, MANIFEST_FILE);
    ft_status status;
    if (path == NULL)
        status = FT_NOMEM(error);
    else if (stat(path, &info) != 0)
        status = ft_fail(error, FT_ERR_FORMAT, "%s: not a data set: it has no %s; 'foretell import' creates data sets",
                         folder, MANIFEST_FILE);
    else
        status = manifest_read(path, m, error);
    arena_free(&scratch);
    return status;
}

ft_status ft_dataset_open(const char *folder, ft_dataset **data, ft_error *error) {
    FT_REQUIRE(error, folder, data);
    manifest made;
    ft_dataset *d;
    FT_TRY(check_folder(folder, error));
    FT_TRY(read_manifest(folder, &made, error));
    FT_TRY(dataset_open_files(folder, &d, error));
    ft_status status = compare(folder, &made, &d->found, error);
    if (status == FT_OK)
        *data = d;
    else
        ft_dataset_free(d);
    return status;
}

void ft_dataset_free(ft_dataset *data) {
    if (data == NULL) return;
    graphfile_close(&data->graphs);
    arena_free(&data->memory);
    free(data);
}

/* --- Access ------------------------------------------------------------------------------------------------------ */

uint32_t ft_dataset_graph_count(const ft_dataset *data) {
    return data != NULL ? data->graphs.count : 0;
}

ft_status dataset_graph_bytes(const ft_dataset *data, uint32_t index, buf *bytes, ft_error *error) {
    assert(index < data->graphs.count);
    ft_status status = graphfile_read(&data->graphs, index, bytes, error);
    if (status != FT_ERR_DAMAGED) return status;
    return ft_fail(error, FT_ERR_DAMAGED, "%s/%s: graph %s (number %u) is damaged: import it again", data->folder,
                   GRAPHS_FILE, data->ids[index], index);
}

ft_status ft_dataset_graph(const ft_dataset *data, uint32_t index, ft_graph **graph, ft_error *error) {
    FT_REQUIRE(error, data, graph);
    if (index >= data->graphs.count)
        return ft_fail(error, FT_ERR_USAGE, "%s: has no graph %u; it has %u", data->folder, index, data->graphs.count);
    buf bytes = {0};
    ft_status status = dataset_graph_bytes(data, index, &bytes, error);
    if (status == FT_OK) {
        status = unpack_graph(bytes.data, bytes.length, data->ids[index], graph, error);
        if (status != FT_OK && status != FT_ERR_NOMEM)
            status =
                ft_fail_prefix(error, FT_ERR_DAMAGED, "%s/%s: graph %s", data->folder, GRAPHS_FILE, data->ids[index]);
    }
    buf_free(&bytes);
    return status;
}

const char *ft_dataset_graph_id(const ft_dataset *data, uint32_t index) {
    if (data == NULL) return NULL;
    return index < data->graphs.count ? data->ids[index] : NULL;
}

uint32_t ft_dataset_record_count(const ft_dataset *data) {
    return data != NULL ? data->records.count : 0;
}

const ft_record *ft_dataset_records(const ft_dataset *data) {
    return data != NULL ? data->records.rows : NULL;
}

uint32_t ft_dataset_metric_count(const ft_dataset *data) {
    return data != NULL ? data->records.metric_count : 0;
}

const char *ft_dataset_metric_name(const ft_dataset *data, uint32_t index) {
    if (data == NULL) return NULL;
    return index < data->records.metric_count ? data->records.metrics[index] : NULL;
}

uint32_t ft_dataset_metric(const ft_dataset *data, const char *name) {
    if (data == NULL || name == NULL) return FT_NONE;
    for (uint32_t i = 0; i < data->records.metric_count; i++) {
        if (strcmp(data->records.metrics[i], name) == 0) return i;
    }
    return FT_NONE;
}

const char *ft_dataset_hash(const ft_dataset *data) {
    return data != NULL ? data->found.hash : NULL;
}

/* --- Checking and rehashing -------------------------------------------------------------------------------------- */

enum { PROGRESS_STEP = 256 };

static ft_status check_graphs(const ft_dataset *d, ft_progress *progress, void *user, ft_error *error) {
    for (uint32_t i = 0; i < d->graphs.count; i++) {
        ft_graph *graph;
        FT_TRY(ft_dataset_graph(d, i, &graph, error));
        ft_graph_free(graph);
        if (progress == NULL || i % PROGRESS_STEP != 0) continue;
        if (!progress(user, i, d->graphs.count, d->folder))
            return ft_fail(error, FT_ERR_CANCELLED, "the check was cancelled");
    }
    return FT_OK;
}

ft_status ft_dataset_check(const char *folder, ft_progress *progress, void *user, ft_error *error) {
    FT_REQUIRE(error, folder);
    ft_dataset *d;
    FT_TRY(ft_dataset_open(folder, &d, error));
    ft_status status = check_graphs(d, progress, user, error);
    ft_dataset_free(d);
    return status;
}

ft_status ft_dataset_rehash(const char *folder, ft_error *error) {
    FT_REQUIRE(error, folder);
    ft_dataset *d;
    FT_TRY(dataset_open_files(folder, &d, error));
    ft_status status = check_graphs(d, NULL, NULL, error);
    const char *path = dataset_path(&d->memory, folder, MANIFEST_FILE);
    if (status == FT_OK) status = path != NULL ? manifest_write(path, &d->found, error) : FT_NOMEM(error);
    ft_dataset_free(d);
    return status;
}

/* --- Unknown names ----------------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 64 };

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *name_of(const ft_record *record, bool is_device) {
    return is_device ? record->device : record->family;
}

/* Collects the distinct names, sorted. */
static size_t find_names(const ft_dataset *data, bool is_device, const char *names[static MAX_NAMES]) {
    const ft_record *records = ft_dataset_records(data);
    size_t count = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(data) && count < MAX_NAMES; i++) {
        const char *name = name_of(&records[i], is_device);
        size_t at = 0;
        while (at < count && strcmp(names[at], name) != 0) at++;
        if (at == count && name[0] != '\0') names[count++] = name;
    }
    if (count > 1) qsort(names, count, sizeof names[0], compare_names);
    return count;
}

static ft_status unknown_name(const ft_dataset *data, bool is_device, const char *name, ft_error *error) {
    const char *names[MAX_NAMES] = {NULL};
    size_t count = find_names(data, is_device, names);
    ft_fail(error, FT_ERR_USAGE, "the data set has no %s '%s'; it has%s", is_device ? "device" : "family", name,
            count == 0 ? " none" : "");
    for (size_t i = 0; error != NULL && i < count; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",", names[i]);
    }
    return FT_ERR_USAGE;
}

ft_status dataset_unknown_family(const ft_dataset *data, const char *family, ft_error *error) {
    return unknown_name(data, false, family, error);
}

ft_status dataset_unknown_device(const ft_dataset *data, const char *device, ft_error *error) {
    return unknown_name(data, true, device, error);
}

/* Data sets hold either models or programs, so the first graph decides. */
ft_status dataset_holds_programs(const ft_dataset *data, bool *are_programs, ft_error *error) {
    ft_graph *graph = NULL;
    *are_programs = false;
    if (ft_dataset_graph_count(data) == 0) return FT_OK;
    FT_TRY(ft_dataset_graph(data, 0, &graph, error));
    *are_programs = graph_program_text(graph) != NULL;
    ft_graph_free(graph);
    return FT_OK;
}
