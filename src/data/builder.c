/* builder.c - writing of a new data set: graphs and rows as they come, the manifest at the end. */
#include "data/builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/outfile.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "data/pack.h"

enum { FLUSH_BYTES = 64 * 1024 };

struct builder {
    outfolder folder;
    graphwriter graphs;
    outfile table;
    hasher *table_hash;
    manifest made;
    arena memory;
    map ids;     /* from the id of a graph to its index */
    map keys;    /* from the key of a record to its number */
    buf id_list; /* FT_HASH_TEXT bytes for each graph */
    buf values;  /* a hash128 of the metrics of each record */
    buf text;    /* rows that are not written yet */
    buf packed;
    packer *packer;
    uint32_t metric_count;
    const char *metrics[MAX_METRICS]; /* in the arena */
};

/* --- Beginning --------------------------------------------------------------------------------------------------- */

static ft_status open_files(builder *b, const char *folder, ft_error *error) {
    FT_TRY(outfolder_open(folder, &b->folder, error));
    const char *graphs = dataset_path(&b->memory, b->folder.temporary, GRAPHS_FILE);
    const char *table = dataset_path(&b->memory, b->folder.temporary, RECORDS_FILE);
    if (graphs == NULL || table == NULL) return FT_NOMEM(error);
    FT_TRY(graphwriter_open(graphs, &b->graphs, error));
    return outfile_open(table, &b->table, error);
}

ft_status builder_new(const char *folder, const char *const *metrics, uint32_t metric_count, builder **made,
                      ft_error *error) {
    if (metric_count > MAX_METRICS)
        return ft_fail(error, FT_ERR_LIMIT, "%u metrics; a data set has at most %d", metric_count, MAX_METRICS);
    builder *b = calloc(1, sizeof *b);
    if (b == NULL) return FT_NOMEM(error);
    arena_init(&b->memory, UINT64_MAX);
    map_init(&b->ids, &b->memory);
    map_init(&b->keys, &b->memory);
    b->metric_count = metric_count;
    bool has_names = true;
    for (uint32_t i = 0; i < metric_count; i++) {
        b->metrics[i] = arena_copy(&b->memory, metrics[i], strlen(metrics[i]) + 1);
        has_names &= b->metrics[i] != NULL;
    }
    b->packer = packer_new();
    b->table_hash = hasher_new();
    ft_status status =
        has_names && b->packer != NULL && b->table_hash != NULL ? open_files(b, folder, error) : FT_NOMEM(error);
    if (status != FT_OK) {
        builder_free(b);
        return status;
    }
    records_put_header(&b->text, metrics, metric_count);
    *made = b;
    return FT_OK;
}

void builder_free(builder *b) {
    if (b == NULL) return;
    graphwriter_discard(&b->graphs);
    outfile_discard(&b->table);
    outfolder_discard(&b->folder);
    if (b->table_hash != NULL) hasher_end(b->table_hash);
    packer_free(b->packer);
    arena_free(&b->memory);
    buf_free(&b->id_list);
    buf_free(&b->values);
    buf_free(&b->text);
    buf_free(&b->packed);
    free(b);
}

/* --- Graphs ------------------------------------------------------------------------------------------------------ */

ft_status builder_add_packed(builder *b, const void *bytes, size_t size, uint32_t *index, ft_error *error) {
    char text[HASH_TEXT];
    hash128 id = hash_bytes(bytes, size);
    if (map_get(&b->ids, hash_text(id, text), index)) return FT_OK;
    const char *key = arena_string(&b->memory, text, HASH_TEXT - 1);
    buf_add(&b->id_list, text, HASH_TEXT);
    if (key == NULL || b->id_list.failed || !map_set(&b->ids, key, b->graphs.count)) return FT_NOMEM(error);
    *index = b->graphs.count;
    return graphwriter_add(&b->graphs, id, bytes, size, error);
}

ft_status builder_add_graph(builder *b, const ft_graph *graph, uint32_t *index, ft_error *error) {
    b->packed.length = 0;
    b->packed.failed = false;
    FT_TRY(pack_graph(b->packer, graph, &b->packed, error));
    return builder_add_packed(b, b->packed.data, b->packed.length, index, error);
}

uint32_t builder_graph_count(const builder *b) {
    return b->graphs.count;
}

/* --- Records ----------------------------------------------------------------------------------------------------- */

