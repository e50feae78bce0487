/* filecopy.h - a private copy of a file: what was checked cannot change afterwards.
 *
 * A mapping of the file itself would change with the file, and raise SIGBUS where the file became shorter. The copy is
 * made at once, or block by block when the bytes are needed, so that the weights of a large model are never read. */
#ifndef BASE_FILECOPY_H
#define BASE_FILECOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "foretell/status.h"

typedef struct filecopy {
    uint8_t *bytes; /* as many as the file had when it was opened; zeros where no block was copied yet */
    size_t size;
    int file;         /* -1 when all of it is copied */
    uint64_t *blocks; /* a bit for each block: whether it was copied */
    struct timespec modified;
    int fault; /* errno of a read that failed; -1 when the file ended early */
} filecopy;

/* Opens a regular file that is not empty. Files above `whole_bytes` are copied by filecopy_load. */
ft_status filecopy_open(const char *path, uint64_t whole_bytes, filecopy *copy, ft_error *error);
/* Copies `size` bytes from `at`, inside the copy, unless they are there. Failures are reported by filecopy_check.
 * `copy` may be NULL: bytes that are no copy of a file are all there. */
void filecopy_load(filecopy *copy, const uint8_t *at, size_t size);
/* Reads bytes of the file directly, without keeping them in the copy; false when that fails. For several threads. */
bool filecopy_read(const filecopy *copy, size_t offset, void *bytes, size_t size);
/* Whether all reads succeeded and the file is the one that was opened. */
ft_status filecopy_check(const filecopy *copy, const char *path, ft_error *error);
void filecopy_close(filecopy *copy);

#endif
