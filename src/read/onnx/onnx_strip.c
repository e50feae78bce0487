/* onnx_strip.c - pre-pass that copies an ONNX file without its weights.
 *
 * A table lists for each field of each message whether it is kept, descended into, counted and omitted, or dropped.
 * Payloads are skipped, so the time does not depend on the size of the weights and their pages are never read. The
 * pass also protects the generated decoder, which recurses as deep as the file nests and merges repeated singular
 * messages: here the depth is limited, repetition is rejected and every field must have its wire type.
 *
 * A message is written in one pass: its length is a varint of five bytes, filled in when the end is known. */
#include "read/onnx/onnx.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/graph.h"
#include "read/wire.h"

typedef enum message {
    MODEL,
    OPSET,
    ENTRY,
    FUNCTION,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    SPARSE_TENSOR,
    VALUE_INFO,
    MESSAGE_COUNT,
} message;

static const char *const message_names[MESSAGE_COUNT] = {
    "model", "opset", "metadata", "function", "graph", "node", "attribute", "tensor", "sparse tensor", "value",
};

typedef enum action {
    DROP, /* also every field that is not in the table */
    INT,
    DATA_TYPE, /* an INT that determines how much of the payload is kept */
    FLOAT,
    BYTES,
    SHORT_BYTES, /* dropped when long */
    INTS,
    FLOATS,
    CHILD, /* at most once */
    CHILDREN,
    TYPE_BYTES, /* a TypeProto, kept as bytes for onnx_tensor.c */
    RAW_PAYLOAD,
    INT_PAYLOAD,
    FLOAT_PAYLOAD,
    DOUBLE_PAYLOAD,
    TEXT_PAYLOAD, /* strings are never used: only counted */
    ACTION_COUNT,
} action;

#define WIRE(type) (1u << (type))

/* The wire types that a field may have. */
static const uint8_t wire_types[ACTION_COUNT] = {
    [DROP] = 0xff,
    [INT] = WIRE(WIRE_VARINT),
    [DATA_TYPE] = WIRE(WIRE_VARINT),
    [FLOAT] = WIRE(WIRE_FIXED32),
    [BYTES] = WIRE(WIRE_BYTES),
    [SHORT_BYTES] = WIRE(WIRE_BYTES),
    [INTS] = WIRE(WIRE_VARINT) | WIRE(WIRE_BYTES),
    [FLOATS] = WIRE(WIRE_FIXED32) | WIRE(WIRE_BYTES),
    [CHILD] = WIRE(WIRE_BYTES),
    [CHILDREN] = WIRE(WIRE_BYTES),
    [TYPE_BYTES] = WIRE(WIRE_BYTES),
    [RAW_PAYLOAD] = WIRE(WIRE_BYTES),
    [INT_PAYLOAD] = WIRE(WIRE_VARINT) | WIRE(WIRE_BYTES),
    [FLOAT_PAYLOAD] = WIRE(WIRE_FIXED32) | WIRE(WIRE_BYTES),
    [DOUBLE_PAYLOAD] = WIRE(WIRE_FIXED64) | WIRE(WIRE_BYTES),
    [TEXT_PAYLOAD] = WIRE(WIRE_BYTES),
};

typedef struct rule {
    uint8_t action, child;
} rule;

enum { FIELD_COUNT = 27, MAX_SHORT_BYTES = 4096, LENGTH_BYTES = 5, SEGMENT_BYTES = 24 };

