/* block.h - how a pass is cut into blocks that fit the shared buffer. */
#ifndef NPU_BLOCK_H
#define NPU_BLOCK_H

#include "npu/arch.h"
#include "npu/net.h"

typedef struct npu_blocking {
    npu_shape ifm, ofm;
    bool is_part_kernel; /* kernel elements before depth */
    bool has_sum40;      /* accumulators of 40 bits */
} npu_blocking;

/* For a part of the maps of a pass; false when nothing fits. */
bool npu_find_blocking(const npu_arch *arch, const npu_pass *p, int32_t ifm_bytes, npu_shape ofm, npu_shape ifm,
                       const npu_shape *ifm2, bool has_scalar, npu_blocking *found);

/* Rows and columns of input that a part of the output needs. */
void npu_input_area(const npu_pass *p, npu_shape ofm, int64_t *w, int64_t *h);

#endif
