/* cycles.h - cycles of one pass: those of the MAC engine, and the bytes it moves to and from each memory. */
#ifndef NPU_CYCLES_H
#define NPU_CYCLES_H

#include <math.h>

#include "npu/block.h"

/* fmax and fmin, inlined. */
static inline double npu_max(double a, double b) {
    return a > b || isnan(b) ? a : b;
}

static inline double npu_min(double a, double b) {
    return a < b || isnan(b) ? a : b;
}

/* A pass, or a part of it, and the memories that its maps are in. */
typedef struct npu_pass_query {
    const npu_pass *pass;
    const npu_block_config *config;
    npu_shape ifm, ifm2, ofm;
    int32_t ifm_bytes, ifm2_bytes, ofm_bytes;
    bool ifm_linear, ifm2_linear, ofm_linear;
    npu_area ifm_area, ifm2_area, ofm_area, const_area;
} npu_pass_query;

/* Access to a feature map, block by block. */
typedef struct npu_map_access {
    npu_area area;
    bool is_read, is_linear;
    int32_t elem_bytes;
    npu_shape block, shape;
} npu_map_access;

/* Elements read (ifm, ifm2, weights, scales) and written (ofm). */
typedef struct npu_access {
    double ifm, ifm2, ofm, weights, scales;
} npu_access;

static inline npu_map_access npu_ifm_access(const npu_pass_query *q) {
    return (npu_map_access){q->ifm_area, true, q->ifm_linear, q->ifm_bytes, q->config->ifm, q->ifm};
}

static inline npu_map_access npu_ifm2_access(const npu_pass_query *q) {
    return (npu_map_access){q->ifm2_area, true, q->ifm2_linear, q->ifm2_bytes, q->config->ifm, q->ifm2};
}

static inline npu_map_access npu_ofm_access(const npu_pass_query *q) {
    return (npu_map_access){q->ofm_area, false, q->ofm_linear, q->ofm_bytes, q->config->ofm, q->ofm};
}

int64_t npu_engine_cycles(const npu_arch *arch, const npu_pass_query *q);
npu_access npu_count_accesses(const npu_pass_query *q);
/* Cycles of a DMA transfer. */
double npu_transfer_cycles(const npu_arch *arch, npu_area from, npu_area to, double bytes);

/* `bytes` of such an access as they load the memory: a partly filled burst costs as much as a full one. */
double npu_burst_bytes(const npu_arch *arch, const npu_map_access *access, double bytes);

#endif
