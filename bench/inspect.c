/* inspect.c - times what `foretell inspect` does before it prints: read, bind (shapes), cost.
 *
 *     inspect repeat COUNT FILE      the same file COUNT times, after one run that warms caches up
 *     inspect each ROUNDS FILE...    many files, each of them ROUNDS times: the best time of a file counts
 *     inspect set FOLDER...          every graph of data sets, read only; `set-cost` also binds and costs them
 *
 * Prints one line of CSV: n,failed,mean_ms,median_ms,p90_ms,max_ms,total_s,peak_rss_mb,cpu_ms. Times are wall-clock
 * times except the last, the mean processor time of one item, which other load does not stretch. The peak is that of
 * this process alone. bench/run calls it, one process per
 * measurement, and makes the tables. */
#include <foretell/foretell.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct times {
    double *ms;
    size_t count, capacity;
    size_t failed;
} times;

static double clock_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double now_ms(void) {
    return clock_ms(CLOCK_MONOTONIC);
}

static void times_add(times *t, double ms) {
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 1024;
        t->ms = realloc(t->ms, t->capacity * sizeof *t->ms);
        if (!t->ms) abort();
    }
    t->ms[t->count++] = ms;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static ft_status cost_of(const ft_graph *model, ft_error *error) {
    ft_graph *bound = NULL;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_status status = ft_graph_bind(model, NULL, &bound, error);
    if (!status) status = ft_cost_compute(bound, &options, &cost, error);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    return status;
}

static void time_file(const char *path, times *t) {
    ft_error error = {0};
    ft_graph *model = NULL;
    double started = now_ms();
    ft_status status = ft_graph_read(path, &model, &error);
    if (!status) status = cost_of(model, &error);
    ft_graph_free(model);
    times_add(t, now_ms() - started);
    if (status) {
        t->failed++;
        fprintf(stderr, "%s\n", error.message);
    }
}

/* One time for one file: the best of some rounds, which other load disturbs least. */
static void time_best(const char *path, long rounds, times *t) {
    times tries = {0};
    for (long i = 0; i < rounds; i++) time_file(path, &tries);
    if (tries.count == 0) return;
    qsort(tries.ms, tries.count, sizeof *tries.ms, ascending);
    times_add(t, tries.ms[0]);
    t->failed += tries.failed > 0;
    free(tries.ms);
}

static void time_set(const char *path, bool has_cost, times *t) {
    ft_error error = {0};
    ft_source *source = NULL;
    double started = now_ms();
    if (ft_source_open(path, &source, &error)) {
        t->failed++;
        fprintf(stderr, "%s\n", error.message);
        return;
    }
    for (;;) {
        ft_graph *model = NULL;
        ft_status status = ft_source_next(source, &model, &error);
        if (!status && !model) break;
        if (!status && has_cost) status = cost_of(model, &error);
        ft_graph_free(model);
        double ended = now_ms();
        times_add(t, ended - started);
        started = ended; /* the time of the first graph of a set includes opening its tables */
        if (status) {
            t->failed++;
            fprintf(stderr, "%s\n", error.message);
        }
    }
    ft_source_close(source);
}

/* The peak memory of this process. getrusage would also count the shell that it was forked from. */
static double peak_rss_mb(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;
    while (status && fgets(line, sizeof line, status)) {
        if (!strncmp(line, "VmHWM:", 6)) kib = strtod(line + 6, NULL);
    }
    if (status) fclose(status);
    return kib * 1024 / 1e6;
}

static int print_times(times *t, double cpu_ms) {
    if (t->count == 0) return 1;
    double total = 0;
    for (size_t i = 0; i < t->count; i++) total += t->ms[i];
    qsort(t->ms, t->count, sizeof *t->ms, ascending);
    printf("%zu,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%.1f,%.3f\n", t->count, t->failed, total / (double)t->count,
           t->ms[t->count / 2], t->ms[t->count * 9 / 10], t->ms[t->count - 1], total / 1e3, peak_rss_mb(),
           cpu_ms / (double)t->count);
    free(t->ms);
    return t->failed ? 1 : 0;
}

int main(int argc, char **argv) {
    times t = {0};
    long rounds = 1;
    double started_cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    if (argc == 4 && !strcmp(argv[1], "repeat")) {
        times warm_up = {0};
        time_file(argv[3], &warm_up);
        free(warm_up.ms);
        started_cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        for (long i = strtol(argv[2], NULL, 10); i > 0; i--) time_file(argv[3], &t);
    } else if (argc > 3 && !strcmp(argv[1], "each")) {
        rounds = strtol(argv[2], NULL, 10);
        for (int i = 3; i < argc; i++) time_best(argv[i], rounds, &t);
    } else if (argc > 2 && !strncmp(argv[1], "set", 3)) {
        for (int i = 2; i < argc; i++) time_set(argv[i], !strcmp(argv[1], "set-cost"), &t);
    } else {
        fputs("usage: inspect repeat COUNT FILE | each ROUNDS FILE... | set FOLDER... | set-cost FOLDER...\n", stderr);
        return 2;
    }
    return print_times(&t, (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - started_cpu_ms) / (double)rounds);
}
