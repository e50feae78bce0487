/* trace_link.c - opens a trace, and connects its events: kernel to launch by correlation, launch to the innermost
 * operator around it on its thread, operator to the operator around it. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/trace.h"

typedef struct order_entry {
    int64_t key, end;
    uint32_t lane, event;
} order_entry;

typedef struct order {
    order_entry *entries;
    uint32_t count;
} order;

/* --- Sorting ------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
    const order_entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* By thread and start; of two that start together the longer one is around the other. */
static int by_nesting(const void *a, const void *b) {
    const order_entry *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static ft_status order_new(const ft_trace *t, order *o, ft_error *error) {
    *o = (order){.entries = malloc(((size_t)t->count + 1) * sizeof *o->entries)};
    return o->entries != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Launches of kernels ------------------------------------------------------------------------------------- */

static void link_kernels(ft_trace *t, order *o) {
    o->count = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->events[i].kind == TRACE_LAUNCH && t->events[i].correlation >= 0)
            o->entries[o->count++] = (order_entry){.key = t->events[i].correlation, .event = i};
    qsort(o->entries, o->count, sizeof *o->entries, by_key);
    for (uint32_t i = 0; i < t->count; i++) {
        trace_event *e = &t->events[i];
        if (e->kind > TRACE_COPY || e->correlation < 0) continue;
        uint32_t low = 0, high = o->count; /* the first launch of this correlation */
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (o->entries[middle].key < e->correlation)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < o->count && o->entries[low].key == e->correlation) e->parent = o->entries[low].event;
    }
}

/* --- Operators around launches and operators ------------------------------------------------------------------ */

/* Follows each thread in time; open operators are chained by their parents. */
static void link_operators(ft_trace *t, order *o) {
    o->count = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const trace_event *e = &t->events[i];
        if (e->kind != TRACE_LAUNCH && e->kind != TRACE_OPERATOR) continue;
        o->entries[o->count++] = (order_entry){e->start_ns, trace_end_ns(e), e->lane, i};
    }
    qsort(o->entries, o->count, sizeof *o->entries, by_nesting);
    uint32_t open = FT_NONE;
    for (uint32_t i = 0; i < o->count; i++) {
        const order_entry *at = &o->entries[i];
        if (i > 0 && o->entries[i - 1].lane != at->lane) open = FT_NONE;
        while (open != FT_NONE &&
               (trace_end_ns(&t->events[open]) < at->end || trace_end_ns(&t->events[open]) <= at->key))
            open = t->events[open].parent;
        t->events[at->event].parent = open;
        if (t->events[at->event].kind == TRACE_OPERATOR) open = at->event;
    }
}

ft_status trace_link(ft_trace *t, ft_error *error) {
    order o;
    FT_TRY(order_new(t, &o, error));
    link_kernels(t, &o);
    link_operators(t, &o);
    free(o.entries);
    return FT_OK;
}

const trace_event *trace_operator_of(const ft_trace *t, const trace_event *kernel) {
    assert(kernel->kind <= TRACE_COPY);
    if (kernel->parent == FT_NONE) return NULL;
    uint32_t at = t->events[kernel->parent].parent;
    return at != FT_NONE ? &t->events[at] : NULL;
}

bool trace_is_collective(const char *name) {
    return strncmp(name, "nccl", 4) == 0 || strncmp(name, "rccl", 4) == 0;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

ft_status trace_steps(const ft_trace *t, arena *memory, const uint32_t **steps, uint32_t *count, ft_error *error) {
    order o;
    FT_TRY(order_new(t, &o, error));
    for (uint32_t i = 0; i < t->count; i++)
        if (t->events[i].kind == TRACE_STEP)
            o.entries[o.count++] = (order_entry){.key = t->events[i].start_ns, .event = i};
    qsort(o.entries, o.count, sizeof *o.entries, by_key);
    uint32_t *list = ARENA_ARRAY(memory, uint32_t, (size_t)o.count + 1);
    for (uint32_t i = 0; list != NULL && i < o.count; i++) list[i] = o.entries[i].event;
    *steps = list;
    *count = o.count;
    free(o.entries);
    return list != NULL ? FT_OK : FT_NOMEM(error);
}

uint32_t trace_step_of(const ft_trace *t, const uint32_t *steps, uint32_t step_count, const trace_event *event) {
    if (event->kind <= TRACE_COPY && event->parent == FT_NONE) return FT_NONE;
    int64_t time = event->kind <= TRACE_COPY ? t->events[event->parent].start_ns : event->start_ns;
    uint32_t low = 0, high = step_count; /* the number of steps that begin no later */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->events[steps[middle]].start_ns <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && time < trace_end_ns(&t->events[steps[low - 1]]) ? low - 1 : FT_NONE;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_trace *trace_new(const char *name) {
    ft_trace *t = calloc(1, sizeof *t);
    if (t == NULL) return NULL;
    arena_init(&t->memory, FT_MAX_GRAPH_BYTES);
    map_init(&t->name_index, &t->memory);
    map_init(&t->lane_index, &t->memory);
    t->rank = t->world_size = -1;
    t->path = strdup(name);
    if (t->path != NULL) return t;
    ft_trace_free(t);
    return NULL;
}

/* Takes the trace over, whose input is open if `status` is FT_OK. */
static ft_status finish(ft_trace *t, ft_status status, ft_trace **trace, ft_error *error) {
    if (status == FT_OK) {
        if (t->in.size > UINT32_MAX) status = ft_fail(error, FT_ERR_LIMIT, "larger than 4 GiB; record fewer steps");
        if (status == FT_OK) status = trace_parse(t, error);
        if (status == FT_OK) status = trace_link(t, error);
        if (status != FT_OK) ft_fail_prefix(error, status, "%s", t->path);
    }
    if (status == FT_OK)
        *trace = t;
    else
        ft_trace_free(t);
    return status;
}

ft_status ft_trace_open(const char *path, ft_trace **trace, ft_error *error) {
    FT_REQUIRE(error, path, trace);
    ft_trace *t = trace_new(path);
    if (t == NULL) return FT_NOMEM(error);
    return finish(t, input_open(path, FT_MAX_UNPACKED_BYTES, &t->in, error), trace, error);
}

ft_status trace_from_memory(const void *bytes, size_t size, const char *name, ft_trace **trace, ft_error *error) {
    ft_trace *t = trace_new(name);
    if (t == NULL) return FT_NOMEM(error);
    return finish(t, input_from_memory(bytes, size, name, FT_MAX_UNPACKED_BYTES, &t->in, error), trace, error);
}

void ft_trace_free(ft_trace *trace) {
    if (trace == NULL) return;
    free(trace->path);
    free(trace->events);
    free(trace->names);
    input_close(&trace->in);
    arena_free(&trace->memory);
    free(trace);
}

double ft_trace_kernel_time_us(const ft_trace *trace) {
    double sum = 0;
    for (uint32_t i = 0; trace != NULL && i < trace->count; i++)
        if (trace->events[i].kind == TRACE_KERNEL) sum += (double)trace->events[i].duration_ns / 1e3;
    return sum;
}

uint64_t ft_trace_kernel_count(const ft_trace *trace) {
    uint64_t count = 0;
    for (uint32_t i = 0; trace != NULL && i < trace->count; i++) count += trace->events[i].kind == TRACE_KERNEL;
    return count;
}
