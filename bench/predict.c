/* predict.c - speed of predicting.
 *
 *     predict one ROUNDS FILE DEVICE    a graph that is read already: microseconds of one answer for one device
 *     predict many ROUNDS FILE          answers a second over nine batch sizes and all devices of the box
 *     predict open ROUNDS               the box with all its predictors: microseconds to open it, and the memory it
 * takes predict process ROUNDS COMMAND... a whole process from its start to its end: milliseconds and resident memory
 *
 * Prints lines of CSV: case,value,unit, the median of the rounds. bench/run collects them. */
#include <fcntl.h>
#include <foretell/foretell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 9, MOST_ROUNDS = 100000 };

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

/* --- The library --------------------------------------------------------------------------------------------- */

typedef struct bench {
    ft_box *box;
    ft_graph *model;
} bench;

static bench open_bench(const char *path) {
    bench b;
    ft_error error;
    if (ft_box_open(NULL, 0, &b.box, &error) != FT_OK || ft_graph_read(path, &b.model, &error) != FT_OK)
        fail(error.message);
    return b;
}

static double ask(const bench *b, const ft_request *requests, uint32_t count) {
    ft_forecasts answers;
    ft_error error;
    double started = now_us();
    if (ft_forecast_make(b->box, b->model, NULL, requests, count, &answers, &error) != FT_OK) fail(error.message);
    ft_forecasts_free(&answers);
    return now_us() - started;
}

static void time_one(long rounds, const char *path, const char *device, double *us) {
    bench b = open_bench(path);
    const ft_request request = {.device = device, .batch = 1};
    ask(&b, &request, 1);
    for (long i = 0; i < rounds; i++) us[i] = ask(&b, &request, 1);
    printf("%s,%.1f,us\n", device, median(us, rounds));
    ft_graph_free(b.model);
    ft_box_free(b.box);
}

static void time_many(long rounds, const char *path, double *us) {
    bench b = open_bench(path);
    uint32_t devices = ft_box_device_count(b.box), count = 0;
    ft_request *requests = calloc((size_t)devices * BATCHES + 1, sizeof *requests);
    if (requests == NULL) fail("out of memory");
    for (uint32_t i = 0; i < BATCHES; i++)
        for (uint32_t d = 0; d < devices; d++)
            requests[count++] = (ft_request){.device = ft_box_device(b.box, d), .batch = INT64_C(1) << i};
    ask(&b, requests, count);
    for (long i = 0; i < rounds; i++) us[i] = ask(&b, requests, count);
    printf("answers,%u,\n", count);
    printf("answers a second,%.0f,1/s\n", count / median(us, rounds) * 1e6);
    free(requests);
    ft_graph_free(b.model);
    ft_box_free(b.box);
}

/* Memory that is this process's own: what is mapped from files is not in it. */
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

static void time_open(long rounds, double *us) {
    double before = own_kb();
    for (long i = 0; i < rounds; i++) {
        ft_box *box;
        ft_error error;
        double started = now_us();
        if (ft_box_open(NULL, 0, &box, &error) != FT_OK) fail(error.message);
        us[i] = now_us() - started;
        if (i == 0) printf("box memory,%.0f,kB\n", own_kb() - before);
        ft_box_free(box);
    }
    printf("box open,%.1f,us\n", median(us, rounds));
}

/* --- Whole processes ----------------------------------------------------------------------------------------- */

static double run(char **command, double *peak_mb) {
    double started = now_us();
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) _exit(126);
        execv(command[0], command);
        _exit(127);
    }
    struct rusage used;
    int status;
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) fail("the command failed");
    *peak_mb = (double)used.ru_maxrss * 1024 / 1e6;
    return now_us() - started;
}

static void time_process(long rounds, char **command, double *us) {
    double peak_mb = 0;
    run(command, &peak_mb); /* into the page cache */
    for (long i = 0; i < rounds; i++) us[i] = run(command, &peak_mb);
    printf("process,%.2f,ms\n", median(us, rounds) / 1e3);
    printf("memory,%.1f,MB\n", peak_mb);
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fputs("usage: predict one ROUNDS FILE DEVICE | many ROUNDS FILE | open ROUNDS | process ROUNDS COMMAND...\n",
              stderr);
        return 2;
    }
    double *us = calloc((size_t)rounds, sizeof *us);
    if (us == NULL) fail("out of memory");
    if (strcmp(argv[1], "one") == 0 && argc == 5)
        time_one(rounds, argv[3], argv[4], us);
    else if (strcmp(argv[1], "many") == 0 && argc == 4)
        time_many(rounds, argv[3], us);
    else if (strcmp(argv[1], "open") == 0 && argc == 3)
        time_open(rounds, us);
    else if (strcmp(argv[1], "process") == 0 && argc > 3)
        time_process(rounds, argv + 3, us);
    else
        fail("what is to be timed?");
    free(us);
    return 0;
}
