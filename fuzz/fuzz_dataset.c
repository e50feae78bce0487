/* fuzz_dataset.c - any bytes as parts of a data set: a packed graph, a file of them, or a table of records.
 *
 * The first byte selects which. Graphs are bound and costed; an unpacked graph packs again to bytes that unpack. The
 * hashes of a container are corrected first, because no fuzzer would guess them. */
#include <string.h>

#include "data/graphfile.h"
#include "data/pack.h"
#include "data/records.h"
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack_again(const ft_graph *graph) {
    buf bytes = {0};
    ft_error error;
    ft_graph *copy = NULL;
    packer *p = packer_new();
    if (p == NULL || pack_graph(p, graph, &bytes, &error) != FT_OK ||
        unpack_graph(bytes.data, bytes.length, "again", &copy, &error) != FT_OK)
        abort();
    packer_free(p);
    ft_graph_free(copy);
    buf_free(&bytes);
}

static void try_graph(const uint8_t *bytes, size_t size) {
    ft_graph *graph = NULL;
    ft_error error;
    if (unpack_graph(bytes, size, "fuzz", &graph, &error) != FT_OK) return;
    pack_again(graph);
    downstream(graph, &error);
    ft_graph_free(graph);
}

static void put_hash(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Corrects the hashes of index and header. */
static void seal(uint8_t *bytes, size_t size) {
    enum { AT_INDEX = 24, AT_INDEX_HASH = 40, AT_HEADER_HASH = 56, HEADER_SIZE = 64 };
    uint64_t at = 0;
    if (size < HEADER_SIZE) return;
    for (int i = 0; i < 8; i++) at |= (uint64_t)bytes[AT_INDEX + i] << 8 * i;
    if (at <= size) {
        hash128 hash = hash_bytes(bytes + at, size - (size_t)at);
        put_hash(bytes + AT_INDEX_HASH, hash.low);
        put_hash(bytes + AT_INDEX_HASH + 8, hash.high);
    }
    put_hash(bytes + AT_HEADER_HASH, hash_bytes(bytes, AT_HEADER_HASH).low);
}

static void try_file(const uint8_t *data, size_t size) {
    graphfile file;
    ft_error error;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL) return;
    if (size > 0) memcpy(bytes, data, size);
    seal(bytes, size);
    if (graphfile_from_memory(bytes, size, "fuzz.ftg", &file, &error) == FT_OK) {
        buf graph = {0};
        for (uint32_t i = 0; i < file.count && i < 16; i++) {
            ft_status status = graphfile_read(&file, i, &graph, &error);
            if (status == FT_OK || status == FT_ERR_DAMAGED) try_graph((const uint8_t *)graph.data, graph.length);
        }
        buf_free(&graph);
    }
    free(bytes);
}

/* A table that was read, written and read again is equal. */
static void try_records(const uint8_t *data, size_t size) {
    arena memory, scratch;
    map graphs;
    records table;
    ft_error error;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    arena_init(&scratch, FT_MAX_GRAPH_BYTES);
    map_init(&graphs, &scratch);
    if (!map_set(&graphs, "0123456789abcdef0123456789abcdef", 0)) abort();
    records_source source = {.name = "fuzz.csv", .text = (const char *)data, .size = size, .graphs = &graphs};
    if (records_parse(&source, &memory, &table, &error) == FT_OK) {
        buf text = {0};
        records_put_header(&text, table.metrics, table.metric_count);
        for (uint32_t i = 0; i < table.count; i++)
            records_put_row(&text, &table.rows[i], "0123456789abcdef0123456789abcdef", table.metric_count);
        source.text = text.data;
        source.size = text.length;
        uint32_t count = table.count;
        if (text.failed || records_parse(&source, &memory, &table, &error) != FT_OK || table.count != count) abort();
        buf_free(&text);
    }
    arena_free(&memory);
    arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    switch (data[0]) {
    case 'g':
        try_graph(data + 1, size - 1);
        break;
    case 'f':
        try_file(data + 1, size - 1);
        break;
    case 'r':
        try_records(data + 1, size - 1);
        break;
    default:
        break;
    }
    return 0;
}
