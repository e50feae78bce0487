/* feature.c - the 164 numbers of each store.
 *
 * They follow feature.cc of TVM's auto-scheduler with what CDMPP made of it (one vector per store, in the order of the
 * tree). Its quirks that are kept: multiply-adds are never seen as such, the type of an annotation is only "none" or
 * "mixed", the numbers of allocation are 0 on stores, a variable inside a quotient counts with a stride of 2, and a
 * buffer that is used again under the same loop is found in the order in which the stores come. What are mistakes there
 * is done right here:
 *   - threads that fill shared memory together are counted once, not once for the loop that they work for and once more
 *     for the filling itself;
 *   - unique bytes and lines are those of this store, not of the first one under the loop nor of the last buffer;
 *   - loops that do not move an access are passed over with their own length, not with that of the innermost loop;
 *   - two loops of equal work in the curve give no division by zero. */
#include "program/feature.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
    TEMP_PART = PROG_MAX_STAGES, /* what one thread has of a reduction */
    TEMP_RESULT,
    BUFFERS,
    MAX_PATH = 96,
    MAX_ACCESSES = 16,
    MAX_INDEX_SETS = 4,
    ELEMENT_BYTES = 4,
    LINE_BYTES = 64
};

/* What the stores so far touch under a loop. */
typedef struct touch {
    double bytes, element_bytes;
    struct {
        float least;
        uint16_t count;
    } buffers[BUFFERS];
} touch;

typedef struct access {
    uint32_t buffer;
    bool is_read, is_written;
    uint32_t dims;
    const lin *sets[MAX_INDEX_SETS];
    uint32_t set_count;
    int64_t shape[PROG_MAX_DIMS];
    lin_mask loops;
    double touched; /* elements, at the loop at hand */
    int64_t region[PROG_MAX_DIMS];
} access;

typedef struct counts {
    double add, mul, div, cmp, math;
    double int_add, int_mul, int_div, int_cmp;
    double logic, select;
} counts;

typedef struct extraction {
    const nest *n;
    const lin_space *space;
    touch *touches;                  /* by node */
    const nest_node *path[MAX_PATH]; /* innermost first */
    uint32_t path_count;
    access accesses[MAX_ACCESSES];
    uint32_t access_count;
    bool is_too_large;
} extraction;

/* --- Operations ---------------------------------------------------------------------------------------------- */

