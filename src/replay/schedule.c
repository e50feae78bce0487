#include "replay/schedule.h"

#include <math.h>

#include "base/error.h"
#include "replay/heap.h"

/* An engine of one worker while the clock runs. */
typedef struct runner {
    heap ready; /* tasks */
    heap lanes; /* free ones, the lowest first */
    double gap_us;
    bool is_touched; /* may have something to start */
} runner;

typedef struct clock_state {
    const task_list *tasks;
    schedule *s;
    ft_order order;
    runner *runners;
    uint32_t *left;    /* per task: needs that are not over */
    heap events;       /* what ends when: a task (its number twice) or the gap behind it (and one) */
    uint32_t *stack;   /* tasks that take no time and are over at once */
    uint32_t *touched; /* engines that may have something to start */
    uint32_t touched_count, done_count;
    double now_us;
} clock_state;

const engine *schedule_engine(const task_list *tasks, const engine_list *engines, uint32_t index) {
    return index < tasks->workers * tasks->engines ? &engines->items[index % tasks->engines] : NULL;
}

/* --- Room ----------------------------------------------------------------------------------------------------- */

static void find_successors(clock_state *c) {
    const task_list *l = c->tasks;
    uint32_t *first = c->s->first_successor;
    for (uint32_t i = 0; i < l->dependency_count; i++) first[l->dependencies[i]]++;
    for (uint32_t i = 1; i <= l->count; i++) first[i] += first[i - 1];
    for (uint32_t i = l->count; i-- > 0;)
        for (uint32_t j = l->items[i].dependency_count; j-- > 0;)
            c->s->successors[--first[l->dependencies[l->items[i].first_dependency + j]]] = i;
}

