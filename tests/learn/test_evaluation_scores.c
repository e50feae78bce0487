/* Tests of scores by device and model family, and of the cases with the largest errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/evaluate/evaluation.h"
#include "support/failing.h"

#define CASE(number, d, f, m, p)                                                                                       \
    { .record = (number), .device = (d), .family = (f), .name = "m", .measured = (m), .predicted = (p) }

/* Not sorted by anything but the record. */
static const ft_case cases[] = {
    CASE(0, "gpu", "vgg", 100, 104), CASE(1, "cpu", "vgg", 100, 110), CASE(4, "cpu", "alex", 50, 50),
    CASE(7, "cpu", "vgg", 200, 240), CASE(8, "gpu", "vgg", 100, 80),
};

enum { COUNT = sizeof cases / sizeof cases[0] };

static void check(const ft_score *score, const char *device, const char *family, uint32_t n, double mape) {
    assert_string_equal(score->device, device);
    assert_string_equal(score->family, family);
    assert_string_equal(score->metric, "time_us");
    assert_int_equal(score->n, n);
    assert_true(fabs(score->mape - mape) < 1e-9);
}

static void test_scores(void **state) {
    (void)state;
    arena memory;
    ft_error error;
    const ft_score *scores;
    uint32_t count;
    arena_init(&memory, 1 << 20);
    assert_int_equal(evaluation_scores(&memory, "time_us", cases, COUNT, &scores, &count, &error), FT_OK);
    assert_int_equal(count, 7);
    check(&scores[0], "cpu", "all", 3, 10);
    check(&scores[1], "cpu", "mean", 3, 7.5);
    check(&scores[2], "cpu", "alex", 1, 0);
    check(&scores[3], "cpu", "vgg", 2, 15);
    check(&scores[4], "gpu", "all", 2, 12);
    check(&scores[5], "gpu", "mean", 2, 12);
    check(&scores[6], "gpu", "vgg", 2, 12);
    assert_int_equal(evaluation_device_scores(scores, count), 4);
    assert_int_equal(evaluation_device_scores(scores + 4, count - 4), 3);
    assert_int_equal(evaluation_device_scores(scores, 0), 0);
    arena_free(&memory);
}

static void test_worst(void **state) {
    (void)state;
    const ft_evaluation e = {.cases = cases, .case_count = COUNT};
    const uint32_t two[] = {7, 1, 8, 0}, one[] = {7, 8};
    uint32_t count;
    ft_case *worst = evaluation_worst(&e, 2, &count);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(worst[i].record, two[i]);
    free(worst);
    worst = evaluation_worst(&e, 1, &count);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(worst[i].record, one[i]);
    free(worst);
    worst = evaluation_worst(&e, 1000, &count);
    assert_int_equal(count, COUNT);
    free(worst);
}

static void test_no_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        arena memory;
        ft_error error;
        const ft_score *scores;
        uint32_t count;
        arena_init(&memory, 1 << 20);
        failing_start(n);
        ft_status status = evaluation_scores(&memory, "time_us", cases, COUNT, &scores, &count, &error);
        bool has_failed = failing_stop();
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_worst),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/evaluation_scores", tests, NULL, NULL);
}
