/* fast_storage.c - choice of the feature maps that stay in fast memory, on accelerators whose SRAM is a cache.
 *
 * All maps are candidates. Those that can never fit are evicted, those that always fit stay, and the others compete in
 * groups of at most twenty that overlap in time: the set with the most accesses wins. */
#include <assert.h>
#include <string.h>

#include "npu/schedule.h"

enum { MAX_ITEMS = 20, LONG_RANGE = 20 };

typedef struct selection {
    npu_schedule *s;
    npu_live_ranges *ranges;
    int64_t limit;
    int64_t *base, *all;    /* bytes over time: without the competing maps, and with all of them */
    double *access;         /* elements read and written, by range */
    uint32_t *first, *next; /* candidate tensors of each range, as a linked list that FT_NONE ends */
    bool *evicted;
    uint32_t items[MAX_ITEMS], count;
    bool now[MAX_ITEMS], best[MAX_ITEMS];
    double best_score, remaining[MAX_ITEMS + 1];
    uint64_t tries;
} selection;

static int64_t peak_of(const int64_t *usage, const npu_live_range *r) {
    int64_t peak = 0;
    for (uint32_t t = r->start; t <= r->end; t++) {
        if (usage[t] > peak) peak = usage[t];
    }
    return peak;
}

static void add_usage(int64_t *usage, const npu_live_range *r, int64_t bytes) {
    for (uint32_t t = r->start; t <= r->end; t++) usage[t] += bytes;
}

static void evict(selection *c, uint32_t range) {
    assert(range < c->ranges->count);
    add_usage(c->all, &c->ranges->items[range], -c->ranges->items[range].bytes);
    c->evicted[range] = true;
    for (uint32_t i = c->first[range]; i != FT_NONE; i = c->next[i]) c->s->areas[i] = NPU_SLOW;
}

/* --- One group ----------------------------------------------------------------------------------------------- */

enum { MAX_TRIES = 1 << 18 }; /* of the exhaustive search; after that the best so far is used */

static void search(selection *c, uint32_t at, double score) {
    if (score + c->remaining[at] <= c->best_score || c->tries++ > MAX_TRIES) return;
    if (at == c->count) {
        c->best_score = score;
        memcpy(c->best, c->now, sizeof c->best);
        return;
    }
    assert(at < c->count);
    uint32_t range = c->items[at];
    const npu_live_range *r = &c->ranges->items[range];
    if (peak_of(c->base, r) + r->bytes <= c->limit) {
        c->now[at] = false;
        add_usage(c->base, r, r->bytes);
        search(c, at + 1, score + c->access[range]);
        add_usage(c->base, r, -r->bytes);
    }
    if (peak_of(c->all, r) > c->limit) {
        c->now[at] = true;
        add_usage(c->all, r, -r->bytes);
        search(c, at + 1, score);
        add_usage(c->all, r, r->bytes);
    }
}

static void select_group(selection *c, const uint32_t *items, uint32_t count) {
    assert(count <= MAX_ITEMS);
    c->count = count;
    c->best_score = -1;
    c->tries = 0;
    memcpy(c->items, items, count * sizeof *items);
    memset(c->best, 0, sizeof c->best);
    c->remaining[count] = 0;
    for (uint32_t i = count; i-- > 0;) c->remaining[i] = c->remaining[i + 1] + c->access[items[i]];
    search(c, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (c->best[i])
            evict(c, items[i]);
        else
            add_usage(c->base, &c->ranges->items[items[i]], c->ranges->items[items[i]].bytes);
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

static int by_time(const npu_live_range *a, const npu_live_range *b) {
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Insertion sort is stable, as Vela's sort is; the lists are short. */
static void sort_by_time(const npu_live_ranges *ranges, uint32_t *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        uint32_t item = items[i], at = i;
        for (; at > 0 && by_time(&ranges->items[items[at - 1]], &ranges->items[item]) > 0; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Ranges that live much longer than those around them fragment the memory: they are evicted. */
static uint32_t evict_long(selection *c, uint32_t *items, uint32_t count) {
    if (count <= MAX_ITEMS) return count;
    const npu_live_range *r = c->ranges->items;
    uint32_t kept = 0;
    uint32_t *all = arena_copy(c->s->memory, items, count * sizeof *items);
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

/* Lists the candidate tensors of each range. */
static bool list_tensors(selection *c) {
    uint32_t count = c->s->net->tensor_count;
    c->first = ARENA_ARRAY(c->s->memory, uint32_t, c->ranges->count + 1);
    c->next = ARENA_ARRAY(c->s->memory, uint32_t, count + 1);
    if (c->first == NULL || c->next == NULL) return false;
    for (uint32_t i = 0; i < c->ranges->count; i++) c->first[i] = FT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t range = c->ranges->of[i];
        if (range == FT_NONE || !c->s->is_fast[i]) continue;
        c->next[i] = c->first[range];
        c->first[range] = i;
    }
    return true;
}

static uint32_t find_candidates(selection *c, uint32_t *items) {
    npu_live_ranges *ranges = c->ranges;
    uint32_t count = 0, left = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (c->first[i] == FT_NONE) continue;
        items[count++] = i;
        add_usage(c->base, &ranges->items[i], -ranges->items[i].bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        const npu_live_range *r = &ranges->items[items[i]];
        if (peak_of(c->base, r) + r->bytes > c->limit)
            evict(c, items[i]);
        else
            items[left++] = items[i];
    }
    count = left;
    left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const npu_live_range *r = &ranges->items[items[i]];
        if (peak_of(c->all, r) <= c->limit)
            add_usage(c->base, r, r->bytes);
        else
            items[left++] = items[i];
    }
    return left;
}

static ft_status select_maps(selection *c, uint32_t first, uint32_t last, ft_error *error) {
    uint32_t *items = ARENA_ARRAY(c->s->memory, uint32_t, c->ranges->count + 1);
    c->base = arena_copy(c->s->memory, c->all, (c->ranges->times + 1) * sizeof *c->base);
    c->access = ARENA_ARRAY(c->s->memory, double, c->ranges->count + 1);
    if (items == NULL || c->base == NULL || c->access == NULL || !list_tensors(c)) return FT_NOMEM(error);
    uint32_t count = find_candidates(c, items);
    if (count == 0) return FT_OK;
    count_accesses(c, first, last);
    sort_by_time(c->ranges, items, count);
    count = evict_long(c, items, count);
    if (count > 0) select_groups(c, items, count);
    return FT_OK;
}

ft_status npu_choose_fast_maps(npu_schedule *s, uint32_t first, uint32_t last, npu_live_ranges *ranges, bool **evicted,
                               bool *has_evicted, ft_error *error) {
    add_candidates(s, first, last);
    FT_TRY(npu_live_ranges_find(s, s->net->passes[first].segment, NPU_SRAM, ranges, error));
    selection c = {.s = s, .ranges = ranges, .limit = s->arch->fast_bytes};
    c.all = npu_live_ranges_usage(s, ranges);
    c.evicted = ARENA_ARRAY(s->memory, bool, ranges->count + 1);
    if (c.all == NULL || c.evicted == NULL) return FT_NOMEM(error);
    int64_t peak = 0;
    for (uint32_t t = 0; t < ranges->times; t++) peak = c.all[t] > peak ? c.all[t] : peak;
    if (peak > c.limit) FT_TRY(select_maps(&c, first, last, error));
    *evicted = c.evicted;
    *has_evicted = false;
    for (uint32_t i = 0; i < ranges->count; i++) *has_evicted |= c.evicted[i];
    return FT_OK;
}
