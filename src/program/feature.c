/* feature.c - the 164 features of each store.
 *
 * They follow feature.cc of TVM's auto-scheduler with the changes of CDMPP (one vector per store, in the order of the
 * tree). Its quirks that are kept: multiply-adds are not recognised, the type of an annotation is only "none" or
 * "mixed", the features of allocation are 0 for stores, a variable inside a quotient has stride 2, and reuse by another
 * store is only found for stores that come before. Its mistakes are corrected:
 *   - threads that fill shared memory together are counted once, not once for the loop that they work for and once more
 *     for the filling itself;
 *   - unique bytes and lines are those of this store, not of the first one under the loop nor of the last buffer;
 *   - loops that do not move an access are skipped with their own length, not with that of the innermost loop;
 *   - two loops of equal work in the curve give no division by zero. */
#include "program/feature.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "program/feature_gpu.h"
#include "program/feature_view.h"

/* --- Operations ---------------------------------------------------------------------------------------------- */

/* Operations of a store per trip: those of its value, and the arithmetic of its indices. */
typedef struct op_counts {
    double add, mul, div, cmp, math;
    double int_add, int_mul, int_div, int_cmp;
    double logic, select;
} op_counts;

static void count_index(const lin_space *space, lin a, op_counts *c) {
    if (a.count == 0) return;
    c->int_add += a.count - 1 + (a.base != 0);
    for (uint32_t i = 0; i < a.count; i++) {
        const lin_atom *atom = &space->atoms[a.terms[i].atom];
        c->int_mul += a.terms[i].factor != 1;
        if (atom->kind != LIN_QUOTIENT) continue;
        c->int_div += (atom->divisor != 1) + (atom->modulus != 0);
        count_index(space, atom->inner, c);
    }
}

static void count_value(const lin_space *space, const prog_value *v, op_counts *c) {
    if (v == NULL) return;
    c->add += v->op == PROG_ADD || v->op == PROG_SUB;
    c->mul += v->op == PROG_MUL;
    c->div += v->op == PROG_DIV;
    c->cmp += v->op == PROG_MAX || v->op == PROG_MIN;
    c->select += v->op == PROG_SELECT;
    c->math += v->op == PROG_TANH || v->op == PROG_SIGMOID || v->op == PROG_IF || v->op == PROG_CALL;
    for (uint32_t i = 0; v->op == PROG_LOAD && i < v->dims; i++) count_index(space, v->index[i], c);
    double sides = 0;
    for (uint32_t i = 0; i < v->bound_count; i++) {
        int side = (v->bounds[i].low != INT64_MIN) + (v->bounds[i].high != INT64_MAX);
        for (int k = 0; k < side; k++) count_index(space, v->bounds[i].index, c);
        sides += side;
    }
    c->int_cmp += sides;
    if (sides > 0) c->logic += sides - 1;
    count_value(space, v->a, c);
    count_value(space, v->b, c);
}

static op_counts count_ops(const nest *n, const nest_node *node) {
    op_counts c = {0};
    const lin_space *space = &n->p->space;
    const prog_stage *stage = &n->p->stages[node->stage];
    bool is_update = node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE;
    if (is_update || node->store == NEST_PLAIN) count_value(space, node->value, &c);
    if (!is_update) return c;
    c.add += stage->reducer == PROG_REDUCE_SUM;
    c.cmp += stage->reducer == PROG_REDUCE_MAX;
    for (uint32_t i = 0; node->store == NEST_UPDATE && i < stage->dims; i++) count_index(space, node->index[i], &c);
    return c;
}

/* --- The vector ---------------------------------------------------------------------------------------------- */

typedef struct buffer_numbers {
    double bytes, unique_bytes, lines, unique_lines, stride;
    reuse again;
    const access *of;
} buffer_numbers;

static buffer_numbers measure(const store_view *x, const access *a, double trips) {
    buffer_numbers b = {.of = a,
                        .bytes = trips * ELEMENT_BYTES,
                        .unique_bytes = a->touched * ELEMENT_BYTES,
                        .lines = 1,
                        .unique_lines = 1};
    assert(a->dims > 0 && a->set_count > 0);
    b.again = view_find_reuse(x, a);
    if (x->path_count == 0) return b;
    double stride = 0, passed = 1;
    uint32_t l = 0;
    for (; l < x->path_count; l++) {
        stride = view_stride(x, a, x->path[l]);
        if (stride != 0) break;
        passed *= (double)x->path[l]->extent;
    }
    b.lines = fmax(1, trips / passed * fmin(1, stride * ELEMENT_BYTES / LINE_BYTES));
    b.stride = l == 0 ? stride : 0;
    double row = ELEMENT_BYTES;
    for (uint32_t d = a->dims; d > 0; d--) {
        if (a->region[d - 1] != a->shape[d - 1]) continue;
        row *= (double)a->region[d - 1];
        break;
    }
    b.unique_lines = fmax(1, b.unique_bytes / fmin(row, LINE_BYTES));
    return b;
}

