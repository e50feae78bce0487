/* Tests of boosting: accuracy, predictions equal to those of libxgboost, the same bits with any number of threads and
 * when resumed, objectives of the caller, bad input. Without libxgboost only the message about that is tested. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/rng.h"
#include "nn/tree/boost.h"
#include "nn/tree/boost_internal.h"
#include "support/failing.h"

enum { FEATURES = 5, ROWS = 1200, VALID = 300 };

static float train_items[ROWS * FEATURES], train_labels[ROWS], valid_items[VALID * FEATURES], valid_labels[VALID];
static const boost_rows train = {.items = train_items, .count = ROWS, .features = FEATURES, .labels = train_labels};
static const boost_rows valid = {.items = valid_items, .count = VALID, .features = FEATURES, .labels = valid_labels};

/* label = 3 + sin(4 x0) + x1 x2 + noise; x3 is mostly missing, x4 has few values. */
static void fill(float *items, float *labels, size_t count, uint64_t stream) {
    rng r;
    rng_init(&r, 5, stream);
    for (size_t i = 0; i < count; i++) {
        float *x = items + i * FEATURES;
        for (int k = 0; k < FEATURES; k++) x[k] = (float)rng_normal(&r);
        if (rng_below(&r, 3) != 0) x[3] = NAN;
        if (rng_below(&r, 5) == 0) x[0] = NAN;
        x[4] = roundf(x[4]);
        float missing = isnan(x[0]) ? 1.0F : 0.0F;
        labels[i] = 3 + sinf(4 * (missing > 0 ? 0.2F : x[0])) + x[1] * x[2] + missing + 0.1F * (float)rng_normal(&r);
    }
}

static boost_options quick(uint32_t rounds) {
    boost_options options = boost_options_default();
    options.rounds = rounds;
    options.eta = 0.3;
    options.threads = 1;
    options.seed = 11;
    return options;
}

static forest *trained(const boost_rows *rows, const boost_rows *check, const boost_options *options,
                       const boost_hooks *hooks, const forest *start) {
    forest *f = NULL;
    ft_error error = {.message = ""};
    if (boost_train(rows, check, options, hooks, start, &f, &error) != FT_OK) fail_msg("%s", error.message);
    return f;
}

static double rmse_on_valid(const forest *f) {
    float out[VALID];
    forest_predict(f, valid_items, FEATURES, VALID, out);
    return boost_rmse(&valid, out);
}

static bool are_same(const forest *a, const forest *b) {
    size_t count = forest_save_count(a);
    if (forest_save_count(b) != count) return false;
    float *one = malloc(count * sizeof *one), *two = malloc(count * sizeof *two);
    forest_save(a, one);
    forest_save(b, two);
    bool result = memcmp(one, two, count * sizeof *one) == 0;
    free(one);
    free(two);
    return result;
}

/* Frees both. */
static void same(forest *a, forest *b) {
    assert_true(are_same(a, b));
    forest_free(a);
    forest_free(b);
}

/* --- Learning ------------------------------------------------------------------------------------------------ */

static void test_learns(void **state) {
    (void)state;
    boost_options options = quick(60);
    forest *f = trained(&train, NULL, &options, NULL, NULL);
    assert_int_equal(forest_trees(f), 60);
    assert_true(fabs((double)forest_base(f) - boost_mean_label(&train)) < 1e-6);
    double rmse = rmse_on_valid(f);
    forest_truncate(f, 0);
    assert_true(rmse < 0.35 * rmse_on_valid(f));
    forest_free(f);
}

