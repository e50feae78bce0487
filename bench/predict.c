/* predict.c - speed of predicting.
 *
 *     predict one ROUNDS FILE DEVICE      a graph that is read already: microseconds of one prediction for one device
 *     predict many ROUNDS FILE            results a second over nine batch sizes and all devices of the bundled
 * predictors
 *     predict open ROUNDS                 all bundled predictors: microseconds to open them, and their memory
 *     predict process ROUNDS COMMAND...   a whole process, start to end: milliseconds and resident memory
 *     predict usage 1 COMMAND...          a whole process: seconds of processor time and resident memory
 *
 * Prints lines of CSV: case,value,unit. A value is the smallest of five medians of so many rounds, a tenth of a
 * second apart, to exclude other load of a shared machine. bench/run collects them. */
#include <fcntl.h>
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 9, MAX_ROUNDS = 100000, TURNS = 5 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static _Noreturn void fail(const char *text) {
    fprintf(stderr, "predict: %s\n", text);
    exit(1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, long count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* Runs once; returns microseconds. */
typedef double timed(void *user);

static double quiet_us(timed *once, void *user, long rounds) {
    const struct timespec pause = {.tv_nsec = 100000000};
    double *us = calloc((size_t)rounds, sizeof *us), least = INFINITY;
    if (us == NULL) fail("out of memory");
    once(user); /* warms the caches */
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn > 0) nanosleep(&pause, NULL);
        for (long i = 0; i < rounds; i++) us[i] = once(user);
        least = fmin(least, median(us, rounds));
    }
    free(us);
    return least;
}

/* --- The library --------------------------------------------------------------------------------------------- */

/* The requests that are repeated. */
typedef struct bench {
    ft_predictor_set *set;
    ft_graph *model;
    ft_request *requests;
    uint32_t count;
} bench;

static bench open_bench(const char *path) {
    bench b = {0};
    ft_error error;
    if (ft_predictor_set_open(NULL, 0, &b.set, &error) != FT_OK || ft_graph_read(path, &b.model, &error) != FT_OK)
        fail(error.message);
    b.requests = calloc((size_t)ft_predictor_set_device_count(b.set) * BATCHES + 1, sizeof *b.requests);
    if (b.requests == NULL) fail("out of memory");
    return b;
}

static void close_bench(bench *b) {
    free(b->requests);
    ft_graph_free(b->model);
    ft_predictor_set_free(b->set);
}

static double predict(void *user) {
    const bench *b = user;
    ft_results results;
    ft_error error;
    double started = now_us();
    if (ft_predict(b->set, b->model, NULL, b->requests, b->count, &results, &error) != FT_OK) fail(error.message);
    ft_results_free(&results);
    return now_us() - started;
}

static void time_one(long rounds, const char *path, const char *device) {
    bench b = open_bench(path);
    b.requests[b.count++] = (ft_request){.device = device, .batch = 1};
    printf("%s,%.1f,us\n", device, quiet_us(predict, &b, rounds));
    close_bench(&b);
}

static void time_many(long rounds, const char *path) {
    bench b = open_bench(path);
    for (uint32_t i = 0; i < BATCHES; i++)
        for (uint32_t d = 0; d < ft_predictor_set_device_count(b.set); d++)
            b.requests[b.count++] = (ft_request){.device = ft_predictor_set_device(b.set, d), .batch = INT64_C(1) << i};
    printf("predictions,%u,\n", b.count);
    printf("predictions a second,%.0f,1/s\n", b.count / quiet_us(predict, &b, rounds) * 1e6);
    close_bench(&b);
}

/* Private memory of this process, without mapped files. */
static double own_kb(void) {
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    static const char key[] = "Private_Dirty:";
    char line[256];
    double sum = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, sizeof key - 1) == 0) sum += strtod(line + sizeof key - 1, NULL);
    if (f != NULL) fclose(f);
    return sum;
}

static double open_once(void *user) {
    ft_predictor_set *set;
    ft_error error;
    double *kb = user, before = *kb == 0 ? own_kb() : 0, started = now_us();
    if (ft_predictor_set_open(NULL, 0, &set, &error) != FT_OK) fail(error.message);
    double us = now_us() - started;
    if (*kb == 0) *kb = own_kb() - before;
    ft_predictor_set_free(set);
    return us;
}

static void time_open(long rounds) {
    double kb = 0, us = quiet_us(open_once, &kb, rounds);
    printf("predictors memory,%.0f,kB\npredictors open,%.1f,us\n", kb, us);
}

/* --- Whole processes ----------------------------------------------------------------------------------------- */

typedef struct process {
    char **command;
    double peak_mb, cpu_s;
} process;

static double run(void *user) {
    process *p = user;
    double started = now_us();
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) _exit(126);
        execv(p->command[0], p->command);
        _exit(127);
    }
    struct rusage used;
    int status;
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) fail("the command failed");
    p->peak_mb = (double)used.ru_maxrss * 1024 / 1e6;
    p->cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    return now_us() - started;
}

static void time_process(long rounds, char **command) {
    process p = {.command = command};
    printf("process,%.2f,ms\n", quiet_us(run, &p, rounds) / 1e3);
    printf("memory,%.1f,MB\n", p.peak_mb);
}

/* Processor time in seconds and memory in MB of one run: other work of the machine does not count. */
static void print_usage(char **command) {
    process p = {.command = command};
    run(&p);
    printf("%.3f,%.1f\n", p.cpu_s, p.peak_mb);
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fputs("usage: predict one ROUNDS FILE DEVICE | many ROUNDS FILE | open ROUNDS | process ROUNDS COMMAND... |\n  "
              "             usage 1 COMMAND...\n",
              stderr);
        return 2;
    }
    if (strcmp(argv[1], "one") == 0 && argc == 5)
        time_one(rounds, argv[3], argv[4]);
    else if (strcmp(argv[1], "many") == 0 && argc == 4)
        time_many(rounds, argv[3]);
    else if (strcmp(argv[1], "open") == 0 && argc == 3)
        time_open(rounds);
    else if (strcmp(argv[1], "process") == 0 && argc > 3)
        time_process(rounds, argv + 3);
    else if (strcmp(argv[1], "usage") == 0 && argc > 3)
        print_usage(argv + 3);
    else
        fail("what is to be timed?");
    return 0;
}
