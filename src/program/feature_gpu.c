/* feature_gpu.c - GPU features: launch dimensions, requests of warps (sectors, bank conflicts), and those of the files
 * in feature_gpu.h. */
#include "program/feature_gpu.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    WINDOWS = 31,
    UNROLLED = WINDOWS + FEATURE_WINDOW_COUNT,
    IN_WAVES = UNROLLED + FEATURE_UNROLL_COUNT,
    MERGED = IN_WAVES + FEATURE_WAVES,
    CYCLES = MERGED + FEATURE_MERGES
};
enum { BANKS = 32, MAX_WIDTH = 4 };
static_assert(CYCLES + FEATURE_WINDOW_CYCLES == FEATURE_GPU_COUNT, "the groups of features fill the vector");

/* Writes to local memory come last: they have no features. */
typedef enum gpu_use { READ_GLOBAL, READ_SHARED, READ_LOCAL, WRITE_GLOBAL, WRITE_SHARED, WRITE_LOCAL, USES } gpu_use;

typedef struct use_counts {
    double accesses; /* of all threads */
    double requests; /* of warps, each counted as often as it is replayed: per sector of global memory, per bank
                        conflict */
    double distinct; /* accesses when a thread reads each element once during the lifetime of the buffer */
    double repeats;  /* replays of the worst access */
} use_counts;

static const char *const names[FEATURE_GPU_COUNT] = {
    "blocks",
    "threads",
    "warp_fill",
    "vthreads",
    "shared_bytes",
    "local_bytes",
    "thread_turns",
    "unroll_room",
    "guards",
    "is_update",
    "is_start",
    "global.read.accesses",
    "global.read.requests",
    "global.read.kept",
    "global.read.repeats",
    "shared.read.accesses",
    "shared.read.requests",
    "shared.read.kept",
    "shared.read.repeats",
    "local.read.accesses",
    "local.read.requests",
    "local.read.kept",
    "local.read.repeats",
    "global.write.accesses",
    "global.write.requests",
    "global.write.kept",
    "global.write.repeats",
    "shared.write.accesses",
    "shared.write.requests",
    "shared.write.kept",
    "shared.write.repeats",
    "window4.loads",
    "window16.loads",
    "window64.loads",
    "window256.loads",
    "window1024.loads",
    "window4.registers",
    "window16.registers",
    "window64.registers",
    "window256.registers",
    "window1024.registers",
    "rounds",
    "round_turns",
    "global.unique",
    "unrolled.loads",
    "unrolled.registers",
    "unrolled.turns",
    "unrolled.left",
    "unrolled.body",
    "unrolled.code",
    "unrolled.moving",
    "unrolled.moves",
    "wave16.sectors",
    "wave64.sectors",
    "wave256.sectors",
    "wave1024.sectors",
    "merged.read.least",
    "merged.read.most",
    "merged.write",
    "window4.cycles",
    "window16.cycles",
    "window64.cycles",
    "window256.cycles",
    "window1024.cycles",
    "unrolled.cycles",
};

const char *feature_gpu_name(uint32_t index) {
    return index < FEATURE_GPU_COUNT ? names[index] : "?";
}

/* --- The launch ---------------------------------------------------------------------------------------------- */

static uint16_t root_of(const nest *n, const nest_node *node) {
    uint16_t root = NEST_NONE;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent)
        if (n->nodes[at].kind == NEST_THREAD) root = at;
    return root;
}

static double region_bytes(const prog_stage *stage) {
    double bytes = ELEMENT_BYTES;
    for (uint32_t d = 0; d < stage->dims; d++)
        bytes *= (double)(stage->is_bound ? stage->region[d] : stage->extents[d]);
    return bytes;
}

static void find_launch(const nest *n, const nest_node *node, gpu_launch *launch) {
    uint16_t root = root_of(n, node);
    if (root == launch->root && root != NEST_NONE) return;
    *launch = (gpu_launch){.root = root};
    for (uint32_t i = 0; i < n->count; i++) {
        const nest_node *realize = &n->nodes[i];
        if (realize->kind != NEST_REALIZE || root_of(n, realize) != root) continue;
        const prog_stage *stage = &n->p->stages[realize->stage];
        if (stage->scope == PROG_SHARED) launch->shared_bytes += region_bytes(stage);
        if (stage->scope == PROG_LOCAL) launch->local_bytes += region_bytes(stage);
    }
}

