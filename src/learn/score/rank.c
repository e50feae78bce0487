/* rank.c - rank correlations in O(n log n). */
#include "learn/score/rank.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- Spearman ------------------------------------------------------------------------------------------------ */

typedef struct ranked {
    double value;
    uint32_t index; /* in the original list */
} ranked;

static int by_value(const void *a, const void *b) {
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

/* Ranks from 1; ties get the mean of their ranks. */
static void compute_ranks(const double *values, uint32_t count, ranked *scratch, double *ranks) {
    for (uint32_t i = 0; i < count; i++) scratch[i] = (ranked){values[i], i};
    qsort(scratch, count, sizeof *scratch, by_value);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && scratch[end].value == scratch[i].value;) end++;
        double rank = ((double)i + 1 + (double)end) / 2;
        for (uint32_t k = i; k < end; k++) ranks[scratch[k].index] = rank;
    }
}

/* Pearson correlation of ranks, whose mean is (count + 1) / 2, with or without ties. */
static double correlate_ranks(const double *x, const double *y, uint32_t count) {
    double mean = ((double)count + 1) / 2, xy = 0, xx = 0, yy = 0;
    for (uint32_t i = 0; i < count; i++) {
        double dx = x[i] - mean, dy = y[i] - mean;
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

ft_status rank_spearman(const double *x, const double *y, uint32_t count, double *rho, ft_error *error) {
    *rho = (double)NAN;
    if (count < 2) return FT_OK;
    ranked *scratch = calloc(count, sizeof *scratch);
    double *ranks = calloc(count, 2 * sizeof *ranks);
    bool has_memory = scratch != NULL && ranks != NULL;
    if (has_memory) {
        compute_ranks(x, count, scratch, ranks);
        compute_ranks(y, count, scratch, ranks + count);
        *rho = correlate_ranks(ranks, ranks + count, count);
    }
    free(scratch);
    free(ranks);
    return has_memory ? FT_OK : FT_NOMEM(error);
}

/* --- Kendall: Knight's algorithm (1966) --------------------------------------------------------------------- */

typedef struct pair {
    double x, y;
} pair;

static int by_x_then_y(const void *a, const void *b) {
    const pair *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static double pairs_among(uint64_t count) {
    return (double)count * ((double)count - 1) / 2;
}

/* The number of tied pairs in a sorted list. */
static double tied_pairs(const pair *list, uint32_t count, bool (*is_same)(const pair *, const pair *)) {
    double tied = 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_same(&list[i], &list[end]);) end++;
        tied += pairs_among(end - i);
    }
    return tied;
}

static bool same_x(const pair *a, const pair *b) {
    return a->x == b->x;
}

static bool same_y(const pair *a, const pair *b) {
    return a->y == b->y;
}

static bool same_both(const pair *a, const pair *b) {
    return a->x == b->x && a->y == b->y;
}

/* Merges two runs sorted by y; returns the number of inversions between them. */
static double merge(const pair *left, uint32_t left_count, const pair *right, uint32_t right_count, pair *out) {
    double swaps = 0;
    while (left_count > 0 && right_count > 0) {
        if (right->y < left->y) {
            swaps += left_count;
            *out++ = *right++;
            right_count--;
        } else {
            *out++ = *left++;
            left_count--;
        }
    }
    memcpy(out, left, left_count * sizeof *out);
    memcpy(out + left_count, right, right_count * sizeof *out);
    return swaps;
}

/* Bottom-up merge sort by y; returns the number of inversions. */
static double sort_by_y(pair *list, pair *scratch, uint32_t count) {
    double swaps = 0;
    for (uint64_t run = 1; run < count; run *= 2) {
        for (uint64_t start = 0; start < count; start += 2 * run) {
            uint64_t middle = start + run < count ? start + run : count;
            uint64_t end = start + 2 * run < count ? start + 2 * run : count;
            swaps += merge(list + start, (uint32_t)(middle - start), list + middle, (uint32_t)(end - middle),
                           scratch + start);
        }
        memcpy(list, scratch, count * sizeof *list);
    }
    return swaps;
}

static double tau_b(pair *list, pair *scratch, uint32_t count) {
    qsort(list, count, sizeof *list, by_x_then_y);
    double all = pairs_among(count);
    double ties_x = tied_pairs(list, count, same_x), ties_both = tied_pairs(list, count, same_both);
    double swaps = sort_by_y(list, scratch, count);
    double ties_y = tied_pairs(list, count, same_y);
    if (ties_x >= all || ties_y >= all) return (double)NAN;
    return (all - ties_x - ties_y + ties_both - 2 * swaps) / sqrt((all - ties_x) * (all - ties_y));
}

ft_status rank_kendall(const double *x, const double *y, uint32_t count, double *tau, ft_error *error) {
    *tau = (double)NAN;
    if (count < 2) return FT_OK;
    pair *list = calloc(count, 2 * sizeof *list);
    if (list == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) list[i] = (pair){x[i], y[i]};
    *tau = tau_b(list, list + count, count);
    free(list);
    return FT_OK;
}

/* --- Pairs that are apart: counted by a Fenwick tree --------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number of sorted values below `value`: its index. */
static uint32_t index_of(double value, const double *sorted, uint32_t count) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void tree_add(uint32_t *tree, uint32_t count, uint32_t index) {
    assert(index < count);
    for (uint32_t i = index + 1; i <= count; i += i & -i) tree[i]++;
}

/* The number of additions at smaller indices. */
static uint32_t tree_below(const uint32_t *tree, uint32_t index) {
    uint32_t sum = 0;
    for (uint32_t i = index; i > 0; i -= i & -i) sum += tree[i];
    return sum;
}

/* In ascending order of x, compares each value with all that are far enough below it, whose y are in the tree. */
static double share_in_order(pair *list, double *sorted_y, uint32_t *tree, uint32_t count, double ratio) {
    double pairs = 0, concordant = 0;
    for (uint32_t i = 0; i < count; i++) sorted_y[i] = list[i].y;
    qsort(sorted_y, count, sizeof *sorted_y, compare_doubles);
    qsort(list, count, sizeof *list, by_x_then_y);
    for (uint32_t i = 0, below = 0; i < count; i++) {
        for (; list[below].x * ratio < list[i].x; below++)
            tree_add(tree, count, index_of(list[below].y, sorted_y, count));
        uint32_t index = index_of(list[i].y, sorted_y, count), less = tree_below(tree, index),
                 equal = tree_below(tree, index + 1) - less;
        pairs += below;
        concordant += less + 0.5 * equal;
    }
    return pairs > 0 ? concordant / pairs : (double)NAN;
}

ft_status rank_pairs_apart(const double *x, const double *y, uint32_t count, double ratio, double *share,
                           ft_error *error) {
    assert(ratio >= 1);
    pair *list = calloc((size_t)count + 1, sizeof *list);
    double *sorted_y = calloc((size_t)count + 1, sizeof *sorted_y);
    uint32_t *tree = calloc((size_t)count + 1, sizeof *tree);
    bool has_memory = list != NULL && sorted_y != NULL && tree != NULL;
    if (has_memory) {
        for (uint32_t i = 0; i < count; i++) list[i] = (pair){x[i], y[i]};
        *share = share_in_order(list, sorted_y, tree, count, ratio);
    }
    free(list);
    free(sorted_y);
    free(tree);
    return has_memory ? FT_OK : FT_NOMEM(error);
}
