/* schedule.c - the event-driven list scheduler. */
#include "replay/schedule.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "replay/heap.h"

/* No time is NaN, so a comparison does, which is faster than fmax. */
static inline double later_of(double a, double b) {
    return a > b ? a : b;
}

/* The state of an engine of one worker. */
typedef struct engine_state {
    heap ready; /* tasks */
    heap lanes; /* free lanes, the lowest first */
    double gap_us;
    bool is_pending; /* may be able to start a task */
} engine_state;

typedef struct simulation {
    const task_list *tasks;
    schedule *s;
    ft_order order;
    engine_state *states;
    uint32_t *left;    /* per task: dependencies that are not done */
    heap events;       /* by end: of a task (2 * task) or of the gap after it (2 * task + 1) */
    uint32_t *stack;   /* tasks of no time, which are done at once */
    uint32_t *pending; /* engines that may be able to start a task */
    uint32_t pending_count, done_count;
    double now_us;
} simulation;

const engine *schedule_engine(const task_list *tasks, const engine_list *engines, uint32_t index) {
    return index < tasks->workers * tasks->engines ? &engines->items[index % tasks->engines] : NULL;
}

/* --- Memory --------------------------------------------------------------------------------------------------- */

static void find_successors(simulation *c) {
    const task_list *l = c->tasks;
    uint32_t *first = c->s->first_successor;
    for (uint32_t i = 0; i < l->dependency_count; i++) first[l->dependencies[i]]++;
    for (uint32_t i = 1; i <= l->count; i++) first[i] += first[i - 1];
    for (uint32_t i = l->count; i-- > 0;)
        for (uint32_t j = l->items[i].dependency_count; j-- > 0;)
            c->s->successors[--first[l->dependencies[l->items[i].first_dependency + j]]] = i;
}

