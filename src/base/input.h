/* input.h - the bytes of a file in memory: copied, unpacked when it is gzip, or read when it is a pipe.
 *
 * They are never those of the file itself (filecopy.h): a file that is replaced while it is used changes nothing. */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/filecopy.h"

typedef struct input {
    const uint8_t *bytes;
    size_t size;
    filecopy file;     /* of a regular file that is not gzip */
    uint8_t *unpacked; /* owned, when it was gzip or a stream */
} input;

enum { INPUT_WHOLE_BYTES = 16 << 20, INPUT_FIRST_BYTES = 1 << 16 };

/* Opens a regular file. A gzip file (also of several members) is unpacked into memory, at most `limit` bytes. */
ft_status input_open(const char *path, uint64_t limit, input *in, ft_error *error);
/* Also a pipe, a terminal or another stream, which is read to its end into memory (at most `limit` bytes, packed and
 * unpacked); "-" is the standard input. Opening a named pipe waits for its writer. *is_stream: it was one. A file above
 * INPUT_WHOLE_BYTES is copied in parts (filecopy_load); only its first INPUT_FIRST_BYTES are there. */
ft_status input_open_stream(const char *path, uint64_t limit, input *in, bool *is_stream, ft_error *error);
/* The same for bytes in memory, which must outlive the input. messages use `name` as the file name. */
ft_status input_from_memory(const void *bytes, size_t size, const char *name, uint64_t limit, input *in,
                            ft_error *error);
void input_close(input *in);

#endif
