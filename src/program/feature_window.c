/* feature_window.c - see feature_window.h. */
#include "program/feature_window.h"

#include <math.h>
#include <string.h>

/* --- Virtual threads ----------------------------------------------------------------------------------------- */

/* At how many places an access is while a loop runs. Ranges would not do: virtual threads are far apart. */
static double count_places(const store_view *x, const access *a, const nest_node *loop) {
    uint32_t number = x->space->atoms[loop->atom].loop, turns = (uint32_t)loop->extent, count = 0;
    int64_t at[LIN_MAX_TURNS], values[LIN_MAX_TURNS];
    uint64_t places[LIN_MAX_TURNS] = {0};
    lin_turns running = {.count = turns};
    for (uint32_t i = 0; i < turns; i++) at[i] = i;
    lin_mask_add(&running.running, number);
    running.of[number] = at;
    for (uint32_t d = 0; d < a->dims; d++) {
        lin_values(x->space, a->sets[0][d], &running, values);
        for (uint32_t i = 0; i < turns; i++) places[i] = places[i] * (uint64_t)a->shape[d] + (uint64_t)values[i];
    }
    for (uint32_t i = 0; i < turns; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++) is_new = places[k] != places[i];
        count += is_new;
    }
    return count;
}

static double count_virtual(const store_view *x, const access *a) {
    double places = 1;
    for (uint32_t l = 0; l < x->path_count; l++) {
        const nest_node *loop = x->path[l];
        if (!view_is_virtual(loop) || !loop->has_atom || !lin_mask_has(a->loops, x->space->atoms[loop->atom].loop))
            continue;
        places *= loop->extent > LIN_MAX_TURNS ? (double)loop->extent : count_places(x, a, loop);
    }
    return places;
}

/* --- Windows ------------------------------------------------------------------------------------------------- */

/* What some turns of a thread touch. */
typedef struct window {
    double turns, loads, registers;
    double cycles; /* of shared memory, for the loads of a warp */
} window;

/* All accesses, at the loops that run. */
typedef struct walk {
    lin_mask running;
    double turns, serial; /* serial: without those of virtual threads */
    double places[MAX_ACCESSES], touched[MAX_ACCESSES];
    double turns_of[MAX_ACCESSES][PROG_MAX_DIMS]; /* of the loops that move a dimension */
} walk;

/* No more elements than there are turns: every other one of a row is not the whole row. */
static void touch_one(store_view *x, walk *w, uint32_t i) {
    access *a = &x->accesses[i];
    view_touch_region(x, a, w->running);
    w->touched[i] = 1;
    for (uint32_t d = 0; d < a->dims; d++)
        w->touched[i] *= fmin((double)a->region[d], w->turns_of[i][d] * a->set_count);
}

static window sum_window(const store_view *x, const walk *w) {
    window sum = {.turns = w->turns};
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        double touched = w->places[i] * fmin(w->touched[i], w->serial * a->set_count);
        if (view_scope(x, a) == PROG_LOCAL)
            sum.registers += touched;
        else if (a->is_read)
            sum.loads += touched;
        if (a->is_read) sum.cycles += touched * a->cycles;
    }
    return sum;
}

static void begin_walk(store_view *x, walk *w) {
    w->running = (lin_mask){{0, 0}};
    w->turns = w->serial = 1;
    for (uint32_t l = 0; l < x->path_count; l++)
        if (view_is_virtual(x->path[l])) w->turns *= (double)x->path[l]->extent;
    for (uint32_t i = 0; i < x->access_count; i++) {
        w->places[i] = count_virtual(x, &x->accesses[i]);
        for (uint32_t d = 0; d < x->accesses[i].dims; d++) w->turns_of[i][d] = 1;
        touch_one(x, w, i);
    }
}

static void add_loop(store_view *x, walk *w, const nest_node *loop) {
    w->turns *= (double)loop->extent;
    w->serial *= (double)loop->extent;
    if (!loop->has_atom) return;
    uint32_t number = x->space->atoms[loop->atom].loop;
    lin_mask_add(&w->running, number);
    for (uint32_t i = 0; i < x->access_count; i++) {
        const access *a = &x->accesses[i];
        if (!lin_mask_has(a->loops, number)) continue;
        for (uint32_t d = 0; d < a->dims; d++)
            if (lin_mask_has(a->dim_loops[d], number)) w->turns_of[i][d] *= (double)loop->extent;
        touch_one(x, w, i);
    }
}

static int window_size(uint32_t number) {
    return 2 * (int)(number + 1); /* log2 of turns */
}

static double between(double a, double b, double share) {
    return a > 0 && b > 0 ? log2(a) + (log2(b) - log2(a)) * share : 0;
}

/* Where windows are told, each at the place of its size; behind them the turns that are written out. */
typedef struct window_rows {
    float *loads, *registers, *cycles, *written_loads, *written_registers, *written_cycles;
} window_rows;

