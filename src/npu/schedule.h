/* schedule.h - schedule of a network: stripes and cascades of its passes, prefetched weights, maps in fast memory. */
#ifndef NPU_SCHEDULE_H
#define NPU_SCHEDULE_H

#include "npu/cycles.h"
#include "npu/weights.h"

/* How one pass runs. */
typedef struct npu_plan {
    npu_block_config config;
    npu_shape stripe, stripe_input;
    int64_t cycles;    /* of the engine, for the whole pass */
    uint32_t cascade;  /* index of the last pass of its cascade plus one; 0: none */
    int64_t rolling_h; /* rows of the rolling buffer that it reads; 0: none */
    /* Weights. */
    int64_t encoded, first_encoded; /* bytes: all slices, and the first */
    uint32_t slices;                /* parts of the depth, fetched one after the other */
    int64_t buffers[2];
    uint32_t buffer_count;
    bool is_double, is_prefetched;
    double full_transfer, slack_cycles;
    int64_t slack_memory;
    int64_t evicted; /* bytes of maps that had to leave fast memory while its buffers are live */
    uint32_t time;
} npu_plan;

typedef struct npu_schedule {
    const npu_net *net;
    const npu_arch *arch;
    const npu_compression *compression;
    const struct npu_schedule *previous; /* of the same network and accelerator with another compression; NULL: none */
    arena *memory;                       /* of what stays */
    arena *work;                         /* of the segment that is scheduled now */
    npu_plan *plans;                     /* by pass */
    double *channel_bytes;               /* by pass: compressed weights of one output channel */
    npu_area *areas;                     /* by tensor: the memory it is in */
    bool *is_fast;                       /* by tensor: a candidate for fast memory */
    uint32_t *range_of;                  /* by tensor: scratch of npu_live_ranges_find */
    uint32_t *links;                     /* by tensor: scratch of npu_choose_fast_maps */
    int64_t peak_bytes;                  /* of SRAM, over the whole network */
    int64_t arena_bytes;                 /* peak of feature maps in slow memory */
} npu_schedule;

/* `previous` (or NULL) saves time: what does not depend on the compression is taken from it. */
ft_status npu_schedule_make(const npu_net *net, const npu_arch *arch, const npu_compression *compression,
                            const npu_schedule *previous, arena *memory, npu_schedule *schedule, ft_error *error);

/* Cycles of the engine for the first `depth` channels of the output, with scales in fast memory. */
int64_t npu_schedule_cycles(const npu_schedule *s, const npu_pass *p, const npu_block_config *config, int64_t depth);
/* Stored bytes of the weights of channels from..to. */
int64_t npu_encoded_bytes(const npu_schedule *s, const npu_pass *p, int64_t from, int64_t to);

/* Plans the weight buffers of passes first..last within `limit` bytes of fast memory (weight_buffer.c). `usage`: bytes
 * of fast memory by time without them. */
void npu_buffer_weights(npu_schedule *s, uint32_t first, uint32_t last, int64_t limit, int64_t *usage, uint32_t times);

/* --- Live ranges (live_ranges.c) ----------------------------------------------------------------------------- */

typedef struct npu_live_range {
    uint32_t start, end; /* inclusive */
    int64_t bytes;
    uint32_t tensor; /* first tensor of the range; FT_NONE: a weight buffer */
    uint32_t pass;   /* of a weight buffer */
} npu_live_range;

typedef struct npu_live_ranges {
    npu_live_range *items;
    uint32_t count, capacity;
    const uint32_t *of; /* range by tensor of these passes, until the next search; FT_NONE: none */
    uint32_t times;
} npu_live_ranges;

/* Live ranges in one memory, of the segment of passes first..last or of the whole network. Both set the times of plans,
 * and allocate from s->work. */
ft_status npu_live_ranges_find(npu_schedule *s, uint32_t first, uint32_t last, npu_area area, npu_live_ranges *ranges,
                               ft_error *error);
ft_status npu_live_ranges_find_all(npu_schedule *s, npu_area area, npu_live_ranges *ranges, ft_error *error);
/* Bytes by time, `times` entries, from s->work; NULL when out of memory. */
int64_t *npu_live_ranges_usage(const npu_schedule *s, const npu_live_ranges *ranges);
/* Bytes of a tensor in its storage format. */
int64_t npu_stored_bytes(const npu_tensor *t);
/* Whether a pass may write its output over *input. `is_any`: whichever memory they are in. */
bool npu_can_overwrite_input(const npu_schedule *s, const npu_pass *p, npu_area area, bool is_any, uint32_t *input);

/* --- Cascades (cascade.c) ------------------------------------------------------------------------------------ */

/* Plans a pass that computes its output in stripes of `height` rows; whole maps when that is the height of the output.
 * False when no block fits. The block configuration is left to npu_plan_blocks, for plans that are used. */
bool npu_plan_stripe(const npu_schedule *s, const npu_pass *p, int64_t height, npu_plan *plan);
void npu_plan_blocks(const npu_schedule *s, const npu_pass *p, npu_plan *plan);

/* Cascades of passes first..last, on an accelerator whose SRAM is a cache: fills s->plans. */
ft_status npu_plan_cascades(npu_schedule *s, uint32_t first, uint32_t last, ft_error *error);

/* --- Fast memory (fast_storage.c) ---------------------------------------------------------------------------- */

/* Moves maps of passes first..last to fast memory: those that fit, and of competing ones those with the most accesses.
 * (*evicted)[i]: range i of `ranges` did not fit. */
ft_status npu_choose_fast_maps(npu_schedule *s, uint32_t first, uint32_t last, npu_live_ranges *ranges, bool **evicted,
                               bool *has_evicted, ft_error *error);

#endif
