/* report_trace.c - a replay as a trace: a process per worker, a thread per lane of an engine, and the network; for
 * models also a counter with the memory of the first worker. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "replay/flow.h"
#include "replay/report_values.h"
#include "report/trace.h"

/* Process numbers: workers from 1, then the network. Lanes of an engine have consecutive threads. */
static trace_track track_of(const ft_replay *replay, uint32_t engine, uint32_t worker, uint32_t lane) {
    assert(engine < replay->engine_count);
    const ft_replay_engine *e = &replay->engines[engine];
    uint32_t thread = 1 + lane;
    for (uint32_t i = engine; i-- > 0 && replay->engines[i].worker == e->worker;)
        thread += replay->engines[i].lane_count;
    return (trace_track){worker != FT_NONE ? worker + 1 : replay->options.workers + 1, thread};
}

static void write_labels(trace *t, const ft_model_replays *entry, const ft_replay *replay) {
    for (uint32_t i = FT_NONE, worker; engine_list_next(replay, &i, &worker);) {
        const ft_replay_engine *e = &replay->engines[i];
        trace_track track = track_of(replay, i, worker, 0);
        buf text = {0};
        if (worker == FT_NONE)
            buf_text(&text, "network");
        else if (replay->options.workers > 1)
            buf_format(&text, "worker %u", worker);
        else
            buf_format(&text, "%s%s%s", entry->file, entry->device != NULL ? " on " : "",
                       entry->device != NULL ? entry->device : "");
        if (track.thread == 1) trace_label(t, "process_name", track, text.data);
        for (uint32_t lane = 0; lane < e->lane_count; lane++) {
            text.length = 0;
            buf_text(&text, e->name);
            if (e->lane_count > 1) buf_format(&text, " %u", lane);
            trace_label(t, "thread_name", track_of(replay, i, worker, lane), text.data);
        }
        if (text.failed) t->out.text.failed = true;
        buf_free(&text);
    }
}

static void write_event(trace *t, const ft_replay *replay, const event_copy *copy) {
    const ft_replay_event *e = &replay->events[copy->event];
    event_row row;
    event_row_fill(replay, copy, &row);
    trace_begin(t, row.type, "X", track_of(replay, e->engine, copy->worker, e->lane), row.start_us);
    jsonw_pair_double(&t->json, "dur", row.time_us);
    jsonw_pair_string(&t->json, "cat", row.phase);
    trace_args(t);
    jsonw_pair_string(&t->json, "name", row.name);
    jsonw_pair_double(&t->json, "share_ratio", row.share_ratio);
    jsonw_key(&t->json, "is_critical");
    jsonw_bool(&t->json, row.is_critical);
    trace_end(t);
}

/* --- Memory ----------------------------------------------------------------------------------------------------- */

/* Per phase and kernel, its start on the first worker; NaN: it takes no time. */
static double *find_starts(const ft_flow *flow, const ft_replay *replay) {
    size_t count = (size_t)FT_REPLAY_PHASES * flow->count;
    double *starts = malloc((count + 1) * sizeof *starts);
    for (size_t i = 0; starts != NULL && i < count; i++) starts[i] = NAN;
    for (uint32_t i = 0; starts != NULL && i < replay->event_count; i++) {
        const ft_replay_event *e = &replay->events[i];
        if (e->worker == 0 && e->kernel != FT_NONE) starts[e->phase * (size_t)flow->count + e->kernel] = e->start_us;
    }
    return starts;
}

/* The memory plan runs the operators in the order of the model; where kernels run in parallel, the counter follows the
 * later one. */
static void write_memory(trace *t, const ft_flow *flow, const ft_replay *replay) {
    double now = 0, *starts = find_starts(flow, replay);
    if (starts == NULL) t->out.text.failed = true;
    for (uint32_t i = 0; starts != NULL && i < flow->step_count; i++) {
        const flow_step *step = &flow->steps[i];
        if (step->phase == FT_REPLAY_UPDATE) now = fmax(now, replay->iteration_us - replay->phase_us[FT_REPLAY_UPDATE]);
        if (step->kernel != FT_NONE) now = fmax(now, starts[step->phase * (size_t)flow->count + step->kernel]);
        trace_begin(t, "memory", "C", (trace_track){1, 1}, now);
        trace_args(t);
        jsonw_pair_uint(&t->json, "tensor_bytes", step->live_bytes);
        trace_end(t);
    }
    free(starts);
}

ft_status ft_replay_trace(const char *path, const ft_model_replays *entry, uint32_t index, ft_error *error) {
    FT_REQUIRE(error, path, entry);
    const ft_replay *replay = &entry->replays[index];
    event_list list;
    event_copy copy;
    trace t = {0};
    event_list_open(&list, replay, 0);
    FT_TRY(trace_open(path, &t, error));
    write_labels(&t, entry, replay);
    while (event_list_next(&list, &copy)) write_event(&t, replay, &copy);
    write_memory(&t, entry->flow, replay);
    ft_status status = trace_commit(&t, error);
    trace_free(&t);
    return status;
}
