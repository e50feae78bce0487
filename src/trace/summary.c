/* summary.c - sums over recorded traces.
 *
 * A device is idle between two pieces of work for one of two reasons: the host had not launched the next one when the
 * last one ended ("late"), or it had, and the device waited for another reason (a dependency, its own scheduling). */
#include "trace/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct work {
    int64_t start_ns, end_ns;
    const trace_event *event;
} work;

/* --- Items --------------------------------------------------------------------------------------------------- */

static summary_item *find_item(summary *s, summary_items *list, const char *name) {
    uint32_t at;
    if (list->index.memory == NULL) map_init(&list->index, &s->memory);
    if (map_get(&list->index, name, &at)) return &list->items[at];
    if (list->count == list->capacity) {
        uint32_t larger = list->capacity == 0 ? 64 : list->capacity * 2;
        summary_item *items = realloc(list->items, larger * sizeof *items);
        if (items == NULL) return NULL;
        list->items = items;
        list->capacity = larger;
    }
    if (!map_set(&list->index, name, list->count)) return NULL;
    list->items[list->count] = (summary_item){.name = name, .last_call = FT_NONE};
    return &list->items[list->count++];
}

static void add_kernel(summary_item *item, const trace_event *kernel) {
    double us = (double)kernel->duration_ns / 1e3;
    item->count++;
    item->time_us += us;
    if (isnan(kernel->occupancy)) return;
    item->occupied_us += us * kernel->occupancy;
    item->occupancy_us += us;
}

static bool add_kernels(summary *s, const ft_trace *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const trace_event *e = &t->events[i];
        if (e->kind != TRACE_KERNEL) continue;
        const trace_event *op = trace_operator_of(t, e);
        summary_item *kernel = find_item(s, &s->kernels, t->names[e->name]);
        summary_item *caller = find_item(s, &s->operators, op != NULL ? t->names[op->name] : "(no operator)");
        if (kernel == NULL || caller == NULL) return false;
        add_kernel(kernel, e);
        add_kernel(caller, e);
        uint32_t call = op != NULL ? (uint32_t)(op - t->events) : FT_NONE;
        caller->calls += call != FT_NONE && call != caller->last_call;
        caller->last_call = call;
        s->kernel_count++;
        s->kernel_us += (double)e->duration_ns / 1e3;
        s->unlinked += op == NULL;
        s->shapeless += op != NULL && op->shapes.length == 0;
    }
    return true;
}

