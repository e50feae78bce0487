/* input.h - the bytes of a file: mapped, and unpacked when they are gzip.
 *
 * A plain file is mapped, so what a reader does not look at is never read from disk. A file that another process
 * truncates while it is mapped would stop us with SIGBUS; that is the usual price of mapping and is documented. */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct input {
    const uint8_t *bytes;
    size_t size;
    void *mapping; /* of the file as it is on disk */
    size_t mapping_size;
    uint8_t *unpacked; /* owned, when it was gzip */
} input;

/* Opens a regular file. A gzip file (also of several members) is unpacked into memory, at most `limit` bytes. */
ft_status input_open(const char *path, uint64_t limit, input *in, ft_error *error);
/* The same for bytes in memory, which must outlive the input. `name` stands for them in messages. */
ft_status input_from_memory(const void *bytes, size_t size, const char *name, uint64_t limit, input *in,
                            ft_error *error);
void input_close(input *in);

#endif
