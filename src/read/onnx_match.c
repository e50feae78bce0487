/* onnx_match.c - tells ONNX files from others by their first fields.
 *
 * ONNX has no magic number. A model is taken for one when all of its top level is made of ModelProto's fields with
 * their wire types, its short strings are text, and its graph begins with fields of a GraphProto. A file that was
 * cut off still matches, so that the user hears that it is damaged and not that it is unknown. Other protobuf files
 * fail at the top level: TensorFlow's begin with bytes in field 1, a TensorProto has a number in field 2. */
#include "read/onnx_strip.h"
#include "read/wire.h"

enum { FIELDS_TO_LOOK_AT = 8, MAX_IR_VERSION = 1000, MAX_NAME_BYTES = 1024 };

static bool is_text(const wire_field *field) {
    if (field->size > MAX_NAME_BYTES) return false;
    for (size_t i = 0; i < field->size; i++) {
        if (field->data[i] < 0x20 || field->data[i] == 0x7f) return false;
    }
    return true;
}

static bool is_graph_field(const wire_field *field) {
    static const uint32_t numbers =
        1u << 1 | 1u << 2 | 1u << 5 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 16;
    return field->type == WIRE_BYTES && field->number < 32 && (numbers >> field->number & 1);
}

/* Looks at the first fields of a graph; what lies behind `end` was cut off when `is_cut`. */
static bool begins_like_graph(const uint8_t *at, const uint8_t *end, bool is_cut) {
    for (int i = 0; i < FIELDS_TO_LOOK_AT; i++) {
        wire_field field;
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END) return true;
        if (step == WIRE_NONSENSE) return false;
        if (field.number != 0 && !is_graph_field(&field)) return false;
        if (step == WIRE_CUT) return is_cut;
    }
    return true;
}

static bool is_model_field(const wire_field *field) {
    switch (field->number) {
    case 1:
    case 5:
        return field->type == WIRE_VARINT;
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
        return field->type == WIRE_BYTES;
    default:
        return field->number > 25 && field->number < 64; /* of times to come */
    }
}

bool onnx_matches(const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    bool has_version = false, has_more = false, has_graph = false;
    for (;;) {
        wire_field field;
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END || (step == WIRE_CUT && field.number == 0)) break;
        if (step == WIRE_NONSENSE || !is_model_field(&field)) return false;
        bool is_cut = step == WIRE_CUT;
        if (is_cut) {
            field.data = at; /* all that is left */
            field.size = (size_t)(end - at);
        }
        if (field.number == 1) {
            if (!is_cut && (field.varint < 1 || field.varint > MAX_IR_VERSION)) return false;
            has_version = true;
        } else if (field.number >= 2 && field.number <= 4) {
            if (!is_text(&field)) return false;
            has_more = true;
        } else if (field.number == 7) {
            if (!begins_like_graph(field.data, field.data + field.size, is_cut)) return false;
            has_graph = has_graph || field.size > 0;
        } else if (field.number == 8) {
            has_more = true;
        }
        if (is_cut) break;
    }
    return has_graph || (has_version && has_more);
}
