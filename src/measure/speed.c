/* speed.c - bandwidth by the size of the data, and peak rates of floating-point operations. */
#include "measure/speed.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "measure/measure.h"
#include "measure/monitor.h"

enum { SET_MIN = 16 * 1024, ALIGNMENT = 4096, TRIALS_MIN = 5, TRIALS_MAX = 10000 };

#define SET_MAX      ((size_t)256 * 1024 * 1024) /* of one thread: larger than most caches */
#define TRIAL_US     400.0                       /* short enough to run without being interrupted, now and then */
#define FLOPS_ROUNDS 20000

enum { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED };

typedef enum speed_test { TEST_READ, TEST_WRITE, TEST_COPY, TEST_FLOAT32, TEST_FLOAT64 } speed_test;

/* What all threads of a test share. */
typedef struct speed_job {
    const speed_kernels *kernels;
    speed_test test;
    size_t size; /* of the data of a thread */
    double budget_us;
    pthread_barrier_t barrier; /* of several threads */
    _Atomic int gate;          /* opened when all threads are there */
    uint32_t threads, trials;
    uint32_t repeats; /* of a trial */
} speed_job;

typedef struct speed_worker {
    pthread_t thread;
    speed_job *job;
    char *data;
    /* Results: */
    double best_us; /* of the fastest trial */
    double amount;  /* bytes or operations of a trial */
} speed_worker;

/* Bytes or operations of one repeat. */
static double run_once(const speed_job *job, char *data) {
    size_t half = job->size / 2;
    switch (job->test) {
    case TEST_READ:
        job->kernels->read(data, job->size);
        return (double)job->size;
    case TEST_WRITE:
        memset(data, (int)speed_sink & 1, job->size);
        return (double)job->size;
    case TEST_COPY:
        memcpy(data + half, data, half);
        return (double)(2 * half);
    case TEST_FLOAT32:
        return job->kernels->float32(FLOPS_ROUNDS);
    case TEST_FLOAT64:
        return job->kernels->float64(FLOPS_ROUNDS);
    }
    return 0;
}

/* All threads begin a trial together; the slowest of them is as fast as the machine. */
static void *work(void *user) {
    speed_worker *w = user;
    speed_job *job = w->job;
    w->best_us = INFINITY;
    while (job->gate == GATE_CLOSED) sched_yield();
    if (job->gate == GATE_ABANDONED) return NULL;
    for (uint32_t trial = 0; trial < job->trials; trial++) {
        if (job->threads > 1) pthread_barrier_wait(&job->barrier);
        double start = clock_us(CLOCK_MONOTONIC);
        w->amount = 0;
        for (uint32_t i = 0; i < job->repeats; i++) {
            w->amount += run_once(job, w->data);
            __asm__ volatile("" ::: "memory");
        }
        w->best_us = fmin(w->best_us, clock_us(CLOCK_MONOTONIC) - start);
    }
    return NULL;
}

/* So many repeats that a trial takes about TRIAL_US, and so many trials that they take the budget. */
static void choose_counts(speed_job *job, char *data) {
    double fastest = INFINITY;
    for (int i = 0; i < 3; i++) {
        double begin = clock_us(CLOCK_MONOTONIC);
        run_once(job, data);
        fastest = fmin(fastest, clock_us(CLOCK_MONOTONIC) - begin);
    }
    fastest = fmax(fastest, 0.01);
    double repeats = fmin(fmax(TRIAL_US / fastest, 1), 100000);
    job->repeats = (uint32_t)repeats;
    job->trials = (uint32_t)fmin(fmax(job->budget_us / (job->repeats * fastest), TRIALS_MIN), TRIALS_MAX);
}

