/* checkpoint.h - the state of a fit on the disk, so that a run that was stopped can go on.
 *
 * The file holds what the family gave (bytes that only it can read), the identity of the run it belongs to, and a hash
 * of both: a checkpoint of another run, or one that a bad disk changed, is refused and never goes into a predictor.
 *
 *     offset  size  what
 *          0     8  "FTCHECK1"
 *          8    32  identity of the run, hexadecimal
 *         40     8  size of the state in bytes, little endian
 *         48    32  hash of identity, size and state, hexadecimal
 *         80        the state
 *
 * The state is in the byte order of the machine that wrote it; checkpoints are not made to travel. */
#ifndef LEARN_CHECKPOINT_H
#define LEARN_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "foretell/status.h"

enum { CHECKPOINT_HEADER = 80 };

/* The largest state that is read back: a few hundred million parameters with their moments. */
#define CHECKPOINT_MAX_BYTES ((uint64_t)8 << 30)

/* Replaces the file; after a failure the one before is still there. */
ft_status checkpoint_write(const char *path, hash128 run, const void *state, size_t size, ft_error *error);

/* *state is new memory, or NULL when there is no such file, which is no failure. */
ft_status checkpoint_read(const char *path, hash128 run, void **state, size_t *size, ft_error *error);

/* The state inside the bytes of a file; points into them. */
ft_status checkpoint_parse(const void *bytes, size_t size, hash128 run, const void **state, size_t *state_size,
                           ft_error *error);

#endif
