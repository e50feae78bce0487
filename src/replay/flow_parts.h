/* flow_parts.h - flows of models: kernels are parts of a bound graph, and need what their operators read. */
#ifndef REPLAY_FLOW_PARTS_H
#define REPLAY_FLOW_PARTS_H

#include "replay/flow.h"

/* A model with its sizes and costs, for as long as a flow is made of it. */
typedef struct flow_source {
    const char *name;
    const ft_graph *model; /* as read: it has the names */
    ft_graph *bound;
    ft_cost_options options;
    ft_cost cost;
} flow_source;

ft_status flow_source_open(const char *name, const ft_graph *model, const ft_binding *binding,
                           const ft_cost_options *options, flow_source *source, ft_error *error);
void flow_source_close(flow_source *source);

/* Parts in the order in which they are launched. Their values are the times of a step, all phases together; NaN: not
 * known. Parts without operators are a start ("start", above zero) or are spread over the others. */
ft_status flow_from_parts(const flow_source *source, const ft_part *parts, uint32_t count, ft_flow **flow,
                          ft_error *error);

#endif