/* A tree of libxgboost, and its predictions on other rows, with and without missing values. */
static void test_equals_xgboost(void **state) {
    (void)state;
    boost_library l;
    assert_int_equal(boost_library_open(BOOST_LIBRARY_NAME, &l, NULL), FT_OK);
    DMatrixHandle matrix, other;
    assert_int_equal(l.matrix_new(train_items, ROWS, FEATURES, NAN, &matrix, 1), 0);
    assert_int_equal(l.matrix_new(valid_items, VALID, FEATURES, NAN, &other, 1), 0);
    static float gradients[ROWS], hessians[ROWS];
    rng r;
    rng_init(&r, 3, 0);
    for (int depth = 1; depth <= 12; depth++) {
        char text[8] = {(char)('0' + depth / 10), (char)('0' + depth % 10)};
        BoosterHandle booster;
        for (size_t i = 0; i < ROWS; i++) {
            gradients[i] = (float)rng_normal(&r) - train_labels[i];
            hessians[i] = (float)rng_uniform(&r);
        }
        assert_int_equal(l.booster_new(&matrix, 1, &booster), 0);
        l.booster_set(booster, "tree_method", "hist");
        l.booster_set(booster, "max_depth", text);
        l.booster_set(booster, "min_child_weight", "0");
        l.booster_set(booster, "base_score", "0");
        assert_int_equal(l.boost(booster, matrix, gradients, hessians, ROWS), 0);
        const char *json;
        const float *theirs;
        bst_ulong size, length;
        assert_int_equal(l.save(booster, "{\"format\": \"json\"}", &size, &json), 0);
        forest *f = NULL;
        assert_int_equal(forest_new(FEATURES, 0, &f, NULL), FT_OK);
        assert_int_equal(boost_export_tree(json, size, f, NULL), FT_OK);
        assert_true(forest_nodes(f) > (uint32_t)depth);
        float ours[VALID];
        forest_predict(f, valid_items, FEATURES, VALID, ours);
        assert_int_equal(l.predict(booster, other, 1, 0, 0, &length, &theirs), 0);
        assert_memory_equal(ours, theirs, sizeof ours);
        forest_free(f);
        l.booster_free(booster);
    }
    l.matrix_free(matrix);
    l.matrix_free(other);
}

static void test_export_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"learner\": 3}",
        "{\"learner\": {\"gradient_booster\": {\"model\": {\"trees\": [{}]}}}}",
        "{\"learner\": {\"gradient_booster\": {\"model\": {\"trees\": [{\"left_children\": [1], "
        "\"right_children\": [2], \"split_indices\": [0], \"split_conditions\": [1], "
        "\"default_left\": [true]}]}}}}"};
    forest *f = NULL;
    assert_int_equal(forest_new(1, 0, &f, NULL), FT_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_not_equal(boost_export_tree(texts[i], strlen(texts[i]), f, NULL), FT_OK);
    assert_int_equal(forest_trees(f), 0);
    forest_free(f);
}

/* --- The same bits ------------------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    (void)state;
    boost_options options = quick(8);
    options.subsample = 0.7;
    options.colsample = 0.6;
    forest *one = trained(&train, NULL, &options, NULL, NULL);
    for (uint32_t threads = 2; threads <= 3; threads++) {
        options.threads = threads;
        forest *more = trained(&train, NULL, &options, NULL, NULL);
        assert_true(are_same(one, more));
        forest_free(more);
    }
    /* Another seed samples other rows. */
    options.seed++;
    forest *other = trained(&train, NULL, &options, NULL, NULL);
    assert_false(are_same(one, other));
    forest_free(other);
    forest_free(one);
}

enum { TRAININGS = 6 };

static void train_part(void *user, uint32_t part, uint32_t worker) {
    forest **made = user;
    boost_options options = quick(8);
    options.seed = part;
    options.subsample = 0.7;
    options.colsample = 0.6;
    (void)worker;
    if (boost_train(&train, NULL, &options, NULL, NULL, &made[part], NULL) != FT_OK) made[part] = NULL;
}

