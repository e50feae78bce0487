/* safetensors.c - reader of safetensors: the length of a JSON text (u64, little endian), the text, the weights.
 *
 *     {"__metadata__": {...}, "model.embed_tokens.weight": {"dtype": "BF16", "shape": [128256, 4096],
 *      "data_offsets": [0, 1050673152]}, ...}
 *
 * Only headers are read: the size of the file does not matter. A model in several files has an index,
 * model.safetensors.index.json, which is read like a file (safetensors_index.c). */
#include "read/language/safetensors.h"

#include <stdio.h>
#include <string.h>

#include "base/json_pull.h"
#include "read/json_scan.h"

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100 * 1000 * 1000, MAX_NAME_BYTES = 4096 };

/* --- Recognition ------------------------------------------------------------------------------------------------- */

static uint64_t header_bytes(const uint8_t *bytes) {
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) length |= (uint64_t)bytes[i] << 8 * i;
    return length;
}

/* A length that a header can have, and the begin of a JSON object. */
static bool is_header(const uint8_t *bytes, size_t size, filecopy *file) {
    if (size < LENGTH_BYTES + 2) return false;
    filecopy_load(file, bytes, LENGTH_BYTES + 2);
    uint64_t length = header_bytes(bytes);
    const uint8_t *text = bytes + LENGTH_BYTES;
    return length >= 2 && length <= UINT32_MAX && text[0] == '{' && strchr("\"} \n\t\r", text[1]) != NULL &&
           text[1] != '\0';
}

static bool is_index(const uint8_t *bytes, size_t size) {
    static const char *const keys[] = {"weight_map", NULL};
    return size > 0 && bytes[0] != '\0' && json_scan_has_key(bytes, size, keys);
}

static bool matches(const uint8_t *bytes, size_t size) {
    return is_header(bytes, size, NULL) || is_index(bytes, size);
}

static bool matches_parts(const uint8_t *bytes, size_t size, filecopy *file) {
    return is_header(bytes, size, file);
}

/* --- The header -------------------------------------------------------------------------------------------------- */

typedef struct header {
    json_pull text;
    weight_list *weights;
    uint64_t data_bytes;
    ft_error *error;
} header;

static ft_status damaged(header *h, const char *name) {
    const char *why = h->text.why != NULL ? h->text.why : "it is not valid";
    if (name[0] == '\0') return ft_fail(h->error, FT_ERR_DAMAGED, "the header is not valid JSON: %s", why);
    return ft_fail(h->error, FT_ERR_DAMAGED, "weight '%.200s': %s", name, why);
}

static ft_status read_shape(header *h, weight *w) {
    bool first = true;
    if (!json_pull_open(&h->text, '[')) return damaged(h, w->name);
    for (w->rank = 0; json_pull_more(&h->text, ']', &first); w->rank++) {
        int64_t dim;
        if (w->rank == FT_MAX_RANK)
            return ft_fail(h->error, FT_ERR_LIMIT, "weight '%.200s' has more than %d dimensions", w->name, FT_MAX_RANK);
        if (!json_pull_int(&h->text, &dim)) return damaged(h, w->name);
        w->dims[w->rank] = dim;
    }
    return h->text.why != NULL ? damaged(h, w->name) : FT_OK;
}

static ft_status read_offsets(header *h, weight *w, uint64_t *end) {
    int64_t offsets[2];
    bool first = true;
    uint32_t count = 0;
    if (!json_pull_open(&h->text, '[')) return damaged(h, w->name);
    while (json_pull_more(&h->text, ']', &first)) {
        int64_t offset;
        if (!json_pull_int(&h->text, &offset)) return damaged(h, w->name);
        if (count < 2) offsets[count] = offset;
        count++;
    }
    if (h->text.why != NULL) return damaged(h, w->name);
    if (count != 2 || offsets[0] < 0 || offsets[1] < offsets[0])
        return ft_fail(h->error, FT_ERR_DAMAGED, "weight '%.200s': data_offsets are not a begin and an end", w->name);
    w->offset = (uint64_t)offsets[0];
    *end = (uint64_t)offsets[1];
    return FT_OK;
}

static ft_status read_dtype(header *h, weight *w) {
    json_text text;
    char name[64];
    if (!json_pull_string(&h->text, &text)) return damaged(h, w->name);
    if (json_text_decode(&text, name, sizeof name) == SIZE_MAX) name[0] = '\0';
    w->type = weight_type_of_safetensors(name);
    if (w->type == NULL)
        return ft_fail(h->error, FT_ERR_UNSUPPORTED, "weight '%.200s' has type '%s', which is not known", w->name,
                       name);
    return FT_OK;
}

/* A value of an unknown key is ignored. */
static ft_status read_field(header *h, weight *w, uint64_t *end, unsigned *seen) {
    json_text key;
    if (!json_pull_key(&h->text, &key)) return damaged(h, w->name);
    if (json_text_is(&key, "dtype")) {
        *seen |= 1;
        return read_dtype(h, w);
    }
    if (json_text_is(&key, "shape")) {
        *seen |= 2;
        return read_shape(h, w);
    }
    if (json_text_is(&key, "data_offsets")) {
        *seen |= 4;
        return read_offsets(h, w, end);
    }
    return json_pull_skip(&h->text) ? FT_OK : damaged(h, w->name);
}

