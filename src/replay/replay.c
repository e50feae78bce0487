/* replay.c - running a replay: a flow and options in, the timeline and its sums out. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/replay.h"
#include "replay/schedule.h"

/* --- Names ----------------------------------------------------------------------------------------------------- */

const char *ft_replay_phase_name(ft_replay_phase phase) {
#define PHASE_CASE(name, text)                                                                                         \
    if (phase == (name)) return text;
    FT_REPLAY_PHASE_LIST(PHASE_CASE)
#undef PHASE_CASE
    return "unknown";
}

bool ft_replay_phase_parse(const char *text, ft_replay_phase *phase) {
    if (text == NULL || phase == NULL) return false;
#define PHASE_PARSE(name, spelled)                                                                                     \
    if (strcmp(text, spelled) == 0) return *phase = (name), true;
    FT_REPLAY_PHASE_LIST(PHASE_PARSE)
#undef PHASE_PARSE
    return false;
}

const char *ft_order_name(ft_order order) {
#define ORDER_CASE(name, text)                                                                                         \
    if (order == (name)) return text;
    FT_ORDER_LIST(ORDER_CASE)
#undef ORDER_CASE
    return "unknown";
}

bool ft_order_parse(const char *text, ft_order *order) {
    if (text == NULL || order == NULL) return false;
#define ORDER_PARSE(name, spelled)                                                                                     \
    if (strcmp(text, spelled) == 0) return *order = (name), true;
    FT_ORDER_LIST(ORDER_PARSE)
#undef ORDER_PARSE
    return false;
}

ft_replay_options ft_replay_options_default(void) {
    return (ft_replay_options){
        .engines = "compute:1", .workers = 1, .latency_us = 10, .bytes_per_s = 12.5e9, .bucket_bytes = 25 << 20};
}

/* --- Running --------------------------------------------------------------------------------------------------- */

typedef struct run {
    const ft_flow *flow;
    const ft_replay_options *options;
    arena *memory;
    engine_list engines;
    task_list tasks;
    schedule plan;
    uint32_t *event_of; /* per task: its event, or FT_NONE */
} run;

static ft_status check_flow(const ft_flow *flow, ft_error *error) {
    for (uint32_t i = 0; i < flow->count; i++) {
        const ft_flow_kernel *k = &flow->kernels[i];
        if (!(k->time_us >= 0) || !(k->backward_us >= 0) || !(k->update_us >= 0))
            return ft_fail(error, FT_ERR_USAGE, "%s: no time for '%s': add a table of times", flow->name, k->name);
    }
    return FT_OK;
}

static ft_status check_options(const ft_flow *flow, const ft_replay_options *o, ft_error *error) {
    if (o->workers < 1 || o->workers > FT_REPLAY_MAX_WORKERS)
        return ft_fail(error, FT_ERR_USAGE, "the number of workers must be from 1 to %d", FT_REPLAY_MAX_WORKERS);
    if (o->workers > 1 && o->mode != FT_TRAIN)
        return ft_fail(error, FT_ERR_USAGE, "several workers need training: inference has no gradients to exchange");
    if (o->workers > 1 && flow->has_own_backward)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "%s: has its own backward pass, but only forward-only flows run on several workers", flow->name);
    if (!(o->latency_us >= 0 && o->latency_us <= 1e12) || !(o->bytes_per_s > 0))
        return ft_fail(error, FT_ERR_USAGE,
                       "the latency of the network must be zero or more, its bandwidth above zero");
    return FT_OK;
}

static ft_status run_replay(run *r, ft_error *error) {
    FT_TRY(engines_parse(r->options->engines, r->options->gaps, r->memory, &r->engines, error));
    FT_TRY(tasks_build(r->flow, &r->engines, r->options, SIMULATE_ONE, r->memory, &r->tasks, error));
    return schedule_run(&r->tasks, &r->engines, r->options->order, r->memory, &r->plan, error);
}

/* The same step on one worker, without exchange. */
static ft_status run_alone(const run *r, double *end_us, ft_error *error) {
    ft_replay_options options = *r->options;
    arena memory;
    options.workers = 1;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    run alone = {.flow = r->flow, .options = &options, .memory = &memory};
    ft_status status = run_replay(&alone, error);
    *end_us = alone.plan.end_us;
    arena_free(&memory);
    return status;
}

/* --- Events ---------------------------------------------------------------------------------------------------- */

