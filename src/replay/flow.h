/* flow.h - the inside of a flow, and how it is put together: kernels and links in any order, then finished.
 *
 * Finishing puts the kernels into an order in which they can run and names whatever waits for itself. */
#ifndef REPLAY_FLOW_H
#define REPLAY_FLOW_H

#include "base/arena.h"
#include "foretell/replay.h"

/* What is known of a kernel beyond what the public sees. */
typedef struct flow_kernel_info {
    uint64_t line; /* where it is in its file; 0: nowhere */
    const uint32_t *ops;
    uint32_t op_count;
    const char *other_name;              /* that times may go by; may be NULL */
    double backward_ratio, update_ratio; /* of the time forward; used when times come from a table */
    bool is_free;                        /* takes no time, whatever a table says */
} flow_kernel_info;

typedef struct flow_link {
    uint32_t before, after;
} flow_link;

/* A step of the timeline of tensors. */
typedef struct flow_step {
    ft_replay_phase phase;
    uint32_t kernel; /* FT_NONE: between kernels */
    uint64_t live_bytes;
} flow_step;

struct ft_flow {
    arena memory;
    const char *name; /* of the model or file, for people and messages */
    ft_flow_kernel *kernels;
    flow_kernel_info *infos;
    uint32_t count, capacity;
    flow_link *links; /* until it is finished */
    uint32_t link_count, link_capacity;
    const ft_graph *model;    /* whose operators the kernels are made of; may be NULL */
    double start_us;          /* before the first kernel */
    bool has_own_backward;    /* has a way back of its own: none is to be derived */
    bool is_backward_assumed; /* the way back is not from work that is known */
    uint32_t dropped_links;   /* that went against the order in which parts are launched */
    const flow_step *steps;   /* of the memory of a model; may be NULL */
    uint32_t step_count;
    const char **notes;
    uint32_t note_count, note_capacity;
};

ft_status flow_new(const char *name, ft_flow **flow, ft_error *error);
/* Strings are borrowed: they have to live as long as the flow (its arena will do). */
ft_status flow_add(ft_flow *flow, const ft_flow_kernel *kernel, const flow_kernel_info *info, uint32_t *index,
                   ft_error *error);
ft_status flow_add_dependency(ft_flow *flow, uint32_t before, uint32_t after, ft_error *error);
ft_status flow_note(ft_flow *flow, ft_error *error, const char *format, ...) FT_PRINTF(3, 4);
ft_status flow_finish(ft_flow *flow, ft_error *error);

#endif
