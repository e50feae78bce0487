/* Tests of k-means: clear clusters are found, results are deterministic, equal points are handled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "nn/math/kmeans.h"
#include "support/failing.h"

enum { ROWS = 90, WIDTH = 2 };

/* Three clouds around (0, 0), (10, 0) and (0, 10), in turn. */
static void make_clouds(double *points) {
    rng random;
    rng_init(&random, 7, 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        points[2 * i] = (i % 3 == 1 ? 10 : 0) + 0.5 * rng_normal(&random);
        points[2 * i + 1] = (i % 3 == 2 ? 10 : 0) + 0.5 * rng_normal(&random);
    }
}

static kmeans fit(const double *points, uint32_t rows, uint32_t count, uint64_t seed) {
    kmeans k;
    ft_error error;
    assert_int_equal(kmeans_fit(points, rows, WIDTH, count, seed, &k, &error), FT_OK);
    return k;
}

static void test_clear_clusters_are_found(void **state) {
    (void)state;
    double points[ROWS * WIDTH];
    make_clouds(points);
    for (uint64_t seed = 0; seed < 5; seed++) {
        kmeans k = fit(points, ROWS, 3, seed);
        for (uint32_t i = 3; i < ROWS; i++) assert_int_equal(k.cluster[i], k.cluster[i % 3]);
        assert_int_not_equal(k.cluster[0], k.cluster[1]);
        assert_int_not_equal(k.cluster[1], k.cluster[2]);
        for (uint32_t c = 0; c < 3; c++) assert_int_equal(k.members[c], ROWS / 3);
        assert_true(fabs(k.centers[2 * k.cluster[1]] - 10) < 0.5);
        assert_true(k.inertia < ROWS);
        kmeans_free(&k);
    }
}

static void test_same_seed_same_clusters(void **state) {
    (void)state;
    double points[ROWS * WIDTH];
    make_clouds(points);
    kmeans a = fit(points, ROWS, 7, 3), b = fit(points, ROWS, 7, 3);
    assert_memory_equal(a.cluster, b.cluster, ROWS * sizeof *a.cluster);
    assert_memory_equal(a.centers, b.centers, 7 * WIDTH * sizeof *a.centers);
    kmeans_free(&a);
    kmeans_free(&b);
}

static void test_as_many_clusters_as_points(void **state) {
    (void)state;
    double points[ROWS * WIDTH];
    make_clouds(points);
    kmeans k = fit(points, ROWS, ROWS, 1);
    for (uint32_t c = 0; c < ROWS; c++) assert_int_equal(k.members[c], 1);
    assert_true(k.inertia == 0);
    kmeans_free(&k);
}

static void test_equal_points(void **state) {
    (void)state;
    double points[8 * WIDTH] = {0};
    kmeans k = fit(points, 8, 3, 1);
    uint32_t total = 0;
    for (uint32_t c = 0; c < 3; c++) total += k.members[c];
    assert_int_equal(total, 8);
    assert_true(k.inertia == 0);
    kmeans_free(&k);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    double points[ROWS * WIDTH];
    make_clouds(points);
    for (long n = 0;; n++) {
        kmeans k = {0};
        ft_error error;
        failing_start(n);
        ft_status status = kmeans_fit(points, ROWS, WIDTH, 3, 0, &k, &error);
        if (!failing_stop()) {
            kmeans_free(&k);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clear_clusters_are_found),
        cmocka_unit_test(test_same_seed_same_clusters),
        cmocka_unit_test(test_as_many_clusters_as_points),
        cmocka_unit_test(test_equal_points),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