/* --- Warps --------------------------------------------------------------------------------------------------- */

typedef struct warp {
    uint32_t lanes;
    const nest_node *threads[3]; /* x, y, z; NULL: one trip */
    int64_t at[3][WARP];         /* thread index of each lane */
    lin_trips trips;             /* the same by loop */
} warp;

static void set_lanes(const store_view *x, warp *w) {
    uint32_t left[WARP];
    for (uint32_t lane = 0; lane < w->lanes; lane++) left[lane] = lane;
    for (int axis = 0; axis < 3; axis++) {
        const nest_node *loop = w->threads[axis];
        if (loop == NULL) continue;
        uint32_t length = loop->extent < WARP ? (uint32_t)loop->extent : WARP; /* lanes of one warp never exceed it */
        for (uint32_t lane = 0; lane < w->lanes; lane++) {
            w->at[axis][lane] = left[lane] % length;
            left[lane] /= length;
        }
        w->trips.of[x->space->atoms[loop->atom].loop] = w->at[axis];
    }
}

static void find_warp(const store_view *x, warp *w) {
    double threads = 1;
    memset(w->threads, 0, sizeof w->threads);
    w->trips = (lin_trips){0};
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        int axis = loop->annotation == PROG_THREAD_X ? 0 : loop->annotation == PROG_THREAD_Y ? 1 : 2;
        if (loop->kind != NEST_THREAD || loop->annotation == PROG_VTHREAD || prog_annotation_is_block(loop->annotation))
            continue;
        threads *= (double)loop->extent;
        if (!loop->has_atom || w->threads[axis] != NULL) continue;
        w->threads[axis] = loop;
        lin_mask_add(&w->trips.varying, x->space->atoms[loop->atom].loop);
    }
    w->lanes = threads < WARP ? (uint32_t)threads : WARP;
    w->trips.count = w->lanes;
    assert(w->lanes > 0 && w->lanes <= LIN_MAX_TRIPS);
    set_lanes(x, w);
}

/* The address of each lane's access in its buffer, in elements. Values below 0 or too large wrap around, which keeps
 * distances. The origin of a shared region is the same for all lanes of a warp; that of local ones is not, and they are
 * never passed here. */
static void find_addresses(const store_view *x, const access *a, const lin *index, const lin_trips *trips,
                           uint64_t addresses[static WARP]) {
    const int64_t *lengths = view_is_partial(x, a) ? x->n->p->stages[a->buffer].region : a->shape;
    int64_t values[WARP];
    memset(addresses, 0, trips->count * sizeof *addresses);
    for (uint32_t d = 0; d < a->dims; d++) {
        uint64_t length = (uint64_t)lengths[d];
        lin_values(x->space, index[d], trips, values);
        for (uint32_t lane = 0; lane < trips->count; lane++)
            addresses[lane] = addresses[lane] * length + (uint64_t)values[lane];
    }
}

/* Elements that each lane moves with one instruction: the extent of a vectorised innermost loop, when its elements are
 * contiguous. `addresses` are those of its first trip. */
static uint32_t vector_width(const store_view *x, const access *a, const lin *index, const warp *w,
                             const uint64_t *addresses) {
    const nest_node *loop = x->path_count > 0 ? x->path[0] : NULL;
    if (loop == NULL || loop->annotation != PROG_VECTORIZE || loop->extent > MAX_WIDTH || !loop->has_atom) return 1;
    uint32_t number = x->space->atoms[loop->atom].loop;
    if (!lin_mask_has(a->loops, number)) return 1;
    lin_trips trips = w->trips;
    int64_t trip[WARP];
    lin_mask_add(&trips.varying, number);
    trips.of[number] = trip;
    for (uint32_t i = 1; i < loop->extent; i++) {
        uint64_t next[WARP];
        for (uint32_t lane = 0; lane < w->lanes; lane++) trip[lane] = i;
        find_addresses(x, a, index, &trips, next);
        for (uint32_t lane = 0; lane < w->lanes; lane++)
            if (next[lane] != addresses[lane] + i) return 1;
    }
    return (uint32_t)loop->extent;
}

