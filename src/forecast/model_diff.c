/* model_diff.c - aligns the kernels of two models: the longest common subsequence, by weights that prefer equal names.
 * Equal ends are paired first, so that a model of which a layer changed costs little. */
#include "forecast/model_diff.h"

#include <stdlib.h>
#include <string.h>

#include "report/facts.h"

enum { MAX_CELLS = 16 << 20 }; /* of the table; models beyond it are aligned by their ends and names alone */

typedef struct aligner {
    const diff_side *old_side, *new_side;
    uint32_t old_from, old_to, new_from, new_to; /* what is left between the equal ends */
    kernel_pair *pairs;
    uint32_t count;
} aligner;

static const ft_part *part_of(const diff_side *s, uint32_t index) {
    return &ft_result_time(s->result)->parts[index];
}

static const ft_op *op_of(const diff_side *s, const ft_part *part, uint32_t index) {
    return &ft_graph_ops(s->entry->model)[part->ops[index]];
}

/* 0: they do not correspond. */
static uint32_t weigh(const aligner *a, uint32_t old_part, uint32_t new_part) {
    const ft_part *x = part_of(a->old_side, old_part), *y = part_of(a->new_side, new_part);
    bool has_names = true;
    if (x->op_count != y->op_count || strcmp(x->type, y->type) != 0) return 0;
    for (uint32_t i = 0; i < x->op_count; i++) {
        const ft_op *p = op_of(a->old_side, x, i), *q = op_of(a->new_side, y, i);
        if (strcmp(p->type, q->type) != 0) return 0;
        has_names = has_names && strcmp(facts_op_name(a->old_side->entry->model, p),
                                        facts_op_name(a->new_side->entry->model, q)) == 0;
    }
    return 2 + (has_names ? 1 : 0) + (x->value == y->value ? 2 : 0);
}

static void put(aligner *a, uint32_t old_part, uint32_t new_part) {
    a->pairs[a->count++] = (kernel_pair){old_part, new_part};
}

/* All that is left has no counterpart, except one of equal name at the same place. */
static void align_in_order(aligner *a) {
    uint32_t i = a->old_from, k = a->new_from;
    for (; i < a->old_to && k < a->new_to; i++, k++) {
        if (weigh(a, i, k) > 0) {
            put(a, i, k);
        } else {
            put(a, i, FT_NONE);
            put(a, FT_NONE, k);
        }
    }
    for (; i < a->old_to; i++) put(a, i, FT_NONE);
    for (; k < a->new_to; k++) put(a, FT_NONE, k);
}

/* best[i][k]: the weight of the best alignment of the kernels from i and k on. */
static void align_by_table(aligner *a, uint32_t *best) {
    uint32_t rows = a->old_to - a->old_from, columns = a->new_to - a->new_from, width = columns + 1;
    for (uint32_t i = rows; i-- > 0;) {
        for (uint32_t k = columns; k-- > 0;) {
            uint32_t weight = weigh(a, a->old_from + i, a->new_from + k), *cell = &best[i * width + k];
            uint32_t skip_old = cell[width], skip_new = cell[1];
            *cell = skip_old > skip_new ? skip_old : skip_new;
            if (weight > 0 && weight + cell[width + 1] > *cell) *cell = weight + cell[width + 1];
        }
    }
    uint32_t i = 0, k = 0;
    while (i < rows && k < columns) {
        const uint32_t *cell = &best[i * width + k];
        uint32_t weight = weigh(a, a->old_from + i, a->new_from + k);
        if (weight > 0 && *cell == weight + cell[width + 1]) {
            put(a, a->old_from + i++, a->new_from + k++);
        } else if (*cell == cell[width]) {
            put(a, a->old_from + i++, FT_NONE);
        } else {
            put(a, FT_NONE, a->new_from + k++);
        }
    }
    while (i < rows) put(a, a->old_from + i++, FT_NONE);
    while (k < columns) put(a, FT_NONE, a->new_from + k++);
}

static bool align_middle(aligner *a) {
    size_t rows = a->old_to - a->old_from, columns = a->new_to - a->new_from;
    if (rows == 0 || columns == 0 || (rows + 1) * (columns + 1) > MAX_CELLS) {
        align_in_order(a);
        return true;
    }
    uint32_t *best = calloc((rows + 1) * (columns + 1), sizeof *best);
    if (best == NULL) return false;
    align_by_table(a, best);
    free(best);
    return true;
}

kernel_pair *model_diff_align(const diff_side *old_side, const diff_side *new_side, uint32_t *count) {
    enum { SAME = 4 }; /* equal types, and equal names or times */
    uint32_t old_count = ft_result_time(old_side->result)->part_count;
    uint32_t new_count = ft_result_time(new_side->result)->part_count, ends = 0;
    aligner a = {.old_side = old_side, .new_side = new_side, .old_to = old_count, .new_to = new_count};
    a.pairs = calloc((size_t)old_count + new_count + 1, sizeof *a.pairs);
    if (a.pairs == NULL) return NULL;
    while (a.old_from < old_count && a.new_from < new_count && weigh(&a, a.old_from, a.new_from) >= SAME)
        put(&a, a.old_from++, a.new_from++);
    while (a.old_to > a.old_from && a.new_to > a.new_from && weigh(&a, a.old_to - 1, a.new_to - 1) >= SAME) {
        a.old_to--;
        a.new_to--;
        ends++;
    }
    if (!align_middle(&a)) {
        free(a.pairs);
        return NULL;
    }
    for (uint32_t i = 0; i < ends; i++) put(&a, a.old_to + i, a.new_to + i);
    *count = a.count;
    return a.pairs;
}
