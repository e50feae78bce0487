/* replay.c - speed of replaying, compared with a plain list scheduler.
 *
 *     replay KERNELS ROUNDS
 *
 * A synthetic flow of so many kernels on three engines of two lanes. The baseline searches all kernels at every step
 * for the ready one that can begin first. Both replay the same flow in the same process, alternately. Prints lines of
 * CSV: case,value,unit, medians of the rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "foretell/replay.h"
#include "replay/flow.h"

enum { ENGINES = 3, LANES = 2, MAX_ROUNDS = 10000 };

static _Noreturn void stop(const char *text) {
    fprintf(stderr, "replay: %s\n", text);
    exit(1);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static ft_flow *make_flow(uint32_t kernels) {
    static const char *const types[ENGINES] = {"a", "b", "c"};
    ft_flow *flow;
    rng r;
    rng_init(&r, 1, 0);
    if (flow_new("made", &flow, NULL) != FT_OK) stop("out of memory");
    for (uint32_t i = 0; i < kernels; i++) {
        uint32_t index;
        const ft_flow_kernel kernel = {
            .name = "kernel", .type = types[rng_below(&r, ENGINES)], .time_us = 1 + 99 * rng_uniform(&r)};
        if (flow_add(flow, &kernel, &(flow_kernel_info){0}, &index, NULL) != FT_OK) stop("out of memory");
        for (uint32_t j = 0; j < 2 && i > 0; j++)
            if (flow_add_dependency(flow, i - 1 - rng_below(&r, i < 20 ? i : 20), i, NULL) != FT_OK)
                stop("out of memory");
    }
    if (flow_finish(flow, NULL) != FT_OK) stop("out of memory");
    return flow;
}

/* --- The baseline -------------------------------------------------------------------------------------------- */

typedef struct plain {
    double *end; /* per kernel; below zero: not yet */
    double free[ENGINES][LANES];
} plain;

static double ready_at(const plain *p, const ft_flow_kernel *k) {
    double ready = 0;
    for (uint32_t i = 0; i < k->dependency_count; i++) {
        double end = p->end[k->dependencies[i]];
        if (end < 0) return -1;
        if (end > ready) ready = end;
    }
    return ready;
}

static double play_plainly(const ft_flow *flow, plain *p) {
    uint32_t count;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    double last = 0;
    memset(p->free, 0, sizeof p->free);
    for (uint32_t i = 0; i < count; i++) p->end[i] = -1;
    for (uint32_t done = 0; done < count; done++) {
        uint32_t best = count, best_lane = 0;
        double best_start = 0;
        for (uint32_t i = 0; i < count; i++) {
            double ready = p->end[i] < 0 ? ready_at(p, &kernels[i]) : -1;
            if (ready < 0) continue;
            const double *lanes = p->free[kernels[i].type[0] - 'a'];
            uint32_t lane = lanes[1] < lanes[0];
            double start = ready > lanes[lane] ? ready : lanes[lane];
            if (best < count && start >= best_start) continue;
            best = i;
            best_lane = lane;
            best_start = start;
        }
        p->end[best] = p->free[kernels[best].type[0] - 'a'][best_lane] = best_start + kernels[best].time_us;
        if (p->end[best] > last) last = p->end[best];
    }
    return last;
}

/* --- Rounds -------------------------------------------------------------------------------------------------- */

static double play(const ft_flow *flow) {
    ft_replay_options options = ft_replay_options_default();
    ft_replay replay;
    ft_error error;
    options.engines = "x:2:a;y:2:b;z:2:c";
    if (ft_replay_run(flow, &options, &replay, &error) != FT_OK) stop(error.message);
    double length = replay.iteration_us;
    ft_replay_free(&replay);
    return length;
}

int main(int argc, char **argv) {
    long kernels = argc == 3 ? strtol(argv[1], NULL, 10) : 0, rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (kernels < 1 || kernels > 100000 || rounds < 1 || rounds > MAX_ROUNDS) stop("usage: replay KERNELS ROUNDS");
    ft_flow *flow = make_flow((uint32_t)kernels);
    plain p = {.end = calloc((size_t)kernels, sizeof *p.end)};
    double *ours = calloc((size_t)rounds, sizeof *ours), *theirs = calloc((size_t)rounds, sizeof *theirs);
    if (p.end == NULL || ours == NULL || theirs == NULL) stop("out of memory");
    double length = 0, plain_length = 0;
    for (long i = 0; i < rounds; i++) {
        double begun = now_us();
        length = play(flow);
        double between = now_us();
        plain_length = play_plainly(flow, &p);
        ours[i] = between - begun;
        theirs[i] = now_us() - between;
    }
    qsort(ours, (size_t)rounds, sizeof *ours, ascending);
    qsort(theirs, (size_t)rounds, sizeof *theirs, ascending);
    double ratio = theirs[rounds / 2] / ours[rounds / 2];
    printf("foretell %ld kernels,%.1f,us\n", kernels, ours[rounds / 2]);
    printf("plain %ld kernels,%.1f,us\n", kernels, theirs[rounds / 2]);
    printf("ratio %ld kernels,%.1f,times\n", kernels, ratio);
    printf("timelines %ld kernels,%.4f,of the plain one\n", kernels, length / plain_length);
    free(p.end);
    free(ours);
    free(theirs);
    ft_flow_free(flow);
    return 0;
}