static ft_status make_runners(clock_state *c, const engine_list *engines, arena *memory, ft_error *error) {
    const task_list *l = c->tasks;
    uint32_t count = c->s->engine_count;
    size_t all_lanes = 0;
    uint32_t *load = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    c->runners = ARENA_ARRAY(memory, runner, (size_t)count + 1);
    c->touched = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    if (load == NULL || c->runners == NULL || c->touched == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < l->count; i++) load[l->items[i].engine]++;
    for (uint32_t i = 0; i < count; i++) {
        const engine *e = schedule_engine(l, engines, i);
        runner *r = &c->runners[i];
        uint32_t lanes = e != NULL ? e->lanes : 1;
        r->gap_us = e != NULL ? e->gap_us : 0;
        r->ready.items = ARENA_ARRAY(memory, heap_entry, (size_t)load[i] + 1);
        r->lanes.items = ARENA_ARRAY(memory, heap_entry, lanes);
        if (r->ready.items == NULL || r->lanes.items == NULL) return FT_NOMEM(error);
        for (uint32_t lane = 0; lane < lanes; lane++) heap_push(&r->lanes, (heap_entry){.id = lane});
        all_lanes += lanes;
    }
    c->events.items = ARENA_ARRAY(memory, heap_entry, 2 * all_lanes); /* a lane has a task and a gap at most */
    return c->events.items != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status make_room(clock_state *c, const engine_list *engines, arena *memory, ft_error *error) {
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
    return make_runners(c, engines, memory, error);
}

/* --- The longest path ------------------------------------------------------------------------------------------ */

static void find_tails(const clock_state *c) {
    schedule *s = c->s;
    for (uint32_t i = c->tasks->count; i-- > 0;) {
        double after = 0;
        for (uint32_t j = s->first_successor[i]; j < s->first_successor[i + 1]; j++)
            after = fmax(after, s->tail_us[s->successors[j]]);
        s->tail_us[i] = c->tasks->items[i].time_us + after;
        s->critical_us = fmax(s->critical_us, s->tail_us[i]);
    }
}

/* --- The clock ------------------------------------------------------------------------------------------------- */

/* Phases first, then priorities, in one number; what decides between the rest follows the wish. */
static heap_entry rank_of(const clock_state *c, uint32_t index) {
    const task *t = &c->tasks->items[index];
    double rank = c->order == FT_ORDER_CRITICAL ? -c->s->tail_us[index] : c->order == FT_ORDER_READY ? c->now_us : 0;
    int64_t priority = (t->priority < -1000000 ? -1000000 : t->priority > 1000000 ? 1000000 : t->priority) + 1000000;
    return (heap_entry){.group = (uint32_t)t->phase * 2000001 + (uint32_t)priority, .rank = rank, .id = index};
}

static void touch(clock_state *c, uint32_t engine) {
    if (c->runners[engine].is_touched) return;
    c->runners[engine].is_touched = true;
    c->touched[c->touched_count++] = engine;
}

/* All that a task needs is over. One that takes no time is over as well. */
static void make_ready(clock_state *c, uint32_t index, uint32_t *depth) {
    const task *t = &c->tasks->items[index];
    if (t->time_us > 0) {
        heap_push(&c->runners[t->engine].ready, rank_of(c, index));
        touch(c, t->engine);
        return;
    }
    c->s->start_us[index] = c->now_us;
    c->s->lane[index] = FT_NONE;
    c->stack[(*depth)++] = index;
}

static void settle(clock_state *c, uint32_t depth) {
    while (depth > 0) {
        uint32_t index = c->stack[--depth];
        c->done_count++;
        for (uint32_t i = c->s->first_successor[index]; i < c->s->first_successor[index + 1]; i++)
            if (--c->left[c->s->successors[i]] == 0) make_ready(c, c->s->successors[i], &depth);
    }
}

static void finish_task(clock_state *c, uint32_t index) {
    c->stack[0] = index;
    settle(c, 1);
}

static void free_lane(clock_state *c, uint32_t index) {
    uint32_t engine = c->tasks->items[index].engine;
    heap_push(&c->runners[engine].lanes, (heap_entry){.id = c->s->lane[index]});
    touch(c, engine);
}

static void start_task(clock_state *c, runner *r) {
    uint32_t index = heap_pop(&r->ready).id;
    double end = c->now_us + c->tasks->items[index].time_us;
    c->s->lane[index] = heap_pop(&r->lanes).id;
    c->s->start_us[index] = c->now_us;
    c->s->started[c->s->started_count++] = index;
    c->s->end_us = fmax(c->s->end_us, end);
    heap_push(&c->events, (heap_entry){.rank = end, .id = 2 * index});
    if (r->gap_us > 0) heap_push(&c->events, (heap_entry){.rank = end + r->gap_us, .id = 2 * index + 1});
}

static void start_all(clock_state *c) {
    for (uint32_t i = 0; i < c->touched_count; i++) {
        runner *r = &c->runners[c->touched[i]];
        while (r->ready.count > 0 && r->lanes.count > 0) start_task(c, r);
        r->is_touched = false;
    }
    c->touched_count = 0;
}

/* An even event is the end of a task, an odd one that of the gap behind it. */
static void take_event(clock_state *c, uint32_t id) {
    uint32_t index = id / 2;
    bool has_gap = c->runners[c->tasks->items[index].engine].gap_us > 0;
    if (id % 2 == 0) finish_task(c, index);
    if (id % 2 == 1 || !has_gap) free_lane(c, index);
}

static void run_clock(clock_state *c) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < c->tasks->count; i++) c->left[i] = c->tasks->items[i].dependency_count;
    for (uint32_t i = 0; i < c->tasks->count; i++) {
        if (c->tasks->items[i].dependency_count > 0) continue;
        make_ready(c, i, &depth);
        settle(c, depth);
        depth = 0;
    }
    start_all(c);
    while (c->events.count > 0) {
        c->now_us = c->events.items[0].rank;
        while (c->events.count > 0 && c->events.items[0].rank == c->now_us) take_event(c, heap_pop(&c->events).id);
        start_all(c);
    }
}

ft_status schedule_run(const task_list *tasks, const engine_list *engines, ft_order order, arena *memory, schedule *s,
                       ft_error *error) {
    clock_state c = {.tasks = tasks, .s = s, .order = order};
    *s = (schedule){0};
    FT_TRY(make_room(&c, engines, memory, error));
    find_successors(&c);
    find_tails(&c);
    run_clock(&c);
    if (c.done_count < tasks->count || !isfinite(s->end_us))
        return ft_fail(error, FT_ERR_GRAPH, "the times do not add up to a number: is one of them absurdly long?");
    return FT_OK;
}
