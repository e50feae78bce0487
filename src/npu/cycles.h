/* cycles.h - what a pass takes: cycles of the engine, and bytes to and from each memory. */
#ifndef NPU_CYCLES_H
#define NPU_CYCLES_H

#include <math.h>

#include "npu/block.h"

/* A pass, or a part of it, with where its maps are. */
/* As fmax and fmin, without a call. */
static inline double npu_max(double a, double b) {
    return a > b || isnan(b) ? a : b;
}

static inline double npu_min(double a, double b) {
    return a < b || isnan(b) ? a : b;
}

typedef struct npu_query {
    const npu_pass *pass;
    const npu_blocking *blocking;
    npu_shape ifm, ifm2, ofm;
    int32_t ifm_bytes, ifm2_bytes, ofm_bytes;
    bool ifm_linear, ifm2_linear, ofm_linear;
    npu_area ifm_area, ifm2_area, ofm_area, const_area;
} npu_query;

/* Elements that go back and forth. */
typedef struct npu_access {
    double ifm, ifm2, ofm, weights, scales;
} npu_access;

int64_t npu_engine_cycles(const npu_arch *arch, const npu_query *q);
npu_access npu_accesses(const npu_query *q);
/* Cycles to move bytes from slow memory to fast. */
double npu_transfer_cycles(const npu_arch *arch, npu_area from, npu_area to, double bytes);
/* Bytes as the memory counts them: bursts that are not filled cost as much as full ones. */
double npu_burst_bytes(const npu_arch *arch, bool is_read, npu_area area, bool is_linear, int32_t elem_bytes,
                       npu_shape block, npu_shape shape, double bytes);

#endif
