/* flow_finish.c - topological order of a flow: each kernel after its dependencies, otherwise as listed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "replay/flow.h"
#include "replay/heap.h"

/* --- Dependencies --------------------------------------------------------------------------------------------- */

static int by_ends(const void *left, const void *right) {
    const flow_link *a = left, *b = right;
    if (a->after != b->after) return a->after < b->after ? -1 : 1;
    return (a->before > b->before) - (a->before < b->before);
}

/* Sorts the links by successor and removes duplicates. */
static void sort_links(ft_flow *flow) {
    uint32_t kept = 0;
    if (flow->link_count == 0) return;
    qsort(flow->links, flow->link_count, sizeof *flow->links, by_ends);
    for (uint32_t i = 0; i < flow->link_count; i++)
        if (i == 0 || by_ends(&flow->links[i], &flow->links[i - 1]) != 0) flow->links[kept++] = flow->links[i];
    flow->link_count = kept;
}

static ft_status set_dependencies(ft_flow *flow, ft_error *error) {
    uint32_t *dependencies = ARENA_ARRAY(&flow->memory, uint32_t, (size_t)flow->link_count + 1);
    if (dependencies == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < flow->count; i++) flow->kernels[i].dependency_count = 0;
    for (uint32_t i = 0; i < flow->link_count; i++) {
        ft_flow_kernel *kernel = &flow->kernels[flow->links[i].after];
        if (kernel->dependency_count++ == 0) kernel->dependencies = dependencies + i;
        dependencies[i] = flow->links[i].before;
    }
    return FT_OK;
}

/* --- Cycles --------------------------------------------------------------------------------------------------- */

/* Each kernel that could not be ordered depends on another such kernel, so walking back along these ends in a cycle. */
static ft_status report_cycle(const ft_flow *flow, const bool *is_done, uint32_t *step_of, ft_error *error) {
    enum { MAX_NAMES = 6 };
    uint32_t at = 0, step = 1;
    while (is_done[at]) at++;
    assert(at < flow->count);
    while (step_of[at] == 0) {
        step_of[at] = step++;
        uint32_t next = 0;
        while (is_done[flow->kernels[at].dependencies[next]]) next++;
        at = flow->kernels[at].dependencies[next];
    }
    buf text = {0};
    uint32_t first = at, shown = 0;
    do { /* once around the cycle, collecting names */
        if (shown++ < MAX_NAMES) buf_format(&text, "%s%s", shown > 1 ? " needs " : "", flow->kernels[at].name);
        uint32_t next = 0;
        while (is_done[flow->kernels[at].dependencies[next]]) next++;
        at = flow->kernels[at].dependencies[next];
    } while (at != first);
    buf_format(&text, " needs %s%s", shown > MAX_NAMES ? "... needs " : "", flow->kernels[first].name);
    unsigned long long line = flow->infos[first].line;
    ft_status status = text.failed ? FT_NOMEM(error)
                       : line > 0  ? ft_fail(error, FT_ERR_GRAPH, "%s: line %llu: '%s' depends on itself: %s",
                                             flow->name, line, flow->kernels[first].name, text.data)
                                   : ft_fail(error, FT_ERR_GRAPH, "%s: '%s' depends on itself: %s", flow->name,
                                             flow->kernels[first].name, text.data);
    buf_free(&text);
    return status;
}

/* --- Order ---------------------------------------------------------------------------------------------------- */

typedef struct sorter {
    uint32_t *left;       /* per kernel: dependencies that are not ordered yet */
    uint32_t *first;      /* per kernel: its first index in `successors` */
    uint32_t *successors; /* kernels that depend on it */
    uint32_t *place;      /* per kernel: its new index */
    bool *is_done;
    heap ready;
} sorter;

static bool sorter_init(sorter *s, ft_flow *flow) {
    arena *memory = &flow->memory;
    size_t count = (size_t)flow->count + 2;
    s->left = ARENA_ARRAY(memory, uint32_t, count);
    s->first = ARENA_ARRAY(memory, uint32_t, count);
    s->successors = ARENA_ARRAY(memory, uint32_t, (size_t)flow->link_count + 1);
    s->place = ARENA_ARRAY(memory, uint32_t, count);
    s->is_done = ARENA_ARRAY(memory, bool, count);
    s->ready.items = ARENA_ARRAY(memory, heap_entry, count);
    return s->left != NULL && s->first != NULL && s->successors != NULL && s->place != NULL && s->is_done != NULL &&
           s->ready.items != NULL;
}

static void list_successors(sorter *s, const ft_flow *flow) {
    for (uint32_t i = 0; i < flow->link_count; i++) s->first[flow->links[i].before + 2]++;
    for (uint32_t i = 2; i < flow->count + 2; i++) s->first[i] += s->first[i - 1];
    for (uint32_t i = 0; i < flow->link_count; i++)
        s->successors[s->first[flow->links[i].before + 1]++] = flow->links[i].after;
}

static uint32_t order_kernels(sorter *s, const ft_flow *flow) {
    uint32_t placed = 0;
    for (uint32_t i = 0; i < flow->count; i++) {
        s->left[i] = flow->kernels[i].dependency_count;
        if (s->left[i] == 0) heap_push(&s->ready, (heap_entry){.id = i});
    }
    while (s->ready.count > 0) {
        uint32_t kernel = heap_pop(&s->ready).id;
        s->place[kernel] = placed++;
        s->is_done[kernel] = true;
        for (uint32_t i = s->first[kernel]; i < s->first[kernel + 1]; i++)
            if (--s->left[s->successors[i]] == 0) heap_push(&s->ready, (heap_entry){.id = s->successors[i]});
    }
    assert(placed <= flow->count);
    return placed;
}

static ft_status apply_order(ft_flow *flow, const uint32_t *place, ft_error *error) {
    ft_flow_kernel *kernels = ARENA_ARRAY(&flow->memory, ft_flow_kernel, (size_t)flow->count + 1);
    flow_kernel_info *infos = ARENA_ARRAY(&flow->memory, flow_kernel_info, (size_t)flow->count + 1);
    if (kernels == NULL || infos == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < flow->count; i++) {
        kernels[place[i]] = flow->kernels[i];
        infos[place[i]] = flow->infos[i];
    }
    flow->kernels = kernels;
    flow->infos = infos;
    for (uint32_t i = 0; i < flow->link_count; i++) {
        flow->links[i].before = place[flow->links[i].before];
        flow->links[i].after = place[flow->links[i].after];
    }
    sort_links(flow);
    return set_dependencies(flow, error);
}

static bool is_in_order(const ft_flow *flow) {
    for (uint32_t i = 0; i < flow->link_count; i++)
        if (flow->links[i].before >= flow->links[i].after) return false;
    return true;
}

ft_status flow_finish(ft_flow *flow, ft_error *error) {
    sort_links(flow);
    FT_TRY(set_dependencies(flow, error));
    if (is_in_order(flow)) return FT_OK;
    sorter s = {0};
    if (!sorter_init(&s, flow)) return FT_NOMEM(error);
    list_successors(&s, flow);
    if (order_kernels(&s, flow) < flow->count) {
        memset(s.left, 0, flow->count * sizeof *s.left);
        return report_cycle(flow, s.is_done, s.left, error);
    }
    FT_TRY(apply_order(flow, s.place, error));
    assert(is_in_order(flow));
    return FT_OK;
}