static const rule rules[MESSAGE_COUNT][FIELD_COUNT] = {
    [MODEL] = {[1] = {INT, 0},
               [2] = {SHORT_BYTES, 0},
               [3] = {SHORT_BYTES, 0},
               [7] = {CHILD, GRAPH},
               [8] = {CHILDREN, OPSET},
               [14] = {CHILDREN, ENTRY},
               [25] = {CHILDREN, FUNCTION}},
    [OPSET] = {[1] = {SHORT_BYTES, 0}, [2] = {INT, 0}},
    [ENTRY] = {[1] = {SHORT_BYTES, 0}, [2] = {SHORT_BYTES, 0}},
    [FUNCTION] = {[1] = {BYTES, 0},
                  [4] = {BYTES, 0},
                  [5] = {BYTES, 0},
                  [7] = {CHILDREN, NODE},
                  [10] = {BYTES, 0},
                  [11] = {CHILDREN, ATTRIBUTE},
                  [13] = {BYTES, 0}},
    [GRAPH] = {[1] = {CHILDREN, NODE},
               [2] = {SHORT_BYTES, 0},
               [5] = {CHILDREN, TENSOR},
               [11] = {CHILDREN, VALUE_INFO},
               [12] = {CHILDREN, VALUE_INFO},
               [13] = {CHILDREN, VALUE_INFO},
               [15] = {CHILDREN, SPARSE_TENSOR}},
    [NODE] = {[1] = {BYTES, 0},
              [2] = {BYTES, 0},
              [3] = {BYTES, 0},
              [4] = {BYTES, 0},
              [5] = {CHILDREN, ATTRIBUTE},
              [7] = {BYTES, 0},
              [8] = {BYTES, 0}},
    [ATTRIBUTE] = {[1] = {BYTES, 0},
                   [2] = {FLOAT, 0},
                   [3] = {INT, 0},
                   [4] = {SHORT_BYTES, 0},
                   [5] = {CHILD, TENSOR},
                   [6] = {CHILD, GRAPH},
                   [7] = {FLOATS, 0},
                   [8] = {INTS, 0},
                   [9] = {SHORT_BYTES, 0},
                   [20] = {INT, 0},
                   [21] = {BYTES, 0},
                   [22] = {CHILD, SPARSE_TENSOR}},
    [TENSOR] = {[1] = {INTS, 0},
                [2] = {DATA_TYPE, 0},
                [4] = {FLOAT_PAYLOAD, 0},
                [5] = {INT_PAYLOAD, 0},
                [6] = {TEXT_PAYLOAD, 0},
                [7] = {INT_PAYLOAD, 0},
                [8] = {BYTES, 0},
                [9] = {RAW_PAYLOAD, 0},
                [10] = {DOUBLE_PAYLOAD, 0},
                [11] = {INT_PAYLOAD, 0},
                [13] = {CHILDREN, ENTRY},
                [14] = {INT, 0}},
    [SPARSE_TENSOR] = {[1] = {CHILD, TENSOR}, [2] = {CHILD, TENSOR}, [3] = {INTS, 0}},
    [VALUE_INFO] = {[1] = {BYTES, 0}, [2] = {TYPE_BYTES, 0}},
};

typedef struct strip {
    const uint8_t *file;
    filecopy *copy; /* of the file; NULL: all bytes are there */
    uint8_t *out;
    size_t length, capacity, limit;
    ft_error *error;
} strip;

/* The payload of the tensor being walked. */
typedef struct payload {
    uint64_t bytes;
    uint64_t kept_bytes;
    uint64_t data_type;
    unsigned flags; /* ONNX_OMITTED, ONNX_RAW */
} payload;

static ft_status damaged(strip *s, message m, const wire_field *field, const char *what) {
    return ft_fail(s->error, FT_ERR_DAMAGED, "%s in the %s at byte %zu", what, message_names[m],
                   (size_t)(field->start - s->file));
}

static ft_status reserve(strip *s, size_t more) {
    if (s->capacity - s->length >= more) return FT_OK;
    if (more > s->limit - s->length)
        return ft_fail(s->error, FT_ERR_LIMIT, "the model without its weights takes more than %zu bytes", s->limit);
    size_t larger = s->capacity * 2 > s->limit ? s->limit : s->capacity * 2;
    if (larger < s->length + more) larger = s->length + more;
    uint8_t *moved = realloc(s->out, larger);
    if (moved == NULL) return FT_NOMEM(s->error);
    s->out = moved;
    s->capacity = larger;
    return FT_OK;
}

static ft_status put(strip *s, const uint8_t *from, const uint8_t *to) {
    assert(from <= to);
    size_t size = (size_t)(to - from);
    if (size == 0) return FT_OK;
    FT_TRY(reserve(s, size));
    filecopy_load(s->copy, from, size);
    memcpy(s->out + s->length, from, size);
    s->length += size;
    return FT_OK;
}

static void put_varint(strip *s, uint64_t value) {
    for (; value >= 0x80; value >>= 7) s->out[s->length++] = (uint8_t)(value | 0x80);
    s->out[s->length++] = (uint8_t)value;
}

/* Whether this part of the payload is kept. A dtype that is not known yet may be one with the larger limit. */
static bool keeps_payload(payload *p, const wire_field *field) {
    bool is_index = p->data_type == 0 || p->data_type == 6 || p->data_type == 7 || p->data_type == 12 ||
                    p->data_type == 13;                                              /* int32, int64, uint32, uint64 */
    uint64_t max = is_index ? ONNX_MAX_INDEX_ELEMS * 10 : ONNX_MAX_OTHER_ELEMS * 10; /* 10: the longest varint */
    p->bytes += field->size;
    if (field->size > max || p->kept_bytes + field->size > max) p->flags |= ONNX_OMITTED;
    if (p->flags & ONNX_OMITTED) return false;
    p->kept_bytes += field->size;
    return true;
}

static ft_status put_segment(strip *s, const payload *p) {
    FT_TRY(reserve(s, SEGMENT_BYTES));
    size_t start = s->length;
    s->out[s->length++] = 3 << 3 | WIRE_BYTES;
    s->out[s->length++] = 0;
    s->out[s->length++] = 1 << 3 | WIRE_VARINT;
    put_varint(s, p->bytes);
    s->out[s->length++] = 2 << 3 | WIRE_VARINT;
    put_varint(s, p->flags);
    assert(s->length - start <= SEGMENT_BYTES);
    s->out[start + 1] = (uint8_t)(s->length - start - 2);
    return FT_OK;
}

