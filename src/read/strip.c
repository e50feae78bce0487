/* strip.c - see strip.h. A message is written in one pass: its length is a varint of five bytes, filled in when the end
 * is known. */
#include "read/strip.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/graph.h"
#include "read/wire.h"

enum { MAX_SHORT_BYTES = 4096, LENGTH_BYTES = 5, SEGMENT_BYTES = 24 };

#define WIRE(type) (1u << (type))

/* The wire types that a field may have. */
static const uint8_t wire_types[STRIP_ACTION_COUNT] = {
    [STRIP_DROP] = 0xff,
    [STRIP_INT] = WIRE(WIRE_VARINT),
    [STRIP_DATA_TYPE] = WIRE(WIRE_VARINT),
    [STRIP_FLOAT] = WIRE(WIRE_FIXED32),
    [STRIP_BYTES] = WIRE(WIRE_BYTES),
    [STRIP_SHORT_BYTES] = WIRE(WIRE_BYTES),
    [STRIP_INTS] = WIRE(WIRE_VARINT) | WIRE(WIRE_BYTES),
    [STRIP_FLOATS] = WIRE(WIRE_FIXED32) | WIRE(WIRE_BYTES),
    [STRIP_CHILD] = WIRE(WIRE_BYTES),
    [STRIP_CHILDREN] = WIRE(WIRE_BYTES),
    [STRIP_RENUMBER] = WIRE(WIRE_BYTES),
    [STRIP_RAW_PAYLOAD] = WIRE(WIRE_BYTES),
    [STRIP_INT_PAYLOAD] = WIRE(WIRE_VARINT) | WIRE(WIRE_BYTES),
    [STRIP_FLOAT_PAYLOAD] = WIRE(WIRE_FIXED32) | WIRE(WIRE_BYTES),
    [STRIP_DOUBLE_PAYLOAD] = WIRE(WIRE_FIXED64) | WIRE(WIRE_BYTES),
    [STRIP_TEXT_PAYLOAD] = WIRE(WIRE_BYTES),
};

typedef struct strip {
    const strip_format *format;
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
    unsigned flags; /* STRIP_OMITTED, STRIP_RAW */
} payload;

static ft_status damaged(strip *s, unsigned m, const wire_field *field, const char *what) {
    return ft_fail(s->error, FT_ERR_DAMAGED, "%s in the %s at byte %zu", what, s->format->names[m],
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
static bool keeps_payload(uint64_t index_types, payload *p, const wire_field *field) {
    bool is_index = p->data_type < 64 && (index_types >> p->data_type & 1) != 0;
    uint64_t max = is_index ? STRIP_MAX_INDEX_ELEMS * 10 : STRIP_MAX_OTHER_ELEMS * 10; /* 10: the longest varint */
    p->bytes += field->size;
    if (field->size > max || p->kept_bytes + field->size > max) p->flags |= STRIP_OMITTED;
    if (p->flags & STRIP_OMITTED) return false;
    p->kept_bytes += field->size;
    return true;
}

static ft_status put_segment(strip *s, const payload *p) {
    FT_TRY(reserve(s, SEGMENT_BYTES));
    size_t start = s->length;
    s->out[s->length++] = (uint8_t)(s->format->segment_field << 3 | WIRE_BYTES);
    s->out[s->length++] = 0;
    s->out[s->length++] = 1 << 3 | WIRE_VARINT;
    put_varint(s, p->bytes);
    s->out[s->length++] = 2 << 3 | WIRE_VARINT;
    put_varint(s, p->flags);
    assert(s->length - start <= SEGMENT_BYTES);
    s->out[start + 1] = (uint8_t)(s->length - start - 2);
    return FT_OK;
}

static ft_status strip_message(strip *s, unsigned m, const uint8_t *at, const uint8_t *end, unsigned depth);

static ft_status strip_child(strip *s, const wire_field *field, unsigned child, unsigned depth) {
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
    put_varint(s, (uint64_t)s->format->type_field << 3 | WIRE_BYTES);
    put_varint(s, field->size);
    return put(s, field->data, field->data + field->size);
}

/* Handles a field that is not copied as it is. */
static ft_status rewrite_field(strip *s, unsigned m, strip_rule r, const wire_field *field, uint32_t *seen, payload *p,
                               unsigned depth) {
    switch ((strip_action)r.action) {
    case STRIP_RENUMBER:
        return put_type(s, field);
    case STRIP_TEXT_PAYLOAD:
        p->bytes += field->size;
        p->flags |= STRIP_OMITTED;
        return FT_OK;
    case STRIP_CHILD:
        if (*seen >> field->number & 1) return damaged(s, m, field, "damaged: repeated singular field");
        *seen |= UINT32_C(1) << field->number;
        return strip_child(s, field, r.child, depth);
    case STRIP_CHILDREN:
        return strip_child(s, field, r.child, depth);
    default:
        return FT_OK; /* dropped */
    }
}

static bool keeps(strip_action a, uint64_t index_types, const wire_field *field, payload *p) {
    switch (a) {
    case STRIP_DATA_TYPE:
        p->data_type = field->varint;
        return true;
    case STRIP_INT:
    case STRIP_FLOAT:
    case STRIP_BYTES:
    case STRIP_INTS:
    case STRIP_FLOATS:
        return true;
    case STRIP_SHORT_BYTES:
        return field->size <= MAX_SHORT_BYTES;
    case STRIP_RAW_PAYLOAD:
        p->flags |= STRIP_RAW;
        return keeps_payload(index_types, p, field);
    case STRIP_INT_PAYLOAD:
    case STRIP_FLOAT_PAYLOAD:
    case STRIP_DOUBLE_PAYLOAD:
        return keeps_payload(index_types, p, field);
    default:
        return false;
    }
}

static ft_status strip_message(strip *s, unsigned m, const uint8_t *at, const uint8_t *end, unsigned depth) {
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
                           (size_t)(field.start - s->file), m == s->format->root ? "file" : s->format->names[m]);
        if (step == WIRE_INVALID) return damaged(s, m, &field, "damaged: invalid field");
        strip_rule r = field.number < STRIP_FIELDS ? s->format->rules[m][field.number] : (strip_rule){STRIP_DROP, 0};
        if (!(wire_types[r.action] >> field.type & 1))
            return damaged(s, m, &field, "damaged: field of the wrong wire type");
        if (keeps((strip_action)r.action, s->format->index_types, &field, &p)) continue;
        FT_TRY(put(s, run, field.start));
        FT_TRY(rewrite_field(s, m, r, &field, &seen, &p, depth));
        run = at;
    }
    FT_TRY(put(s, run, end));
    return p.bytes > 0 ? put_segment(s, &p) : FT_OK;
}

ft_status strip_file(const strip_format *format, const uint8_t *bytes, size_t size, filecopy *file, uint8_t **stripped,
                     size_t *stripped_size, ft_error *error) {
    strip s = {.format = format, .copy = file, .capacity = 64 * 1024, .limit = FT_MAX_GRAPH_BYTES / 4, .error = error};
    assert(format->segment_field > 0 && format->segment_field < 16);
    s.file = bytes;
    s.out = malloc(s.capacity);
    if (s.out == NULL) return FT_NOMEM(error);
    ft_status status = strip_message(&s, format->root, bytes, bytes + size, 0);
    if (status != FT_OK) {
        free(s.out);
        return status;
    }
    *stripped = s.out;
    *stripped_size = s.length;
    return FT_OK;
}