static void count_index(const lin_space *space, lin a, counts *c) {
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

static void count_value(const lin_space *space, const prog_value *v, counts *c) {
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

static counts count_store(const extraction *x, const nest_node *node) {
    counts c = {0};
    const prog_stage *stage = &x->n->p->stages[node->stage];
    bool is_update = node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE;
    if (is_update || node->store == NEST_PLAIN) count_value(x->space, node->value, &c);
    if (!is_update) return c;
    c.add += stage->reducer == PROG_SUM;
    c.cmp += stage->reducer == PROG_LARGEST;
    for (uint32_t i = 0; node->store == NEST_UPDATE && i < stage->dims; i++) count_index(x->space, node->index[i], &c);
    return c;
}

/* --- Accesses ------------------------------------------------------------------------------------------------ */

static const lin zero_index[1] = {{0, 0, NULL}};

static access *find_access(extraction *x, uint32_t buffer) {
    for (uint32_t i = 0; i < x->access_count; i++) {
        if (x->accesses[i].buffer == buffer) return &x->accesses[i];
    }
    if (x->access_count == MAX_ACCESSES) {
        x->is_too_large = true;
        return &x->accesses[0];
    }
    access *a = &x->accesses[x->access_count++];
    a->buffer = buffer;
    a->is_read = a->is_written = false;
    a->set_count = 0;
    a->loops = (lin_mask){{0, 0}};
    a->dims = 1;
    a->shape[0] = 1;
    if (buffer >= PROG_MAX_STAGES) return a;
    const prog_stage *stage = &x->n->p->stages[buffer];
    if (stage->dims == 0) return a;
    a->dims = stage->dims;
    memcpy(a->shape, stage->extents, stage->dims * sizeof a->shape[0]);
    return a;
}

/* A buffer that is read and written is updated in place: both are at the same index. */
static void add_access(extraction *x, uint32_t buffer, const lin *index, bool is_written) {
    access *a = find_access(x, buffer);
    bool was_written = a->is_written;
    a->is_written |= is_written;
    a->is_read |= !is_written;
    if (was_written || a->set_count == MAX_INDEX_SETS) return;
    if (a->dims == 1 && a->shape[0] == 1 && index == NULL) index = zero_index;
    a->sets[a->set_count++] = index;
    for (uint32_t i = 0; i < a->dims; i++) a->loops = lin_mask_or(a->loops, lin_loops(x->space, index[i]));
}

static void add_loads(extraction *x, const prog_value *v) {
    if (v == NULL) return;
    if (v->op == PROG_LOAD) add_access(x, v->stage, v->dims > 0 ? v->index : zero_index, false);
    add_loads(x, v->a);
    add_loads(x, v->b);
}

static void find_accesses(extraction *x, const nest_node *node) {
    const prog_stage *stage = &x->n->p->stages[node->stage];
    bool is_part = node->store == NEST_PART_INIT || node->store == NEST_PART_UPDATE;
    uint32_t target = is_part ? TEMP_PART : node->stage;
    const lin *index = is_part || stage->dims == 0 ? zero_index : node->index;
    x->access_count = 0;
    add_access(x, target, index, true);
    if (node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE) add_access(x, target, index, false);
    if (node->store == NEST_PART_RESULT) add_access(x, TEMP_RESULT, zero_index, false);
    if (node->store == NEST_PLAIN || node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE)
        add_loads(x, node->value);
}

/* --- Loops around a store ------------------------------------------------------------------------------------ */

/* Threads that fill a buffer together are its own, not those of the loops that it is filled for: behind the life of a
 * buffer that threads share they stand for the same threads again, as does an index that was bound nearer already. */
static bool is_same_threads(const nest_node *loop, prog_scope outside, const bool *is_bound) {
    if (loop->kind != NEST_THREAD) return false;
    if (loop->note != PROG_VTHREAD && is_bound[loop->note]) return true;
    return outside == PROG_SHARED ? !prog_note_is_block(loop->note) : outside == PROG_GLOBAL;
}

static void find_path(extraction *x, const nest_node *node) {
    const nest *n = x->n;
    bool is_bound[PROG_NOTES] = {false};
    prog_scope outside = PROG_NO_SCOPE; /* the scope of the buffer, once we are outside of its life */
    x->path_count = 0;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent) {
        const nest_node *above = &n->nodes[at];
        if (above->kind == NEST_REALIZE && above->stage == node->stage) outside = n->p->stages[node->stage].scope;
        if (above->kind != NEST_LOOP && above->kind != NEST_THREAD) continue;
        if (is_same_threads(above, outside, is_bound)) continue;
        if (above->kind == NEST_THREAD) is_bound[above->note] = true;
        if (x->path_count == MAX_PATH) {
            x->is_too_large = true;
            return;
        }
        x->path[x->path_count++] = above;
    }
}

/* --- Regions ------------------------------------------------------------------------------------------------- */

/* How many elements one access touches while some loops run and the others stand at 0. */
static void touch_region(const extraction *x, access *a, lin_mask running) {
    a->touched = 1;
    for (uint32_t d = 0; d < a->dims; d++) {
        int64_t least = INT64_MAX, most = INT64_MIN;
        for (uint32_t i = 0; i < a->set_count; i++) {
            int64_t lo, hi;
            lin_range_of(x->space, a->sets[i][d], running, &lo, &hi);
            if (lo < least) least = lo;
            if (hi > most) most = hi;
        }
        a->region[d] = most - least + 1;
        a->touched *= (double)a->region[d];
    }
}

static void note_touch(extraction *x, const nest_node *loop) {
    touch *t = &x->touches[loop - x->n->nodes];
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        t->bytes += a->touched * ELEMENT_BYTES;
        t->element_bytes += ELEMENT_BYTES;
        float touched = (float)a->touched;
        if (t->buffers[a->buffer].count == 0 || touched < t->buffers[a->buffer].least)
            t->buffers[a->buffer].least = touched;
        t->buffers[a->buffer].count++;
    }
}

