/* The family "perfsage": it perfsage_learns with all settings, and predicts for unseen operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/peers/sage.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/toy.h"

#define TINY                                                                                                           \
    "{\"hidden\": 4, \"embedding\": 4, \"layers\": 2, \"steps\": 30, \"batch\": 8, \"members\": 2, \"check\": 7"
#define QUICK                                                                                                          \
    "{\"hidden\": 16, \"embedding\": 8, \"layers\": 1, \"steps\": 900, \"batch\": 16, \"check\": 100, \"rate\": 0.01"

static double made_time(const ft_graph *bound, const char *device) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
    double time = 100 + 1e-3 * (double)cost.total.forward.macs;
    ft_cost_free(&cost);
    return device[0] == 'a' ? time : 7 * time;
}

static void perfsage_learns(void **state) {
    (void)state;
    fitted f = fit_synth("perfsage", made_time, QUICK "}");
    fitted_check(&f, 0.25);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void threads_and_stops_do_not_matter(void **state) {
    (void)state;
    const char *config = TINY ", \"dropout\": 0.1, \"forget\": 0.1}";
    fitted f = fit_synth("perfsage", made_time, config);
    fitted_check_threads(&f, config);
    fitted_check_resume(&f, config, 8);
    fitted_free(&f);
}

/* Each setting gives positive predictions, unchanged by saving and loading. */
static void every_setting_works(void **state) {
    (void)state;
    static const char *const settings[] = {
        "\"aggregator\": \"mean\", \"readout\": \"sum\", \"target\": \"raw\", \"loss\": \"mape\", \"unit\": 1",
        "\"aggregator\": \"gcn\", \"direction\": \"predecessors\"",
        "\"aggregator\": \"max-pool\", \"inner\": 3, \"scaling\": \"conditional\"",
        "\"aggregator\": \"mean-pool\", \"direction\": \"both\"",
        ("\"aggregator\": \"lstm\", \"scaling\": \"plain\", \"readout\": \"sum\", \"target\": \"log\", "
         "\"loss\": \"mae\""),
        "\"readout\": \"parts\", \"target\": \"raw\", \"loss\": \"mape\"",
        "\"readout\": \"parts\", \"target\": \"log\", \"loss\": \"huber\"",
    };
    fitted f = fit_synth("perfsage", made_time, TINY "}");
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char config[512];
        snprintf(config, sizeof config, TINY ", %s}", settings[i]);
        fitted_refit(&f, config);
        fitted_check(&f, 1e9);
    }
    fitted_free(&f);
}

static void invalid_models_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("perfsage", made_time, TINY "}");
    fitted_refuses(&f, NULL, -1, "are left");
    fitted_refuses(&f, "{\"config\": {\"layers\": 0}}", 0, "layers");
    fitted_refuses(&f, "{\"config\": {\"hidden\": 5, \"direction\": \"both\"}}", 0, "even");
    fitted_refuses(&f, "{\"config\": {\"aggregator\": \"median\"}}", 0, "must be one of");
    fitted_refuses(&f, "{\"config\": {\"readout\": \"sum\"}}", 0, "readout=parts");
    fitted_free(&f);
}

/* A chain of an operator that training had, or of an unknown one. */
static double ask(const fitted *f, const char *type, double *coverage) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 8, 14, 14), y = toy_value(g, 1, 8, 14, 14), z = toy_value(g, 1, 8, 14, 14);
    toy_op(g, "Relu", x, FT_NONE, FT_NONE, y);
    toy_op(g, type, y, FT_NONE, FT_NONE, z);
    toy_finish(g, z, 1, 1);
    model_view s;
    arena memory;
    model_output p;
    ft_error error;
    model_view_init(&s, g, &(ft_request){0});
    arena_init(&memory, 1 << 20);
    if (f->family->predict(f->model, &(predict_input){&s, &(target_device){0}, &memory, false}, &p, &error) != FT_OK)
        fail_msg("%s", error.message);
    *coverage = p.coverage_ratio;
    arena_free(&memory);
    model_view_free(&s);
    ft_graph_free(g);
    return p.value;
}

static void unknown_operators_are_predicted(void **state) {
    (void)state;
    fitted f = fit_synth("perfsage", made_time, QUICK ", \"forget\": 0.2}");
    double known, unknown, value = ask(&f, "Relu", &known), other = ask(&f, "FluxCapacitor", &unknown);
    assert_true(known == 1 && unknown < 1);
    assert_true(other > value / 5 && other < value * 5);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(perfsage_learns),
        IN_FOLDER(threads_and_stops_do_not_matter),
        IN_FOLDER(every_setting_works),
        IN_FOLDER(invalid_models_are_errors),
        IN_FOLDER(unknown_operators_are_predicted),
    };
    return cmocka_run_group_tests_name("predictor/sage", tests, NULL, NULL);
}
