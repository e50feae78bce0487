/* fast_storage.c - choice of the feature maps that stay in fast memory, on accelerators whose SRAM is a cache.
 *
 * All maps are candidates. Those that can never fit are evicted, those that always fit stay, and the others compete in
 * groups of at most twenty that overlap in time: the set with the most accesses wins. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "npu/schedule.h"
#include "npu/usage.h"

enum { MAX_ITEMS = 20, LONG_RANGE = 20 };

/* Steps of the exhaustive search of a group; after that the best so far is used. All groups share a budget, so that the
 * time grows with the network and not with the groups that are hard. */
enum { MAX_TRIES = 1 << 18, MIN_TRIES = 1 << 10, ALL_TRIES = 1 << 22 };

typedef struct selection {
    npu_schedule *s;
    npu_live_ranges *ranges;
    int64_t limit;
    npu_usage base, all;    /* bytes over time: without the competing maps, and with all of them */
    double *access;         /* elements read and written, by range */
    uint32_t *first, *next; /* candidate tensors of each range, as a linked list that FT_NONE ends */
    bool *evicted;
    uint64_t tries;
} selection;

static void evict(selection *c, uint32_t range) {
    const npu_live_range *r = &c->ranges->items[range];
    assert(range < c->ranges->count);
    npu_usage_add(&c->all, r->start, r->end, -r->bytes);
    c->evicted[range] = true;
    for (uint32_t i = c->first[range]; i != FT_NONE; i = c->next[i]) c->s->areas[i] = NPU_SLOW;
}

static int64_t peak_in(const npu_usage *usage, const npu_live_range *r) {
    return npu_usage_peak(usage, r->start, r->end);
}

/* --- One group ----------------------------------------------------------------------------------------------- */

/* Times between which no map of the group begins or ends have one peak. */
enum { MAX_SPANS = 2 * MAX_ITEMS };

typedef struct group {
    uint32_t items[MAX_ITEMS], count;
    int64_t bytes[MAX_ITEMS];
    double access[MAX_ITEMS];
    uint32_t from[MAX_ITEMS], to[MAX_ITEMS]; /* spans of each map, inclusive */
    int64_t base[MAX_SPANS], all[MAX_SPANS]; /* peaks, by span */
    int64_t limit;
    bool now[MAX_ITEMS], best[MAX_ITEMS]; /* maps that are left out */
    double best_score, remaining[MAX_ITEMS + 1];
    uint64_t tries, max_tries;
} group;

static int64_t peak_of(const int64_t *spans, const group *g, uint32_t item) {
    int64_t peak = 0;
    for (uint32_t t = g->from[item]; t <= g->to[item]; t++) peak = spans[t] > peak ? spans[t] : peak;
    return peak;
}

static void add_to(int64_t *spans, const group *g, uint32_t item, int64_t bytes) {
    for (uint32_t t = g->from[item]; t <= g->to[item]; t++) spans[t] += bytes;
}

static void search(group *g, uint32_t at, double score) {
    if (score + g->remaining[at] <= g->best_score || g->tries++ > g->max_tries) return;
    if (at == g->count) {
        g->best_score = score;
        memcpy(g->best, g->now, sizeof g->best);
        return;
    }
    assert(at < g->count);
    if (peak_of(g->base, g, at) + g->bytes[at] <= g->limit) {
        g->now[at] = false;
        add_to(g->base, g, at, g->bytes[at]);
        search(g, at + 1, score + g->access[at]);
        add_to(g->base, g, at, -g->bytes[at]);
    }
    if (peak_of(g->all, g, at) > g->limit) {
        g->now[at] = true;
        add_to(g->all, g, at, -g->bytes[at]);
        search(g, at + 1, score);
        add_to(g->all, g, at, g->bytes[at]);
    }
}

static int by_number(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static uint32_t index_of(const uint32_t *numbers, uint32_t count, uint32_t number) {
    uint32_t i = 0;
    while (i < count && numbers[i] != number) i++;
    assert(i < count);
    return i;
}

static void fill_spans(const selection *c, group *g) {
    uint32_t borders[MAX_SPANS + 1] = {0}, count = 0, kept = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        const npu_live_range *r = &c->ranges->items[g->items[i]];
        borders[count++] = r->start;
        borders[count++] = r->end + 1;
    }
    qsort(borders, count, sizeof *borders, by_number);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || borders[i] != borders[i - 1]) borders[kept++] = borders[i];
    for (uint32_t t = 0; t + 1 < kept; t++) {
        g->base[t] = npu_usage_peak(&c->base, borders[t], borders[t + 1] - 1);
        g->all[t] = npu_usage_peak(&c->all, borders[t], borders[t + 1] - 1);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        const npu_live_range *r = &c->ranges->items[g->items[i]];
        g->from[i] = index_of(borders, kept, r->start);
        g->to[i] = index_of(borders, kept, r->end + 1) - 1;
    }
}

