/* wire.h - one step through protobuf's wire format, with every length checked.
 *
 * The users (onnx.c, onnx_strip.c, onnx_tensor.c, tflite_custom.c) read messages field by field and skip those they
 * do not need, so that weights are never read. */
#ifndef READ_WIRE_H
#define READ_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

typedef enum wire_step {
    WIRE_FIELD,     /* the next field is in *field */
    WIRE_END,       /* end of the message */
    WIRE_TRUNCATED, /* number and type of the field are there, but it runs past the end */
    WIRE_INVALID    /* not a field */
} wire_step;

typedef struct wire_field {
    const uint8_t *start; /* of its tag */
    const uint8_t *data;  /* of its value; for WIRE_BYTES, after the length */
    size_t size;          /* of its value */
    uint64_t varint;      /* value of a WIRE_VARINT */
    uint32_t number;
    uint32_t type;
} wire_field;

/* Reads a varint of at most 10 bytes at *at, and advances. WIRE_FIELD on success. */
static inline wire_step wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (*at == end) return WIRE_TRUNCATED;
        uint8_t byte = *(*at)++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return WIRE_FIELD;
        }
    }
    return WIRE_INVALID;
}

/* How many bytes from `at` wire_next accesses at most: a tag, and a number or the length of bytes. */
static inline size_t wire_head_size(const uint8_t *at, const uint8_t *end) {
    enum { MAX_HEAD = 20 };
    return end - at < MAX_HEAD ? (size_t)(end - at) : MAX_HEAD;
}

/* Reads the field at *at, and advances. Groups, which ONNX does not use, are invalid. */
static inline wire_step wire_next(const uint8_t **at, const uint8_t *end, wire_field *field) {
    *field = (wire_field){.start = *at};
    if (*at == end) return WIRE_END;
    uint64_t tag, size;
    wire_step step = wire_varint(at, end, &tag);
    if (step != WIRE_FIELD) return step;
    if (tag < 8 || tag > UINT32_MAX) return WIRE_INVALID;
    field->number = (uint32_t)tag >> 3;
    field->type = (uint32_t)tag & 7;
    field->data = *at;
    switch (field->type) {
    case WIRE_VARINT:
        step = wire_varint(at, end, &field->varint);
        field->size = (size_t)(*at - field->data);
        return step;
    case WIRE_FIXED64:
        size = 8;
        break;
    case WIRE_FIXED32:
        size = 4;
        break;
    case WIRE_BYTES:
        step = wire_varint(at, end, &size);
        if (step != WIRE_FIELD) return step;
        field->data = *at;
        break;
    default:
        return WIRE_INVALID;
    }
    if (size > (size_t)(end - *at)) return WIRE_TRUNCATED;
    field->size = (size_t)size;
    *at += size;
    return WIRE_FIELD;
}

#endif
