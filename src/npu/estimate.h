/* estimate.h - cycles and memory of a network on an accelerator, pass by pass: the entry point of npu/. */
#ifndef NPU_ESTIMATE_H
#define NPU_ESTIMATE_H

#include "npu/schedule.h"

/* Cycles of one pass by resource; the total is the slowest of the three. */
typedef struct npu_cost {
    double engine, sram, slow, total;
} npu_cost;

typedef struct npu_estimate {
    npu_cost *passes; /* by pass of the network */
    npu_cost sum;
    double sram_bytes, slow_arena_bytes;
    double weight_bytes;   /* compressed */
    double scale_bytes;    /* biases and scales of the output channels */
    double constant_bytes; /* other constants of passes: tables, maps */
    double slices, elementwise_passes;
    npu_schedule schedule;
} npu_estimate;

/* Everything lives in `memory`. */
ft_status npu_estimate_make(const npu_net *net, const npu_arch *arch, const npu_compression *compression, arena *memory,
                            npu_estimate *estimate, ft_error *error);
/* The same network and accelerator with another compression; reuses what does not depend on it. */
ft_status npu_estimate_update(const npu_estimate *before, const npu_compression *compression, arena *memory,
                              npu_estimate *estimate, ft_error *error);
/* Costs of the scheduled passes first..last, from costs[0] on. */
void npu_pass_costs(const npu_schedule *s, uint32_t first, uint32_t last, npu_cost *costs);

#endif
