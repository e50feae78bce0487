/* kernel_seen.h - which kernels are like one of training: of the same kind, with the same steps fused to it, window,
 * stride and number of inputs, its height and channels within the same powers of two.
 *
 * Nearly all kernels of a model of a known family are, whether training had this very one or not; of a family that was
 * never seen hardly any are. So a few thousand cells tell where a closely fitted price may be trusted. */
#ifndef PREDICTOR_KERNEL_SEEN_H
#define PREDICTOR_KERNEL_SEEN_H

#include "predictor/core/block.h"
#include "predictor/core/kernel_rows.h"

/* Cells by hash in an open table, as floats: a file has it as it is asked. Hashes of 24 bits may collide: one far
 * kernel in some thousands is taken for near. */
typedef struct kernel_seen {
    const float *slots; /* 0: free */
    uint32_t slot_count;
    float *own; /* slots of a set that was made here */
} kernel_seen;

ft_status kernel_seen_fit(const kernel_row *rows, uint32_t count, kernel_seen *seen, ft_error *error);
void kernel_seen_free(kernel_seen *seen);
/* A set without slots has seen nothing. */
bool kernel_seen_has(const kernel_seen *seen, const kernel_row *row);

bool kernel_seen_save(const kernel_seen *seen, float_block *block); /* false when out of memory */
/* Takes a set from the front of what is left of a block, which has to outlive it. Nothing is trusted. */
ft_status kernel_seen_map(const float **block, size_t *left, kernel_seen *seen, ft_error *error);

#endif
