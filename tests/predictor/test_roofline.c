/* "roofline" recovers the four constants that generated the times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/baseline/roofline.h"
#include "support/fitted.h"
#include "support/folder.h"

static const double truth[2][ROOF_CONSTANTS] = {{1e-4, 1e-3, 2, 5}, {2e-3, 1e-4, 0.5, 1}};

static double roof(const ft_graph *bound, const char *device) {
    const double *constants = truth[device[0] == 'a' ? 0 : 1];
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    assert_int_equal(ft_rules_open(device[0] == 'a' ? "tflite-gpu" : "tflite-cpu", &rules, NULL), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
    assert_int_equal(ft_graph_fuse(bound, rules, &kernels, NULL), FT_OK);
    double sum = constants[ROOF_START];
    for (uint32_t i = 0; i < kernels.count; i++) {
        ft_op_cost kernel = ft_cost_kernel(bound, &cost, &kernels, i);
        double bytes = (double)kernel.forward.read_bytes + (double)kernel.forward.write_bytes;
        sum += roofline_kernel(constants, (double)kernel.forward.flops, bytes);
    }
    ft_kernels_free(&kernels);
    ft_cost_free(&cost);
    ft_rules_free(rules);
    return sum;
}

static void constants_are_recovered(void **state) {
    (void)state;
    fitted f = fit_synth("roofline", roof, NULL);
    fitted_check(&f, 0.03);
    fitted_check_threads(&f, NULL);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void rows_are_limited(void **state) {
    (void)state;
    fitted f = fit_synth("roofline", roof, "{\"rows\": 20}");
    fitted_check(&f, 0.2);
    fitted_free(&f);
}

static void damaged_models_are_refused(void **state) {
    (void)state;
    fitted f = fit_synth("roofline", roof, "{\"rows\": 10}");
    fitted_refuses(&f, "{}", 0, "must have the parameter 'runtimes'");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\"]}", 0, "must be a list of 2");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"warp\"]}", 0, "'warp'");
    fitted_refuses(&f, "{\"runtimes\": [\"tflite-cpu\", \"tflite-cpu\"], \"x\": 1}", 0, "and no other");
    fitted_refuses(&f, NULL, 1, "has 9 numbers");
    fitted_refuses(&f, NULL, -8, "has 0 numbers");
    fitted_free(&f);
}

static void memory_runs_out(void **state) {
    (void)state;
    fitted_check_memory("roofline", roof);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(constants_are_recovered), IN_FOLDER(rows_are_limited),
                                       IN_FOLDER(damaged_models_are_refused), IN_FOLDER(memory_runs_out)};
    return cmocka_run_group_tests_name("predictor/roofline", tests, NULL, NULL);
}