static void select_group(selection *c, const uint32_t *items, uint32_t count) {
    group g = {.count = count, .limit = c->limit, .best_score = -1};
    assert(count <= MAX_ITEMS);
    memcpy(g.items, items, count * sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        g.bytes[i] = c->ranges->items[items[i]].bytes;
        g.access[i] = c->access[items[i]];
    }
    for (uint32_t i = count; i-- > 0;) g.remaining[i] = g.remaining[i + 1] + g.access[i];
    fill_spans(c, &g);
    g.max_tries = c->tries + MAX_TRIES <= ALL_TRIES ? MAX_TRIES : MIN_TRIES;
    search(&g, 0, 0);
    c->tries += g.tries;
    for (uint32_t i = 0; i < count; i++) {
        const npu_live_range *r = &c->ranges->items[items[i]];
        if (g.best[i])
            evict(c, items[i]);
        else
            npu_usage_add(&c->base, r->start, r->end, r->bytes);
    }
}

/* --- All groups ---------------------------------------------------------------------------------------------- */

static void add_candidates(npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &s->net->passes[i];
        const npu_tensor *t = &s->net->tensors[p->ofm];
        if (s->plans[i].cascade != 0 || t->consumers == 0 || t->is_output || t->is_variable) continue;
        s->areas[p->ofm] = NPU_SRAM;
        s->is_fast[p->ofm] = true;
    }
}

static void add_access(const selection *c, uint32_t tensor, double elems) {
    uint32_t range = tensor != FT_NONE ? c->ranges->of[tensor] : FT_NONE;
    if (range != FT_NONE && c->ranges->items[range].tensor == tensor) c->access[range] += elems;
}

static void count_accesses(const selection *c, uint32_t first, uint32_t last) {
    const npu_net *net = c->s->net;
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &net->passes[i];
        const npu_tensor *ifm = &net->tensors[p->ifm], *ofm = &net->tensors[p->ofm];
        npu_pass_query q = {.pass = p,
                            .config = &c->s->plans[i].config,
                            .ifm = p->ifm_shape,
                            .ifm2 = p->ifm2_shape,
                            .ofm = p->ofm_shape,
                            .ifm_bytes = ifm->bytes,
                            .ifm2_bytes = p->ifm2 != FT_NONE ? net->tensors[p->ifm2].bytes : 1,
                            .ifm_linear = ifm->is_linear,
                            .ofm_linear = ofm->is_linear};
        npu_access a = npu_count_accesses(&q);
        add_access(c, p->ifm, a.ifm);
        add_access(c, p->ifm2, a.ifm2);
        add_access(c, p->ofm, a.ofm);
    }
}

typedef struct sort_item {
    npu_live_range range;
    uint32_t index;
} sort_item;

