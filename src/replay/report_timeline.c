/* report_timeline.c - a replay as a trace: a process a worker, a thread a lane of an engine, and the network. */
#include <stdio.h>

#include "base/error.h"
#include "replay/report_values.h"
#include "report/trace.h"

/* Workers count from 1 in the trace; the network comes behind them. Lanes of an engine follow each other. */
static trace_track track_of(const ft_replay *replay, uint32_t engine, uint32_t lane) {
    const ft_replay_engine *e = &replay->engines[engine];
    uint32_t thread = 1 + lane;
    for (uint32_t i = engine; i-- > 0 && replay->engines[i].worker == e->worker;)
        thread += replay->engines[i].lane_count;
    return (trace_track){e->worker != FT_NONE ? e->worker + 1 : replay->options.workers + 1, thread};
}

static void write_labels(trace *t, const ft_replay_subject *subject, const ft_replay *replay) {
    for (uint32_t i = 0; i < replay->engine_count; i++) {
        const ft_replay_engine *e = &replay->engines[i];
        trace_track track = track_of(replay, i, 0);
        buf text = {0};
        if (e->worker == FT_NONE)
            buf_text(&text, "network");
        else if (replay->options.workers > 1)
            buf_format(&text, "worker %u", e->worker);
        else
            buf_format(&text, "%s%s%s", subject->file, subject->device != NULL ? " on " : "",
                       subject->device != NULL ? subject->device : "");
        if (track.thread == 1) trace_label(t, "process_name", track, text.data);
        for (uint32_t lane = 0; lane < e->lane_count; lane++) {
            text.length = 0;
            buf_text(&text, e->name);
            if (e->lane_count > 1) buf_format(&text, " %u", lane);
            trace_label(t, "thread_name", track_of(replay, i, lane), text.data);
        }
        if (text.failed) t->out.text.failed = true;
        buf_free(&text);
    }
}

static void write_event(trace *t, const ft_replay *replay, uint32_t index) {
    const ft_replay_event *e = &replay->events[index];
    event_row row;
    event_row_fill(replay, index, &row);
    trace_begin(t, row.type, "X", track_of(replay, e->engine, e->lane), row.start_us);
    jsonw_pair_double(&t->json, "dur", row.time_us);
    jsonw_pair_string(&t->json, "cat", row.phase);
    trace_args(t);
    jsonw_pair_string(&t->json, "name", row.name);
    jsonw_pair_double(&t->json, "share_ratio", row.share_ratio);
    jsonw_key(&t->json, "is_critical");
    jsonw_bool(&t->json, row.is_critical);
    trace_end(t);
}

ft_status ft_replay_trace(const char *path, const ft_replay_subject *subject, uint32_t index, ft_error *error) {
    const ft_replay *replay = &subject->replays[index];
    trace t = {0};
    FT_TRY(trace_open(path, &t, error));
    write_labels(&t, subject, replay);
    for (uint32_t i = 0; i < replay->event_count; i++) write_event(&t, replay, i);
    ft_status status = trace_commit(&t, error);
    trace_free(&t);
    return status;
}
