/* fast.c - feature maps compete for the fast memory.
 *
 * All of them are moved in; those that can never fit leave, those that always do stay, and the others are tried in
 * groups of at most twenty that overlap in time: the set that is accessed most wins. */
#include "npu/fast.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 20, LONG_RANGE = 20 };

typedef struct contest {
    npu_schedule *s;
    npu_ranges *ranges;
    int64_t limit;
    int64_t *base, *most;   /* bytes over time: without those that compete, and with all of them */
    double *access;         /* by range */
    uint32_t *first, *next; /* tensors of each range that may move: the first, and the one after each; FT_NONE ends */
    bool *evicted;
    uint32_t items[MOST_ITEMS], count;
    bool now[MOST_ITEMS], best[MOST_ITEMS];
    double best_score, left[MOST_ITEMS + 1];
    uint64_t tries;
} contest;

static int64_t highest(const int64_t *usage, const npu_range *r) {
    int64_t most = 0;
    for (uint32_t t = r->start; t <= r->end; t++) {
        if (usage[t] > most) most = usage[t];
    }
    return most;
}

static void change(int64_t *usage, const npu_range *r, int64_t bytes) {
    for (uint32_t t = r->start; t <= r->end; t++) usage[t] += bytes;
}

static void evict(contest *c, uint32_t range) {
    change(c->most, &c->ranges->items[range], -c->ranges->items[range].bytes);
    c->evicted[range] = true;
    for (uint32_t i = c->first[range]; i != FT_NONE; i = c->next[i]) c->s->areas[i] = NPU_SLOW;
}

/* --- One group ----------------------------------------------------------------------------------------------- */

enum { MOST_TRIES = 1 << 18 }; /* of a search that is exhaustive; past it, what was found is good enough */

static void search(contest *c, uint32_t at, double score) {
    if (score + c->left[at] <= c->best_score || c->tries++ > MOST_TRIES) return;
    if (at == c->count) {
        c->best_score = score;
        memcpy(c->best, c->now, sizeof c->best);
        return;
    }
    uint32_t range = c->items[at];
    const npu_range *r = &c->ranges->items[range];
    if (highest(c->base, r) + r->bytes <= c->limit) {
        c->now[at] = false;
        change(c->base, r, r->bytes);
        search(c, at + 1, score + c->access[range]);
        change(c->base, r, -r->bytes);
    }
    if (highest(c->most, r) > c->limit) {
        c->now[at] = true;
        change(c->most, r, -r->bytes);
        search(c, at + 1, score);
        change(c->most, r, r->bytes);
    }
}

static void settle(contest *c, const uint32_t *items, uint32_t count) {
    c->count = count;
    c->best_score = -1;
    c->tries = 0;
    memcpy(c->items, items, count * sizeof *items);
    memset(c->best, 0, sizeof c->best);
    c->left[count] = 0;
    for (uint32_t i = count; i-- > 0;) c->left[i] = c->left[i + 1] + c->access[items[i]];
    search(c, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (c->best[i])
            evict(c, items[i]);
        else
            change(c->base, &c->ranges->items[items[i]], c->ranges->items[items[i]].bytes);
    }
}

/* --- All of them --------------------------------------------------------------------------------------------- */

static void move_in(npu_schedule *s, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &s->net->passes[i];
        const npu_tensor *t = &s->net->tensors[p->ofm];
        if (s->plans[i].cascade != 0 || t->consumers == 0 || t->is_output || t->is_variable) continue;
        s->areas[p->ofm] = NPU_SRAM;
        s->is_fast[p->ofm] = true;
    }
}

static void add_access(const contest *c, uint32_t tensor, double elems) {
    uint32_t range = tensor != FT_NONE ? c->ranges->of[tensor] : FT_NONE;
    if (range != FT_NONE && c->ranges->items[range].tensor == tensor) c->access[range] += elems;
}

static void count_accesses(const contest *c, uint32_t first, uint32_t last) {
    const npu_net *net = c->s->net;
    for (uint32_t i = first; i <= last; i++) {
        const npu_pass *p = &net->passes[i];
        const npu_tensor *ifm = &net->tensors[p->ifm], *ofm = &net->tensors[p->ofm];
        npu_query q = {.pass = p,
                       .blocking = &c->s->plans[i].blocking,
                       .ifm = p->ifm_shape,
                       .ifm2 = p->ifm2_shape,
                       .ofm = p->ofm_shape,
                       .ifm_bytes = ifm->bytes,
                       .ifm2_bytes = p->ifm2 != FT_NONE ? net->tensors[p->ifm2].bytes : 1,
                       .ifm_linear = ifm->is_linear,
                       .ofm_linear = ofm->is_linear};
        npu_access a = npu_accesses(&q);
        add_access(c, p->ifm, a.ifm);
        add_access(c, p->ifm2, a.ifm2);
        add_access(c, p->ofm, a.ofm);
    }
}

