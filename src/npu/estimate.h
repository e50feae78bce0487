/* estimate.h - what a network takes on an accelerator, pass by pass: the way in to this room. */
#ifndef NPU_ESTIMATE_H
#define NPU_ESTIMATE_H

#include "npu/schedule.h"

/* Cycles of one pass, by what they wait for; the slowest counts. */
typedef struct npu_cost {
    double engine, sram, slow, total;
} npu_cost;

typedef struct npu_estimate {
    npu_cost *passes; /* of each pass of the network */
    npu_cost sum;
    double sram_bytes, slow_arena_bytes;
    double weight_bytes;   /* as they are stored */
    double scale_bytes;    /* of their channels */
    double constant_bytes; /* other constants of passes: tables, maps */
    double slices, elementwise_passes;
    npu_schedule schedule;
} npu_estimate;

/* Everything lives in `memory`. */
ft_status npu_estimate_make(const npu_net *net, const npu_arch *arch, const npu_codes *codes, arena *memory,
                            npu_estimate *estimate, ft_error *error);
/* The same network on the same accelerator with other codes. */
ft_status npu_estimate_again(const npu_estimate *before, const npu_codes *codes, arena *memory, npu_estimate *estimate,
                             ft_error *error);
/* What passes first..last take as they are scheduled. */
void npu_costs(const npu_schedule *s, uint32_t first, uint32_t last, npu_cost *costs);

#endif
