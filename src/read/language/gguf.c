/* gguf.c - reader of GGUF, the format of llama.cpp: a header of metadata and tensor infos, then the weights.
 *
 *     "GGUF" version:u32 tensors:u64 keys:u64 {key type value}... {name rank dims type offset}... padding data
 *
 * Versions 2 and 3, little and big endian. Only headers are read: the size of the file does not matter. A model in
 * several files (name-00001-of-00003.gguf) is read from any of them, with the others beside it. */
#include "read/language/gguf.h"

#include <stdio.h>
#include <string.h>

#include "base/input.h"

enum { MAX_NAME_BYTES = 1024, MAX_FILES = 10000, MAX_ALIGNMENT = 1 << 20, USUAL_ALIGNMENT = 32 };

static const char magic[] = {'G', 'G', 'U', 'F'};

typedef struct gguf_model {
    arena memory;
    gguf_meta meta; /* of the first file */
    weight_list weights;
    ft_error *error;
} gguf_model;

/* --- Recognition ------------------------------------------------------------------------------------------------- */

static bool matches_parts(const uint8_t *bytes, size_t size, filecopy *file) {
    if (size < sizeof magic) return false;
    filecopy_load(file, bytes, sizeof magic);
    return memcmp(bytes, magic, sizeof magic) == 0;
}

static bool matches(const uint8_t *bytes, size_t size) {
    return matches_parts(bytes, size, NULL);
}

/* --- One file ---------------------------------------------------------------------------------------------------- */

static ft_status read_version(gguf_bytes *in) {
    uint32_t version;
    FT_TRY(gguf_skip(in, sizeof magic));
    FT_TRY(gguf_u32(in, &version));
    in->is_swapped = (version & 0xffff) == 0; /* small numbers are in the other half */
    if (in->is_swapped) version = __builtin_bswap32(version);
    if (version == 1)
        return ft_fail(in->error, FT_ERR_UNSUPPORTED,
                       "GGUF version 1 is not supported, only 2 and 3: convert the model again");
    if (version != 2 && version != 3)
        return ft_fail(in->error, FT_ERR_UNSUPPORTED, "GGUF version %u is not supported, only 2 and 3", version);
    return FT_OK;
}

static ft_status read_dims(gguf_bytes *in, weight *w) {
    uint32_t rank;
    FT_TRY(gguf_u32(in, &rank));
    if (rank > FT_MAX_RANK)
        return ft_fail(in->error, FT_ERR_LIMIT, "weight '%.200s' has %u dimensions; at most %d are supported", w->name,
                       rank, FT_MAX_RANK);
    w->rank = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++) { /* the innermost is first in the file */
        uint64_t dim;
        FT_TRY(gguf_u64(in, &dim));
        w->dims[rank - 1 - i] = dim <= (uint64_t)FT_MAX_DIM ? (int64_t)dim : FT_MAX_DIM + 1;
    }
    return FT_OK;
}

static ft_status read_info(gguf_bytes *in, gguf_model *m, uint64_t alignment) {
    weight w = {0};
    uint32_t type;
    FT_TRY(gguf_string(in, MAX_NAME_BYTES, &m->memory, &w.name));
    FT_TRY(read_dims(in, &w));
    FT_TRY(gguf_u32(in, &type));
    FT_TRY(gguf_u64(in, &w.offset));
    w.type = weight_type_of_ggml(type);
    if (w.type == NULL)
        return ft_fail(in->error, FT_ERR_UNSUPPORTED, "weight '%.200s' has type %u, which is not known", w.name, type);
    if (w.offset % alignment != 0)
        return ft_fail(in->error, FT_ERR_DAMAGED, "weight '%.200s' is not aligned to %llu bytes", w.name,
                       (unsigned long long)alignment);
    return weight_list_add(&m->weights, &w, in->error);
}

static ft_status read_alignment(const gguf_bytes *in, const gguf_meta *meta, uint64_t *alignment) {
    int64_t value = gguf_meta_int(meta, "general", "alignment", USUAL_ALIGNMENT);
    if (value < 1 || value > MAX_ALIGNMENT || (value & (value - 1)) != 0)
        return ft_fail(in->error, FT_ERR_DAMAGED, "general.alignment is %lld, not a power of two of at most %d",
                       (long long)value, MAX_ALIGNMENT);
    *alignment = (uint64_t)value;
    return FT_OK;
}

/* Adds the weights of a file to the model. */
static ft_status read_file(gguf_bytes *in, gguf_model *m, gguf_meta *meta) {
    uint64_t tensors, keys, alignment = USUAL_ALIGNMENT;
    uint32_t first = m->weights.count;
    FT_TRY(read_version(in));
    FT_TRY(gguf_u64(in, &tensors));
    FT_TRY(gguf_u64(in, &keys));
    if (tensors > FT_MAX_OPS)
        return ft_fail(in->error, FT_ERR_LIMIT, "%llu weights; at most %d are supported", (unsigned long long)tensors,
                       FT_MAX_OPS);
    FT_TRY(gguf_meta_read(in, keys, &m->memory, meta));
    FT_TRY(read_alignment(in, meta, &alignment));
    for (uint64_t i = 0; i < tensors; i++) FT_TRY(read_info(in, m, alignment));
    uint64_t start = num_div_up(in->at, alignment) * alignment;
    return weight_list_check(&m->weights, first, start < in->size ? in->size - start : 0, false, in->error);
}