/* Neighbouring lanes are often equal, so the search runs backwards. */
static uint32_t add_distinct(uint64_t *seen, uint32_t count, uint64_t value) {
    for (uint32_t i = count; i > 0; i--)
        if (seen[i - 1] == value) return count;
    seen[count] = value;
    return count + 1;
}

/* Sectors of global memory in one request of a warp. */
static double count_sectors(const uint64_t *addresses, uint32_t lanes, uint32_t width) {
    uint64_t seen[WARP * 2];
    uint32_t count = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        uint64_t byte = addresses[i] * ELEMENT_BYTES;
        uint64_t first = byte / SECTOR_BYTES, last = (byte + width * ELEMENT_BYTES - 1) / SECTOR_BYTES;
        count = add_distinct(seen, count, first);
        if (last != first) count = add_distinct(seen, count, last);
    }
    return count;
}

/* Bank conflicts: how many different words one request needs from the same bank of shared memory, or, when each lane
 * reads several contiguous words, from the same group of banks. Three words count as ten groups of three banks, an
 * approximation. */
static double count_conflicts(const uint64_t *addresses, uint32_t lanes, uint32_t width) {
    uint64_t seen[WARP];
    uint32_t count = 0, busy[BANKS] = {0}, max = 1;
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t before = count;
        uint64_t address = addresses[i] / width;
        count = add_distinct(seen, count, address);
        if (count == before) continue;
        uint32_t *bank = &busy[address % (BANKS / width)];
        if (++*bank > max) max = *bank;
    }
    return max;
}

/* How often a request of a warp is replayed, and in `*width` how many elements it moves per lane. */
static double count_repeats(const store_view *x, access *a, const lin *index, const warp *w, prog_scope scope,
                            uint32_t *width) {
    uint64_t addresses[WARP];
    assert(a->width >= 1 && a->width <= MAX_WIDTH && a->set_count > 0);
    *width = 1;
    if (scope == PROG_LOCAL) return 1;
    if (!lin_mask_intersects(a->loops, w->trips.varying)) {
        if (scope == PROG_SHARED) a->cycles += 1.0 / a->width / a->set_count;
        return 1;
    }
    find_addresses(x, a, index, &w->trips, addresses);
    *width = vector_width(x, a, index, w, addresses);
    if (scope == PROG_GLOBAL) return count_sectors(addresses, w->lanes, *width);
    double repeats = count_conflicts(addresses, w->lanes, *width),
           merged = a->width == *width ? repeats : count_conflicts(addresses, w->lanes, a->width);
    a->cycles += merged / a->width / a->set_count;
    return repeats;
}

/* --- Uses ---------------------------------------------------------------------------------------------------- */

/* The share of the trips that pass the guard: when more threads fill a shared buffer than it has elements, the rest is
 * predicated off. */
static double active_ratio(const store_view *x, const nest_node *node) {
    const prog_stage *stage = &x->n->p->stages[node->stage];
    double trips = 1, elements = 1;
    if (node->guard_count == 0 || stage->scope != PROG_SHARED || !stage->is_bound) return 1;
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind == NEST_REALIZE && above->stage == node->stage) break;
        if (above->kind == NEST_LOOP || above->kind == NEST_THREAD) trips *= (double)above->extent;
    }
    for (uint32_t d = 0; d < stage->dims; d++) elements *= (double)stage->region[d];
    return fmin(1, elements / trips);
}