/* Concurrent trainings do not affect each other. */
static void test_side_by_side(void **state) {
    (void)state;
    forest *alone[TRAININGS] = {NULL}, *together[TRAININGS] = {NULL};
    pool *threads = NULL;
    assert_int_equal(pool_new(3, &threads, NULL), FT_OK);
    pool_run(threads, TRAININGS, train_part, together);
    pool_free(threads);
    pool_run(NULL, TRAININGS, train_part, alone);
    for (int i = 0; i < TRAININGS; i++) {
        assert_non_null(together[i]);
        same(alone[i], together[i]);
    }
}

typedef struct watcher {
    uint32_t stop_after, rounds;
    forest *kept; /* as at stop_after */
    double last_score;
} watcher;

static bool watch(void *user, uint32_t round, double score, const forest *so_far) {
    watcher *w = user;
    assert_int_equal(round, w->rounds);
    assert_int_equal(forest_trees(so_far), round + 1);
    w->rounds++;
    w->last_score = score;
    if (w->rounds != w->stop_after) return true;
    size_t count = forest_save_count(so_far), used;
    float *block = malloc(count * sizeof *block);
    forest_save(so_far, block);
    assert_int_equal(forest_load(block, count, &w->kept, &used, NULL), FT_OK);
    free(block);
    return false;
}

static void test_stopped_and_resumed(void **state) {
    (void)state;
    boost_options options = quick(80);
    options.subsample = 0.8;
    options.colsample = 0.7;
    options.patience = 6;
    forest *whole = trained(&train, &valid, &options, NULL, NULL);
    assert_in_range(forest_trees(whole), 5, 79);
    for (uint32_t stop = 1; stop < 20; stop += 5) {
        watcher w = {.stop_after = stop};
        boost_hooks hooks = {.user = &w, .progress = watch};
        forest *none = NULL;
        ft_error error;
        assert_int_equal(boost_train(&train, &valid, &options, &hooks, NULL, &none, &error), FT_ERR_CANCELLED);
        assert_null(none);
        forest *resumed = trained(&train, &valid, &options, NULL, w.kept);
        assert_true(are_same(whole, resumed));
        forest_free(resumed);
        forest_free(w.kept);
    }
    /* A complete training is not changed. */
    options.rounds = forest_trees(whole);
    options.patience = 0;
    same(trained(&train, &valid, &options, NULL, whole), whole);
}

static void test_patience(void **state) {
    (void)state;
    boost_options options = quick(300);
    options.depth = 8;
    options.patience = 5;
    watcher w = {.stop_after = UINT32_MAX};
    boost_hooks hooks = {.user = &w, .progress = watch};
    forest *f = trained(&train, &valid, &options, &hooks, NULL);
    assert_true(w.rounds < 300);
    assert_int_equal(forest_trees(f) + 5, w.rounds);
    double best = rmse_on_valid(f);
    assert_true(best <= w.last_score);
    for (uint32_t trees = forest_trees(f); trees > 1; trees--) {
        forest_truncate(f, trees - 1);
        assert_true(rmse_on_valid(f) >= best);
    }
    forest_free(f);
}

/* --- Objectives, weights, offsets, constraints --------------------------------------------------------------- */

static ft_status squared(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    (void)error;
    boost_squared_error(user, margins, gradients, hessians);
    return FT_OK;
}

static void test_own_objective(void **state) {
    (void)state;
    boost_options options = quick(20);
    boost_rows rows = train;
    boost_hooks hooks = {.user = &rows, .gradient = squared};
    forest *built_in = trained(&train, NULL, &options, NULL, NULL);
    options.base = forest_base(built_in);
    same(trained(&train, NULL, &options, &hooks, NULL), built_in);
}

/* Models of 8 rows each, with only the sum of exp(margin) known: the loss is the squared relative error. */
enum { PARTS = 8, MODELS = ROWS / PARTS };
typedef struct sums {
    float totals[MODELS];
} sums;

static double relative_miss(const sums *s, const float *margins, size_t model) {
    double sum = 0;
    for (size_t i = 0; i < PARTS; i++) sum += exp((double)margins[model * PARTS + i]);
    return sum / (double)s->totals[model] - 1;
}

