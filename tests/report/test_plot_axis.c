/* Tests of axes: which ticks they get, what is written beside them, and where values go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "report/plot_axis.h"

static const axis_unit plain = {"", 1}, percent = {"%", 1}, microseconds = {"s", 1e-6}, bytes = {"B", 1};

/* The labels of an axis, separated by '|'. */
static const char *labels(const plot_axis *axis) {
    static char text[AXIS_MAX_TICKS * AXIS_TICK_TEXT];
    text[0] = '\0';
    for (uint32_t i = 0; i < axis->tick_count; i++) {
        if (i > 0) strcat(text, "|");
        strcat(text, axis->ticks[i].text);
    }
    return text;
}

static void test_linear(void **state) {
    (void)state;
    plot_axis axis;
    axis_linear(&axis, -12, 12, 6, percent);
    assert_string_equal(labels(&axis), "\xe2\x88\x92"
                                       "10 %|\xe2\x88\x92"
                                       "5 %|0 %|5 %|10 %");
    axis_linear(&axis, 0, 1, 5, plain);
    assert_string_equal(labels(&axis), "0|0.2|0.4|0.6|0.8|1");
    axis_linear(&axis, 0, 0.004, 4, plain);
    assert_string_equal(labels(&axis), "0|0.001|0.002|0.003|0.004");
}

static void test_counts(void **state) {
    (void)state;
    plot_axis axis;
    axis_counts(&axis, 217, 4);
    assert_string_equal(labels(&axis), "0|50|100|150|200|250");
    assert_true(axis.hi == 250);
    axis_counts(&axis, 1, 4); /* there is no half of a record */
    assert_string_equal(labels(&axis), "0|1");
    axis_counts(&axis, 0, 4);
    assert_string_equal(labels(&axis), "0|1");
    axis_counts(&axis, 40000, 4);
    assert_string_equal(labels(&axis), "0|10k|20k|30k|40k");
}

static void test_log(void **state) {
    (void)state;
    plot_axis axis;
    axis_log(&axis, 1500, 30000, 5, microseconds);
    assert_string_equal(labels(&axis), "2 ms|5 ms|10 ms|20 ms");
    axis_log(&axis, 2000, 700000, 5, microseconds);
    assert_string_equal(labels(&axis), "3 ms|10 ms|30 ms|100 ms|300 ms");
    axis_log(&axis, 1, 5e6, 6, microseconds);
    assert_string_equal(labels(&axis), "1 \xc2\xb5s|10 \xc2\xb5s|100 \xc2\xb5s|1 ms|10 ms|100 ms|1 s");
    axis_log(&axis, 1, 1e12, 6, bytes);
    assert_string_equal(labels(&axis), "1 B|100 B|10 KiB|1 MiB|100 MiB|10 GiB|1 TiB");
    axis_log(&axis, 1.9e9, 42e9, 6, bytes);
    assert_string_equal(labels(&axis), "2 GiB|5 GiB|10 GiB|20 GiB");
    axis_log(&axis, 300e6, 5e9, 6, bytes);
    assert_string_equal(labels(&axis), "500 MiB|1 GiB|2 GiB|5 GiB");
    axis_log(&axis, 1.7e9, 3.3e9, 5, bytes);
    assert_string_equal(labels(&axis), "1.6 GiB|1.8 GiB|2 GiB|2.2 GiB|2.4 GiB|2.6 GiB|2.8 GiB|3 GiB");
    axis_linear(&axis, 0, 5e6, 5, bytes);
    assert_string_equal(labels(&axis), "0 B|1 MiB|2 MiB|3 MiB|4 MiB");
    axis_log(&axis, 101, 139, 4, plain); /* too short for powers */
    assert_string_equal(labels(&axis), "100|110|120|130|140");
}

static void test_anchors(void **state) {
    (void)state;
    plot_axis axis;
    axis_linear(&axis, -75, 75, 6, percent);
    assert_string_equal(axis.ticks[axis.anchor].text, "0 %");
    axis_log(&axis, 2000, 700000, 5, microseconds);
    assert_string_equal(axis.ticks[axis.anchor].text, "10 ms");
    axis_linear(&axis, 3, 9, 6, percent); /* none is better than another */
    assert_int_equal(axis.anchor, 0);
}

static void test_ranges_without_extent(void **state) {
    (void)state;
    plot_axis axis;
    axis_log(&axis, 50, 50, 5, plain);
    assert_true(axis.lo < 50 && axis.hi > 50 && axis.tick_count > 0);
    axis_linear(&axis, 0, 0, 5, plain);
    assert_true(axis.lo < 0 && axis.hi > 0 && axis.tick_count > 0);
    axis_linear(&axis, (double)NAN, 1, 5, plain);
    assert_true(axis.hi > axis.lo);
    axis_log(&axis, (double)INFINITY, 0, 5, plain);
    assert_true(axis.lo > 0 && isfinite(axis.hi));
    axis_log(&axis, 1e-300, 1e300, 5, plain);
    assert_true(axis.tick_count <= AXIS_MAX_TICKS);
    assert_true(axis.lo > 0 && isfinite(axis.hi));
    axis_log(&axis, 1e250, 1e300, 5, plain);
    assert_true(axis.lo > 0 && axis.hi > axis.lo && isfinite(axis.hi));
}

static void test_places(void **state) {
    (void)state;
    plot_axis axis = {.lo = 10, .hi = 30};
    assert_true(axis_place(&axis, 10) == 0 && axis_place(&axis, 20) == 0.5 && axis_place(&axis, 30) == 1);
    axis = (plot_axis){.is_log = true, .lo = 1, .hi = 100};
    assert_true(fabs(axis_place(&axis, 10) - 0.5) < 1e-12 && axis_place(&axis, 1000) > 1);
}

static void check_text(double value, axis_unit unit, const char *expected) {
    char text[AXIS_TICK_TEXT];
    axis_text(value, unit, text);
    assert_string_equal(text, expected);
}

static void test_texts(void **state) {
    (void)state;
    check_text(0, microseconds, "0 s");
    check_text(999.6, microseconds, "1 ms");
    check_text(12345, microseconds, "12.3 ms");
    check_text(0.5, plain, "0.5");
    check_text(-2.5, percent,
               "\xe2\x88\x92"
               "2.5 %");
    check_text(2e15, bytes, "1.78 PiB");
    check_text(1023, bytes, "1023 B");
    check_text(1024, bytes, "1 KiB");
    check_text(1234, plain, "1234");
    check_text(12345, plain, "12.3k");
}

static void check_unit(const char *metric, const char *label, const char *symbol, double scale) {
    char found[AXIS_LABEL];
    axis_unit unit = axis_unit_of(metric, found);
    assert_string_equal(found, label);
    assert_string_equal(unit.symbol, symbol);
    assert_true(unit.scale == scale);
}

static void test_units(void **state) {
    (void)state;
    check_unit("time_us", "time", "s", 1e-6);
    check_unit("peak_bytes", "peak", "B", 1);
    check_unit("util_ratio", "util", "%", 100);
    check_unit("warp_factor", "warp factor", "", 1);
    char label[AXIS_LABEL], longest[200];
    memset(longest, 'x', sizeof longest);
    longest[199] = '\0';
    axis_unit_of(longest, label);
    assert_int_equal(strlen(label), AXIS_LABEL - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_log),    cmocka_unit_test(test_ranges_without_extent),
        cmocka_unit_test(test_places), cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_texts),  cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests_name("report/plot_axis", tests, NULL, NULL);
}
