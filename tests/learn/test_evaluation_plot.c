/* Tests of evaluation plots: deterministic, and drawn for any cases. */
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

#include "foretell/learn.h"
#include "support/failing.h"
#include "support/folder.h"

enum { CASES = 240 };

static ft_case cases[CASES];
static char family_names[CASES][8];

/* Cases that go round the devices, then round the families, with errors of up to 30 %. */
static ft_evaluation make_cases(uint32_t device_count, uint32_t family_count) {
    static const char *const devices[] = {"cpu", "gpu", "npu \xff", "vpu"};
    static const ft_score scores[] = {{.device = "cpu", .family = "all", .n = 90, .mape = 12.5, .acc10 = 40}};
    for (uint32_t i = 0; i < CASES; i++) {
        snprintf(family_names[i], sizeof family_names[i], "f%u", i / device_count % family_count);
        double measured = 1000 * exp(i * 0.01), error = 0.3 * sin(i);
        cases[i] = (ft_case){.record = i,
                             .measured = measured,
                             .predicted = measured * (1 + error),
                             .name = "m",
                             .family = family_names[i],
                             .device = devices[i % device_count]};
    }
    return (ft_evaluation){.predictor_family = "fake",
                           .metric = "time_us",
                           .split = "random",
                           .part = FT_PART_TEST,
                           .scores = scores,
                           .score_count = 1,
                           .cases = cases,
                           .case_count = CASES};
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = calloc(1, 1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, (1 << 20) - 1, file);
    fclose(file);
    return bytes;
}

static void test_same_bytes(void **state) {
    (void)state;
    const char *ends[] = {"svg", "png"};
    for (size_t i = 0; i < 2; i++) {
        ft_error error;
        ft_evaluation e = make_cases(2, 13);
        char first[16], second[16];
        size_t first_size, second_size;
        snprintf(first, sizeof first, "a.%s", ends[i]);
        snprintf(second, sizeof second, "b.%s", ends[i]);
        assert_int_equal(ft_evaluation_plot(&e, "title", first, &error), FT_OK);
        assert_int_equal(ft_evaluation_plot(&e, "title", second, &error), FT_OK);
        char *a = read_file(first, &first_size), *b = read_file(second, &second_size);
        assert_true(first_size > 5000);
        assert_int_equal(first_size, second_size);
        assert_memory_equal(a, b, first_size);
        free(a);
        free(b);
    }
}

/* Another case is another picture. */
static void test_cases_are_seen(void **state) {
    (void)state;
    ft_error error;
    size_t first_size, second_size;
    ft_evaluation e = make_cases(1, 2);
    assert_int_equal(ft_evaluation_plot(&e, "title", "a.png", &error), FT_OK);
    cases[100].predicted *= 1.2;
    assert_int_equal(ft_evaluation_plot(&e, "title", "b.png", &error), FT_OK);
    char *a = read_file("a.png", &first_size), *b = read_file("b.png", &second_size);
    assert_true(first_size != second_size || memcmp(a, b, first_size) != 0);
    free(a);
    free(b);
}

static void test_odd_cases(void **state) {
    (void)state;
    ft_error error;
    ft_evaluation e = make_cases(2, 60); /* more families than colours */
    e.split = NULL;
    e.score_count = 0;
    e.metric = "warp_factor";
    cases[0].predicted = 0;
    cases[1].predicted = 1e30;
    cases[2].measured = 1e-30;
    cases[3].family = "";
    assert_int_equal(ft_evaluation_plot(&e, "\x01\xff", "a.svg", &error), FT_OK);
    e.case_count = 1;
    assert_int_equal(ft_evaluation_plot(&e, "", "a.png", &error), FT_OK);
    e.case_count = 0;
    assert_int_equal(ft_evaluation_plot(&e, "", "b.png", &error), FT_ERR_USAGE);
    assert_int_not_equal(access("b.png", F_OK), 0);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_error error;
    ft_evaluation e = make_cases(2, 3);
    ft_status last = ft_evaluation_plot(&e, "title", "warm.svg", &error); /* fonts are looked up once */
    assert_int_equal(last, FT_OK);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = ft_evaluation_plot(&e, "title", "a.svg", &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_int_not_equal(access("a.svg", F_OK), 0);
    }
    assert_int_equal(access("a.svg", F_OK), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_same_bytes),
        IN_FOLDER(test_cases_are_seen),
        IN_FOLDER(test_odd_cases),
        IN_FOLDER(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/evaluation_plot", tests, NULL, NULL);
}
