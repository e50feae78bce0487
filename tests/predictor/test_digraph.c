/* The family "digraph", and with it the operations shared by all graph networks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/peers/digraph.h"
#include "support/failing.h"
#include "support/fitted.h"
#include "support/folder.h"

#define QUICK "{\"hidden\": 16, \"layers\": 1, \"head\": 2, \"steps\": 300, \"batch\": 16, \"check\": 100}"
#define TINY  "{\"hidden\": 4, \"layers\": 1, \"steps\": 40, \"batch\": 16, \"members\": 2, \"check\": 7"

/* A made-up time: a cost per multiply-accumulate and per byte, larger on one device. */
static double made_time(const ft_graph *bound, const char *device) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
    double bytes = (double)cost.total.forward.read_bytes + (double)cost.total.forward.write_bytes;
    double time = 1e-3 * (double)cost.total.forward.macs + 2e-3 * bytes;
    ft_cost_free(&cost);
    return device[0] == 'a' ? time : 7 * time;
}

static void digraph_learns(void **state) {
    (void)state;
    fitted f = fit_synth("digraph", made_time, QUICK);
    fitted_check(&f, 0.2);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    const char *config = TINY ", \"dropout\": 0.1, \"forget\": 0.05}";
    fitted f = fit_synth("digraph", made_time, config);
    fitted_check_threads(&f, config);
    fitted_free(&f);
}

static void training_resumes_where_it_stopped(void **state) {
    (void)state;
    const char *config = TINY ", \"average\": 0.9, \"keep_best\": 1, \"schedule\": \"plateau\"}";
    fitted f = fit_synth("digraph", made_time, config);
    fitted_check_resume(&f, config, 12);
    fitted_free(&f);
}

/* Fits, saves and loads; predictions are the same. */
static void works_with(const fitted *f, const char *text) {
    json_t *config = json_loads(text, 0, NULL), *params = NULL;
    fit_context context = {.config = config, .seed = 5};
    void *m = NULL, *again = NULL;
    float_block block = {0};
    ft_error error;
    assert_non_null(config);
    if (f->family->fit(&f->set, &context, &m, &error) != FT_OK) fail_msg("%s: %s", text, error.message);
    assert_int_equal(f->family->save(m, &params, &block, &error), FT_OK);
    if (f->family->load(params, block.items, block.count, fitted_devices, FITTED_DEVICES, &again, &error) != FT_OK)
        fail_msg("%s: %s", text, error.message);
    const ft_record *record = &ft_dataset_records(f->data)[0];
    scan_graph graph;
    assert_int_equal(scan_graph_open(f->data, record, &graph, &error), FT_OK);
    ft_request request = scan_request(record);
    model_view s;
    arena memory;
    model_output one, two;
    model_view_init(&s, graph.bound, &request);
    arena_init(&memory, 1 << 20);
    assert_int_equal(f->family->predict(m, &(predict_input){&s, &(target_device){0}, &memory, false}, &one, &error),
                     FT_OK);
    assert_int_equal(f->family->predict(again, &(predict_input){&s, &(target_device){0}, &memory, false}, &two, &error),
                     FT_OK);
    assert_true(one.value > 0 && one.value == two.value);
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
    f->family->free(m);
    f->family->free(again);
    float_block_free(&block);
    json_decref(params);
    json_decref(config);
}

static void every_layer_and_direction_works(void **state) {
    (void)state;
    static const char *const layers[] = {"gcn", "gin", "gine", "gat", "gps"};
    static const char *const directions[] = {"undirected", "directed", "bidirected"};
    fitted f = fit_synth("digraph", made_time, TINY "}");
    for (size_t i = 0; i < 3 * sizeof layers / sizeof layers[0]; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "{\"hidden\": 8, \"layers\": 2, \"steps\": 3, \"batch\": 8, \"layer\": \"%s\", \"direction\": "
                 "\"%s\", \"nodes\": \"%s\", \"readout\": \"%s\"}",
                 layers[i / 3], directions[i % 3], i % 2 == 0 ? "operators" : "tflite-gpu",
                 i % 2 == 0 ? "sum" : "log-sum");
        works_with(&f, config);
    }
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"encoding\": \"laplacian\"}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"encoding\": \"magnetic\", \"vectors\": 3}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"encoding\": \"magnetic\", \"encoding_form\": \"stable\", "
                   "\"layer\": \"gine\"}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"encoding\": \"laplacian\", \"encoding_form\": \"stable\", "
                   "\"layer\": \"gat\"}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"encoding\": \"magnetic\", \"encoding_form\": \"stable\", "
                   "\"layer\": \"gps\"}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"loss\": \"mape\", \"target\": \"raw\", \"clip\": 1}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"schedule\": \"step\", \"optimizer\": \"adamw\"}");
    works_with(&f, "{\"steps\": 3, \"hidden\": 8, \"target\": \"log1p\", \"patience\": 1, \"check\": 1}");
    fitted_free(&f);
}

static void changed_models_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("digraph", made_time, TINY "}");
    fitted_refuses(&f, NULL, -1, "are left");
    fitted_refuses(&f, NULL, 1, "too many");
    fitted_refuses(&f, "{\"config\": {\"hidden\": 0}}", 0, "hidden");
    fitted_refuses(&f, "{\"config\": {\"layer\": \"lstm\"}}", 0, "must be one of");
    fitted_refuses(&f, "{\"config\": {\"loss\": \"mape\"}}", 0, "target=raw");
    fitted_refuses(&f, "{\"config\": {\"encoding\": \"magnetic\", \"encoding_form\": \"stable\"}}", 0, "does not use");
    fitted_refuses(&f, "{\"config\": {\"layer\": \"gps\", \"hidden\": 10}}", 0, "heads");
    fitted_refuses(&f, "{}", 0, "config");
    fitted_refuses(&f, "{\"config\": {}, \"columns\": []}", 0, "columns");
    fitted_refuses(&f, "{\"config\": {}, \"columns\": [{\"device\": 9}]}", 0, "device");
    fitted_free(&f);
}

static ft_status fit_save_load(const family *f, const fit_set *set, const json_t *config) {
    fit_context context = {.config = config};
    void *m = NULL, *again = NULL;
    json_t *params = NULL;
    float_block block = {0};
    ft_status status = f->fit(set, &context, &m, NULL);
    if (status == FT_OK) status = f->save(m, &params, &block, NULL);
    if (status == FT_OK) status = f->load(params, block.items, block.count, fitted_devices, 2, &again, NULL);
    f->free(m);
    f->free(again);
    json_decref(params);
    float_block_free(&block);
    return status;
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    ft_dataset *data = synth_data("small", 2, fitted_devices, FITTED_DEVICES, made_time);
    fit_set set;
    fit_row *rows = fitted_rows(data, &set);
    json_t *config =
        json_pack("{s:i, s:i, s:i, s:f, s:i}", "hidden", 2, "layers", 1, "steps", 1, "average", 0.5, "keep_best", 1);
    assert_non_null(config);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = fit_save_load(family_find("digraph"), &set, config);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    json_decref(config);
    free(rows);
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(digraph_learns),
                                       IN_FOLDER(threads_do_not_matter),
                                       IN_FOLDER(training_resumes_where_it_stopped),
                                       IN_FOLDER(every_layer_and_direction_works),
                                       IN_FOLDER(changed_models_are_errors),
                                       IN_FOLDER(out_of_memory_is_reported)};
    return cmocka_run_group_tests_name("predictor/digraph", tests, NULL, NULL);
}
