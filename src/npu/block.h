/* block.h - block configurations: how a pass is cut into blocks that fit the shared buffer, and a cache of them. */
#ifndef NPU_BLOCK_H
#define NPU_BLOCK_H

#include "npu/arch.h"
#include "npu/net.h"

typedef struct npu_block_config {
    npu_shape ifm, ofm;
    bool is_part_kernel; /* block traversal: kernel elements before depth (part-kernel first) */
    bool has_acc40;      /* accumulators of 40 bits, else 32 */
} npu_block_config;

/* Sizes of the maps that are cut into blocks. No padding: its bytes are compared. */
typedef struct npu_extent {
    npu_shape ofm, ifm; /* ifm: the larger of two inputs */
    int32_t ifm_bytes;  /* per element */
    int32_t has_scalar; /* one of two inputs is a scalar */
} npu_extent;

/* Finds the best configuration; false when none fits. npu_block_fits checks only that, without a search. */
bool npu_block_find(const npu_arch *arch, const npu_pass *p, const npu_extent *e, npu_block_config *found);
bool npu_block_fits(const npu_arch *arch, const npu_pass *p, const npu_extent *e);

/* Columns and rows of the ifm that are needed for `ofm` outputs. */
void npu_input_area(const npu_pass *p, npu_shape ofm, int64_t *w, int64_t *h);

/* --- Cache (block_cache.c) ----------------------------------------------------------------------------------- */

/* Networks repeat layers, stripes of many heights are tried, and each network is estimated more than once, so the same
 * search is repeated often. Its result depends on shapes, kernel and the shared buffer of the accelerator, which make
 * up the key; accelerators with the same buffer share entries. */

/* For a network of `passes` passes; a full cache stores no more. NULL when out of memory. */
npu_block_cache *npu_block_cache_new(arena *memory, uint32_t passes);

/* As npu_block_find, which is called on a miss. `cache` may be NULL. */
bool npu_block_cache_find(npu_block_cache *cache, const npu_arch *arch, const npu_pass *p, const npu_extent *e,
                          npu_block_config *found);

/* Number of entries. */
uint32_t npu_block_cache_count(const npu_block_cache *cache);

#endif