/* Fills the sizes that lie between two windows; returns the first that does not. */
static uint32_t fill(window inner, window outer, uint32_t next, const window_rows *out) {
    while (next < FEATURE_WINDOWS && outer.turns > inner.turns && ldexp(1, window_size(next)) <= outer.turns) {
        double size = window_size(next),
               share = fmax(0, (size - log2(inner.turns)) / (log2(outer.turns) - log2(inner.turns)));
        out->loads[next] = (float)(between(inner.loads, outer.loads, share) - (outer.loads > 0 ? size : 0));
        out->registers[next] = (float)between(inner.registers, outer.registers, share);
        out->cycles[next] = (float)(between(inner.cycles, outer.cycles, share) - (outer.cycles > 0 ? size : 0));
        next++;
    }
    return next;
}

/* What has all that it reads in registers has no window. */
static bool loads_memory(const store_view *x) {
    for (uint32_t i = 0; i < x->access_count; i++)
        if (x->accesses[i].is_read && view_scope(x, &x->accesses[i]) != PROG_LOCAL) return true;
    return false;
}

/* Loads per turn, registers, and cycles per turn. */
static void tell_window(const window *w, float *loads, float *registers, float *cycles) {
    *loads = (float)(w->loads > 0 ? log2(w->loads) - log2(w->turns) : 0);
    *registers = (float)(w->registers > 0 ? log2(w->registers) : 0);
    *cycles = (float)(w->cycles > 0 ? log2(w->cycles) - log2(w->turns) : 0);
}

static void tell_written(const window *w, const window_rows *out) {
    tell_window(w, out->written_loads, out->written_registers, out->written_cycles);
}

/* From the virtual threads to the loops, innermost first; sizes beyond all loops are told as the largest. */
static void find_windows(store_view *x, double written_turns, const window_rows *out) {
    walk at;
    begin_walk(x, &at);
    window w = sum_window(x, &at);
    uint32_t next = fill((window){1, w.loads / w.turns, 1, w.cycles / w.turns}, w, 0, out);
    tell_written(&w, out);
    for (uint32_t l = 0; l < x->path_count && (next < FEATURE_WINDOWS || at.turns < written_turns); l++) {
        if (x->path[l]->kind != NEST_LOOP) continue;
        add_loop(x, &at, x->path[l]);
        window wider = sum_window(x, &at);
        next = fill(w, wider, next, out);
        w = wider;
        if (w.turns <= written_turns) tell_written(&w, out);
    }
    for (; next < FEATURE_WINDOWS; next++)
        tell_window(&w, &out->loads[next], &out->registers[next], &out->cycles[next]);
}

/* --- Rounds -------------------------------------------------------------------------------------------------- */

/* Loops outside of a shared buffer and inside of it. */
static void find_rounds(const nest *n, const nest_node *node, float *rounds, float *turns) {
    double outside = 1, inside = 1;
    bool is_outside = false;
    for (uint16_t at = node->parent; at != NEST_NONE; at = n->nodes[at].parent) {
        const nest_node *above = &n->nodes[at];
        if (above->kind == NEST_REALIZE && n->p->stages[above->stage].scope == PROG_SHARED) is_outside = true;
        if (above->kind == NEST_LOOP) *(is_outside ? &outside : &inside) *= (double)above->extent;
    }
    *rounds = slog(outside);
    *turns = slog(inside);
}

static float count_unique(store_view *x) {
    lin_mask running = {{0, 0}};
    double unique = 0;
    for (uint32_t l = 0; l < x->path_count; l++)
        if (x->path[l]->has_atom) lin_mask_add(&running, x->space->atoms[x->path[l]->atom].loop);
    for (uint32_t i = 0; i < x->access_count; i++) {
        if (view_scope(x, &x->accesses[i]) != PROG_GLOBAL) continue;
        view_touch_region(x, &x->accesses[i], running);
        unique += x->accesses[i].touched;
    }
    return slog(unique);
}

void feature_window(store_view *x, const nest_node *node, double written_turns, float out[static FEATURE_WINDOW_COUNT],
                    float cycles[static FEATURE_WINDOW_CYCLES]) {
    float *rest = out + 2 * FEATURE_WINDOWS;
    const window_rows rows = {.loads = out,
                              .registers = out + FEATURE_WINDOWS,
                              .cycles = cycles,
                              .written_loads = rest + 3,
                              .written_registers = rest + 4,
                              .written_cycles = cycles + FEATURE_WINDOWS};
    memset(out, 0, FEATURE_WINDOW_COUNT * sizeof *out);
    memset(cycles, 0, FEATURE_WINDOW_CYCLES * sizeof *cycles);
    if (loads_memory(x)) find_windows(x, written_turns, &rows);
    find_rounds(x->n, node, &rest[0], &rest[1]);
    rest[2] = count_unique(x);
}
