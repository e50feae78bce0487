/* Measured values and their intervals in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/metric.h"

static const char *interval(const char *metric, double lo, double hi) {
    static char text[INTERVAL_TEXT_SIZE];
    metric_interval(metric, lo, hi, text);
    return text;
}

static void test_words(void **state) {
    (void)state;
    char text[UNIT_TEXT_SIZE];
    metric_words("time_us", 148164, text);
    assert_string_equal(text, "148 ms");
    metric_words("peak_bytes", 1536, text);
    assert_string_equal(text, "1.5 KiB");
    metric_words("time_us", 119e6, text);
    assert_string_equal(text, "119 s");
    metric_words("time_us", 90 * 60e6, text);
    assert_string_equal(text, "90.0 min");
    metric_words("time_us", 36 * 3600e6, text);
    assert_string_equal(text, "36.0 h");
    metric_words("samples_per_s", 12345, text);
    assert_string_equal(text, "12.3 K");
    metric_words("time_us", NAN, text);
    assert_string_equal(text, "");
}

static void test_intervals(void **state) {
    (void)state;
    assert_string_equal(interval("time_us", 1100, 1400), "1.10 - 1.40 ms");
    assert_string_equal(interval("time_us", 900, 1400), "900 us - 1.40 ms");
    assert_string_equal(interval("peak_bytes", 1024, 2048), "1.0 - 2.0 KiB");
    assert_string_equal(interval("cycles", 100, 200), "100 - 200");
    assert_string_equal(interval("cycles", 100, 2000), "100 - 2.00 K");
    assert_string_equal(interval("time_us", NAN, 1400), "");
    assert_string_equal(interval("time_us", 900, NAN), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_intervals),
    };
    return cmocka_run_group_tests_name("report/metric", tests, NULL, NULL);
}