/* Ranges that begin at the same time are ordered by their end and then by size, as Vela does; its sort is stable. */
static int by_time(const void *left, const void *right) {
    const sort_item *a = left, *b = right;
    if (a->range.start != b->range.start) return a->range.start < b->range.start ? -1 : 1;
    if (a->range.end != b->range.end) return a->range.end < b->range.end ? -1 : 1;
    if (a->range.bytes != b->range.bytes) return a->range.bytes < b->range.bytes ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool sort_by_time(selection *c, uint32_t *items, uint32_t count) {
    sort_item *all = ARENA_ARRAY(c->s->work, sort_item, (size_t)count + 1);
    if (all == NULL) return false;
    for (uint32_t i = 0; i < count; i++) all[i] = (sort_item){c->ranges->items[items[i]], items[i]};
    qsort(all, count, sizeof *all, by_time);
    for (uint32_t i = 0; i < count; i++) items[i] = all[i].index;
    return true;
}

/* Ranges that live much longer than those around them fragment the memory: they are evicted. */
static uint32_t evict_long(selection *c, uint32_t *items, uint32_t count) {
    if (count <= MAX_ITEMS) return count;
    const npu_live_range *r = c->ranges->items;
    uint32_t kept = 0;
    uint32_t *all = arena_copy(c->s->work, items, count * sizeof *items);
    if (all == NULL) return count;
    for (uint32_t i = 0, left = count; i < count; i++) {
        const npu_live_range *one = &r[all[i]];
        uint32_t other = i + MAX_ITEMS < left - 1 ? i + MAX_ITEMS : left - 1;
        if (one->end - one->start >= LONG_RANGE && one->end > r[all[other]].end + LONG_RANGE) {
            evict(c, all[i]);
            c->evicted[all[i]] = false; /* no other buffer shrinks to make room for it */
            left--;
        } else {
            items[kept++] = all[i];
        }
    }
    return kept;
}

static void select_groups(selection *c, uint32_t *items, uint32_t count) {
    const npu_live_range *r = c->ranges->items;
    uint32_t start = 0, end_time = r[items[0]].end;
    for (uint32_t i = 0; i < count; i++) {
        if (r[items[i]].start <= end_time && i - start < MAX_ITEMS) {
            if (r[items[i]].end > end_time) end_time = r[items[i]].end;
        } else {
            select_group(c, items + start, i - start);
            start = i;
            end_time = r[items[i]].end;
        }
    }
    select_group(c, items + start, count - start);
}

/* Lists the candidate tensors of each range; a tensor that several passes write once. */
static bool list_tensors(selection *c, uint32_t first, uint32_t last) {
    const uint32_t unlisted = FT_NONE - 1;
    const npu_pass *passes = c->s->net->passes;
    c->first = ARENA_ARRAY(c->s->work, uint32_t, (size_t)c->ranges->count + 1);
    if (c->first == NULL) return false;
    c->next = c->s->links;
    for (uint32_t i = 0; i < c->ranges->count; i++) c->first[i] = FT_NONE;
    for (uint32_t i = first; i <= last; i++) c->next[passes[i].ofm] = unlisted;
    for (uint32_t i = first; i <= last; i++) {
        uint32_t tensor = passes[i].ofm, range = c->ranges->of[tensor];
        if (range == FT_NONE || !c->s->is_fast[tensor] || c->next[tensor] != unlisted) continue;
        c->next[tensor] = c->first[range];
        c->first[range] = tensor;
    }
    return true;
}

static uint32_t find_candidates(selection *c, uint32_t *items) {
    npu_live_ranges *ranges = c->ranges;
    uint32_t count = 0, left = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const npu_live_range *r = &ranges->items[i];
        if (c->first[i] == FT_NONE) continue;
        items[count++] = i;
        npu_usage_add(&c->base, r->start, r->end, -r->bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        const npu_live_range *r = &ranges->items[items[i]];
        if (peak_in(&c->base, r) + r->bytes > c->limit)
            evict(c, items[i]);
        else
            items[left++] = items[i];
    }
    count = left;
    left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const npu_live_range *r = &ranges->items[items[i]];
        if (peak_in(&c->all, r) <= c->limit)
            npu_usage_add(&c->base, r->start, r->end, r->bytes);
        else
            items[left++] = items[i];
    }
    return left;
}

static ft_status select_maps(selection *c, uint32_t first, uint32_t last, const int64_t *usage, ft_error *error) {
    uint32_t *items = ARENA_ARRAY(c->s->work, uint32_t, (size_t)c->ranges->count + 1);
    c->access = ARENA_ARRAY(c->s->work, double, (size_t)c->ranges->count + 1);
    if (items == NULL || c->access == NULL || !list_tensors(c, first, last) ||
        !npu_usage_make(c->s->work, usage, c->ranges->times, &c->base) ||
        !npu_usage_make(c->s->work, usage, c->ranges->times, &c->all))
        return FT_NOMEM(error);
    uint32_t count = find_candidates(c, items);
    if (count == 0) return FT_OK;
    count_accesses(c, first, last);
    if (!sort_by_time(c, items, count)) return FT_NOMEM(error);
    count = evict_long(c, items, count);
    if (count > 0) select_groups(c, items, count);
    return FT_OK;
}

ft_status npu_choose_fast_maps(npu_schedule *s, uint32_t first, uint32_t last, npu_live_ranges *ranges, bool **evicted,
                               bool *has_evicted, ft_error *error) {
    add_candidates(s, first, last);
    FT_TRY(npu_live_ranges_find(s, first, last, NPU_SRAM, ranges, error));
    selection c = {.s = s, .ranges = ranges, .limit = s->arch->fast_bytes};
    const int64_t *usage = npu_live_ranges_usage(s, ranges);
    c.evicted = ARENA_ARRAY(s->work, bool, (size_t)ranges->count + 1);
    if (usage == NULL || c.evicted == NULL) return FT_NOMEM(error);
    int64_t peak = 0;
    for (uint32_t t = 0; t < ranges->times; t++) peak = usage[t] > peak ? usage[t] : peak;
    if (peak > c.limit) FT_TRY(select_maps(&c, first, last, usage, error));
    *evicted = c.evicted;
    *has_evicted = false;
    for (uint32_t i = 0; i < ranges->count; i++) *has_evicted |= c.evicted[i];
    return FT_OK;
}