/* By cache lines, then bytes, in descending order; stable. */
static void sort_buffers(buffer_numbers *b, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        buffer_numbers moved = b[i];
        uint32_t k = i;
        for (;
             k > 0 && (b[k - 1].lines < moved.lines || (b[k - 1].lines == moved.lines && b[k - 1].bytes < moved.bytes));
             k--)
            b[k] = b[k - 1];
        b[k] = moved;
    }
}

static void write_buffer(const buffer_numbers *b, float *out) {
    const access *a = b->of;
    out[a->is_read && a->is_written ? 2 : a->is_written ? 1 : 0] = 1;
    out[3] = slog(b->bytes);
    out[4] = slog(b->unique_bytes);
    out[5] = slog(b->lines);
    out[6] = slog(b->unique_lines);
    out[7 + b->again.kind] = 1;
    out[10] = slog(b->again.iterations);
    out[11] = slog(b->again.bytes);
    out[12] = slog(b->again.count);
    double times = b->again.count > 0.5 ? 1 / b->again.count : 2;
    out[13] = slog(b->bytes * times);
    out[14] = slog(b->unique_bytes * times);
    out[15] = slog(b->lines * times);
    out[16] = slog(b->unique_lines * times);
    out[17] = slog(b->stride);
}

/* Arithmetic intensity: log2 of work over log2 of bytes, at ten points between none and all of the work. */
static void write_curve(const float *work, const float *bytes, uint32_t count, double flops, float *out) {
    if (count == 0 || flops <= 0) return;
    uint32_t at = 0;
    for (int i = 0; i < FEATURE_CURVE; i++) {
        float want = work[count - 1] * (float)(i + 1) / FEATURE_CURVE;
        while (at + 1 < count && work[at] < want - 1e-4f) at++;
        float here = bytes[at] > 0 ? work[at] / bytes[at] : 0;
        if (at == 0 || work[at] <= work[at - 1]) {
            out[i] = here;
        } else {
            float before = bytes[at - 1] > 0 ? work[at - 1] / bytes[at - 1] : 0;
            out[i] = before + (here - before) / (work[at] - work[at - 1]) * (want - work[at - 1]);
        }
    }
}

/* Number, product and innermost length of the loops with an annotation, and whether there are any. */
static void write_kind(const store_view *x, prog_annotation annotation, float *out) {
    double count = 0, product = 1, length = 0;
    for (uint32_t l = 0; l < x->path_count; l++) {
        if (x->path[l]->kind != NEST_LOOP || x->path[l]->annotation != annotation) continue;
        if (count == 0) length = (double)x->path[l]->extent;
        count++;
        product *= (double)x->path[l]->extent;
    }
    out[0] = slog(count);
    out[1] = count > 0 ? slog(product) : 0;
    out[2] = slog(length);
    out[count > 0 ? 10 : 3] = 1;
}

static void write_threads(const store_view *x, const nest_node *node, float *out) {
    static const prog_annotation order[] = {PROG_BLOCK_X,  PROG_BLOCK_Y,  PROG_BLOCK_Z,
                                            PROG_THREAD_X, PROG_THREAD_Y, PROG_THREAD_Z};
    double lengths[PROG_ANNOTATION_COUNT] = {0}, vthreads = 1;
    bool is_gpu = false;
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind != NEST_THREAD) continue;
        is_gpu = true;
        if (above->annotation == PROG_VTHREAD)
            vthreads *= (double)above->extent;
        else if (lengths[above->annotation] == 0)
            lengths[above->annotation] = (double)above->extent;
    }
    out[0] = is_gpu;
    for (int i = 0; i < 6; i++) out[1 + i] = slog(lengths[order[i]] == 0 ? 1 : lengths[order[i]]);
    out[7] = slog(vthreads);
}

static int32_t unroll_of(const store_view *x, const nest_node *node) {
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind == NEST_PRAGMA && !above->is_explicit) return above->unroll;
    }
    return 0;
}