static ft_status make_states(simulation *c, const engine_list *engines, arena *memory, ft_error *error) {
    const task_list *l = c->tasks;
    uint32_t count = c->s->engine_count;
    size_t all_lanes = 0;
    uint32_t *load = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    c->states = ARENA_ARRAY(memory, engine_state, (size_t)count + 1);
    c->pending = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    if (load == NULL || c->states == NULL || c->pending == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < l->count; i++) load[l->items[i].engine]++;
    for (uint32_t i = 0; i < count; i++) {
        const engine *e = schedule_engine(l, engines, i);
        engine_state *r = &c->states[i];
        uint32_t lanes = e != NULL ? e->lanes : 1;
        r->gap_us = e != NULL ? e->gap_us : 0;
        r->ready.items = ARENA_ARRAY(memory, heap_entry, (size_t)load[i] + 1);
        r->lanes.items = ARENA_ARRAY(memory, heap_entry, lanes);
        if (r->ready.items == NULL || r->lanes.items == NULL) return FT_NOMEM(error);
        for (uint32_t lane = 0; lane < lanes; lane++) heap_push(&r->lanes, (heap_entry){.id = lane});
        all_lanes += lanes;
    }
    c->events.items = ARENA_ARRAY(memory, heap_entry, 2 * all_lanes); /* one task and one gap per lane */
    return c->events.items != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status allocate(simulation *c, const engine_list *engines, arena *memory, ft_error *error) {
    size_t count = (size_t)c->tasks->count + 1;
    schedule *s = c->s;
    s->engine_count = c->tasks->workers * c->tasks->engines + 1;
    s->start_us = ARENA_ARRAY(memory, double, count);
    s->tail_us = ARENA_ARRAY(memory, double, count);
    s->lane = ARENA_ARRAY(memory, uint32_t, count);
    s->started = ARENA_ARRAY(memory, uint32_t, count);
    c->left = ARENA_ARRAY(memory, uint32_t, count);
    c->stack = ARENA_ARRAY(memory, uint32_t, count);
    s->first_successor = ARENA_ARRAY(memory, uint32_t, count + 1);
    s->successors = ARENA_ARRAY(memory, uint32_t, (size_t)c->tasks->dependency_count + 1);
    if (s->start_us == NULL || s->tail_us == NULL || s->lane == NULL || s->started == NULL || c->left == NULL ||
        c->stack == NULL || s->first_successor == NULL || s->successors == NULL)
        return FT_NOMEM(error);
    return make_states(c, engines, memory, error);
}

/* --- The critical path ----------------------------------------------------------------------------------------- */

static void find_critical(const simulation *c) {
    schedule *s = c->s;
    for (uint32_t i = c->tasks->count; i-- > 0;) {
        double after = 0;
        for (uint32_t j = s->first_successor[i]; j < s->first_successor[i + 1]; j++)
            after = later_of(after, s->tail_us[s->successors[j]]);
        s->tail_us[i] = c->tasks->items[i].time_us + after;
        s->critical_us = later_of(s->critical_us, s->tail_us[i]);
    }
}

/* --- Events ---------------------------------------------------------------------------------------------------- */

/* Phase, then priority, in `group`; then the order of the options in `rank`. */
static heap_entry priority_of(const simulation *c, uint32_t index) {
    const task *t = &c->tasks->items[index];
    double rank = c->order == FT_ORDER_CRITICAL ? -c->s->tail_us[index] : c->order == FT_ORDER_READY ? c->now_us : 0;
    int64_t priority = (t->priority < -1000000 ? -1000000 : t->priority > 1000000 ? 1000000 : t->priority) + 1000000;
    return (heap_entry){.group = (uint32_t)t->phase * 2000001 + (uint32_t)priority, .rank = rank, .id = index};
}

static void mark_pending(simulation *c, uint32_t engine) {
    if (c->states[engine].is_pending) return;
    c->states[engine].is_pending = true;
    c->pending[c->pending_count++] = engine;
}

/* Called when all dependencies of a task are done. A task of no time is done at once. */
static void make_ready(simulation *c, uint32_t index, uint32_t *depth) {
    const task *t = &c->tasks->items[index];
    if (t->time_us > 0) {
        heap_push(&c->states[t->engine].ready, priority_of(c, index));
        mark_pending(c, t->engine);
        return;
    }
    c->s->start_us[index] = c->now_us;
    c->s->lane[index] = FT_NONE;
    c->stack[(*depth)++] = index;
}

static void finish_tasks(simulation *c, uint32_t depth) {
    while (depth > 0) {
        uint32_t index = c->stack[--depth];
        c->done_count++;
        for (uint32_t i = c->s->first_successor[index]; i < c->s->first_successor[index + 1]; i++)
            if (--c->left[c->s->successors[i]] == 0) make_ready(c, c->s->successors[i], &depth);
    }
}

static void finish_task(simulation *c, uint32_t index) {
    c->stack[0] = index;
    finish_tasks(c, 1);
}

static void free_lane(simulation *c, uint32_t index) {
    uint32_t engine = c->tasks->items[index].engine;
    assert(c->s->lane[index] != FT_NONE);
    heap_push(&c->states[engine].lanes, (heap_entry){.id = c->s->lane[index]});
    mark_pending(c, engine);
}

static void start_task(simulation *c, engine_state *r) {
    assert(r->ready.count > 0 && r->lanes.count > 0);
    uint32_t index = heap_pop(&r->ready).id;
    double end = c->now_us + c->tasks->items[index].time_us;
    c->s->lane[index] = heap_pop(&r->lanes).id;
    c->s->start_us[index] = c->now_us;
    c->s->started[c->s->started_count++] = index;
    c->s->end_us = later_of(c->s->end_us, end);
    heap_push(&c->events, (heap_entry){.rank = end, .id = 2 * index});
    if (r->gap_us > 0) heap_push(&c->events, (heap_entry){.rank = end + r->gap_us, .id = 2 * index + 1});
}

static void start_ready(simulation *c) {
    for (uint32_t i = 0; i < c->pending_count; i++) {
        engine_state *r = &c->states[c->pending[i]];
        while (r->ready.count > 0 && r->lanes.count > 0) start_task(c, r);
        r->is_pending = false;
    }
    c->pending_count = 0;
}

/* An even event is the end of a task, an odd one that of the gap after it. */
static void handle_event(simulation *c, uint32_t id) {
    uint32_t index = id / 2;
    assert(index < c->tasks->count);
    bool has_gap = c->states[c->tasks->items[index].engine].gap_us > 0;
    if (id % 2 == 0) finish_task(c, index);
    if (id % 2 == 1 || !has_gap) free_lane(c, index);
}

static void run_events(simulation *c) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < c->tasks->count; i++) c->left[i] = c->tasks->items[i].dependency_count;
    for (uint32_t i = 0; i < c->tasks->count; i++) {
        if (c->tasks->items[i].dependency_count > 0) continue;
        make_ready(c, i, &depth);
        finish_tasks(c, depth);
        depth = 0;
    }
    start_ready(c);
    while (c->events.count > 0) {
        assert(c->events.items[0].rank >= c->now_us); /* time does not run backwards */
        c->now_us = c->events.items[0].rank;
        while (c->events.count > 0 && c->events.items[0].rank == c->now_us) handle_event(c, heap_pop(&c->events).id);
        start_ready(c);
    }
}

ft_status schedule_run(const task_list *tasks, const engine_list *engines, ft_order order, arena *memory, schedule *s,
                       ft_error *error) {
    simulation c = {.tasks = tasks, .s = s, .order = order};
    *s = (schedule){0};
    FT_TRY(allocate(&c, engines, memory, error));
    find_successors(&c);
    find_critical(&c);
    run_events(&c);
    if (c.done_count < tasks->count || !isfinite(s->end_us))
        return ft_fail(error, FT_ERR_GRAPH, "the sum of the times is not finite: check for extremely long times");
    return FT_OK;
}
