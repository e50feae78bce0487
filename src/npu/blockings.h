/* blockings.h - blocks that were found before.
 *
 * Networks repeat themselves, stripes of many heights are tried, and each network is estimated more than once: the
 * same search is asked for again and again. An answer depends on shapes, on the kernel and on the shared buffer of the
 * accelerator, all of which is the key; so accelerators with the same buffer also share what is kept. */
#ifndef NPU_BLOCKINGS_H
#define NPU_BLOCKINGS_H

#include "npu/block.h"

/* For a network of so many passes; when there is no room for more, no more are kept. NULL when out of memory. */
npu_blockings *npu_blockings_new(arena *memory, uint32_t passes);

/* As npu_find_blocking, which is asked when nothing is kept. `kept` may be NULL. */
bool npu_blockings_find(npu_blockings *kept, const npu_arch *arch, const npu_pass *p, const npu_extent *e,
                        npu_blocking *found);

/* How many different ones were found. */
uint32_t npu_blockings_count(const npu_blockings *kept);

#endif
