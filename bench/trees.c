/* trees.c - speed of forests, compared with libxgboost, and of boosting.
 *
 *     trees predict TREES DEPTH               rows through a forest and through libxgboost, one by one and in a batch
 *     trees train ROWS ROUNDS DEPTH THREADS   seconds a round with a custom objective, 20 features
 *
 * Prints lines of CSV: case,value,unit. bench/run collects them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/rng.h"
#include "nn/tree/boost.h"
#include "nn/tree/boost_internal.h"

enum { FEATURES = 20, PREDICT_ROWS = 20000, SINGLE_ROWS = 2000, PARTS = 50, REPEATS = 7 };

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void fail(const char *text) {
    fprintf(stderr, "trees: %s\n", text);
    exit(1);
}

static void *take(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL) fail("out of memory");
    return memory;
}

/* Kernels have few distinct sizes: most features here have few values. */
static float *make_rows(size_t count) {
    float *rows = take(count * FEATURES * sizeof *rows);
    rng r;
    rng_init(&r, 1, 0);
    for (size_t i = 0; i < count * FEATURES; i++) {
        float x = (float)rng_normal(&r);
        rows[i] = i % FEATURES < 5 ? x : roundf(x * 8) / 8;
    }
    return rows;
}

static float truth(const float *row) {
    return sinf(row[0]) + row[1] * row[2] * 0.5F + (row[7] > 0 ? row[8] : row[9]) * 0.3F;
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* A model of libxgboost with as many trees, for its own prediction. */
static void time_xgboost(const boost_library *l, const float *rows, const float *labels, uint32_t trees,
                         uint32_t depth) {
    DMatrixHandle matrix, single;
    BoosterHandle booster;
    bst_ulong length;
    const float *out;
    char text[16];
    float *gradients = take(PREDICT_ROWS * sizeof *gradients), *ones = take(PREDICT_ROWS * sizeof *ones);
    l->matrix_new(rows, PREDICT_ROWS, FEATURES, NAN, &matrix, 1);
    l->booster_new(&matrix, 1, &booster);
    l->booster_set(booster, "tree_method", "hist");
    l->booster_set(booster, "nthread", "1");
    snprintf(text, sizeof text, "%u", depth);
    l->booster_set(booster, "max_depth", text);
    for (uint32_t t = 0; t < trees; t++) {
        if (l->predict(booster, matrix, 1, 0, 0, &length, &out) != 0) fail(l->last_error());
        for (size_t i = 0; i < PREDICT_ROWS; i++) {
            gradients[i] = out[i] - labels[i];
            ones[i] = 1;
        }
        if (l->boost(booster, matrix, gradients, ones, PREDICT_ROWS) != 0) fail(l->last_error());
    }
    double batch = INFINITY, alone = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        DMatrixHandle fresh; /* without a cached prediction */
        l->matrix_new(rows, PREDICT_ROWS, FEATURES, NAN, &fresh, 1);
        double started = now_seconds();
        l->predict(booster, fresh, 1, 0, 0, &length, &out);
        batch = fmin(batch, now_seconds() - started);
        l->matrix_free(fresh);
        started = now_seconds();
        for (size_t i = 0; i < SINGLE_ROWS; i++) {
            l->matrix_new(rows + i * FEATURES, 1, FEATURES, NAN, &single, 1);
            l->predict(booster, single, 1, 0, 0, &length, &out);
            l->matrix_free(single);
        }
        alone = fmin(alone, now_seconds() - started);
    }
    printf("xgboost batch,%.4f,us a row\n", batch * 1e6 / PREDICT_ROWS);
    printf("xgboost single,%.4f,us a row\n", alone * 1e6 / SINGLE_ROWS);
    l->matrix_free(matrix);
    l->booster_free(booster);
    free(gradients);
    free(ones);
}