static int by_time(const void *a, const void *b) {
    const summary_item *x = a, *y = b;
    if (x->time_us != y->time_us) return x->time_us > y->time_us ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sort_items(summary_items *list) {
    if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, by_time);
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
    const work *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* NaN for none. Sorts the values. */
static double median(double *values, uint32_t count) {
    if (count == 0) return NAN;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void add_gap(const ft_trace *t, summary_device *d, int64_t end_ns, const work *next) {
    int64_t gap = next->start_ns - end_ns, late = 0;
    if (next->event->parent != FT_NONE) {
        late = trace_end_ns(&t->events[next->event->parent]) - end_ns; /* until the call returned */
        late = late < 0 ? 0 : late > gap ? gap : late;
    }
    d->gaps++;
    d->late_gaps += late > 0;
    d->late_us += (double)late / 1e3;
    d->waiting_us += (double)(gap - late) / 1e3;
}

/* From the first step to the end of the last work or step; without steps, of the work alone. */
static double span_of(const ft_trace *t, const uint32_t *steps, uint32_t step_count, int64_t first, int64_t last) {
    if (step_count > 0) {
        int64_t begin = t->events[steps[0]].start_ns, end = trace_end_ns(&t->events[steps[step_count - 1]]);
        if (begin < first) first = begin;
        if (end > last) last = end;
    }
    return (double)(last - first) / 1e3;
}

static bool fill_device(const ft_trace *t, const uint32_t *steps, uint32_t step_count, summary_device *d) {
    work *list = malloc(((size_t)t->count + 1) * sizeof *list);
    double *calls = malloc(((size_t)t->count + 1) * sizeof *calls);
    uint32_t count = 0, call_count = 0;
    for (uint32_t i = 0; list != NULL && calls != NULL && i < t->count; i++) {
        const trace_event *e = &t->events[i];
        if (e->kind > TRACE_COPY || e->device != d->number) continue;
        list[count++] = (work){e->start_ns, trace_end_ns(e), e};
        bool is_kernel = e->kind == TRACE_KERNEL;
        *(is_kernel ? &d->kernel_us : &d->copy_us) += (double)e->duration_ns / 1e3;
        *(is_kernel ? &d->kernels : &d->copies) += 1;
        if (is_kernel && e->parent != FT_NONE) calls[call_count++] = (double)t->events[e->parent].duration_ns / 1e3;
    }
    if (count > 0) {
        qsort(list, count, sizeof *list, by_start);
        int64_t end = list[0].start_ns, busy = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (list[i].start_ns > end) add_gap(t, d, end, &list[i]);
            int64_t from = list[i].start_ns > end ? list[i].start_ns : end;
            if (list[i].end_ns > from) busy += list[i].end_ns - from;
            if (list[i].end_ns > end) end = list[i].end_ns;
        }
        d->busy_us = (double)busy / 1e3;
        d->span_us = span_of(t, steps, step_count, list[0].start_ns, end);
        d->launch_us = median(calls, call_count);
    }
    bool has_room = list != NULL && calls != NULL;
    free(list);
    free(calls);
    return has_room;
}

static summary_device *find_device(summary *s, uint32_t trace, int32_t number) {
    for (uint32_t i = 0; i < s->device_count; i++)
        if (s->devices[i].trace == trace && s->devices[i].number == number) return &s->devices[i];
    summary_device *larger = realloc(s->devices, ((size_t)s->device_count + 1) * sizeof *larger);
    if (larger == NULL) return NULL;
    s->devices = larger;
    const ft_trace *t = s->traces[trace];
    const char *name = number >= 0 && number < TRACE_MAX_DEVICES ? t->devices[number] : NULL;
    larger[s->device_count] = (summary_device){.trace = trace, .number = number, .name = name, .launch_us = NAN};
    return &larger[s->device_count++];
}

static int by_number(const void *a, const void *b) {
    const summary_device *x = a, *y = b;
    if (x->trace != y->trace) return x->trace < y->trace ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool add_devices(summary *s, uint32_t trace, const uint32_t *steps, uint32_t step_count) {
    const ft_trace *t = s->traces[trace];
    uint32_t before = s->device_count;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->events[i].kind > TRACE_COPY) continue;
        if (s->device_count - before >= TRACE_MAX_DEVICES) break;
        if (find_device(s, trace, t->events[i].device) == NULL) return false;
    }
    for (uint32_t i = before; i < s->device_count; i++)
        if (!fill_device(t, steps, step_count, &s->devices[i])) return false;
    return true;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

static bool add_steps(summary *s, uint32_t trace, const uint32_t *steps, uint32_t count) {
    const ft_trace *t = s->traces[trace];
    summary_step *step = &s->steps[trace];
    double *times = malloc(((size_t)count + 1) * sizeof *times);
    if (times == NULL) return false;
    for (uint32_t i = 0; i < count; i++) times[i] = (double)t->events[steps[i]].duration_ns / 1e3;
    *step = (summary_step){.trace = trace, .steps = count, .time_us = median(times, count)};
    free(times);
    for (uint32_t i = 0; count > 0 && i < t->count; i++) {
        const trace_event *e = &t->events[i];
        if (e->kind != TRACE_KERNEL || trace_step_of(t, steps, count, e) == FT_NONE) continue;
        step->kernels += 1.0 / count;
        step->kernel_us += (double)e->duration_ns / 1e3 / count;
    }
    return true;
}

static ft_status add_trace(summary *s, uint32_t trace, ft_error *error) {
    const uint32_t *steps;
    uint32_t count;
    FT_TRY(trace_steps(s->traces[trace], &s->memory, &steps, &count, error));
    bool has_room =
        add_kernels(s, s->traces[trace]) && add_devices(s, trace, steps, count) && add_steps(s, trace, steps, count);
    return has_room ? FT_OK : FT_NOMEM(error);
}

ft_status summary_make(const ft_trace *const *traces, uint32_t count, summary *s, ft_error *error) {
    *s = (summary){.traces = traces, .trace_count = count};
    arena_init(&s->memory, UINT64_MAX);
    s->steps = ARENA_ARRAY(&s->memory, summary_step, (size_t)count + 1);
    ft_status status = s->steps != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) status = add_trace(s, i, error);
    if (status != FT_OK) return status;
    sort_items(&s->operators);
    sort_items(&s->kernels);
    if (s->device_count > 1) qsort(s->devices, s->device_count, sizeof *s->devices, by_number);
    return FT_OK;
}

void summary_free(summary *s) {
    free(s->operators.items);
    free(s->kernels.items);
    free(s->devices);
    arena_free(&s->memory);
}
