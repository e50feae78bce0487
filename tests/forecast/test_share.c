/* Tests of two models that share a GPU, and of the utilisation in results, with the bundled predictors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/small_set.h"

static ft_predictor_set *set;

static int set_up(void **state) {
    static const char *const files[] = {"predictors/torch.ftm", "predictors/memory.ftm", "predictors/gpu-util.ftm",
                                        "predictors/phone.ftm"};
    (void)state;
    ft_error error;
    return ft_predictor_set_open(files, sizeof files / sizeof files[0], &set, &error) == FT_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    ft_predictor_set_free(set);
    return 0;
}

static ft_results results_of(const ft_graph *model, const char *device, int64_t batch) {
    ft_results results;
    ft_error error;
    const ft_request request = {.device = device, .batch = batch};
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    return results;
}

static double value_of(const ft_results *results, const char *metric) {
    const ft_metric_result *m = ft_result_metric(&results->items[0], metric);
    if (m == NULL) fail_msg("no %s", metric);
    return m->value;
}

static void results_have_utilisation_power_and_energy(void **state) {
    (void)state;
    ft_graph *model = small_graph(512);
    ft_results r = results_of(model, "rtx-3090", 4096);
    static const char *const ratios[] = {"gpu_util_ratio",       "sm_active_ratio",        "sm_occupancy_ratio",
                                         "dram_util_ratio",      "peak_gpu_util_ratio",    "peak_sm_active_ratio",
                                         "peak_dram_util_ratio", "peak_sm_occupancy_ratio"};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        const ft_metric_result *m = ft_result_metric(&r.items[0], ratios[i]);
        assert_non_null(m);
        assert_true(m->value > 0 && m->value <= 1 && m->lo <= m->value && m->value <= m->hi && m->hi <= 1);
    }
    assert_true(value_of(&r, "util_ratio") == value_of(&r, "gpu_util_ratio"));
    assert_true(value_of(&r, "peak_sm_active_ratio") >= value_of(&r, "sm_active_ratio"));
    assert_int_equal(ft_result_metric(&r.items[0], "dram_util_ratio")->provenance, FT_ASSUMED);
    double energy = value_of(&r, "power_w") * value_of(&r, "time_us") * 1e-6;
    assert_true(fabs(value_of(&r, "energy_j") / energy - 1) < 1e-9);
    ft_results_free(&r);
    ft_graph_free(model);
}

static void two_busy_models_take_turns(void **state) {
    (void)state;
    ft_graph *model = small_graph(512);
    ft_error error;
    ft_results a = results_of(model, "rtx-3090", 65536), b = results_of(model, "rtx-3090", 65536);
    double alone = value_of(&a, "time_us"), bytes = value_of(&a, "peak_bytes");
    double busy = fmax(value_of(&a, "gpu_util_ratio"), value_of(&a, "dram_util_ratio"));
    assert_int_equal(ft_share(&a, &b, &error), FT_OK);
    double speed = value_of(&a, "shared_speed_ratio");
    assert_true(fabs(speed - 1 / fmax(1, 2 * busy)) < 1e-9);
    assert_true(fabs(value_of(&a, "shared_time_us") - alone / speed) < 1e-6 * alone);
    assert_true(value_of(&a, "shared_peak_bytes") == 2 * bytes);
    ft_results_free(&a);
    ft_results_free(&b);
    ft_graph_free(model);
}

static void without_utilisation_only_memory_is_shared(void **state) {
    (void)state;
    ft_graph *model = small_graph(64);
    ft_error error;
    ft_results a = results_of(model, "cortex-a76", 1), b = results_of(model, "cortex-a76", 1), none = {0};
    assert_int_equal(ft_share(&a, &b, &error), FT_OK);
    assert_null(ft_result_metric(&a.items[0], "shared_speed_ratio"));
    assert_true(value_of(&a, "shared_peak_bytes") > 0);
    assert_int_equal(ft_share(&a, &none, &error), FT_ERR_USAGE);
    assert_int_equal(ft_share(NULL, &b, &error), FT_ERR_USAGE);
    ft_results_free(&a);
    ft_results_free(&b);
    ft_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_utilisation_power_and_energy),
        cmocka_unit_test(two_busy_models_take_turns),
        cmocka_unit_test(without_utilisation_only_memory_is_shared),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
