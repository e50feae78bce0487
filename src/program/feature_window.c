/* feature_window.c - loads and registers of a thread that keeps the data of its last trips in registers. */
#include "program/feature_gpu.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- Virtual threads ----------------------------------------------------------------------------------------- */

/* The number of different addresses of an access while a loop runs. They are enumerated, as ranges would not do:
 * virtual threads are far apart. */
static double count_addresses(const store_view *x, const access *a, const nest_node *loop) {
    uint32_t number = x->space->atoms[loop->atom].loop, trips = (uint32_t)loop->extent, count = 0;
    int64_t at[LIN_MAX_TRIPS], values[LIN_MAX_TRIPS];
    uint64_t addresses[LIN_MAX_TRIPS] = {0};
    lin_trips varying = {.count = trips};
    assert(trips <= LIN_MAX_TRIPS && loop->has_atom);
    for (uint32_t i = 0; i < trips; i++) at[i] = i;
    lin_mask_add(&varying.varying, number);
    varying.of[number] = at;
    for (uint32_t d = 0; d < a->dims; d++) {
        lin_values(x->space, a->sets[0][d], &varying, values);
        for (uint32_t i = 0; i < trips; i++) addresses[i] = addresses[i] * (uint64_t)a->shape[d] + (uint64_t)values[i];
    }
    for (uint32_t i = 0; i < trips; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++) is_new = addresses[k] != addresses[i];
        count += is_new;
    }
    return count;
}

static double count_vthread_addresses(const store_view *x, const access *a) {
    double addresses = 1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        if (!view_is_virtual(loop) || !loop->has_atom || !lin_mask_has(a->loops, x->space->atoms[loop->atom].loop))
            continue;
        addresses *= loop->extent > LIN_MAX_TRIPS ? (double)loop->extent : count_addresses(x, a, loop);
    }
    return addresses;
}

/* --- Windows ------------------------------------------------------------------------------------------------- */

/* Elements that consecutive trips of a thread touch. */
typedef struct window {
    double trips, loads, registers;
    double cycles; /* of shared memory, for the loads of a warp */
} window;

/* All accesses, while the loops walked so far vary. */
typedef struct walk {
    lin_mask varying;
    double trips, serial; /* serial: without virtual threads */
    double addresses[MAX_ACCESSES], touched[MAX_ACCESSES];
    double dim_trips[MAX_ACCESSES][PROG_MAX_DIMS]; /* of the loops that a dimension depends on */
} walk;

/* At most as many elements as trips: a strided row does not touch the whole row. */
static void touch_one(store_view *x, walk *w, uint32_t i) {
    access *a = &x->accesses[i];
    view_set_region(x, a, w->varying);
    w->touched[i] = 1;
    for (uint32_t d = 0; d < a->dims; d++)
        w->touched[i] *= fmin((double)a->region[d], w->dim_trips[i][d] * a->set_count);
}

static window sum_window(const store_view *x, const walk *w) {
    window sum = {.trips = w->trips};
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        double touched = w->addresses[i] * fmin(w->touched[i], w->serial * a->set_count);
        if (view_scope(x, a) == PROG_LOCAL)
            sum.registers += touched;
        else if (a->is_read)
            sum.loads += touched;
        if (a->is_read) sum.cycles += touched * a->cycles;
    }
    return sum;
}

static void start_walk(store_view *x, walk *w) {
    w->varying = (lin_mask){{0, 0}};
    w->trips = w->serial = 1;
    for (uint32_t l = 0; l < x->path_count; l++)
        if (view_is_virtual(x->path[l])) w->trips *= (double)x->path[l]->extent;
    for (uint32_t i = 0; i < x->access_count; i++) {
        w->addresses[i] = count_vthread_addresses(x, &x->accesses[i]);
        for (uint32_t d = 0; d < x->accesses[i].dims; d++) w->dim_trips[i][d] = 1;
        touch_one(x, w, i);
    }
}

static void add_loop(store_view *x, walk *w, const nest_node *loop) {
    w->trips *= (double)loop->extent;
    w->serial *= (double)loop->extent;
    if (!loop->has_atom) return;
    uint32_t number = x->space->atoms[loop->atom].loop;
    lin_mask_add(&w->varying, number);
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        if (!lin_mask_has(a->loops, number)) continue;
        for (uint32_t d = 0; d < a->dims; d++)
            if (lin_mask_has(a->dim_loops[d], number)) w->dim_trips[i][d] *= (double)loop->extent;
        touch_one(x, w, i);
    }
}

static int window_size(uint32_t number) {
    return 2 * (int)(number + 1); /* log2 of its trips */
}

static double interpolate_log2(double a, double b, double share) {
    return a > 0 && b > 0 ? log2(a) + (log2(b) - log2(a)) * share : 0;
}

/* Where the features of the windows go, by size, and those of the unrolled trips. */
typedef struct window_output {
    float *loads, *registers, *cycles, *unrolled_loads, *unrolled_registers, *unrolled_cycles;
} window_output;