/* Walks from the innermost loop out; regions are those of the outermost at the end. Fills, per loop, log2 of the work
 * and of the bytes touched. */
static void walk_loops(extraction *x, double flops, float *work, float *bytes) {
    lin_mask running = {{0, 0}};
    for (uint32_t i = 0; i < x->access_count; i++) touch_region(x, &x->accesses[i], running);
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        double sum = 0;
        uint32_t number = loop->has_atom ? x->space->atoms[loop->atom].loop : 0;
        if (loop->has_atom) lin_mask_add(&running, number);
        for (uint32_t i = 0; i < x->access_count; i++) {
            access *a = &x->accesses[i];
            if (loop->has_atom && lin_mask_has(a->loops, number)) touch_region(x, a, running);
            sum += a->touched * ELEMENT_BYTES;
        }
        note_touch(x, loop);
        flops *= (double)loop->extent;
        work[l] = log2f((float)flops);
        bytes[l] = log2f((float)sum);
    }
}

/* --- Strides and reuse --------------------------------------------------------------------------------------- */

/* By how much an index moves with a loop; 2 when that is not one number. 0: it does not. */
static int64_t factor_of(const lin_space *space, lin a, uint32_t atom) {
    int64_t found = 0;
    uint32_t loop = space->atoms[atom].loop;
    for (uint32_t i = 0; i < a.count; i++) {
        if (a.terms[i].atom == atom) return a.terms[i].factor < 0 ? -a.terms[i].factor : a.terms[i].factor;
        if (lin_mask_has(space->atoms[a.terms[i].atom].loops, loop)) found = 2;
    }
    return found;
}

static double stride_of(const extraction *x, const access *a, const nest_node *loop) {
    double least = 0;
    if (!loop->has_atom) return 0;
    for (uint32_t i = 0; i < a->set_count; i++) {
        double inner = 1;
        for (uint32_t d = a->dims; d > 0; d--) {
            int64_t factor = factor_of(x->space, a->sets[i][d - 1], loop->atom);
            if (factor != 0) {
                double stride = (double)factor * inner;
                if (least == 0 || stride < least) least = stride;
                break;
            }
            inner *= (double)a->shape[d - 1];
        }
    }
    return least;
}

static bool moves(const extraction *x, const access *a, const nest_node *loop) {
    return loop->has_atom && lin_mask_has(a->loops, x->space->atoms[loop->atom].loop);
}

typedef enum reuse_kind { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse_kind;

typedef struct reuse {
    reuse_kind kind;
    double iterations, bytes, count;
} reuse;

/* The nearest loop that touches the same again, or under which another store did. */
static reuse find_reuse(const extraction *x, const access *a) {
    double iterations = 1, bytes = -1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        const touch *t = &x->touches[loop - x->n->nodes];
        double extent = (double)loop->extent;
        if (!moves(x, a, loop)) return (reuse){REUSE_LOOP, iterations, bytes < 0 ? t->element_bytes : bytes, extent};
        iterations *= extent;
        bytes = t->bytes;
        if (t->buffers[a->buffer].count > 1)
            return (reuse){REUSE_SERIAL, t->buffers[a->buffer].least / extent, t->bytes / extent,
                           t->buffers[a->buffer].count - 1};
    }
    return (reuse){.kind = REUSE_NONE};
}

/* --- The vector ---------------------------------------------------------------------------------------------- */

static float slog(double value) {
    return value == 0 ? 0 : value < 0 ? -log2f((float)(1 - value)) : log2f((float)(value + 1));
}

typedef struct buffer_numbers {
    double bytes, unique_bytes, lines, unique_lines, stride;
    reuse again;
    const access *of;
} buffer_numbers;

