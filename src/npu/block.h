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

/* The part of the maps of a pass that is to be cut. Without padding: its bytes are compared. */
typedef struct npu_extent {
    npu_shape ofm, ifm; /* of two inputs, the larger */
    int32_t ifm_bytes;  /* of an element */
    int32_t has_scalar; /* one of two inputs is a single number */
} npu_extent;

/* False when nothing fits; that is all that npu_can_block tells, without a search. */
bool npu_find_blocking(const npu_arch *arch, const npu_pass *p, const npu_extent *e, npu_blocking *found);
bool npu_can_block(const npu_arch *arch, const npu_pass *p, const npu_extent *e);

/* Rows and columns of input that a part of the output needs. */
void npu_input_area(const npu_pass *p, npu_shape ofm, int64_t *w, int64_t *h);

#endif
