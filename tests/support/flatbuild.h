/* flatbuild.h - writes FlatBuffers for tests, front to back, parents before children.
 *
 * Every field of a table takes 8 bytes, which wastes space but makes alignment trivial. Items are named by
 * their offset, which stays valid as the buffer grows. Out of memory aborts the test program. */
#ifndef SUPPORT_FLATBUILD_H
#define SUPPORT_FLATBUILD_H

#include <stddef.h>
#include <stdint.h>

typedef struct flatbuild {
    uint8_t *bytes; /* the caller frees them */
    size_t size;
} flatbuild;

/* Opens the buffer with room for the root offset and the 4 letters of the format. */
void flatbuild_open(flatbuild *b, const char *letters);
void flatbuild_root(flatbuild *b, size_t table);

size_t flatbuild_table(flatbuild *b, uint32_t fields);
/* Sets a field to a number of `width` bytes. */
void flatbuild_int(flatbuild *b, size_t table, uint32_t field, int64_t value, size_t width);
void flatbuild_float(flatbuild *b, size_t table, uint32_t field, float value);
/* Sets a field to the offset of something written later. */
void flatbuild_ref(flatbuild *b, size_t table, uint32_t field, size_t target);

size_t flatbuild_string(flatbuild *b, const char *text);
/* `count` elements of `width` bytes, copied from `elements`. */
size_t flatbuild_vector(flatbuild *b, const void *elements, uint32_t count, size_t width);
/* Room for `count` offsets, to be set one by one. */
size_t flatbuild_offsets(flatbuild *b, uint32_t count);
void flatbuild_offset(flatbuild *b, size_t vector, uint32_t index, size_t target);

#endif
