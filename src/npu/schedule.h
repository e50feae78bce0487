/* schedule.h - when which pass runs in which stripes, what is prefetched, and what is kept in fast memory. */
#ifndef NPU_SCHEDULE_H
#define NPU_SCHEDULE_H

#include "npu/cycles.h"
#include "npu/weights.h"

typedef struct npu_plan {
    npu_blocking blocking;
    npu_shape stripe, stripe_input;
    int64_t cycles;    /* of the engine, for the whole pass */
    uint32_t cascade;  /* the last pass of the cascade that it is in, plus one; 0: none */
    int64_t rolling_h; /* rows of the rolling buffer that is its input; 0: none */
    /* Weights. */
    int64_t encoded, first_encoded; /* bytes in all, and of the first slice */
    uint32_t slices;                /* parts of the depth that are fetched one after the other */
    int64_t buffers[2];
    uint32_t buffer_count;
    bool is_double, is_prefetched;
    double full_transfer, slack_cycles;
    int64_t slack_memory, evicted;
    uint32_t time;
} npu_plan;

typedef struct npu_schedule {
    const npu_net *net;
    const npu_arch *arch;
    const npu_codes *codes;
    const struct npu_schedule *like; /* of the same network and accelerator with other codes; NULL: none */
    arena *memory;
    npu_plan *plans;       /* of each pass */
    double *channel_bytes; /* of the weights of each pass, for one channel of its output */
    npu_area *areas;       /* where each tensor is */
    bool *is_fast;         /* feature maps that were moved to fast memory */
    int64_t peak_bytes;    /* of SRAM, over the whole network */
    int64_t arena_bytes;   /* of feature maps in slow memory */
    int64_t *usage;        /* of SRAM over time */
    uint32_t times;
} npu_schedule;

/* `like` may be NULL: it saves time. */
ft_status npu_schedule_make(const npu_net *net, const npu_arch *arch, const npu_codes *codes, const npu_schedule *like,
                            arena *memory, npu_schedule *schedule, ft_error *error);

/* Cycles of the engine for the first `depth` channels of the output, with scales in fast memory. */
int64_t npu_schedule_cycles(const npu_schedule *s, const npu_pass *p, const npu_blocking *blocking, int64_t depth);
/* Stored bytes of the weights of channels from..to. */
int64_t npu_encoded_bytes(const npu_schedule *s, const npu_pass *p, int64_t from, int64_t to);

/* Fills in the buffers of weights for passes first..last, as far as `limit` bytes of fast memory allow. `usage` is
 * what fast memory holds over time without them. */
void npu_buffer_weights(npu_schedule *s, uint32_t first, uint32_t last, int64_t limit, int64_t *usage, uint32_t times);

/* --- Live ranges (ranges.c) ---------------------------------------------------------------------------------- */

typedef struct npu_range {
    uint32_t start, end; /* inclusive */
    int64_t bytes;
    uint32_t tensor; /* the first of it, FT_NONE: a buffer of weights */
    uint32_t pass;   /* of a buffer of weights */
} npu_range;

typedef struct npu_ranges {
    npu_range *items;
    uint32_t count, capacity;
    uint32_t *of; /* of each tensor, FT_NONE: none */
    uint32_t times;
} npu_ranges;

/* Of what is in an area, for the passes of one segment, or (FT_NONE) for the whole network. Sets the times of plans. */
ft_status npu_ranges_make(npu_schedule *s, uint32_t segment, npu_area area, npu_ranges *ranges, ft_error *error);
/* Bytes over time; `times` of them. */
int64_t *npu_ranges_usage(const npu_schedule *s, const npu_ranges *ranges);
/* Bytes of a tensor as it is stored. */
int64_t npu_stored_bytes(const npu_tensor *t);
bool npu_overwrites(const npu_schedule *s, const npu_pass *p, npu_area area, bool is_any, uint32_t *input);

#endif