static ft_status sum_gradient(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    (void)error;
    const sums *s = user;
    for (size_t m = 0; m < MODELS; m++) {
        double miss = relative_miss(s, margins, m);
        for (size_t i = m * PARTS; i < (m + 1) * PARTS; i++) {
            double share = exp((double)margins[i]) / (double)s->totals[m];
            gradients[i] = (float)(miss * share);
            hessians[i] = (float)(PARTS * share * share);
        }
    }
    return FT_OK;
}

static void test_sums_of_rows(void **state) {
    (void)state;
    sums s = {.totals = {0}};
    for (size_t i = 0; i < ROWS; i++) {
        float x = train_items[i * FEATURES + 1];
        s.totals[i / PARTS] += expf(x > 0 ? 1.0F : -1.0F);
    }
    boost_options options = quick(120);
    options.depth = 2;
    options.lambda = 0.1;
    options.min_child_weight = 0;
    boost_hooks hooks = {.user = &s, .gradient = sum_gradient};
    boost_rows rows = train;
    rows.labels = NULL;
    forest *f = trained(&rows, NULL, &options, &hooks, NULL);
    assert_true(forest_base(f) == 0);
    static float margins[ROWS];
    forest_predict(f, train_items, FEATURES, ROWS, margins);
    double worst = 0, wrong = 0;
    for (size_t m = 0; m < MODELS; m++) worst = fmax(worst, fabs(relative_miss(&s, margins, m)));
    assert_true(worst < 0.1);
    for (size_t i = 0; i < ROWS; i++) wrong += fabs((double)margins[i] - (train_items[i * FEATURES + 1] > 0 ? 1 : -1));
    assert_true(wrong / ROWS < 0.2); /* an untrained model has error 1 */
    forest_free(f);
}

static void test_weights_and_offsets(void **state) {
    (void)state;
    static float weights[ROWS], offsets[ROWS], shifted[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        weights[i] = i % 2 == 0 ? 1.0F : 0.0F;
        offsets[i] = (float)(i % 5) * 0.5F;
        shifted[i] = train_labels[i] + offsets[i];
    }
    boost_options options = quick(10);
    /* A row of weight 0 may have any label. */
    boost_rows rows = train;
    rows.weights = weights;
    forest *f = trained(&rows, NULL, &options, NULL, NULL);
    static float labels[ROWS];
    for (size_t i = 0; i < ROWS; i++) labels[i] = i % 2 == 0 ? train_labels[i] : 1e6F;
    rows.labels = labels;
    same(f, trained(&rows, NULL, &options, NULL, NULL));
    /* What the offsets explain is not learned again. */
    boost_rows moved = {.items = train_items, .count = ROWS, .features = FEATURES, .labels = shifted};
    moved.offsets = offsets;
    forest *plain = trained(&train, NULL, &options, NULL, NULL), *with = trained(&moved, NULL, &options, NULL, NULL);
    assert_true(fabs(rmse_on_valid(plain) - rmse_on_valid(with)) < 1e-3);
    forest_free(plain);
    forest_free(with);
}

static void test_monotone(void **state) {
    (void)state;
    static const int8_t signs[FEATURES] = {0, -1, 0, 0, 1};
    boost_options options = quick(30);
    options.monotone = signs;
    forest *f = trained(&train, NULL, &options, NULL, NULL);
    for (size_t i = 0; i < 50; i++) {
        float row[FEATURES], before = INFINITY;
        memcpy(row, valid_items + i * FEATURES, sizeof row);
        for (float x = -3; x < 3; x += 0.1F) {
            row[1] = x;
            float now = forest_predict_row(f, row);
            assert_true(now <= before + 1e-5F);
            before = now;
        }
    }
    forest_free(f);
}

static void test_leaves(void **state) {
    (void)state;
    boost_options options = quick(3);
    options.max_leaves = 7;
    options.depth = 20;
    forest *f = trained(&train, NULL, &options, NULL, NULL);
    assert_int_equal(forest_nodes(f), 3 * 13);
    forest_free(f);
}

