/* kernel_seen.h - set of the kernels of training, to recognise kernels unlike those.
 *
 * A kernel is seen if training had one of the same kind, with the same fused operators, window, stride and number of
 * inputs, and with height and channels within the same powers of two. Nearly all kernels of a model of a known family
 * are seen, even if training did not have exactly them; of an unknown family hardly any are. */
#ifndef PREDICTOR_KERNEL_SEEN_H
#define PREDICTOR_KERNEL_SEEN_H

#include "predictor/core/file.h"
#include "predictor/core/kernel_rows.h"

/* Hash set with open addressing, of floats, so that a mapped file is searched in place. Hashes have 24 bits: about one
 * unseen kernel in some thousands collides with a seen one. */
typedef struct kernel_seen {
    const float *slots; /* 0: free */
    uint32_t slot_count;
    float *own; /* slots that the set owns; NULL: they are those of a file */
} kernel_seen;

ft_status kernel_seen_fit(const kernel_row *rows, uint32_t count, kernel_seen *seen, ft_error *error);
void kernel_seen_free(kernel_seen *seen);
/* A set without slots is empty. */
bool kernel_seen_has(const kernel_seen *seen, const kernel_row *row);

bool kernel_seen_save(const kernel_seen *seen, float_block *block); /* false when out of memory */
/* Maps a set from the front of a block, which must outlive it. The contents are checked. */
ft_status kernel_seen_map(const float **block, size_t *left, kernel_seen *seen, ft_error *error);

#endif
