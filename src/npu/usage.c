/* usage.c - a tree of peaks over time. Sums that hold for a whole subtree stay at its root. */
#include "npu/usage.h"

#include <assert.h>

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

bool npu_usage_make(arena *memory, const int64_t *bytes, uint32_t times, npu_usage *usage) {
    *usage = (npu_usage){.leaves = 1};
    while (usage->leaves < times) usage->leaves *= 2;
    usage->peak = ARENA_ARRAY(memory, int64_t, 2 * (size_t)usage->leaves);
    usage->added = ARENA_ARRAY(memory, int64_t, 2 * (size_t)usage->leaves);
    if (usage->peak == NULL || usage->added == NULL) return false;
    for (uint32_t i = 0; i < times; i++) usage->peak[usage->leaves + i] = bytes[i];
    for (uint32_t i = usage->leaves; i-- > 1;) usage->peak[i] = larger(usage->peak[2 * i], usage->peak[2 * i + 1]);
    return true;
}

/* A node and the times under it. */
typedef struct subtree {
    uint32_t node, first, last;
} subtree;

static subtree child(const subtree *of, uint32_t which) {
    uint32_t half = (of->last - of->first + 1) / 2, first = of->first + which * half;
    return (subtree){.node = 2 * of->node + which, .first = first, .last = first + half - 1};
}

static void add(npu_usage *u, subtree at, uint32_t first, uint32_t last, int64_t bytes) {
    if (last < at.first || first > at.last) return;
    if (first <= at.first && at.last <= last) {
        u->peak[at.node] += bytes;
        u->added[at.node] += bytes;
        return;
    }
    for (uint32_t i = 0; i < 2; i++) add(u, child(&at, i), first, last, bytes);
    u->peak[at.node] = larger(u->peak[2 * at.node], u->peak[2 * at.node + 1]) + u->added[at.node];
}

static int64_t peak(const npu_usage *u, subtree at, uint32_t first, uint32_t last) {
    if (last < at.first || first > at.last) return INT64_MIN / 2; /* below all sums */
    if (first <= at.first && at.last <= last) return u->peak[at.node];
    return larger(peak(u, child(&at, 0), first, last), peak(u, child(&at, 1), first, last)) + u->added[at.node];
}

void npu_usage_add(npu_usage *usage, uint32_t first, uint32_t last, int64_t bytes) {
    assert(usage->leaves > 0);
    if (first <= last) add(usage, (subtree){1, 0, usage->leaves - 1}, first, last, bytes);
}

int64_t npu_usage_peak(const npu_usage *usage, uint32_t first, uint32_t last) {
    assert(usage->leaves > 0);
    return first <= last ? larger(peak(usage, (subtree){1, 0, usage->leaves - 1}, first, last), 0) : 0;
}