/* --- Exact sums ---------------------------------------------------------------------------------------------- */

static void test_grid(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static float values[COUNT], before[COUNT];
    rng r;
    rng_init(&r, 9, 0);
    for (int i = 0; i < COUNT; i++) values[i] = before[i] = (float)(rng_normal(&r) * exp(4 * rng_normal(&r)));
    boost_round_to_grid(values, COUNT);
    double sizes = 0, up = 0, down = 0, halves[2] = {0, 0};
    int changed = 0;
    for (int i = 0; i < COUNT; i++) {
        sizes += fabs((double)before[i]);
        changed += values[i] != before[i];
    }
    assert_in_range(changed, 1, COUNT / 2);
    for (int i = 0; i < COUNT; i++) {
        assert_true(fabs((double)values[i] - (double)before[i]) <= sizes * 0x1p-52);
        up += (double)values[i];
        down += (double)values[COUNT - 1 - i];
        halves[i % 2] += (double)values[i];
    }
    assert_true(up == down);
    assert_true(up == halves[0] + halves[1]);
    float zeros[3] = {0, 0, 0};
    boost_round_to_grid(zeros, 3);
    assert_true(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0);
}

/* --- Bad input ----------------------------------------------------------------------------------------------- */

static void refuses(const boost_rows *rows, const boost_rows *check, const boost_options *options,
                    const boost_hooks *hooks, const forest *start, ft_status expected, const char *part) {
    forest *f = NULL;
    ft_error error = {.message = ""};
    ft_status status = boost_train(rows, check, options, hooks, start, &f, &error);
    if (status != expected || strstr(error.message, part) == NULL)
        fail_msg("status %d, \"%s\", not \"%s\"", status, error.message, part);
    assert_null(f);
}

static void test_bad_options(void **state) {
    (void)state;
    boost_options good = quick(2), o;
#define WRONG(field, bad, part)                                                                                        \
    o = good;                                                                                                          \
    o.field = (bad);                                                                                                   \
    refuses(&train, NULL, &o, NULL, NULL, FT_ERR_USAGE, part)
    WRONG(rounds, 0, "rounds");
    WRONG(depth, 0, "depth");
    WRONG(depth, 31, "depth");
    WRONG(max_bin, 1, "max_bin");
    WRONG(max_leaves, 1, "max_leaves");
    WRONG(eta, 0, "eta");
    WRONG(eta, NAN, "eta");
    WRONG(subsample, 1.5, "subsample");
    WRONG(colsample, 0, "colsample");
    WRONG(min_child_weight, -1, "min_child_weight");
    WRONG(lambda, INFINITY, "lambda");
    WRONG(gamma, NAN, "gamma");
    WRONG(base, INFINITY, "base");
    WRONG(patience, 3, "patience needs validation rows");
    static const int8_t signs[FEATURES] = {0, 0, 2, 0, 0};
    WRONG(monotone, signs, "monotone sign 2 of feature 2");
}

static void test_bad_rows(void **state) {
    (void)state;
    boost_options o = quick(2);
    boost_rows rows = train, check = valid;
    rows.count = 0;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_USAGE, "no training rows");
    rows = train;
    rows.features = 0;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_LIMIT, "0 features");
    rows = train;
    rows.labels = NULL;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_USAGE, "labels or an objective are needed");
    check.features = 4;
    refuses(&train, &check, &o, NULL, NULL, FT_ERR_USAGE, "training rows have 5 features, validation rows 4");
    forest *other = NULL;
    assert_int_equal(forest_new(3, 0, &other, NULL), FT_OK);
    refuses(&train, NULL, &o, NULL, other, FT_ERR_USAGE, "the trees to resume from have 3");
    forest_free(other);
    float items[] = {1, 2, INFINITY, 4}, labels[] = {1, NAN}, weights[] = {0, 0};
    rows = (boost_rows){.items = items, .count = 2, .features = 2, .labels = labels};
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_DAMAGED, "row 1: feature 0 is infinite");
    items[2] = NAN;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_DAMAGED, "row 1: the label");
    labels[1] = 0;
    rows.weights = weights;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_DAMAGED, "all training weights are zero");
    weights[1] = -1;
    refuses(&rows, NULL, &o, NULL, NULL, FT_ERR_DAMAGED, "row 1: the weight is negative");
}

