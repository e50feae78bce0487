/* machine.c - how many cores there are, and how many are free. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "measure/measure.h"

enum { SPIN_ROUND = 4096 };

double clock_us(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

uint32_t machine_cores(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (uint32_t)count : 1;
}

typedef struct spinner {
    pthread_t thread;
    double end_us; /* on the clock CLOCK_MONOTONIC */
    double cpu_us; /* result */
} spinner;

static void *spin(void *user) {
    spinner *s = user;
    volatile uint32_t count = 0;
    double begin = clock_us(CLOCK_THREAD_CPUTIME_ID);
    while (clock_us(CLOCK_MONOTONIC) < s->end_us)
        for (uint32_t i = 0; i < SPIN_ROUND; i++) count = count + 1;
    s->cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - begin;
    return NULL;
}

/* Threads spin until the same moment; how long they ran is what other processes left. */
static double spin_all(spinner *spinners, uint32_t cores, double seconds) {
    double begin = clock_us(CLOCK_MONOTONIC), cpu_us = 0;
    uint32_t started = 0;
    for (; started < cores; started++) {
        spinners[started].end_us = begin + seconds * 1e6;
        if (pthread_create(&spinners[started].thread, NULL, spin, &spinners[started]) != 0) break;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(spinners[i].thread, NULL);
        cpu_us += spinners[i].cpu_us;
    }
    double free = cpu_us / (clock_us(CLOCK_MONOTONIC) - begin);
    return free < cores ? free : cores;
}

ft_status ft_machine_probe(double seconds, ft_machine *machine, ft_error *error) {
    FT_REQUIRE(error, machine);
    if (!(seconds >= 0 && seconds <= 60))
        return ft_fail(error, FT_ERR_USAGE, "%g seconds are not between 0 and 60", seconds);
    uint32_t cores = machine_cores();
    spinner *spinners = calloc(cores, sizeof *spinners);
    if (spinners == NULL) return FT_NOMEM(error);
    machine->cores = cores;
    machine->free_cores = spin_all(spinners, cores, seconds > 0 ? seconds : 0.2);
    free(spinners);
    return FT_OK;
}
