/* flow.h - building flows: kernels and dependencies are added in any order, then flow_finish sorts the kernels
 * topologically and reports cycles. */
#ifndef REPLAY_FLOW_H
#define REPLAY_FLOW_H

#include "base/arena.h"
#include "foretell/replay.h"

/* Internal data of a kernel. */
typedef struct flow_kernel_info {
    uint64_t line; /* in its file; 0: none */
    const uint32_t *ops;
    uint32_t op_count;
    const char *other_name;              /* second name to look up times by; may be NULL */
    double backward_ratio, update_ratio; /* of the forward time; used when times come from a table */
    bool is_free;                        /* always takes no time */
} flow_kernel_info;

typedef struct flow_link {
    uint32_t before, after;
} flow_link;

/* A step of the memory plan. */
typedef struct flow_step {
    ft_replay_phase phase;
    uint32_t kernel; /* FT_NONE: between kernels */
    uint64_t live_bytes;
} flow_step;

struct ft_flow {
    arena memory;
    const char *name; /* of the model or file, for messages and reports */
    ft_flow_kernel *kernels;
    flow_kernel_info *infos;
    uint32_t count, capacity;
    flow_link *links; /* dependencies, until the flow is finished */
    uint32_t link_count, link_capacity;
    const ft_graph *model;    /* the model of the kernels; may be NULL */
    double start_us;          /* before the first kernel */
    bool has_own_backward;    /* has kernels of the backward pass: none are derived */
    bool is_backward_assumed; /* the backward time is assumed, not derived from work */
    uint32_t dropped_links;   /* dropped because they contradict the launch order */
    const flow_step *steps;   /* of the memory plan; may be NULL */
    uint32_t step_count;
    const char **notes;
    uint32_t note_count, note_capacity;
};

ft_status flow_new(const char *name, ft_flow **flow, ft_error *error);
/* Strings are not copied: they must live as long as the flow, for example in its arena. */
ft_status flow_add(ft_flow *flow, const ft_flow_kernel *kernel, const flow_kernel_info *info, uint32_t *index,
                   ft_error *error);
ft_status flow_add_dependency(ft_flow *flow, uint32_t before, uint32_t after, ft_error *error);
ft_status flow_note(ft_flow *flow, ft_error *error, const char *format, ...) FT_PRINTF(3, 4);
ft_status flow_finish(ft_flow *flow, ft_error *error);

/* --- Flows of models (flow_parts.c) -------------------------------------------------------------------------- */

/* A model with its bound graph and costs, while a flow is made from it. */
typedef struct flow_source {
    const char *name;
    const ft_graph *model; /* as read, with names */
    ft_graph *bound;
    ft_cost_options options;
    ft_cost cost;
} flow_source;

ft_status flow_source_open(const char *name, const ft_graph *model, const ft_binding *binding,
                           const ft_cost_options *options, flow_source *source, ft_error *error);
void flow_source_close(flow_source *source);

/* Parts in launch order. Their values are the times of a step, all phases together; NaN: not known. Parts without
 * operators are a start ("start", above zero) or are spread over the others. */
ft_status flow_from_parts(const flow_source *source, const ft_part *parts, uint32_t count, ft_flow **flow,
                          ft_error *error);

/* Adds the bytes of live tensors at each kernel (ft_memory_plan), for the memory counter of a trace. */
ft_status flow_add_memory_steps(ft_flow *flow, const flow_source *source, ft_error *error);

/* --- Flows of tables and files (flow_table.c, flow_times.c, flow_read.c) ------------------------------------- */

/* Assumed backward time over forward time where the work of a kernel is not known: gradients of its inputs, and of its
 * weights. */
#define FLOW_ASSUMED_BACKWARD_RATIO 2.0

/* Makes a flow of a table with a column "after". */
ft_status flow_from_rows(const ft_times *times, ft_flow **flow, ft_error *error);

/* Sets missing times to the median of the others, with a note; an error when `is_strict`. */
ft_status flow_fill_missing_times(ft_flow *flow, const ft_times *times, bool is_strict, ft_error *error);

ft_status flow_read_memory(const void *bytes, size_t size, const char *name, ft_flow **flow, ft_error *error);

#endif