/* Accesses of all threads when each reads an element only once during the lifetime of the buffer. */
static double count_distinct(store_view *x, const nest_node *node, access *a, double trips) {
    lin_mask varying = {{0, 0}};
    double inside = 1;
    for (uint16_t at = node->parent; at != NEST_NONE; at = x->n->nodes[at].parent) {
        const nest_node *above = &x->n->nodes[at];
        if (above->kind == NEST_REALIZE && above->stage == a->buffer) break;
        if (above->kind != NEST_LOOP || !above->has_atom) continue;
        inside *= (double)above->extent;
        lin_mask_add(&varying, x->space->atoms[above->atom].loop);
    }
    view_set_region(x, a, varying);
    return trips / inside * fmin(inside * a->set_count, a->touched);
}

static void add_use(store_view *x, const nest_node *node, access *a, const warp *w, double trips, use_counts *uses) {
    prog_scope scope = view_scope(x, a);
    assert(scope >= PROG_GLOBAL && scope <= PROG_LOCAL);
    use_counts sum = {.accesses = trips * a->set_count, .distinct = count_distinct(x, node, a, trips)};
    a->cycles = 0;
    for (uint32_t i = 0; i < a->set_count; i++) {
        uint32_t width;
        double repeats = count_repeats(x, a, a->sets[i], w, scope, &width);
        sum.requests += trips / w->lanes / width * repeats;
        sum.repeats = fmax(sum.repeats, repeats);
    }
    for (int is_write = 0; is_write < 2; is_write++) {
        if (is_write ? !a->is_written : !a->is_read) continue;
        gpu_use use = (gpu_use)((is_write ? WRITE_GLOBAL : READ_GLOBAL) + (scope - PROG_GLOBAL));
        uses[use].accesses += sum.accesses;
        uses[use].requests += sum.requests;
        uses[use].distinct += sum.distinct;
        uses[use].repeats = fmax(uses[use].repeats, sum.repeats);
    }
}

/* The unroll limit of the pragma against the trips below it, as a difference of logarithms: below 0, loops remain. */
static float unroll_room(const nest *n, const nest_node *node) {
    double trips = 1;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent) {
        const nest_node *above = &n->nodes[at];
        if (above->kind == NEST_LOOP) trips *= (double)above->extent;
        if (above->kind == NEST_PRAGMA && !above->is_explicit) return slog(above->unroll) - slog(trips);
    }
    return -slog(trips);
}

void feature_gpu(store_view *x, const nest_node *node, const unroll_info *infos, gpu_launch *launch,
                 float out[static FEATURE_GPU_COUNT]) {
    double blocks = 1, threads = 1, vthreads = 1, serial = 1, active = active_ratio(x, node);
    use_counts uses[USES] = {{0}};
    warp w;
    find_launch(x->n, node, launch);
    find_warp(x, &w);
    feature_merge(x, node, infos, out + MERGED);
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        double *product = loop->kind != NEST_THREAD                    ? &serial
                          : loop->annotation == PROG_VTHREAD           ? &vthreads
                          : prog_annotation_is_block(loop->annotation) ? &blocks
                                                                       : &threads;
        *product *= (double)loop->extent;
    }
    for (uint32_t i = 0; i < x->access_count; i++)
        add_use(x, node, &x->accesses[i], &w, active * blocks * threads * vthreads * serial, uses);
    out[0] = slog(blocks);
    out[1] = slog(threads);
    out[2] = (float)(threads / (ceil(threads / WARP) * WARP));
    out[3] = slog(vthreads);
    out[4] = slog(launch->shared_bytes);
    out[5] = slog(launch->local_bytes * vthreads);
    out[6] = slog(serial * vthreads);
    out[7] = unroll_room(x->n, node);
    out[8] = slog(node->guard_count);
    out[9] = node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE;
    out[10] = node->store == NEST_INIT || node->store == NEST_PART_INIT;
    double unrolled = feature_unroll(x, node, infos, out + UNROLLED);
    feature_window(x, node, unrolled, out + WINDOWS, out + CYCLES);
    feature_wave(x, out + IN_WAVES);
    for (int use = 0; use < WRITE_LOCAL; use++) {
        float *four = out + 11 + 4 * use;
        four[0] = slog(uses[use].accesses);
        four[1] = slog(uses[use].requests);
        four[2] = slog(uses[use].distinct);
        four[3] = slog(uses[use].repeats);
    }
}
