/* varint.h - variable-length integers (LEB128): seven bits a byte, the lowest first.
 *
 * Writing appends to a buf. Reading never passes the end: after a failure, has_failed is set and all values are
 * zero. */
#ifndef DATA_VARINT_H
#define DATA_VARINT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline void varint_put(buf *out, uint64_t value) {
    uint8_t bytes[10];
    size_t count = 0;
    for (; value > 127; value >>= 7) bytes[count++] = (uint8_t)(value | 128);
    bytes[count++] = (uint8_t)value;
    buf_add(out, bytes, count);
}

/* Small negative numbers stay short: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t unzigzag(uint64_t code) {
    return (int64_t)(code >> 1 ^ ((code & 1) != 0 ? UINT64_MAX : 0));
}

typedef struct varint_reader {
    const uint8_t *next, *end;
    bool has_failed;
} varint_reader;

static inline size_t reader_left(const varint_reader *r) {
    return (size_t)(r->end - r->next);
}

static inline uint64_t reader_fail(varint_reader *r) {
    r->has_failed = true;
    r->next = r->end;
    return 0;
}

static inline uint8_t byte_get(varint_reader *r) {
    return r->next < r->end ? *r->next++ : (uint8_t)reader_fail(r);
}

static inline uint64_t varint_get(varint_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->next == r->end) return reader_fail(r);
        uint64_t byte = *r->next++;
        /* One number has one encoding: no overflowing bits, no trailing zero bytes. */
        if ((shift == 63 && byte > 1) || (byte == 0 && shift > 0)) return reader_fail(r);
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
    }
    return reader_fail(r);
}

/* Reads a number below `end`. */
static inline uint64_t varint_get_below(varint_reader *r, uint64_t end) {
    uint64_t value = varint_get(r);
    return value < end ? value : reader_fail(r);
}

static inline const uint8_t *bytes_get(varint_reader *r, size_t count) {
    if (count > reader_left(r)) {
        reader_fail(r);
        return NULL;
    }
    r->next += count;
    return r->next - count;
}

#endif