static ft_status read_weight(header *h, const char *name) {
    weight w = {.name = name};
    uint64_t end = 0;
    unsigned seen = 0;
    bool first = true;
    if (!json_pull_open(&h->text, '{')) return damaged(h, name);
    while (json_pull_more(&h->text, '}', &first)) FT_TRY(read_field(h, &w, &end, &seen));
    if (h->text.why != NULL) return damaged(h, name);
    if (seen != 7)
        return ft_fail(h->error, FT_ERR_DAMAGED, "weight '%.200s' has no dtype, shape or data_offsets", name);
    FT_TRY(weight_list_add(h->weights, &w, h->error));
    uint64_t bytes = h->weights->items[h->weights->count - 1].bytes;
    if (end - w.offset != bytes)
        return ft_fail(h->error, FT_ERR_DAMAGED, "weight '%.200s' has %llu bytes, but its type and shape need %llu",
                       name, (unsigned long long)(end - w.offset), (unsigned long long)bytes);
    return FT_OK;
}

static ft_status read_entry(header *h) {
    json_text key;
    if (!json_pull_key(&h->text, &key)) return damaged(h, "");
    if (json_text_is(&key, "__metadata__")) return json_pull_skip(&h->text) ? FT_OK : damaged(h, "__metadata__");
    if (key.length > MAX_NAME_BYTES)
        return ft_fail(h->error, FT_ERR_LIMIT, "the name of a weight has more than %d bytes", MAX_NAME_BYTES);
    char *name = arena_alloc(h->weights->memory, key.length + 1);
    if (name == NULL) return FT_NOMEM(h->error);
    if (json_text_decode(&key, name, key.length + 1) == SIZE_MAX)
        return ft_fail(h->error, FT_ERR_DAMAGED, "the name of a weight has a wrong escape");
    return read_weight(h, name);
}

static ft_status read_header(header *h) {
    bool first = true;
    uint32_t from = h->weights->count;
    if (!json_pull_open(&h->text, '{')) return damaged(h, "");
    while (json_pull_more(&h->text, '}', &first)) FT_TRY(read_entry(h));
    if (h->text.why != NULL || !json_pull_end(&h->text)) return damaged(h, "");
    return weight_list_check(h->weights, from, h->data_bytes, true, h->error);
}

ft_status safetensors_read(const uint8_t *bytes, size_t size, filecopy *file, weight_list *weights, ft_error *error) {
    if (!is_header(bytes, size, file)) return ft_fail(error, FT_ERR_FORMAT, "is not a safetensors file");
    uint64_t length = header_bytes(bytes);
    if (length > MAX_HEADER_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "the header has %llu bytes; at most %d are supported",
                       (unsigned long long)length, MAX_HEADER_BYTES);
    if (length > size - LENGTH_BYTES)
        return ft_fail(error, FT_ERR_DAMAGED, "truncated: the header has %llu bytes, the file %zu",
                       (unsigned long long)length, size);
    filecopy_load(file, bytes + LENGTH_BYTES, (size_t)length);
    header h = {.weights = weights, .data_bytes = size - LENGTH_BYTES - length, .error = error};
    json_pull_init(&h.text, (const char *)bytes + LENGTH_BYTES, (size_t)length);
    return read_header(&h);
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

static ft_status read_weights(const uint8_t *bytes, size_t size, const read_origin *origin, weight_list *weights,
                              ft_error *error) {
    if (is_header(bytes, size, origin->file)) return safetensors_read(bytes, size, origin->file, weights, error);
    if (!origin->is_on_disk)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "is an index of safetensors files, which must be beside it: give its path");
    const char *name = weights_base_name(origin->path);
    const char *folder = arena_string(weights->memory, origin->path, (size_t)(name - origin->path));
    if (folder == NULL) return FT_NOMEM(error);
    return safetensors_read_index((const char *)bytes, size, folder, weights, error);
}

static ft_status make_graph(weight_list *weights, const char *path, ft_graph **graph, ft_error *error) {
    if (weights->count == 0) return ft_fail(error, FT_ERR_DAMAGED, "the file has no weights");
    weight_list_unpack(weights);
    FT_TRY(graph_new(FT_FORMAT_SAFETENSORS, FT_NCHW, weights_base_name(path), graph, error));
    FT_TRY(weight_list_graph(weights, *graph, "weights only: operators are not known", error));
    FT_TRY(weight_list_describe(weights, *graph, error));
    return graph_finish(*graph, error);
}

static ft_status read_safetensors(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                                  ft_error *error) {
    arena memory;
    weight_list weights;
    ft_graph *made = NULL;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    weight_list_init(&weights, &memory);
    ft_status status = read_weights(bytes, size, origin, &weights, error);
    if (status == FT_OK) status = make_graph(&weights, origin->path, &made, error);
    arena_free(&memory);
    if (status == FT_OK) {
        *graph = made;
        return FT_OK;
    }
    ft_graph_free(made);
    return ft_fail_prefix(error, status, "%s", origin->path);
}

const reader safetensors_reader = {
    .format = FT_FORMAT_SAFETENSORS, .matches = matches, .read = read_safetensors, .matches_parts = matches_parts};
