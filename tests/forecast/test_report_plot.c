/* test_report_plot.c - plots have the same bytes every time, depend on their data, and can be drawn of any results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/example_results.h"
#include "support/failing.h"
#include "support/folder.h"

static example_results example;

static size_t draw(const char *path, char *bytes, size_t size) {
    ft_error error;
    if (ft_result_plot(path, &example.entry, &error) != FT_OK) fail_msg("%s", error.message);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, size, file);
    fclose(file);
    return count;
}

enum { MAX_BYTES = 1 << 20 };

static char *first, *second;

static void test_same_bytes(void **state) {
    (void)state;
    size_t count = draw("a.png", first, MAX_BYTES);
    assert_true(count > 10000);
    assert_int_equal(draw("b.png", second, MAX_BYTES), count);
    assert_memory_equal(first, second, count);
    count = draw("a.svg", first, MAX_BYTES);
    assert_true(count > 5000);
    assert_int_equal(draw("b.svg", second, MAX_BYTES), count);
    assert_memory_equal(first, second, count);
    assert_memory_equal(first, "<?xml", 5);
    first[count] = '\0';
    assert_non_null(strstr(first, ">Memory</text>"));
}

/* Another time, batch or kernel changes the plot. */
static void test_plot_depends_on_its_data(void **state) {
    (void)state;
    size_t count = draw("a.png", first, MAX_BYTES);
    ft_metric_result *time = &example.metrics[0][EXAMPLE_TIME], *memory = &example.metrics[0][EXAMPLE_MEMORY];
    const ft_metric_result old_time = *time, old_memory = *memory;
    time->value = 70;
    assert_false(draw("b.png", second, MAX_BYTES) == count && memcmp(first, second, count) == 0);
    *time = old_time;
    memory->hi = 20000;
    assert_false(draw("b.png", second, MAX_BYTES) == count && memcmp(first, second, count) == 0);
    *memory = old_memory;
    time->part_count = 2;
    assert_false(draw("b.png", second, MAX_BYTES) == count && memcmp(first, second, count) == 0);
    *time = old_time;
    example.items[2].request.batch = 16;
    assert_false(draw("b.png", second, MAX_BYTES) == count && memcmp(first, second, count) == 0);
    example.items[2].request.batch = 8; /* one batch: lists instead of lines */
    assert_true(draw("b.png", second, MAX_BYTES) > 10000);
    example.items[2].request.batch = 32;
}

/* No values, no kernels, many devices, values at the ends of the range. */
static void test_missing_and_extreme_values_are_drawn(void **state) {
    (void)state;
    enum { MANY = 40 };
    static ft_result many[MANY];
    static ft_metric_result metrics[MANY][EXAMPLE_METRICS];
    static char names[MANY][16];
    const ft_results old = example.results;
    example.results = (ft_results){.items = &example.items[1], .count = 1};
    assert_true(draw("none.png", first, MAX_BYTES) > 1000);
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] = example.items[i % 2];
        memcpy(metrics[i], many[i].metrics, many[i].metric_count * sizeof **metrics);
        many[i].metrics = metrics[i];
        snprintf(names[i], sizeof names[i], "device \xff %u", i);
        many[i].request.device = names[i];
        metrics[i][EXAMPLE_TIME].value = i % 2 == 0 ? exp(i * 2.0) : NAN;
    }
    example.results = (ft_results){.items = many, .count = MANY};
    assert_true(draw("many.svg", first, MAX_BYTES) > 10000);
    example.results = (ft_results){.items = many, .count = 0};
    assert_int_equal(ft_result_plot("zero.svg", &example.entry, NULL), FT_ERR_USAGE);
    example.results = old;
}

static void test_failures_leave_no_file(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_result_plot("plot.jpg", &example.entry, &error), FT_ERR_USAGE);
    assert_int_equal(ft_result_plot("no/such/folder.svg", &example.entry, &error), FT_ERR_IO);
    for (long n = 0; n < 24; n++) { /* allocations of cairo are not counted */
        failing_start(n);
        ft_status status = ft_result_plot("failed.svg", &example.entry, &error);
        bool has_failed = failing_stop();
        if (!has_failed) break;
        assert_true(status == FT_ERR_NOMEM || status == FT_OK);
        if (status != FT_OK) assert_int_not_equal(access("failed.svg", F_OK), 0);
        unlink("failed.svg");
    }
}

static int set_up(void **state) {
    example_results_init(&example);
    first = malloc(MAX_BYTES);
    second = malloc(MAX_BYTES);
    return first == NULL || second == NULL || folder_enter(state) != 0;
}

static int tear_down(void **state) {
    free(first);
    free(second);
    example_results_free(&example);
    return folder_leave(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_plot_depends_on_its_data),
        cmocka_unit_test(test_missing_and_extreme_values_are_drawn),
        cmocka_unit_test(test_failures_leave_no_file),
    };
    return cmocka_run_group_tests_name("forecast/report_plot", tests, set_up, tear_down);
}