static ft_status strip_message(strip *s, message m, const uint8_t *at, const uint8_t *end, unsigned depth);

static ft_status strip_child(strip *s, const wire_field *field, message child, unsigned depth) {
    FT_TRY(reserve(s, 5 + LENGTH_BYTES));
    put_varint(s, (uint64_t)field->number << 3 | WIRE_BYTES);
    size_t length_at = s->length;
    s->length += LENGTH_BYTES;
    FT_TRY(strip_message(s, child, field->data, field->data + field->size, depth + 1));
    assert(s->length >= length_at + LENGTH_BYTES);
    size_t size = s->length - length_at - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, size >>= 7)
        s->out[length_at + (size_t)i] = (uint8_t)((size & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    return FT_OK;
}

static ft_status put_type(strip *s, const wire_field *field) {
    FT_TRY(reserve(s, 16));
    put_varint(s, (uint64_t)ONNX_TYPE_FIELD << 3 | WIRE_BYTES);
    put_varint(s, field->size);
    return put(s, field->data, field->data + field->size);
}

/* Handles a field that is not copied as it is. */
static ft_status rewrite_field(strip *s, message m, rule r, const wire_field *field, uint32_t *seen, payload *p,
                               unsigned depth) {
    switch ((action)r.action) {
    case TYPE_BYTES:
        return put_type(s, field);
    case TEXT_PAYLOAD:
        p->bytes += field->size;
        p->flags |= ONNX_OMITTED;
        return FT_OK;
    case CHILD:
        if (*seen >> field->number & 1) return damaged(s, m, field, "damaged: repeated singular field");
        *seen |= UINT32_C(1) << field->number;
        return strip_child(s, field, (message)r.child, depth);
    case CHILDREN:
        return strip_child(s, field, (message)r.child, depth);
    default:
        return FT_OK; /* dropped */
    }
}

static bool keeps(action a, const wire_field *field, payload *p) {
    switch (a) {
    case DATA_TYPE:
        p->data_type = field->varint;
        return true;
    case INT:
    case FLOAT:
    case BYTES:
    case INTS:
    case FLOATS:
        return true;
    case SHORT_BYTES:
        return field->size <= MAX_SHORT_BYTES;
    case RAW_PAYLOAD:
        p->flags |= ONNX_RAW;
        return keeps_payload(p, field);
    case INT_PAYLOAD:
    case FLOAT_PAYLOAD:
    case DOUBLE_PAYLOAD:
        return keeps_payload(p, field);
    default:
        return false;
    }
}

static ft_status strip_message(strip *s, message m, const uint8_t *at, const uint8_t *end, unsigned depth) {
    if (depth > FT_MAX_DEPTH)
        return ft_fail(s->error, FT_ERR_LIMIT, "messages are nested more than %d deep at byte %zu", FT_MAX_DEPTH,
                       (size_t)(at - s->file));
    const uint8_t *run = at; /* adjacent kept fields are copied together */
    uint32_t seen = 0;
    payload p = {0};
    for (;;) {
        wire_field field;
        filecopy_load(s->copy, at, wire_head_size(at, end));
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END) break;
        if (step == WIRE_TRUNCATED)
            return ft_fail(s->error, FT_ERR_DAMAGED, "truncated: the field at byte %zu runs past the end of the %s",
                           (size_t)(field.start - s->file), m == MODEL ? "file" : message_names[m]);
        if (step == WIRE_INVALID) return damaged(s, m, &field, "damaged: invalid field");
        rule r = field.number < FIELD_COUNT ? rules[m][field.number] : (rule){DROP, 0};
        if (!(wire_types[r.action] >> field.type & 1))
            return damaged(s, m, &field, "damaged: field of the wrong wire type");
        if (keeps((action)r.action, &field, &p)) continue;
        FT_TRY(put(s, run, field.start));
        FT_TRY(rewrite_field(s, m, r, &field, &seen, &p, depth));
        run = at;
    }
    FT_TRY(put(s, run, end));
    return p.bytes > 0 ? put_segment(s, &p) : FT_OK;
}

ft_status onnx_strip(const uint8_t *bytes, size_t size, filecopy *file, uint8_t **stripped, size_t *stripped_size,
                     ft_error *error) {
    strip s = {.file = bytes, .copy = file, .capacity = 64 * 1024, .limit = FT_MAX_GRAPH_BYTES / 4, .error = error};
    s.out = malloc(s.capacity);
    if (s.out == NULL) return FT_NOMEM(error);
    ft_status status = strip_message(&s, MODEL, bytes, bytes + size, 0);
    if (status != FT_OK) {
        free(s.out);
        return status;
    }
    *stripped = s.out;
    *stripped_size = s.length;
    return FT_OK;
}
