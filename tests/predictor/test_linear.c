/* "flops" and "flops-mem" recover linear times, and their unit costs are not negative. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fitted.h"
#include "support/folder.h"

static double line(const ft_graph *bound, const char *device) {
    double flops = (double)synth_cost(bound).forward.flops;
    return device[0] == 'a' ? 20 + 1e-4 * flops : 3e-3 * flops;
}

static double plane(const ft_graph *bound, const char *device) {
    ft_work work = synth_cost(bound).forward;
    double bytes = (double)work.read_bytes + (double)work.write_bytes;
    return device[0] == 'a' ? 20 + 1e-4 * (double)work.flops + 2e-3 * bytes : 0.25 * bytes;
}

/* The fewer FLOPs, the longer: the best line with a non-negative slope is flat. */
static double falling(const ft_graph *bound, const char *device) {
    return 1e7 / (double)synth_cost(bound).forward.flops + (device[0] == 'a' ? 1 : 2);
}

static void flops_fits_a_line(void **state) {
    (void)state;
    fitted f = fit_synth("flops", line, NULL);
    fitted_check(&f, 1e-5);
    fitted_check_threads(&f, NULL);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void flops_mem_fits_a_plane(void **state) {
    (void)state;
    fitted f = fit_synth("flops-mem", plane, NULL);
    fitted_check(&f, 1e-5);
    fitted_check_threads(&f, NULL);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void unit_costs_are_not_negative(void **state) {
    (void)state;
    fitted f = fit_synth("flops", falling, NULL);
    json_t *params = NULL;
    float_block block = {0};
    assert_int_equal(f.family->save(f.model, &params, &block, NULL), FT_OK);
    assert_int_equal(block.count, 4);
    for (size_t i = 0; i < 4; i++) assert_true(i % 2 == 0 ? block.items[i] > 0 : block.items[i] == 0);
    float_block_free(&block);
    json_decref(params);
    fitted_free(&f);
}

static void damaged_models_are_refused(void **state) {
    (void)state;
    fitted f = fit_synth("flops-mem", plane, NULL);
    fitted_refuses(&f, "{\"a\": 1}", 0, "has parameters");
    fitted_refuses(&f, NULL, 1, "has 7 numbers; 3 for each of 2 devices");
    fitted_refuses(&f, NULL, -1, "has 5 numbers");
    void *m = NULL;
    float negative[6] = {1, 1, 1, 1, -1, 1};
    ft_error error;
    json_t *none = json_object();
    assert_int_equal(f.family->load(none, negative, 6, fitted_devices, 2, &m, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "unit cost 4 is -1, but must be from 0 to 1e+15"));
    json_decref(none);
    fitted_free(&f);
}

static void memory_runs_out(void **state) {
    (void)state;
    fitted_check_memory("flops", line);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(flops_fits_a_line), IN_FOLDER(flops_mem_fits_a_plane),
                                       IN_FOLDER(unit_costs_are_not_negative), IN_FOLDER(damaged_models_are_refused),
                                       IN_FOLDER(memory_runs_out)};
    return cmocka_run_group_tests_name("predictor/linear", tests, NULL, NULL);
}