static void extract_store(store_view *x, const nest_node *node, const unroll_info *infos, gpu_launch *launch,
                          float *out, float *gpu) {
    view_find_path(x, node);
    view_find_accesses(x, node);
    op_counts c = count_ops(x->n, node);
    double trips = 1, flops = c.add + c.mul + c.div + c.cmp + c.math;
    for (uint32_t l = 0; l < x->path_count; l++) trips *= (double)x->path[l]->extent;
    const double groups[16] = {0,         c.add,     c.mul,     c.div,     c.cmp, c.math, 0,       0,
                               c.int_add, c.int_mul, c.int_div, c.int_cmp, 0,     0,      c.logic, c.select};
    for (int i = 0; i < 16; i++) out[i] = slog(trips * groups[i]);
    write_kind(x, PROG_VECTORIZE, out + 16);
    write_kind(x, PROG_UNROLL, out + 27);
    write_kind(x, PROG_PARALLEL, out + 38);
    write_threads(x, node, out + 49);
    float work[MAX_PATH], bytes[MAX_PATH];
    view_walk_loops(x, flops, work, bytes);
    buffer_numbers buffers[MAX_ACCESSES];
    for (uint32_t i = 0; i < x->access_count; i++) buffers[i] = measure(x, &x->accesses[i], trips);
    sort_buffers(buffers, x->access_count);
    for (uint32_t i = 0; i < x->access_count && i < FEATURE_BUFFERS; i++) write_buffer(&buffers[i], out + 57 + 18 * i);
    write_curve(work, bytes, x->path_count, flops, out + 147);
    out[161] = slog(trips);
    out[162] = slog(x->path_count);
    out[163] = slog(unroll_of(x, node));
    feature_gpu(x, node, infos, launch, gpu);
}

/* --- The tree ------------------------------------------------------------------------------------------------ */

/* The nodes of a nest are in pre-order. */
static void write_tree(const nest *n, features *f) {
    uint16_t at = 0;
    f->tree_length = 0;
    for (;;) {
        f->tree[f->tree_length++] = at;
        if (n->nodes[at].first_child != NEST_NONE) {
            at = n->nodes[at].first_child;
            continue;
        }
        f->tree[f->tree_length++] = -1;
        while (n->nodes[at].next == NEST_NONE) {
            at = n->nodes[at].parent;
            if (at == NEST_NONE) return;
            f->tree[f->tree_length++] = -1;
        }
        at = n->nodes[at].next;
    }
}

ft_status feature_extract(const nest *n, features *f) {
    arena *memory = n->p->memory;
    assert(n->count > 0 && n->nodes[0].kind == NEST_ROOT);
    *f = (features){0};
    for (uint32_t i = 0; i < n->count; i++) f->leaf_count += n->nodes[i].kind == NEST_STORE;
    f->leaves = ARENA_ARRAY(memory, float, (size_t)f->leaf_count *FEATURE_COUNT);
    f->gpu = ARENA_ARRAY(memory, float, (size_t)f->leaf_count *FEATURE_GPU_COUNT);
    f->node_ids = ARENA_ARRAY(memory, int32_t, f->leaf_count);
    f->tree = ARENA_ARRAY(memory, int32_t, 2 * (size_t)n->count);
    store_view x = {.n = n, .space = &n->p->space, .footprints = ARENA_ARRAY(memory, footprint, n->count)};
    unroll_info *infos = ARENA_ARRAY(memory, unroll_info, n->count);
    if (f->leaves == NULL || f->gpu == NULL || f->node_ids == NULL || f->tree == NULL || x.footprints == NULL ||
        infos == NULL)
        return FT_NOMEM(n->p->error);
    unroll_infer(n, infos);
    gpu_launch launch = {.root = NEST_NONE};
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->nodes[i].kind != NEST_STORE) continue;
        extract_store(&x, &n->nodes[i], infos, &launch, f->leaves + (size_t)leaf * FEATURE_COUNT,
                      f->gpu + (size_t)leaf * FEATURE_GPU_COUNT);
        f->node_ids[leaf++] = (int32_t)i;
    }
    assert(leaf == f->leaf_count);
    write_tree(n, f);
    assert(f->tree_length == 2 * n->count); /* each node has a start and an end */
    if (x.is_too_large)
        return ft_fail(n->p->error, FT_ERR_LIMIT, "a store has more than %d loops or %d buffers", MAX_PATH,
                       MAX_ACCESSES);
    return FT_OK;
}
