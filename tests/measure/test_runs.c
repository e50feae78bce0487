/* Tests of series of runs, profiles and the probe of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "measure/measure.h"

static void test_a_falling_minimum_is_not_steady(void **state) {
    (void)state;
    const double falling[] = {20, 19, 18, 17, 16, 15, 14, 13, 12},
                 steady[] = {20, 12.05, 13, 14, 12.1, 15, 12, 13, 12.2};
    assert_false(runs_are_steady(falling, 9));
    assert_true(runs_are_steady(steady, 9));
    assert_false(runs_are_steady(steady, RUNS_MIN - 1));
}

static void test_summary_has_minimum_and_median(void **state) {
    (void)state;
    double wall[] = {13, 11, 12, 11, 40, 11}, cpu[] = {11, 10.5, 11, 10.5, 12, 10.5};
    run_series runs = {wall, cpu, 6};
    ft_measurement m = {.threads = 1};
    runs_summarize(&runs, &m);
    assert_true(m.time_us == 11 && m.time_median_us == 11.5 && m.cpu_us == 10.5 && m.cpu_median_us == 10.75);
    assert_int_equal(m.runs, 6);
    assert_int_equal(m.noise, FT_NOISE_NONE);
}

static void test_waiting_for_a_core_is_noise(void **state) {
    (void)state;
    double wall[] = {20, 20, 20, 20, 20, 20}, cpu[] = {10, 10, 10, 10, 10, 10};
    run_series runs = {wall, cpu, 6};
    ft_measurement m = {.threads = 1};
    runs_summarize(&runs, &m);
    assert_int_equal(m.noise, FT_NOISE_WAITING);
    assert_string_equal(ft_noise_text(m.noise), "even the fastest run waited for a core");
    assert_string_equal(ft_noise_text((ft_noise)99), "unknown");
}

static ft_status parse(const char *text, arena *memory, const ft_measured_node **nodes, uint32_t *count,
                       ft_error *error) {
    *nodes = NULL;
    *count = 0;
    return profile_parse(text, strlen(text), "p.json", memory, nodes, count, error);
}

static void test_nodes_have_their_minimum(void **state) {
    (void)state;
    arena memory;
    const ft_measured_node *nodes;
    uint32_t count;
    arena_init(&memory, UINT64_MAX);
    const char *text =
        "[{\"cat\": \"Node\", \"name\": \"a_kernel_time\", \"dur\": 7, \"args\": {\"op_name\": \"Conv\", "
        "\"input\": [{}]}}, {\"cat\": \"Session\", \"dur\": 1},\n"
        "{\"cat\": \"Node\", \"name\": \"b_kernel_time\", \"dur\": 3}, "
        "{\"cat\": \"Node\", \"name\": \"a_kernel_time\", \"dur\": 5}]";
    assert_int_equal(parse(text, &memory, &nodes, &count, NULL), FT_OK);
    assert_int_equal(count, 2);
    assert_string_equal(nodes[0].name, "a");
    assert_string_equal(nodes[0].op, "Conv");
    assert_true(nodes[0].time_us == 5 && nodes[1].time_us == 3);
    arena_free(&memory);
}

static void test_damaged_profiles_are_errors(void **state) {
    (void)state;
    static const char *const texts[] = {"", "{}", "[", "[{", "[3]", "[{\"cat\": \"Node\", \"args\": {\"op_name\": }}]"};
    const ft_measured_node *nodes;
    uint32_t count;
    ft_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arena memory;
        arena_init(&memory, UINT64_MAX);
        assert_int_equal(parse(texts[i], &memory, &nodes, &count, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "p.json: byte "));
        arena_free(&memory);
    }
}

static void test_probe_finds_at_most_all_cores(void **state) {
    (void)state;
    ft_machine machine;
    ft_error error;
    assert_int_equal(ft_machine_probe(0.02, &machine, &error), FT_OK);
    assert_true(machine.cores >= 1 && machine.free_cores > 0 && machine.free_cores <= machine.cores);
    assert_int_equal(ft_machine_probe(-1, &machine, &error), FT_ERR_USAGE);
    assert_int_equal(ft_machine_probe(0, NULL, &error), FT_ERR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_falling_minimum_is_not_steady), cmocka_unit_test(test_summary_has_minimum_and_median),
        cmocka_unit_test(test_waiting_for_a_core_is_noise),     cmocka_unit_test(test_nodes_have_their_minimum),
        cmocka_unit_test(test_damaged_profiles_are_errors),     cmocka_unit_test(test_probe_finds_at_most_all_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
