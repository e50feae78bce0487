/* report_events.c - lists of the events of a replay. A replay has the events of one worker and of the network; lists of
 * all workers repeat them without storing them, in the order of a simulation of all workers. */
#include <assert.h>
#include <stdlib.h>

#include "replay/report_values.h"

event_copy event_first(const ft_replay *replay, uint32_t event) {
    assert(event < replay->event_count);
    return (event_copy){event, replay->events[event].worker, replay->events[event].index};
}

static int by_length(const void *left, const void *right, void *user) {
    const ft_replay_event *events = user;
    const ft_replay_event *a = &events[*(const uint32_t *)left], *b = &events[*(const uint32_t *)right];
    if (a->time_us != b->time_us) return a->time_us > b->time_us ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

uint32_t *select_events(const ft_replay *replay, bool is_critical, uint32_t top, uint32_t *count) {
    uint32_t all = is_critical ? replay->critical_count : replay->event_count;
    uint32_t *chosen = calloc((size_t)all + 1, sizeof *chosen);
    if (chosen == NULL) return NULL;
    for (uint32_t i = 0; i < all; i++) chosen[i] = is_critical ? replay->critical[i] : i;
    if (top > 0 && all > 0) qsort_r(chosen, all, sizeof *chosen, by_length, (void *)replay->events);
    *count = top > 0 && top < all ? top : all;
    return chosen;
}

/* --- By start --------------------------------------------------------------------------------------------------- */

/* The events that start together with the one at `begin`. */
static void find_group(event_list *l) {
    const ft_replay *r = l->replay;
    l->begin = l->at = l->end;
    while (l->end < r->event_count && r->events[l->end].start_us == r->events[l->begin].start_us) l->end++;
    l->worker = 0;
}

static bool next_by_start(event_list *l, event_copy *copy) {
    const ft_replay *r = l->replay;
    for (;; l->at++) {
        if (l->at == l->end && l->begin < l->end && ++l->worker < r->options.workers) l->at = l->begin;
        if (l->at == l->end) find_group(l);
        if (l->at == l->end) return false;
        bool is_network = r->events[l->at].worker == FT_NONE;
        if (is_network && l->worker + 1 < r->options.workers) continue;
        *copy = (event_copy){l->at++, is_network ? FT_NONE : l->worker, l->index++};
        return true;
    }
}

/* --- The longest ------------------------------------------------------------------------------------------------ */

static int copies_by_length(const void *left, const void *right, void *user) {
    const ft_replay_event *events = user;
    const event_copy *a = left, *b = right;
    double x = events[a->event].time_us, y = events[b->event].time_us;
    if (x != y) return x > y ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* The copies of an event follow each other by the number of events that each worker starts with it; those of the last
 * worker come after events of the network that are before it. */
static void add_copies(event_list *l, uint32_t event, uint32_t count) {
    const ft_replay_event *events = l->replay->events, *e = &events[event];
    uint32_t own = 0, networks = 0, begin = event;
    while (begin > 0 && events[begin - 1].start_us == e->start_us) begin--;
    for (uint32_t i = begin; i < l->replay->event_count && events[i].start_us == e->start_us; i++) {
        own += events[i].worker != FT_NONE;
        networks += i < event && events[i].worker == FT_NONE;
    }
    for (uint32_t w = 0; w < count; w++) {
        bool is_last = w > 0 && w + 1 == l->replay->options.workers;
        l->longest[l->longest_count++] = (event_copy){event, e->worker == FT_NONE ? FT_NONE : w,
                                                      e->index + (uint64_t)w * own + (is_last ? networks : 0)};
    }
}

static uint32_t copies_of(const ft_replay *replay, uint32_t event, uint32_t top) {
    uint32_t workers = replay->events[event].worker == FT_NONE ? 1 : replay->options.workers;
    return workers < top ? workers : top;
}

/* Copies are as long as their event, so the longest ones are those of the first events by length. */
static bool find_longest(event_list *l, uint32_t top) {
    const ft_replay_event *events = l->replay->events;
    uint32_t count = 0, used = 0, *chosen = select_events(l->replay, false, top, &count);
    size_t copies = 0;
    if (chosen == NULL) return false;
    for (; used < count; used++) {
        if (copies >= top && events[chosen[used]].time_us != events[chosen[used - 1]].time_us) break;
        copies += copies_of(l->replay, chosen[used], top);
    }
    l->longest = calloc(copies + 1, sizeof *l->longest);
    for (uint32_t i = 0; i < used && l->longest != NULL; i++)
        add_copies(l, chosen[i], copies_of(l->replay, chosen[i], top));
    free(chosen);
    if (l->longest == NULL) return false;
    if (copies > 0) qsort_r(l->longest, copies, sizeof *l->longest, copies_by_length, (void *)events);
    if (l->longest_count > top) l->longest_count = top;
    return true;
}

bool event_list_open(event_list *l, const ft_replay *replay, uint32_t top) {
    *l = (event_list){.replay = replay};
    return top == 0 || find_longest(l, top);
}

bool event_list_next(event_list *l, event_copy *copy) {
    if (l->longest == NULL) return next_by_start(l, copy);
    if (l->at == l->longest_count) return false;
    *copy = l->longest[l->at++];
    return true;
}

void event_list_close(event_list *l) {
    free(l->longest);
    l->longest = NULL;
}