static void name_event(const run *r, const task *t, ft_replay_event *event) {
    assert(t->kernel == FT_NONE || t->kernel < r->flow->count);
    if (t->kernel != FT_NONE) {
        event->name = r->flow->kernels[t->kernel].name;
        event->type = r->flow->kernels[t->kernel].type;
    } else {
        event->name = event->type = t->phase == FT_REPLAY_EXCHANGE ? "all-reduce"
                                    : t->phase == FT_REPLAY_UPDATE ? "optimizer"
                                                                   : "start";
    }
}

/* Numbers the events among those of all workers. Of the events that start at once, those of the first worker come
 * first, then those of the second; the network starts between those of the last. */
static void number_events(ft_replay *out, ft_replay_event *events) {
    uint64_t before = 0;
    for (uint32_t begin = 0, end = 0; begin < out->event_count; begin = end) {
        uint32_t own = 0;
        for (end = begin; end < out->event_count && events[end].start_us == events[begin].start_us; end++)
            own += events[end].worker != FT_NONE;
        uint64_t others = (uint64_t)(out->options.workers - 1) * own;
        for (uint32_t i = begin, rank = 0; i < end; i++)
            events[i].index = before + (events[i].worker != FT_NONE ? rank++ : others + (i - begin));
        before += others + (end - begin);
    }
    out->total_event_count = before;
}

static ft_status list_events(run *r, ft_replay *out, ft_error *error) {
    uint32_t count = r->plan.started_count;
    const uint32_t *order = r->plan.started;
    r->event_of = ARENA_ARRAY(r->memory, uint32_t, (size_t)r->tasks.count + 1);
    ft_replay_event *events = ARENA_ARRAY(r->memory, ft_replay_event, (size_t)count + 1);
    if (r->event_of == NULL || events == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < r->tasks.count; i++) r->event_of[i] = FT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const task *t = &r->tasks.items[order[i]];
        events[i] = (ft_replay_event){.kernel = t->kernel,
                                      .worker = t->worker,
                                      .engine = t->engine,
                                      .lane = r->plan.lane[order[i]],
                                      .phase = t->phase,
                                      .start_us = r->plan.start_us[order[i]],
                                      .time_us = t->time_us};
        name_event(r, t, &events[i]);
        r->event_of[order[i]] = i;
    }
    out->events = events;
    out->event_count = count;
    number_events(out, events);
    return FT_OK;
}

/* Follows the longest path from task to task. */
static ft_status mark_critical(const run *r, ft_replay *out, ft_error *error) {
    const schedule *plan = &r->plan;
    uint32_t *path = ARENA_ARRAY(r->memory, uint32_t, (size_t)out->event_count + 1), at = FT_NONE;
    if (path == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < r->tasks.count; i++)
        if (at == FT_NONE || plan->tail_us[i] > plan->tail_us[at]) at = i;
    while (at != FT_NONE) {
        uint32_t next = FT_NONE;
        if (r->event_of[at] != FT_NONE) {
            ((ft_replay_event *)out->events)[r->event_of[at]].is_critical = true;
            path[out->critical_count++] = r->event_of[at];
        }
        for (uint32_t i = plan->first_successor[at]; i < plan->first_successor[at + 1]; i++)
            if (next == FT_NONE || plan->tail_us[plan->successors[i]] > plan->tail_us[next]) next = plan->successors[i];
        at = next;
    }
    assert(out->critical_count <= out->event_count);
    out->critical = path;
    return FT_OK;
}

/* --- Sums ------------------------------------------------------------------------------------------------------ */

static ft_status sum_engines(const run *r, ft_replay *out, ft_error *error) {
    uint32_t all = r->plan.engine_count, mine = r->tasks.engines;
    ft_replay_engine *engines = ARENA_ARRAY(r->memory, ft_replay_engine, all);
    if (engines == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < all; i++) {
        const engine *e = schedule_engine(&r->tasks, &r->engines, i);
        engines[i] = (ft_replay_engine){.name = e != NULL ? e->name : "network",
                                        .worker = e != NULL ? i / mine : FT_NONE,
                                        .lane_count = e != NULL ? e->lanes : 1};
    }
    for (uint32_t i = 0; i < out->event_count; i++) {
        assert(out->events[i].engine < all);
        ft_replay_engine *e = &engines[out->events[i].engine];
        const engine *of = schedule_engine(&r->tasks, &r->engines, out->events[i].engine);
        e->event_count++;
        e->busy_us += out->events[i].time_us;
        if (of != NULL) e->gap_us += of->gap_us;
    }
    for (uint32_t i = 0; i < all; i++)
        if (out->iteration_us > 0)
            engines[i].use_ratio = engines[i].busy_us / out->iteration_us / engines[i].lane_count;
    out->engines = engines;
    out->engine_count = engines[all - 1].event_count > 0 ? all : all - 1; /* an unused network is omitted */
    return FT_OK;
}