static int by_time(const npu_range *a, const npu_range *b) {
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Insertion keeps the order of equals, as the compiler's sort does; the lists are short. */
static void sort_by_time(const npu_ranges *ranges, uint32_t *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        uint32_t item = items[i], at = i;
        for (; at > 0 && by_time(&ranges->items[items[at - 1]], &ranges->items[item]) > 0; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Ranges that live much longer than those around them get in the way of the allocation: they leave. */
static uint32_t drop_long(contest *c, uint32_t *items, uint32_t count) {
    if (count <= MOST_ITEMS) return count;
    const npu_range *r = c->ranges->items;
    uint32_t kept = 0;
    uint32_t *all = arena_copy(c->s->memory, items, count * sizeof *items);
    if (all == NULL) return count;
    for (uint32_t i = 0, left = count; i < count; i++) {
        const npu_range *one = &r[all[i]];
        uint32_t other = i + MOST_ITEMS < left - 1 ? i + MOST_ITEMS : left - 1;
        if (one->end - one->start >= LONG_RANGE && one->end > r[all[other]].end + LONG_RANGE) {
            evict(c, all[i]);
            c->evicted[all[i]] = false; /* nobody should make room for it */
            left--;
        } else {
            items[kept++] = all[i];
        }
    }
    return kept;
}

static void settle_all(contest *c, uint32_t *items, uint32_t count) {
    const npu_range *r = c->ranges->items;
    uint32_t start = 0, end_time = r[items[0]].end;
    for (uint32_t i = 0; i < count; i++) {
        if (r[items[i]].start <= end_time && i - start < MOST_ITEMS) {
            if (r[items[i]].end > end_time) end_time = r[items[i]].end;
        } else {
            settle(c, items + start, i - start);
            start = i;
            end_time = r[items[i]].end;
        }
    }
    settle(c, items + start, count - start);
}

/* Lists the tensors that may move by the range that they are in. */
static bool list_tensors(contest *c) {
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

static uint32_t sort_out(contest *c, uint32_t *items) {
    npu_ranges *ranges = c->ranges;
    uint32_t count = 0, left = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (c->first[i] == FT_NONE) continue;
        items[count++] = i;
        change(c->base, &ranges->items[i], -ranges->items[i].bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        const npu_range *r = &ranges->items[items[i]];
        if (highest(c->base, r) + r->bytes > c->limit)
            evict(c, items[i]);
        else
            items[left++] = items[i];
    }
    count = left;
    left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const npu_range *r = &ranges->items[items[i]];
        if (highest(c->most, r) <= c->limit)
            change(c->base, r, r->bytes);
        else
            items[left++] = items[i];
    }
    return left;
}

static ft_status compete(contest *c, uint32_t first, uint32_t last, ft_error *error) {
    uint32_t *items = ARENA_ARRAY(c->s->memory, uint32_t, c->ranges->count + 1);
    c->base = arena_copy(c->s->memory, c->most, (c->ranges->times + 1) * sizeof *c->base);
    c->access = ARENA_ARRAY(c->s->memory, double, c->ranges->count + 1);
    if (items == NULL || c->base == NULL || c->access == NULL || !list_tensors(c)) return FT_NOMEM(error);
    uint32_t count = sort_out(c, items);
    if (count == 0) return FT_OK;
    count_accesses(c, first, last);
    sort_by_time(c->ranges, items, count);
    count = drop_long(c, items, count);
    if (count > 0) settle_all(c, items, count);
    return FT_OK;
}

ft_status npu_use_fast(npu_schedule *s, uint32_t first, uint32_t last, npu_ranges *ranges, bool **evicted,
                       bool *has_evicted, ft_error *error) {
    move_in(s, first, last);
    FT_TRY(npu_ranges_make(s, s->net->passes[first].segment, NPU_SRAM, ranges, error));
    contest c = {.s = s, .ranges = ranges, .limit = s->arch->fast_bytes};
    c.most = npu_ranges_usage(s, ranges);
    c.evicted = ARENA_ARRAY(s->memory, bool, ranges->count + 1);
    if (c.most == NULL || c.evicted == NULL) return FT_NOMEM(error);
    int64_t most = 0;
    for (uint32_t t = 0; t < ranges->times; t++) most = c.most[t] > most ? c.most[t] : most;
    if (most > c.limit) FT_TRY(compete(&c, first, last, error));
    *evicted = c.evicted;
    *has_evicted = false;
    for (uint32_t i = 0; i < ranges->count; i++) *has_evicted |= c.evicted[i];
    return FT_OK;
}