static ft_status flush_rows(builder *b, ft_error *error) {
    if (b->text.failed) return FT_NOMEM(error);
    hasher_add(b->table_hash, b->text.data, b->text.length);
    if (fwrite(b->text.data, 1, b->text.length, b->table.stream) != b->text.length)
        return ft_fail_file(error, b->table.path, "cannot write", errno);
    b->made.records.bytes += b->text.length;
    b->text.length = 0;
    return FT_OK;
}

/* Finds an earlier record of the same measurement, and compares its values. */
static ft_status find_duplicate(builder *b, const ft_record *r, builder_outcome *outcome, ft_error *error) {
    char text[HASH_TEXT];
    hash128 before, values = hash_bytes(r->metrics, b->metric_count * sizeof *r->metrics);
    uint32_t number = (uint32_t)b->made.record_count, found;
    if (map_get(&b->keys, record_key(r, text), &found)) {
        memcpy(&before, b->values.data + found * sizeof before, sizeof before);
        *outcome = hash_is_equal(before, values) ? RECORD_REPEATED : RECORD_CONTRADICTS;
        return FT_OK;
    }
    const char *key = arena_string(&b->memory, text, HASH_TEXT - 1);
    buf_add(&b->values, &values, sizeof values);
    if (key == NULL || b->values.failed || !map_set(&b->keys, key, number)) return FT_NOMEM(error);
    *outcome = RECORD_ADDED;
    return FT_OK;
}

uint32_t builder_metric(const builder *b, const char *name) {
    for (uint32_t i = 0; i < b->metric_count; i++) {
        if (strcmp(b->metrics[i], name) == 0) return i;
    }
    return FT_NONE;
}

uint32_t builder_metric_count(const builder *b) {
    return b->metric_count;
}

const char *builder_metric_name(const builder *b, uint32_t index) {
    assert(index < b->metric_count);
    return b->metrics[index];
}

ft_status builder_add_record(builder *b, const ft_record *record, builder_outcome *outcome, ft_error *error) {
    if (record->graph >= b->graphs.count)
        return ft_fail(error, FT_ERR_INTERNAL, "a record refers to a graph that was not added");
    if (b->made.record_count >= FT_NONE - 1)
        return ft_fail(error, FT_ERR_LIMIT, "a data set holds at most %u records", FT_NONE - 1);
    FT_TRY(find_duplicate(b, record, outcome, error));
    if (*outcome != RECORD_ADDED) return FT_OK;
    records_put_row(&b->text, record, b->id_list.data + (size_t)record->graph * HASH_TEXT, b->metric_count);
    b->made.record_count++;
    return b->text.length >= FLUSH_BYTES || b->text.failed ? flush_rows(b, error) : FT_OK;
}

/* --- Devices ----------------------------------------------------------------------------------------------------- */

static ft_status copy_file(const char *from, const char *to, ft_error *error) {
    enum { MAX_BYTES = 1 << 20 };
    input in;
    FT_TRY(input_open(from, MAX_BYTES, &in, error));
    ft_status status = outfile_write(to, in.bytes, in.size, error);
    input_close(&in);
    return status;
}

ft_status builder_add_device(builder *b, const char *folder, const char *name, ft_error *error) {
    if (ft_device_canonical(name) != NULL) return FT_OK;
    const char *own = dataset_path(&b->memory, b->folder.temporary, DEVICES_FOLDER);
    const char *from = device_path(folder, name, &b->memory);
    const char *to = device_path(b->folder.temporary, name, &b->memory);
    if (own == NULL || from == NULL || to == NULL) return FT_NOMEM(error);
    if (access(to, F_OK) == 0) return FT_OK;
    if (mkdir(own, 0777) != 0 && errno != EEXIST) return ft_fail_file(error, own, "cannot make the folder", errno);
    return copy_file(from, to, error);
}

/* --- Finishing --------------------------------------------------------------------------------------------------- */

ft_status builder_finish(builder *b, ft_error *error) {
    hash128 hash;
    FT_TRY(flush_rows(b, error));
    FT_TRY(outfile_commit(&b->table, error));
    hash_text(hasher_end(b->table_hash), b->made.records.hash);
    b->table_hash = NULL;
    b->made.graph_count = b->graphs.count;
    FT_TRY(graphwriter_finish(&b->graphs, &hash, &b->made.graphs.bytes, error));
    hash_text(hash, b->made.graphs.hash);
    manifest_seal(&b->made);
    const char *path = dataset_path(&b->memory, b->folder.temporary, MANIFEST_FILE);
    if (path == NULL) return FT_NOMEM(error);
    FT_TRY(manifest_write(path, &b->made, error));
    return outfolder_commit(&b->folder, error);
}
