/* tflite_custom.c - the options of TFLite's custom operators as attributes.
 *
 * By convention they are a FlexBuffer with a map at its root. Its single values become attributes under their own
 * names, so that a rule of the operator table may use them. Options of another make (some operators store a plain C
 * struct) are passed over. */
#include <string.h>

#include "read/flexbuf.h"
#include "read/tflite.h"

/* The bytes of the options: inside the operator, or behind the FlatBuffer in files over 2 GB. */
static const uint8_t *find_bytes(const tflite_model *model, const flat_table *op, size_t *size) {
    uint64_t offset = (uint64_t)flat_int(op, OPERATOR_LARGE_CUSTOM_OFFSET, FLAT_U64, 0);
    uint64_t length = (uint64_t)flat_int(op, OPERATOR_LARGE_CUSTOM_SIZE, FLAT_U64, 0);
    if (offset > 1 && offset <= model->file.size && length <= model->file.size - offset) {
        *size = (size_t)length;
        return model->file.bytes + offset;
    }
    flat_vector vector = flat_numbers(op, OPERATOR_CUSTOM_OPTIONS, FLAT_U8);
    *size = vector.count;
    return vector.count > 0 ? model->file.bytes + vector.at : NULL;
}

static bool is_name(const char *key) {
    enum { LONGEST = 64 };
    size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && length <= LONGEST && key[length] == '\0';
}

static ft_status add_entry(tflite_model *model, const flex_entry *entry, ft_attr *attr) {
    ft_graph *graph = model->graph;
    if (entry->kind == FLEX_INT) return graph_attr_int(graph, attr, entry->key, entry->i, model->error);
    if (entry->kind == FLEX_FLOAT) return graph_attr_float(graph, attr, entry->key, entry->f, model->error);
    FT_TRY(tflite_spend(model, entry->length / 16));
    const char *text = arena_string(&model->scratch, entry->s, entry->length);
    if (text == NULL) return FT_NOMEM(model->error);
    return graph_attr_string(graph, attr, entry->key, text, model->error);
}

ft_status tflite_custom_options(tflite_model *model, const flat_table *op, ft_attr *attrs, uint32_t *count) {
    size_t size;
    const uint8_t *bytes = find_bytes(model, op, &size);
    flex_map map;
    flex_entry entry;
    *count = 0;
    if (bytes == NULL || !flex_root_map(bytes, size, &map)) return FT_OK;
    for (uint32_t i = 0; i < map.count && *count < TFLITE_MAX_ATTRS; i++) {
        FT_TRY(tflite_spend(model, 1));
        if (!flex_map_entry(&map, i, &entry)) break;
        if (entry.kind == FLEX_OTHER || !is_name(entry.key)) continue;
        FT_TRY(add_entry(model, &entry, &attrs[*count]));
        ++*count;
    }
    return FT_OK;
}