/* Amount per second of all threads. */
static ft_status run_test(speed_job *job, speed_worker *workers, double *rate, ft_error *error) {
    uint32_t started = 1;
    job->gate = GATE_CLOSED;
    double amount = 0, slowest_us = 0;
    choose_counts(job, workers[0].data);
    if (job->threads > 1 && pthread_barrier_init(&job->barrier, NULL, job->threads) != 0) return FT_NOMEM(error);
    for (; started < job->threads; started++)
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
    /* Threads that wait at the barrier for one that could not be made would wait for ever. */
    job->gate = started < job->threads ? GATE_ABANDONED : GATE_OPEN;
    work(&workers[0]);
    for (uint32_t i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
    if (job->threads > 1) pthread_barrier_destroy(&job->barrier);
    if (started < job->threads) return ft_fail(error, FT_ERR_NOMEM, "cannot start %u threads", job->threads);
    for (uint32_t i = 0; i < job->threads; i++) {
        amount += workers[i].amount;
        slowest_us = fmax(slowest_us, workers[i].best_us);
    }
    *rate = amount / slowest_us * 1e6;
    return FT_OK;
}

static ft_status run_sizes(speed_job *job, speed_worker *workers, ft_machine_speed *speed, ft_error *error) {
    for (size_t size = SET_MIN; size <= SET_MAX; size *= 2) {
        ft_speed_point *point = &speed->points[speed->count++];
        point->bytes = size * job->threads;
        job->size = size;
        job->test = TEST_READ;
        FT_TRY(run_test(job, workers, &point->read_bytes_per_s, error));
        job->test = TEST_WRITE;
        FT_TRY(run_test(job, workers, &point->write_bytes_per_s, error));
        job->test = TEST_COPY;
        FT_TRY(run_test(job, workers, &point->copy_bytes_per_s, error));
    }
    job->test = TEST_FLOAT32;
    FT_TRY(run_test(job, workers, &speed->peak_float32_flops, error));
    job->test = TEST_FLOAT64;
    return run_test(job, workers, &speed->peak_float64_flops, error);
}

/* --- What the system reports ------------------------------------------------------------------------------------- */

/* "2048K" of a cache of the first core; NaN: not reported. */
static double cache_bytes(int level) {
    char folder[128];
    double bytes = NAN;
    for (int i = 0; i < 8; i++) {
        snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu0/cache/index%d", i);
        if (monitor_read_number(folder, "level") == level) bytes = monitor_read_number(folder, "size") * 1024;
    }
    return bytes;
}

static ft_status allocate(speed_job *job, speed_worker *workers, ft_error *error) {
    for (uint32_t i = 0; i < job->threads; i++) {
        workers[i].job = job;
        workers[i].data = aligned_alloc(ALIGNMENT, SET_MAX);
        if (workers[i].data == NULL)
            return ft_fail(error, FT_ERR_NOMEM, "out of memory: %u threads need 256 MiB each", job->threads);
        memset(workers[i].data, 1, SET_MAX);
    }
    return FT_OK;
}

ft_status ft_machine_speed_measure(uint32_t threads, double seconds, ft_machine_speed *speed, ft_error *error) {
    FT_REQUIRE(error, speed);
    if (threads == 0 || threads > machine_cores())
        return ft_fail(error, FT_ERR_USAGE, "%u threads cannot be measured: this process may use %u cores", threads,
                       machine_cores());
    if (!(seconds > 0 && seconds <= 3600))
        return ft_fail(error, FT_ERR_USAGE, "a budget of %g seconds is not above 0 and at most 3600", seconds);
    *speed = (ft_machine_speed){.threads = threads, .l2_bytes = cache_bytes(2), .cache_bytes = cache_bytes(3)};
    speed_job job = {.kernels = speed_kernels_of_machine(), .threads = threads};
    job.budget_us = seconds * 1e6 / (3 * FT_SPEED_POINTS + 2);
    speed->instructions = job.kernels->name;
    speed_worker *workers = calloc(threads, sizeof *workers);
    if (workers == NULL) return FT_NOMEM(error);
    ft_status status = allocate(&job, workers, error);
    if (status == FT_OK) status = run_sizes(&job, workers, speed, error);
    for (uint32_t i = 0; i < threads; i++) free(workers[i].data);
    free(workers);
    return status;
}