/* --- Several files ----------------------------------------------------------------------------------------------- */

/* Reads one of the other files, whose name differs in its number. */
static ft_status read_shard(gguf_model *m, const char *path, gguf_meta *meta) {
    input in;
    bool is_stream;
    FT_TRY(input_open_stream(path, FT_MAX_UNPACKED_BYTES, &in, &is_stream, m->error));
    gguf_bytes bytes = {.bytes = in.bytes, .size = in.size, .file = &in.file, .error = m->error};
    ft_status status = matches_parts(in.bytes, in.size, &in.file)
                           ? read_file(&bytes, m, meta)
                           : ft_fail(m->error, FT_ERR_FORMAT, "is not a GGUF file");
    if (status == FT_OK) status = filecopy_check(&in.file, path, m->error);
    if (status != FT_OK) ft_fail_prefix(m->error, status, "%s", weights_base_name(path));
    input_close(&in);
    return status;
}

/* The part of a path before "00001-of-00003.gguf"; 0: it has no such end. */
static size_t stem_of(const char *path, int64_t count) {
    char end[64];
    size_t length = strlen(path);
    int size = snprintf(end, sizeof end, "-of-%05lld.gguf", (long long)count);
    if (size < 0 || length < (size_t)size + 5 || strcmp(path + length - (size_t)size, end) != 0) return 0;
    size_t stem = length - (size_t)size - 5;
    return strspn(path + stem, "0123456789") == 5 ? stem : 0;
}

static ft_status read_others(gguf_model *m, const read_origin *origin, int64_t number, int64_t count) {
    size_t stem = origin->is_on_disk ? stem_of(origin->path, count) : 0;
    if (stem == 0)
        return ft_fail(m->error, FT_ERR_UNSUPPORTED,
                       "is file %lld of %lld: the others must be beside it, named like model-00001-of-%05lld.gguf",
                       (long long)number + 1, (long long)count, (long long)count);
    for (int64_t i = 0; i < count; i++) {
        gguf_meta meta;
        if (i == number) continue;
        const char *path = arena_format(&m->memory, "%.*s%05lld-of-%05lld.gguf", (int)stem, origin->path,
                                        (long long)i + 1, (long long)count);
        if (path == NULL) return FT_NOMEM(m->error);
        FT_TRY(read_shard(m, path, &meta));
        if (i == 0) m->meta = meta; /* the others have none of the model's */
    }
    return FT_OK;
}

static ft_status read_shards(gguf_model *m, const read_origin *origin) {
    int64_t count = gguf_meta_int(&m->meta, "split", "count", 1), number = gguf_meta_int(&m->meta, "split", "no", 0);
    int64_t expected = gguf_meta_int(&m->meta, "split", "tensors.count", 0);
    if (count <= 1) return FT_OK;
    if (count > MAX_FILES || number < 0 || number >= count)
        return ft_fail(m->error, FT_ERR_DAMAGED, "split.no is %lld and split.count %lld", (long long)number,
                       (long long)count);
    FT_TRY(read_others(m, origin, number, count));
    if (expected > 0 && expected != m->weights.count)
        return ft_fail(m->error, FT_ERR_DAMAGED, "its files have %u weights, but split.tensors.count is %lld",
                       m->weights.count, (long long)expected);
    return FT_OK;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

static ft_status make_graph(gguf_model *m, const read_origin *origin, ft_graph **graph) {
    const char *name = gguf_meta_text(&m->meta, "general.name", weights_base_name(origin->path));
    const char *type = gguf_meta_text(&m->meta, "general.architecture", "");
    if (m->weights.count == 0) return ft_fail(m->error, FT_ERR_DAMAGED, "the file has no weights");
    const char *why = "";
    FT_TRY(gguf_model_graph(&m->meta, name, &m->weights, graph, &why, m->error));
    bool is_model = *graph != NULL;
    if (!is_model) {
        FT_TRY(graph_new(FT_FORMAT_GGUF, FT_NCHW, name, graph, m->error));
        FT_TRY(weight_list_graph(&m->weights, *graph, why, m->error));
        FT_TRY(graph_set_meta(*graph, "note", why, m->error));
    }
    if (type[0] != '\0') FT_TRY(graph_set_meta(*graph, "architecture", type, m->error));
    FT_TRY(weight_list_describe(&m->weights, *graph, m->error));
    return is_model ? FT_OK : graph_finish(*graph, m->error);
}

static ft_status read_gguf(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    gguf_model m = {.error = error};
    gguf_bytes in = {.bytes = bytes, .size = size, .file = origin->file, .error = error};
    ft_graph *made = NULL;
    arena_init(&m.memory, FT_MAX_GRAPH_BYTES);
    weight_list_init(&m.weights, &m.memory);
    ft_status status = read_file(&in, &m, &m.meta);
    if (status == FT_OK) status = read_shards(&m, origin);
    if (status == FT_OK) status = make_graph(&m, origin, &made);
    arena_free(&m.memory);
    if (status == FT_OK) {
        *graph = made;
        return FT_OK;
    }
    ft_graph_free(made);
    return ft_fail_prefix(error, status, "%s", origin->path);
}

const reader gguf_reader = {
    .format = FT_FORMAT_GGUF, .matches = matches, .read = read_gguf, .matches_parts = matches_parts};
