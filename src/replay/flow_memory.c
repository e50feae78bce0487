#include "replay/flow_memory.h"

#include "base/error.h"

typedef struct keeper {
    const ft_flow *flow;
    const uint32_t *kernel_of; /* per operator, or FT_NONE */
    flow_step *steps;
    uint32_t count, most;
} keeper;

static ft_replay_phase phase_of(ft_phase phase) {
    return phase == FT_PHASE_FORWARD    ? FT_REPLAY_FORWARD
           : phase == FT_PHASE_BACKWARD ? FT_REPLAY_BACKWARD
                                        : FT_REPLAY_UPDATE;
}

static void keep_step(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    keeper *k = user;
    if (k->count == k->most) return;
    k->steps[k->count++] = (flow_step){
        .phase = phase_of(phase), .kernel = op != FT_NONE ? k->kernel_of[op] : FT_NONE, .live_bytes = live_bytes};
}

ft_status flow_add_memory_steps(ft_flow *flow, const flow_source *source, ft_error *error) {
    uint32_t ops = ft_graph_op_count(source->bound);
    uint32_t *kernel_of = ARENA_ARRAY(&flow->memory, uint32_t, (size_t)ops + 1);
    keeper k = {.flow = flow, .kernel_of = kernel_of, .most = 2 * ops + 2};
    ft_memory peak;
    k.steps = ARENA_ARRAY(&flow->memory, flow_step, k.most);
    if (kernel_of == NULL || k.steps == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < ops; i++) kernel_of[i] = FT_NONE;
    for (uint32_t i = 0; i < flow->count; i++)
        for (uint32_t j = 0; j < flow->infos[i].op_count; j++) kernel_of[flow->infos[i].ops[j]] = i;
    FT_TRY(ft_memory_plan(source->bound, &source->options, &peak, keep_step, &k, error));
    flow->steps = k.steps;
    flow->step_count = k.count;
    return FT_OK;
}