static buffer_numbers measure(const extraction *x, const access *a, double turns) {
    buffer_numbers b = {.of = a,
                        .bytes = turns * ELEMENT_BYTES,
                        .unique_bytes = a->touched * ELEMENT_BYTES,
                        .lines = 1,
                        .unique_lines = 1};
    b.again = find_reuse(x, a);
    if (x->path_count == 0) return b;
    double stride = 0, passed = 1;
    uint32_t l = 0;
    for (; l < x->path_count; l++) {
        stride = stride_of(x, a, x->path[l]);
        if (stride != 0) break;
        passed *= (double)x->path[l]->extent;
    }
    b.lines = fmax(1, turns / passed * fmin(1, stride * ELEMENT_BYTES / LINE_BYTES));
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

/* By lines, then bytes, the largest first; equal ones in the order they come. */
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

/* Work over bytes, both as logarithms, at ten places between nothing and all of the work. */
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

/* Number, product and innermost length of the loops of a kind, and whether there are any. */
static void write_kind(const extraction *x, prog_note note, float *out) {
    double count = 0, product = 1, length = 0;
    for (uint32_t l = 0; l < x->path_count; l++) {
        if (x->path[l]->kind != NEST_LOOP || x->path[l]->note != note) continue;
        if (count == 0) length = (double)x->path[l]->extent;
        count++;
        product *= (double)x->path[l]->extent;
    }
    out[0] = slog(count);
    out[1] = count > 0 ? slog(product) : 0;
    out[2] = slog(length);
    out[count > 0 ? 10 : 3] = 1;
}

static void write_threads(const extraction *x, const nest_node *node, float *out) {
    static const prog_note order[] = {PROG_BLOCK_X,  PROG_BLOCK_Y,  PROG_BLOCK_Z,
                                      PROG_THREAD_X, PROG_THREAD_Y, PROG_THREAD_Z};
    double lengths[PROG_NOTES] = {0}, vthreads = 1;
    bool is_gpu = false;
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind != NEST_THREAD) continue;
        is_gpu = true;
        if (above->note == PROG_VTHREAD)
            vthreads *= (double)above->extent;
        else if (lengths[above->note] == 0)
            lengths[above->note] = (double)above->extent;
    }
    out[0] = is_gpu;
    for (int i = 0; i < 6; i++) out[1 + i] = slog(lengths[order[i]] == 0 ? 1 : lengths[order[i]]);
    out[7] = slog(vthreads);
}

static int32_t unroll_of(const extraction *x, const nest_node *node) {
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind == NEST_PRAGMA && !above->is_explicit) return above->unroll;
    }
    return 0;
}

static void extract_store(extraction *x, const nest_node *node, float *out) {
    find_path(x, node);
    find_accesses(x, node);
    counts c = count_store(x, node);
    double turns = 1, flops = c.add + c.mul + c.div + c.cmp + c.math;
    for (uint32_t l = 0; l < x->path_count; l++) turns *= (double)x->path[l]->extent;
    const double groups[16] = {0,         c.add,     c.mul,     c.div,     c.cmp, c.math, 0,       0,
                               c.int_add, c.int_mul, c.int_div, c.int_cmp, 0,     0,      c.logic, c.select};
    for (int i = 0; i < 16; i++) out[i] = slog(turns * groups[i]);
    write_kind(x, PROG_VECTORIZE, out + 16);
    write_kind(x, PROG_UNROLL, out + 27);
    write_kind(x, PROG_PARALLEL, out + 38);
    write_threads(x, node, out + 49);
    float work[MAX_PATH], bytes[MAX_PATH];
    walk_loops(x, flops, work, bytes);
    buffer_numbers buffers[MAX_ACCESSES];
    for (uint32_t i = 0; i < x->access_count; i++) buffers[i] = measure(x, &x->accesses[i], turns);
    sort_buffers(buffers, x->access_count);
    for (uint32_t i = 0; i < x->access_count && i < FEATURE_BUFFERS; i++) write_buffer(&buffers[i], out + 57 + 18 * i);
    write_curve(work, bytes, x->path_count, flops, out + 147);
    out[161] = slog(turns);
    out[162] = slog(x->path_count);
    out[163] = slog(unroll_of(x, node));
}

/* --- The tree ------------------------------------------------------------------------------------------------ */

