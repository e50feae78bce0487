/* report_values.c - the values of a report about a replay. */
#include "replay/report_values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define ROW_FIELD(row, member, kind)                                                                                   \
    { #member, kind, offsetof(row, member) }

const field replay_fields[] = {
    ROW_FIELD(replay_row, file, FIELD_TEXT),
    ROW_FIELD(replay_row, device, FIELD_TEXT),
    ROW_FIELD(replay_row, batch, FIELD_WHOLE),
    ROW_FIELD(replay_row, mode, FIELD_TEXT),
    ROW_FIELD(replay_row, times_from, FIELD_TEXT),
    ROW_FIELD(replay_row, engines_spec, FIELD_TEXT),
    ROW_FIELD(replay_row, gaps, FIELD_TEXT),
    ROW_FIELD(replay_row, order, FIELD_TEXT),
    ROW_FIELD(replay_row, workers, FIELD_COUNT),
    ROW_FIELD(replay_row, kernel_count, FIELD_COUNT),
    ROW_FIELD(replay_row, iteration_us, FIELD_RATIO),
    ROW_FIELD(replay_row, kernel_us, FIELD_RATIO),
    ROW_FIELD(replay_row, critical_us, FIELD_RATIO),
    ROW_FIELD(replay_row, gap_us, FIELD_RATIO),
    ROW_FIELD(replay_row, speedup_ratio, FIELD_RATIO),
    ROW_FIELD(replay_row, samples_per_s, FIELD_RATIO),
    ROW_FIELD(replay_row, forward_us, FIELD_RATIO),
    ROW_FIELD(replay_row, backward_us, FIELD_RATIO),
    ROW_FIELD(replay_row, update_us, FIELD_RATIO),
    ROW_FIELD(replay_row, exchange_us, FIELD_RATIO),
    ROW_FIELD(replay_row, exposed_us, FIELD_RATIO),
    ROW_FIELD(replay_row, alone_us, FIELD_RATIO),
    ROW_FIELD(replay_row, efficiency_ratio, FIELD_RATIO),
    ROW_FIELD(replay_row, gradient_bytes, FIELD_COUNT),
    {NULL, FIELD_TEXT, 0},
};

const field engine_fields[] = {
    ROW_FIELD(engine_row, worker, FIELD_INDEX),  ROW_FIELD(engine_row, engine, FIELD_TEXT),
    ROW_FIELD(engine_row, lanes, FIELD_COUNT),   ROW_FIELD(engine_row, kernel_count, FIELD_COUNT),
    ROW_FIELD(engine_row, busy_us, FIELD_RATIO), ROW_FIELD(engine_row, use_ratio, FIELD_RATIO),
    ROW_FIELD(engine_row, gap_us, FIELD_RATIO),  {NULL, FIELD_TEXT, 0},
};

const field event_fields[] = {
    ROW_FIELD(event_row, index, FIELD_COUNT),      ROW_FIELD(event_row, name, FIELD_TEXT),
    ROW_FIELD(event_row, type, FIELD_TEXT),        ROW_FIELD(event_row, phase, FIELD_TEXT),
    ROW_FIELD(event_row, worker, FIELD_INDEX),     ROW_FIELD(event_row, engine, FIELD_TEXT),
    ROW_FIELD(event_row, lane, FIELD_COUNT),       ROW_FIELD(event_row, start_us, FIELD_RATIO),
    ROW_FIELD(event_row, time_us, FIELD_RATIO),    ROW_FIELD(event_row, share_ratio, FIELD_RATIO),
    ROW_FIELD(event_row, is_critical, FIELD_FLAG), {NULL, FIELD_TEXT, 0},
};

/* Kernels that take time, counted once for all workers. */
static uint64_t count_kernels(const ft_flow *flow) {
    uint32_t count;
    uint64_t busy = 0;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    for (uint32_t i = 0; i < count; i++) busy += kernels[i].time_us > 0;
    return busy;
}

bool engine_list_next(const ft_replay *replay, uint32_t *index, uint32_t *worker) {
    const ft_replay_engine *engines = replay->engines;
    if (*index == FT_NONE) {
        *index = *worker = 0;
        return replay->engine_count > 0;
    }
    bool is_last = *index + 1 == replay->engine_count || engines[*index + 1].worker == FT_NONE;
    if (is_last && *worker != FT_NONE && *worker + 1 < replay->options.workers) {
        *index = 0;
        ++*worker;
        return true;
    }
    if (++*index == replay->engine_count) return false;
    if (engines[*index].worker == FT_NONE) *worker = FT_NONE;
    return true;
}

void replay_row_fill(const ft_model_replays *entry, const ft_replay *r, replay_row *row) {
    const ft_replay_options *o = &r->options;
    *row = (replay_row){
        .file = entry->file,
        .device = entry->device,
        .batch = entry->batch > 0 ? (double)entry->batch : NAN,
        .mode = o->mode == FT_TRAIN ? "train" : "infer",
        .times_from = entry->times_from,
        .engines_spec = o->engines,
        .gaps = o->gaps,
        .order = ft_order_name(o->order),
        .workers = o->workers,
        .kernel_count = count_kernels(entry->flow),
        .iteration_us = r->iteration_us,
        .kernel_us = r->kernel_us,
        .critical_us = r->critical_us,
        .gap_us = r->gap_us,
        .speedup_ratio = r->iteration_us > 0 ? r->kernel_us / r->iteration_us : NAN,
        .samples_per_s = NAN,
        .forward_us = r->phase_us[FT_REPLAY_FORWARD],
        .backward_us = r->phase_us[FT_REPLAY_BACKWARD],
        .update_us = r->phase_us[FT_REPLAY_UPDATE],
        .exchange_us = r->phase_us[FT_REPLAY_EXCHANGE],
        .exposed_us = r->exposed_us,
        .alone_us = r->alone_us,
        .efficiency_ratio = r->efficiency_ratio,
        .gradient_bytes = r->gradient_bytes,
    };
    if (entry->batch > 0 && r->iteration_us > 0)
        row->samples_per_s = (double)entry->batch * o->workers / r->iteration_us * 1e6;
}

void engine_row_fill(const ft_replay_engine *engine, uint32_t worker, engine_row *row) {
    *row = (engine_row){.worker = worker,
                        .engine = engine->name,
                        .lanes = engine->lane_count,
                        .kernel_count = engine->event_count,
                        .busy_us = engine->busy_us,
                        .use_ratio = engine->use_ratio,
                        .gap_us = engine->gap_us};
}

void event_row_fill(const ft_replay *replay, const event_copy *copy, event_row *row) {
    assert(copy->event < replay->event_count);
    const ft_replay_event *e = &replay->events[copy->event];
    *row = (event_row){.index = copy->index,
                       .name = e->name,
                       .type = e->type,
                       .phase = ft_replay_phase_name(e->phase),
                       .worker = copy->worker,
                       .engine = replay->engines[e->engine].name,
                       .lane = e->lane,
                       .start_us = e->start_us,
                       .time_us = e->time_us,
                       .share_ratio = replay->iteration_us > 0 ? e->time_us / replay->iteration_us : NAN,
                       .is_critical = e->is_critical && (copy->worker == 0 || copy->worker == FT_NONE)};
}

const char *replay_note(const ft_model_replays *entry, const ft_replay *replay, uint32_t index) {
    uint32_t of_flow = 0;
    while (ft_flow_note(entry->flow, of_flow) != NULL) of_flow++;
    if (index < of_flow) return ft_flow_note(entry->flow, index);
    return index - of_flow < replay->note_count ? replay->notes[index - of_flow] : NULL;
}
