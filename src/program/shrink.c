/* shrink.c - shrinking a record to a problem that can be run. */
#include "program/lower.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"

enum { MAX_PLAIN = 2000, MAX_REDUCED = 48 };

typedef struct shrinker {
    rng random;
    int64_t plain, reduced; /* products so far */
} shrinker;

/* 1, or 2 for even and 3 for odd values, as long as the product stays small. */
static int64_t smaller(shrinker *s, int64_t value, bool is_reduced) {
    int64_t *product = is_reduced ? &s->reduced : &s->plain, small = value % 2 == 0 ? 2 : 3;
    if (value <= 1 || *product * small > (is_reduced ? MAX_REDUCED : MAX_PLAIN) || rng_below(&s->random, 8) == 0)
        return 1;
    *product *= small;
    return small;
}

/* --- Sizes of the workload, by the name of the axis ---------------------------------------------------------- */

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if (at[length] == ' ' && at > words && at[-1] == ' ') return true;
    }
    return false;
}

/* The field that holds the size of an axis; of images, the number of windows. */
static int64_t *size_of(workload *w, const char *name, int64_t *out_height, int64_t *out_width) {
    const struct {
        const char *names;
        int64_t *size;
    } table[] = {
        {" nn b ax0 ", w->kind == WORKLOAD_BATCH_MATMUL ? &w->channels : &w->batch},
        {" ff ", &w->out_channels},
        {" rc c ax1 ", &w->channels},
        {" yy i ax2 ", w->kind == WORKLOAD_BATCH_MATMUL ? &w->m : out_height},
        {" xx j ax3 ", w->kind == WORKLOAD_BATCH_MATMUL ? &w->n : out_width},
        {" ry di rv0 ", &w->kernel_height},
        {" rx dj rv1 ", &w->kernel_width},
        {" x ", &w->m},
        {" y ", &w->n},
        {" k ", &w->k},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (has_word(table[i].names, name)) return table[i].size;
    }
    return NULL;
}

/* The size in the shape that belongs to an axis of the stage. */
static int64_t *shape_of(workload *w, const prog_stage *stage, uint32_t axis) {
    if (w->kind != WORKLOAD_REDUCTION)
        return axis < w->dims ? &w->shape[w->kind == WORKLOAD_TRANSPOSE ? w->dims - 1 - axis : axis] : NULL;
    bool is_reduced = axis >= stage->dims;
    uint32_t n = is_reduced ? axis - stage->dims : axis, seen = 0;
    for (uint32_t i = 0; i < w->dims; i++) {
        if (w->keeps_dims && !is_reduced) return w->is_reduced[axis] ? NULL : &w->shape[axis];
        if (w->is_reduced[i] == is_reduced && seen++ == n) return &w->shape[i];
    }
    return NULL;
}

/* --- Lengths ------------------------------------------------------------------------------------------------- */

/* The first relation of a split step; NULL when the step split nothing. */
static const prog_relation *split_of(const prog *p, uint32_t step, const prog_stage **stage) {
    for (uint32_t i = 0; i < p->stage_count; i++) {
        for (uint32_t k = 0; k < p->stages[i].relation_count; k++) {
            const prog_relation *r = &p->stages[i].relations[k];
            if (r->step != step || r->is_fuse) continue;
            *stage = &p->stages[i];
            return r;
        }
    }
    return NULL;
}

/* The new size of an axis from its new lengths. A length that did not divide the axis still does not. */
static int64_t new_size(shrinker *s, int64_t old, const int64_t *before, const int64_t *after, uint32_t count,
                        bool is_reduced) {
    int64_t old_product = 1, product = 1;
    for (uint32_t i = 0; i < count; i++) {
        old_product *= before[i];
        product *= after[i];
    }
    int64_t size = product * smaller(s, (old + old_product - 1) / old_product, is_reduced);
    return old % old_product != 0 && size > 1 ? size - 1 : size;
}

static ft_status check(const workload *w, ft_error *error) {
    bool is_good = w->height > 0 && w->width > 0 && w->stride > 0;
    if (w->kind == WORKLOAD_CONV2D || w->kind == WORKLOAD_DEPTHWISE || w->kind == WORKLOAD_POOL)
        return is_good ? FT_OK : ft_fail(error, FT_ERR_UNSUPPORTED, "its workload cannot be shrunk");
    return FT_OK;
}

ft_status shrink_record(const prog *p, workload *w, ansor_record *record, uint64_t seed) {
    shrinker s = {.plain = 1, .reduced = 1};
    rng_init(&s.random, seed, 0);
    bool is_same = w->pad_top == w->kernel_height / 2 && w->pad_left == w->kernel_width / 2;
    bool has_windows = w->stride > 0, is_done[PROG_MAX_AXES] = {false};
    int64_t out_height = has_windows ? workload_out_height(w) : 0, out_width = has_windows ? workload_out_width(w) : 0;
    const prog_stage *result = NULL;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        if (p->stages[i].is_output) result = &p->stages[i];
    }
    for (uint32_t i = 0; i < record->step_count; i++) {
        ansor_step *step = &record->steps[i];
        if (step->kind != ANSOR_SPLIT || step->count > 16) continue;
        const prog_stage *stage = NULL;
        const prog_relation *r = split_of(p, i, &stage);
        int16_t axis = r != NULL ? stage->iters[r->whole].axis : -1;
        bool is_reduced = axis >= 0 && axis >= (int)stage->dims;
        int64_t before[16], *lengths = record->numbers + (step->list - record->numbers);
        memcpy(before, lengths, step->count * sizeof before[0]);
        shrinker spare = {.random = s.random, .plain = 1, .reduced = 1};
        for (uint32_t k = 0; k < step->count; k++) lengths[k] = smaller(axis >= 0 ? &s : &spare, before[k], is_reduced);
        step->extent = 0;
        if (axis < 0) continue;
        int64_t *size = w->dims > 0 ? shape_of(w, stage, (uint32_t)axis)
                                    : size_of(w, stage->axis_names[axis], &out_height, &out_width);
        if (size == NULL) continue;
        *size = new_size(&s, *size, before, lengths, step->count, is_reduced);
        is_done[axis] = true;
    }
    /* Axes that no step splits, because their loops were fused. */
    for (uint32_t i = 0; result != NULL && i < prog_axes(result); i++) {
        int64_t *size =
            w->dims > 0 ? shape_of(w, result, i) : size_of(w, result->axis_names[i], &out_height, &out_width);
        if (is_done[i] || size == NULL || *size <= 4) continue;
        *size = 1 + smaller(&s, *size, i >= result->dims);
    }
    if (w->kind == WORKLOAD_BATCH_MATMUL) w->batch = 1;
    if (!has_windows) return FT_OK;
    if (is_same) {
        w->pad_top = w->kernel_height / 2;
        w->pad_left = w->kernel_width / 2;
        w->pad_bottom = w->kernel_height - 1 - w->pad_top;
        w->pad_right = w->kernel_width - 1 - w->pad_left;
    }
    w->height = (out_height - 1) * w->stride + w->kernel_height - w->pad_top - w->pad_bottom;
    w->width = (out_width - 1) * w->stride + w->kernel_width - w->pad_left - w->pad_right;
    return check(w, p->error);
}
