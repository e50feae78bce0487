/* serving.c - speed of predicting the memory of language models that are served.
 *
 *     serving ROUNDS FILE...     per file: microseconds to read it, to predict one request on eight GPUs, and to find
 *                                the sequences and the context that fit
 *
 * Prints lines of CSV: file,read_us,predict_us,fits_us. A value is the smallest of five medians of so many rounds, a
 * tenth of a second apart, to exclude other load of a shared machine. bench/llm_serving_memory --speed collects them.
 */
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 10000, TURNS = 5, STEPS = 3 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void check(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "serving: %s\n", error->message);
    exit(1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(const ft_predictor_set *set, const char *path, double us[STEPS]) {
    const ft_request request = {
        .device = "h200", .batch = 16, .parallel = {.tensor = 8}, .serving = {.context_tokens = 8192}};
    ft_error error;
    ft_graph *model;
    ft_results results;
    ft_capacity capacity;
    bool is_served;
    double start = now_us();
    check(ft_graph_read(path, &model, &error), &error);
    double read = now_us();
    check(ft_predict(set, model, NULL, &request, 1, &results, &error), &error);
    double predicted = now_us();
    ft_results_free(&results);
    double begin = now_us();
    check(ft_serving_capacity(set, model, NULL, &request, 141e9, &capacity, &is_served, &error), &error);
    us[0] = read - start;
    us[1] = predicted - read;
    us[2] = now_us() - begin;
    ft_graph_free(model);
}

static void measure(const ft_predictor_set *set, const char *path, long rounds, double *values) {
    const struct timespec pause = {.tv_nsec = 100000000};
    double least[STEPS] = {INFINITY, INFINITY, INFINITY}, us[STEPS];
    run(set, path, us); /* warms the caches */
    for (int turn = 0; turn < TURNS; turn++) {
        nanosleep(&pause, NULL);
        for (long i = 0; i < rounds; i++) {
            run(set, path, us);
            for (int k = 0; k < STEPS; k++) values[k * rounds + i] = us[k];
        }
        for (int k = 0; k < STEPS; k++) {
            qsort(values + k * rounds, (size_t)rounds, sizeof *values, ascending);
            least[k] = fmin(least[k], values[k * rounds + rounds / 2]);
        }
    }
    const char *name = strrchr(path, '/');
    printf("%s,%.0f,%.0f,%.0f\n", name != NULL ? name + 1 : path, least[0], least[1], least[2]);
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    ft_error error;
    ft_predictor_set *set;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: serving ROUNDS FILE...\n");
        return 2;
    }
    double *values = calloc((size_t)rounds * STEPS, sizeof *values);
    if (values == NULL) return 1;
    check(ft_predictor_set_open(NULL, 0, &set, &error), &error);
    for (int i = 2; i < argc; i++) measure(set, argv[i], rounds, values);
    ft_predictor_set_free(set);
    free(values);
    return 0;
}