/* Nodes are numbered in pre-order already. */
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
    *f = (features){0};
    for (uint32_t i = 0; i < n->count; i++) f->leaf_count += n->nodes[i].kind == NEST_STORE;
    f->leaves = ARENA_ARRAY(memory, float, (size_t)f->leaf_count *FEATURE_COUNT);
    f->node_ids = ARENA_ARRAY(memory, int32_t, f->leaf_count);
    f->tree = ARENA_ARRAY(memory, int32_t, 2 * (size_t)n->count);
    extraction x = {.n = n, .space = &n->p->space, .touches = ARENA_ARRAY(memory, touch, n->count)};
    if (f->leaves == NULL || f->node_ids == NULL || f->tree == NULL || x.touches == NULL) return FT_NOMEM(n->p->error);
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->nodes[i].kind != NEST_STORE) continue;
        extract_store(&x, &n->nodes[i], f->leaves + (size_t)leaf * FEATURE_COUNT);
        f->node_ids[leaf++] = (int32_t)i;
    }
    write_tree(n, f);
    if (x.is_too_large)
        return ft_fail(n->p->error, FT_ERR_LIMIT, "a store has more than %d loops or %d buffers", MAX_PATH,
                       MAX_ACCESSES);
    return FT_OK;
}

/* --- Positions and names ------------------------------------------------------------------------------------- */

/* The exponent is 2i / 164 with i the dimension itself and not the pair, as CDMPP has it. */
void feature_position(uint32_t position, float out[static FEATURE_COUNT]) {
    for (int i = 0; i < FEATURE_COUNT; i++) {
        double angle = position / pow(10000, 2.0 * i / FEATURE_COUNT);
        out[i] = (float)(i % 2 == 0 ? sin(angle) : cos(angle));
    }
}

const char *feature_name(uint32_t index, char text[static 32]) {
    static const char *const ops[] = {"mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc"};
    static const char *const kinds[] = {"vec", "unroll", "parallel"};
    static const char *const kind_parts[] = {"num",
                                             "prod",
                                             "len",
                                             "type.none",
                                             "type.inner_spatial",
                                             "type.middle_spatial",
                                             "type.outer_spatial",
                                             "type.inner_reduce",
                                             "type.middle_reduce",
                                             "type.outer_reduce",
                                             "type.mixed"};
    static const char *const threads[] = {"is_gpu",          "blockIdx.x_len",  "blockIdx.y_len",  "blockIdx.z_len",
                                          "threadIdx.x_len", "threadIdx.y_len", "threadIdx.z_len", "vthread_len"};
    static const char *const buffer[] = {"acc_type.read",
                                         "acc_type.write",
                                         "acc_type.readwrite",
                                         "bytes",
                                         "unique_bytes",
                                         "lines",
                                         "unique_lines",
                                         "reuse.loop",
                                         "reuse.serial",
                                         "reuse.none",
                                         "reuse_dis_iter",
                                         "reuse_dis_bytes",
                                         "reuse_ct",
                                         "bytes_d_reuse_ct",
                                         "unique_bytes_d_reuse_ct",
                                         "lines_d_reuse_ct",
                                         "unique_lines_d_reuse_ct",
                                         "stride"};
    static const char *const last[] = {"alloc_size", "alloc_prod", "alloc_outer_prod",    "alloc_inner_prod",
                                       "outer_prod", "num_loops",  "auto_unroll_max_step"};
    if (index < 14)
        snprintf(text, 32, "%s_%s", index < 7 ? "float" : "int", ops[index % 7]);
    else if (index < 16)
        snprintf(text, 32, "%s", index == 14 ? "bool_op" : "select_op");
    else if (index < 49)
        snprintf(text, 32, "%s_%s", kinds[(index - 16) / 11], kind_parts[(index - 16) % 11]);
    else if (index < 57)
        snprintf(text, 32, "%s", threads[index - 49]);
    else if (index < 147)
        snprintf(text, 32, "B%u.%s", (index - 57) / 18, buffer[(index - 57) % 18]);
    else if (index < 157)
        snprintf(text, 32, "arith_intensity_curve_%u", index - 147);
    else
        snprintf(text, 32, "%s", index < FEATURE_COUNT ? last[index - 157] : "?");
    return text;
}