/* Interpolates the window sizes between two windows; returns the first size beyond. */
static uint32_t fill_windows(window inner, window outer, uint32_t next, const window_output *out) {
    while (next < FEATURE_WINDOWS && outer.trips > inner.trips && ldexp(1, window_size(next)) <= outer.trips) {
        double size = window_size(next),
               share = fmax(0, (size - log2(inner.trips)) / (log2(outer.trips) - log2(inner.trips)));
        out->loads[next] = (float)(interpolate_log2(inner.loads, outer.loads, share) - (outer.loads > 0 ? size : 0));
        out->registers[next] = (float)interpolate_log2(inner.registers, outer.registers, share);
        out->cycles[next] =
            (float)(interpolate_log2(inner.cycles, outer.cycles, share) - (outer.cycles > 0 ? size : 0));
        next++;
    }
    return next;
}

/* A store that reads registers only has no windows. */
static bool loads_memory(const store_view *x) {
    for (uint32_t i = 0; i < x->access_count; i++)
        if (x->accesses[i].is_read && view_scope(x, &x->accesses[i]) != PROG_LOCAL) return true;
    return false;
}

/* Loads per trip, registers, and cycles per trip. */
static void write_window(const window *w, float *loads, float *registers, float *cycles) {
    *loads = (float)(w->loads > 0 ? log2(w->loads) - log2(w->trips) : 0);
    *registers = (float)(w->registers > 0 ? log2(w->registers) : 0);
    *cycles = (float)(w->cycles > 0 ? log2(w->cycles) - log2(w->trips) : 0);
}

static void write_unrolled(const window *w, const window_output *out) {
    write_window(w, out->unrolled_loads, out->unrolled_registers, out->unrolled_cycles);
}

/* Walks the virtual threads, then the loops, innermost first. Sizes beyond all loops get the values of the largest
 * window. */
static void find_windows(store_view *x, double unrolled_trips, const window_output *out) {
    walk at;
    start_walk(x, &at);
    window w = sum_window(x, &at);
    uint32_t next = fill_windows((window){1, w.loads / w.trips, 1, w.cycles / w.trips}, w, 0, out);
    write_unrolled(&w, out);
    for (uint32_t l = 0; l < x->path_count && (next < FEATURE_WINDOWS || at.trips < unrolled_trips); l++) {
        if (x->path[l]->kind != NEST_LOOP) continue;
        add_loop(x, &at, x->path[l]);
        window wider = sum_window(x, &at);
        next = fill_windows(w, wider, next, out);
        w = wider;
        if (w.trips <= unrolled_trips) write_unrolled(&w, out);
    }
    for (; next < FEATURE_WINDOWS; next++)
        write_window(&w, &out->loads[next], &out->registers[next], &out->cycles[next]);
}

/* --- Rounds -------------------------------------------------------------------------------------------------- */

/* Trips of the loops outside the lifetime of a shared buffer, and inside it. */
static void find_rounds(const nest *n, const nest_node *node, float *rounds, float *trips) {
    double outside = 1, inside = 1;
    bool is_outside = false;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent) {
        const nest_node *above = &n->nodes[at];
        if (above->kind == NEST_REALIZE && n->p->stages[above->stage].scope == PROG_SHARED) is_outside = true;
        if (above->kind == NEST_LOOP) *(is_outside ? &outside : &inside) *= (double)above->extent;
    }
    *rounds = slog(outside);
    *trips = slog(inside);
}

static float count_unique(store_view *x) {
    lin_mask varying = {{0, 0}};
    double unique = 0;
    for (uint32_t l = 0; l < x->path_count; l++)
        if (x->path[l]->has_atom) lin_mask_add(&varying, x->space->atoms[x->path[l]->atom].loop);
    for (uint32_t i = 0; i < x->access_count; i++) {
        if (view_scope(x, &x->accesses[i]) != PROG_GLOBAL) continue;
        view_set_region(x, &x->accesses[i], varying);
        unique += x->accesses[i].touched;
    }
    return slog(unique);
}

void feature_window(store_view *x, const nest_node *node, double unrolled_trips, float out[static FEATURE_WINDOW_COUNT],
                    float cycles[static FEATURE_WINDOW_CYCLES]) {
    float *rest = out + 2 * FEATURE_WINDOWS;
    const window_output rows = {.loads = out,
                                .registers = out + FEATURE_WINDOWS,
                                .cycles = cycles,
                                .unrolled_loads = rest + 3,
                                .unrolled_registers = rest + 4,
                                .unrolled_cycles = cycles + FEATURE_WINDOWS};
    memset(out, 0, FEATURE_WINDOW_COUNT * sizeof *out);
    memset(cycles, 0, FEATURE_WINDOW_CYCLES * sizeof *cycles);
    if (loads_memory(x)) find_windows(x, unrolled_trips, &rows);
    find_rounds(x->n, node, &rest[0], &rest[1]);
    rest[2] = count_unique(x);
}