static void bench_predict(uint32_t trees, uint32_t depth) {
    float *rows = make_rows(PREDICT_ROWS), *labels = take(PREDICT_ROWS * sizeof *labels);
    for (size_t i = 0; i < PREDICT_ROWS; i++) labels[i] = truth(rows + i * FEATURES);
    boost_rows train = {.items = rows, .count = PREDICT_ROWS, .features = FEATURES, .labels = labels};
    boost_options options = boost_options_default();
    options.rounds = trees;
    options.depth = depth;
    options.threads = 1;
    forest *f = NULL;
    ft_error error;
    boost_library l;
    if (boost_train(&train, NULL, &options, NULL, NULL, &f, &error) != FT_OK) fail(error.message);
    if (boost_library_open(BOOST_LIBRARY_NAME, &l, &error) != FT_OK) fail(error.message);
    float *out = take(PREDICT_ROWS * sizeof *out);
    double batch = INFINITY, single = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double started = now_seconds();
        forest_predict(f, rows, FEATURES, PREDICT_ROWS, out);
        batch = fmin(batch, now_seconds() - started);
        started = now_seconds();
        for (size_t i = 0; i < SINGLE_ROWS; i++) out[i] -= forest_predict_row(f, rows + i * FEATURES);
        single = fmin(single, now_seconds() - started);
    }
    printf("foretell batch,%.4f,us a row\n", batch * 1e6 / PREDICT_ROWS);
    printf("foretell single,%.4f,us a row\n", single * 1e6 / SINGLE_ROWS);
    for (size_t i = 0; i < SINGLE_ROWS; i++) {
        if (out[i] != 0) fail("a row alone differs from the same row in a batch");
    }
    time_xgboost(&l, rows, labels, trees, depth);
    forest_free(f);
    free(rows);
    free(labels);
    free(out);
}

/* --- Training ------------------------------------------------------------------------------------------------ */

typedef struct sums {
    size_t rows;
    float *totals; /* of PARTS rows each */
} sums;

/* Squared relative error of sums of exp(margin). */
static ft_status sum_gradient(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    const sums *s = user;
    (void)error;
    for (size_t m = 0; m < s->rows / PARTS; m++) {
        float sum = 0;
        for (size_t i = m * PARTS; i < (m + 1) * PARTS; i++) sum += hessians[i] = expf(margins[i]) / s->totals[m];
        for (size_t i = m * PARTS; i < (m + 1) * PARTS; i++) {
            gradients[i] = (sum - 1) * hessians[i];
            hessians[i] *= sum;
        }
    }
    return FT_OK;
}

static double miss_of(const sums *s, const float *margins) {
    double total = 0;
    for (size_t m = 0; m < s->rows / PARTS; m++) {
        double sum = 0;
        for (size_t i = m * PARTS; i < (m + 1) * PARTS; i++) sum += exp((double)margins[i]);
        total += fabs(sum / (double)s->totals[m] - 1);
    }
    return total * PARTS / (double)s->rows;
}

typedef struct run_state {
    sums s;
    double started, first_ended;
} run_state;

static bool tick(void *user, uint32_t round, double score, const forest *so_far) {
    run_state *run = user;
    (void)score, (void)so_far;
    if (round == 0) run->first_ended = now_seconds();
    return true;
}

static void bench_train(size_t count, uint32_t rounds, uint32_t depth, uint32_t threads) {
    count -= count % PARTS;
    float *rows = make_rows(count), *margins = take(count * sizeof *margins);
    run_state run = {.s = {.rows = count, .totals = take(count / PARTS * sizeof(float))}};
    for (size_t m = 0; m < count / PARTS; m++) {
        run.s.totals[m] = 0;
        for (size_t i = m * PARTS; i < (m + 1) * PARTS; i++) run.s.totals[m] += expf(truth(rows + i * FEATURES));
    }
    boost_rows train = {.items = rows, .count = count, .features = FEATURES};
    boost_options options = boost_options_default();
    boost_hooks hooks = {.user = &run, .gradient = sum_gradient, .progress = tick};
    options.rounds = rounds;
    options.depth = depth;
    options.threads = threads;
    options.lambda = 0.01;
    options.min_child_weight = 0.01;
    forest *f = NULL;
    ft_error error;
    run.started = now_seconds();
    if (boost_train(&train, NULL, &options, &hooks, NULL, &f, &error) != FT_OK) fail(error.message);
    double ended = now_seconds();
    printf("train first round,%.3f,s\n", run.first_ended - run.started);
    if (rounds > 1) printf("train round,%.4f,s\n", (ended - run.first_ended) / (rounds - 1));
    forest_predict(f, rows, FEATURES, count, margins);
    printf("train mean miss,%.5f,relative\n", miss_of(&run.s, margins));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("train peak memory,%ld,MB\n", usage.ru_maxrss / 1024);
    forest_free(f);
    free(rows);
    free(margins);
    free(run.s.totals);
}

static uint32_t number(const char *text) {
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "predict") == 0)
        bench_predict(number(argv[2]), number(argv[3]));
    else if (argc == 6 && strcmp(argv[1], "train") == 0)
        bench_train(number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5]));
    else
        fail("predict TREES DEPTH | train ROWS ROUNDS DEPTH THREADS");
    return 0;
}
