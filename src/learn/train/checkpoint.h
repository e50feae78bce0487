/* checkpoint.h - the state of a fit on disk, from which an interrupted run is resumed.
 *
 * The file holds the state (bytes that only the family can read), the identity of its run, and a hash of both: a
 * checkpoint of another run or a corrupted one is rejected and never reaches a predictor.
 *
 *     offset  size  content
 *          0     8  "FTCHECK1"
 *          8    32  identity of the run, hexadecimal
 *         40     8  size of the state in bytes, little endian
 *         48    32  hash of identity, size and state, hexadecimal
 *         80        the state
 *
 * The state is in the byte order of the machine that wrote it; checkpoints are not portable. */
#ifndef LEARN_CHECKPOINT_H
#define LEARN_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "foretell/status.h"

enum { CHECKPOINT_HEADER = 80 };

/* The largest state that is read: a few hundred million parameters with their optimizer moments. */
#define CHECKPOINT_MAX_BYTES ((uint64_t)8 << 30)

/* Replaces the file; on failure the previous one is unchanged. */
ft_status checkpoint_write(const char *path, hash128 run, const void *state, size_t size, ft_error *error);

/* *state is new memory, or NULL when there is no such file, which is not an error. */
ft_status checkpoint_read(const char *path, hash128 run, void **state, size_t *size, ft_error *error);

/* The state inside the bytes of a file; points into them. */
ft_status checkpoint_parse(const void *bytes, size_t size, hash128 run, const void **state, size_t *state_size,
                           ft_error *error);

#endif