static void sum_phases(const run *r, ft_replay *out) {
    for (uint32_t i = 0; i < out->event_count; i++) {
        const ft_replay_event *event = &out->events[i];
        if (event->worker != 0 && event->worker != FT_NONE) continue; /* all workers are alike */
        out->phase_us[event->phase] += event->time_us;
    }
    out->kernel_us =
        out->phase_us[FT_REPLAY_FORWARD] + out->phase_us[FT_REPLAY_BACKWARD] + out->phase_us[FT_REPLAY_UPDATE];
    if (r->flow->has_own_backward)
        out->kernel_us += out->phase_us[FT_REPLAY_EXCHANGE]; /* exchanges run on engines like kernels */
    for (uint32_t i = 0; i < r->tasks.engines && i < out->engine_count; i++) out->gap_us += out->engines[i].gap_us;
    for (uint32_t i = 0; i < r->tasks.count; i++) out->gradient_bytes += r->tasks.items[i].bytes;
}

static ft_status add_note(ft_replay *out, const char *note, ft_error *error) {
    if (note == NULL) return FT_NOMEM(error);
    assert(out->note_count < sizeof out->notes / sizeof out->notes[0]);
    out->notes[out->note_count++] = note;
    return FT_OK;
}

static ft_status note_assumptions(const run *r, ft_replay *out, ft_error *error) {
    const ft_replay_options *o = r->options;
    if (o->mode == FT_TRAIN && r->flow->is_backward_assumed && !r->flow->has_own_backward)
        FT_TRY(add_note(out, "the work of the kernels is not known: the backward pass is assumed to take twice as long",
                        error));
    if (o->workers > 1 && out->gradient_bytes == 0)
        FT_TRY(add_note(out, "the size of the gradients is not known: workers exchange nothing", error));
    if (o->workers > 1)
        FT_TRY(add_note(out,
                        arena_format(r->memory,
                                     "the network is assumed: a ring, %g us, %g GB/s each way, buckets of %.3g MiB%s",
                                     o->latency_us, o->bytes_per_s / 1e9, (double)o->bucket_bytes / (1 << 20),
                                     o->is_exchange_last ? ", after the backward pass" : ", during the backward pass"),
                        error));
    return FT_OK;
}

static ft_status fill_result(run *r, ft_replay *out, ft_error *error) {
    out->iteration_us = out->alone_us = r->plan.end_us;
    out->critical_us = r->plan.critical_us;
    FT_TRY(list_events(r, out, error));
    FT_TRY(mark_critical(r, out, error));
    FT_TRY(sum_engines(r, out, error));
    sum_phases(r, out);
    if (r->options->workers > 1) FT_TRY(run_alone(r, &out->alone_us, error));
    out->exposed_us = fmax(0, out->iteration_us - out->alone_us);
    out->efficiency_ratio = out->iteration_us > 0 ? out->alone_us / out->iteration_us : 1;
    return note_assumptions(r, out, error);
}

/* Copies the strings of the options. */
static ft_status keep_options(const ft_replay_options *options, arena *memory, ft_replay *out, ft_error *error) {
    out->options = *options;
    out->options.engines = arena_string(memory, options->engines, strlen(options->engines));
    if (options->gaps != NULL) out->options.gaps = arena_string(memory, options->gaps, strlen(options->gaps));
    return out->options.engines != NULL && (options->gaps == NULL || out->options.gaps != NULL) ? FT_OK
                                                                                                : FT_NOMEM(error);
}

ft_status ft_replay_run(const ft_flow *flow, const ft_replay_options *options, ft_replay *replay, ft_error *error) {
    FT_REQUIRE(error, flow, options, replay);
    ft_replay out = {0};
    FT_TRY(check_options(flow, options, error));
    FT_TRY(check_flow(flow, error));
    arena *memory = malloc(sizeof *memory);
    if (memory == NULL) return FT_NOMEM(error);
    arena_init(memory, 4 * FT_MAX_GRAPH_BYTES);
    out.owner = memory;
    run r = {.flow = flow, .options = &out.options, .memory = memory};
    ft_status status = keep_options(options, memory, &out, error);
    if (status == FT_OK) status = run_replay(&r, error);
    if (status == FT_OK) status = fill_result(&r, &out, error);
    if (status == FT_OK)
        *replay = out;
    else
        ft_replay_free(&out);
    return status;
}

void ft_replay_free(ft_replay *replay) {
    if (replay == NULL || replay->owner == NULL) return;
    arena_free(replay->owner);
    free(replay->owner);
    *replay = (ft_replay){0};
}
