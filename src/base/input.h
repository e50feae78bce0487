/* input.h - the bytes of a file: memory-mapped, unpacked when it is gzip, or read when it is a pipe.
 *
 * Mapping means that parts a reader does not touch are never read from disk. If another process truncates the file
 * while it is mapped, access raises SIGBUS; docs/limits.md says so. */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct input {
    const uint8_t *bytes;
    size_t size;
    void *mapping; /* of the file on disk */
    size_t mapping_size;
    uint8_t *unpacked; /* owned, when it was gzip */
} input;

/* Opens a regular file. A gzip file (also of several members) is unpacked into memory, at most `limit` bytes. */
ft_status input_open(const char *path, uint64_t limit, input *in, ft_error *error);
/* Also a pipe, a terminal or another stream, which is read to its end into memory (at most `limit` bytes, packed and
 * unpacked); "-" is the standard input. Opening a named pipe waits for its writer. *is_stream: it was one. */
ft_status input_open_stream(const char *path, uint64_t limit, input *in, bool *is_stream, ft_error *error);
/* The same for bytes in memory, which must outlive the input. messages use `name` as the file name. */
ft_status input_from_memory(const void *bytes, size_t size, const char *name, uint64_t limit, input *in,
                            ft_error *error);
void input_close(input *in);

#endif