static ft_status bad_gradient(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    (void)error;
    (void)margins;
    for (size_t i = 0; i < ROWS; i++) gradients[i] = hessians[i] = 1;
    hessians[7] = *(float *)user;
    return FT_OK;
}

static ft_status failing_gradient(void *user, const float *margins, float *gradients, float *hessians,
                                  ft_error *error) {
    (void)user, (void)margins, (void)gradients, (void)hessians, (void)error;
    return FT_ERR_LIMIT;
}

static void test_bad_gradients(void **state) {
    (void)state;
    boost_options o = quick(2);
    float bad = NAN;
    boost_hooks hooks = {.user = &bad, .gradient = bad_gradient};
    refuses(&train, NULL, &o, &hooks, NULL, FT_ERR_INTERNAL, "row 7");
    bad = -1;
    refuses(&train, NULL, &o, &hooks, NULL, FT_ERR_INTERNAL, "row 7");
    hooks.gradient = failing_gradient;
    refuses(&train, NULL, &o, &hooks, NULL, FT_ERR_LIMIT, "");
    /* Zero gradients: trees of one leaf. */
    bad = 1;
    float items[3] = {1, 1, 1}, labels[3] = {2, 2, 2};
    boost_rows rows = {.items = items, .count = 3, .features = 1, .labels = labels};
    forest *f = trained(&rows, NULL, &o, NULL, NULL);
    assert_int_equal(forest_nodes(f), 2);
    assert_true(forest_predict_row(f, items) == 2);
    forest_free(f);
}

static void test_no_memory(void **state) {
    (void)state;
    boost_options options = quick(2);
    static const int8_t signs[FEATURES] = {0, 1, 0, 0, 0};
    options.monotone = signs;
    boost_rows rows = train;
    rows.count = 50;
    long n = 0;
    for (;; n++) {
        forest *f = NULL;
        failing_start(n);
        ft_status status = boost_train(&rows, &valid, &options, NULL, NULL, &f, NULL);
        bool has_failed = failing_stop();
        forest_free(f);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_true(n > 8);
}

static void test_no_library(void **state) {
    (void)state;
    boost_library l;
    ft_error error = {.message = ""};
    assert_int_equal(boost_library_open("libxgboost-that-is-not-there.so", &l, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libxgboost0"));
    assert_non_null(strstr(error.message, "libxgboost-dev"));
    assert_int_equal(boost_library_open("libm.so.6", &l, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libm.so.6: no function XGB"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),     cmocka_unit_test(test_export_refuses),
        cmocka_unit_test(test_grid),           cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_rows),       cmocka_unit_test(test_learns),
        cmocka_unit_test(test_equals_xgboost), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_side_by_side),   cmocka_unit_test(test_stopped_and_resumed),
        cmocka_unit_test(test_patience),       cmocka_unit_test(test_own_objective),
        cmocka_unit_test(test_sums_of_rows),   cmocka_unit_test(test_weights_and_offsets),
        cmocka_unit_test(test_monotone),       cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_bad_gradients),  cmocka_unit_test(test_no_memory),
    };
    fill(train_items, train_labels, ROWS, 0);
    fill(valid_items, valid_labels, VALID, 1);
    boost_library l;
    size_t all = sizeof tests / sizeof tests[0], count = boost_library_open(BOOST_LIBRARY_NAME, &l, NULL) ? 5 : all;
    return _cmocka_run_group_tests("boost", tests, count, NULL, NULL);
}
