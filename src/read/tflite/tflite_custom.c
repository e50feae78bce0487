/* tflite_custom.c - options of TFLite's custom operators as attributes.
 *
 * By convention the options are a FlexBuffer with a map at its root. Its scalars become attributes under their own
 * names, so that rules of the operator table may use them. The options of Flex* operators, which are TensorFlow's
 * own, are a list of two strings: the name and a NodeDef, a protobuf message whose attributes are converted in the
 * same way. Options in any other form (some operators store a plain C struct) are ignored. */
#include <string.h>

#include "read/tflite/flexbuf.h"
#include "read/tflite/tflite.h"
#include "read/wire.h"

/* The bytes of the options: inside the operator, or after the FlatBuffer in files over 2 GB. */
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
    FT_TRY(tflite_add_work(model, entry->length / 16));
    const char *text = arena_string(&model->scratch, entry->s, entry->length);
    if (text == NULL) return FT_NOMEM(model->error);
    return graph_attr_string(graph, attr, entry->key, text, model->error);
}

/* --- Attributes of TensorFlow's operators ------------------------------------------------------------------------ */

/* Field numbers of TensorFlow's NodeDef, of an entry of its map of attributes, and of AttrValue. */
enum {
    NODE_ATTR = 5,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    VALUE_STRING = 2,
    VALUE_INT = 3,
    VALUE_FLOAT = 4,
    VALUE_BOOL = 5
};

/* AttrValue as an entry; FLEX_OTHER for types, shapes and lists. */
static void read_attr_value(const uint8_t *at, const uint8_t *end, flex_entry *entry) {
    wire_field field;
    entry->kind = FLEX_OTHER;
    while (wire_next(&at, end, &field) == WIRE_FIELD) {
        if (field.number == VALUE_STRING && field.type == WIRE_BYTES) {
            entry->kind = FLEX_STRING;
            entry->s = (const char *)field.data;
            entry->length = field.size;
        } else if ((field.number == VALUE_INT || field.number == VALUE_BOOL) && field.type == WIRE_VARINT) {
            entry->kind = FLEX_INT;
            entry->i = (int64_t)field.varint;
        } else if (field.number == VALUE_FLOAT && field.type == WIRE_FIXED32) {
            entry->kind = FLEX_FLOAT;
            entry->f = flat_load_float(field.data, FLAT_F32);
        }
    }
}

/* An entry of the map; its key is copied to `key`, which has room for `room` bytes. False when there is none that
 * fits. */
static bool read_node_attr(const wire_field *message, char *key, size_t room, flex_entry *entry) {
    const uint8_t *at = message->data, *end = at + message->size;
    wire_field field;
    *entry = (flex_entry){.key = key, .kind = FLEX_OTHER};
    key[0] = '\0';
    while (wire_next(&at, end, &field) == WIRE_FIELD) {
        if (field.type != WIRE_BYTES) continue;
        if (field.number == ENTRY_KEY && field.size < room) {
            memcpy(key, field.data, field.size);
            key[field.size] = '\0';
        } else if (field.number == ENTRY_VALUE) {
            read_attr_value(field.data, field.data + field.size, entry);
        }
    }
    return entry->kind != FLEX_OTHER && is_name(key);
}

static ft_status add_node_attrs(tflite_model *model, const char *node, size_t size, ft_attr *attrs, uint32_t *count) {
    const uint8_t *at = (const uint8_t *)node, *end = at + size;
    wire_field field;
    while (*count < TFLITE_MAX_ATTRS && wire_next(&at, end, &field) == WIRE_FIELD) {
        flex_entry entry;
        char key[64];
        FT_TRY(tflite_add_work(model, 1));
        if (field.number != NODE_ATTR || field.type != WIRE_BYTES) continue;
        if (!read_node_attr(&field, key, sizeof key, &entry)) continue;
        FT_TRY(add_entry(model, &entry, &attrs[*count]));
        ++*count;
    }
    return FT_OK;
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

ft_status tflite_custom_options(tflite_model *model, const flat_table *op, ft_attr *attrs, uint32_t *count) {
    size_t size, node_size;
    const uint8_t *bytes = find_bytes(model, op, &size);
    flex_map map;
    flex_entry entry;
    *count = 0;
    if (bytes == NULL) return FT_OK;
    flat_load(&model->file, bytes, size);
    const char *node = flex_root_string(bytes, size, 1, &node_size);
    if (node != NULL) return add_node_attrs(model, node, node_size, attrs, count);
    if (!flex_root_map(bytes, size, &map)) return FT_OK;
    for (uint32_t i = 0; i < map.count && *count < TFLITE_MAX_ATTRS; i++) {
        FT_TRY(tflite_add_work(model, 1));
        if (!flex_map_entry(&map, i, &entry)) break;
        if (entry.kind == FLEX_OTHER || !is_name(entry.key)) continue;
        FT_TRY(add_entry(model, &entry, &attrs[*count]));
        ++*count;
    }
    return FT_OK;
}
