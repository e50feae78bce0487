/* Models with kernels like those of training are predicted by the specialist networks, others by the robust ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/kernel/kernel_model.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/toy.h"

#define QUICK "{\"hidden\": 4, \"members\": 2, \"steps\": 20, \"batch\": 16, \"rounds\": 3, \"careful\": 2}"
#define PLAIN "{\"hidden\": 4, \"members\": 2, \"steps\": 20, \"batch\": 16, \"rounds\": 3, \"careful\": 0}"

static double made_time(const ft_graph *bound, const char *device) {
    (void)device;
    return 1e-3 * (double)synth_cost(bound).forward.macs + 100;
}

/* A convolution unlike those of the made-up networks: window 9 and many channels. */
static ft_graph *unseen_graph(void) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 3000, 20, 20), w = toy_weight(graph, 2000, 3000, 9, 9);
    uint32_t y = toy_op(graph, "Conv", x, w, FT_NONE, toy_value(graph, 1, 2000, 12, 12));
    toy_finish(graph, y, 1, 1);
    return graph;
}

static model_output predict(const void *m, const ft_graph *bound) {
    model_view s;
    arena memory;
    model_output made;
    ft_error error;
    model_view_init(&s, bound, &(ft_request){0});
    arena_init(&memory, 1 << 24);
    if (kernel_model_predict(m, &(predict_input){&s, &(target_device){.index = 0}, &memory, true}, &made, &error) !=
        FT_OK)
        fail_msg("%s", error.message);
    double sum = 0;
    for (uint32_t i = 0; i < made.part_count; i++) {
        assert_true(made.parts[i].value > 0);
        sum += made.parts[i].value;
    }
    assert_true(fabs(sum / made.value - 1) < 1e-9);
    made.parts = NULL;
    arena_free(&memory);
    model_view_free(&s);
    return made;
}

/* Doubles all unit costs of some networks of a runtime. */
static void double_unit_costs(kernel_side_model *side, uint32_t first, uint32_t end) {
    for (uint32_t j = first; j < end; j++) {
        float *costs = params_values(&side->nets[j].values, side->nets[j].unit_costs);
        for (uint32_t i = 0; i < side->device_count * KERNEL_TERMS; i++) costs[i] += logf(2);
    }
}

static bool is_about(double value, double expected) {
    return fabs(value / expected - 1) < 1e-5;
}

static void unseen_kernels_use_robust_networks(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-sum", made_time, QUICK);
    kernel_model *m = f.model;
    kernel_side_model *side = &m->sides[m->runtimes.of_device[0]];
    assert_int_equal(side->specialist_count, 2);
    assert_int_equal(side->net_count, 4);
    scan_graph known;
    assert_int_equal(scan_graph_open(f.data, &ft_dataset_records(f.data)[f.rows[0].record], &known, NULL), FT_OK);
    ft_graph *unseen = unseen_graph();
    model_output known_first = predict(f.model, known.bound), unseen_first = predict(f.model, unseen);

    double_unit_costs(side, 2, 4);
    model_output known_then = predict(f.model, known.bound), unseen_then = predict(f.model, unseen);
    assert_true(known_then.value == known_first.value && known_then.spread == known_first.spread);
    assert_true(
        is_about(unseen_then.value, 2 * unseen_first.value)); /* the correction does not apply to unseen kernels */

    double_unit_costs(side, 0, 2);
    known_then = predict(f.model, known.bound);
    assert_true(known_then.value > 1.6 * known_first.value && known_then.value < 2.5 * known_first.value);
    assert_true(is_about(predict(f.model, unseen).value, 2 * unseen_first.value));
    for (uint32_t i = 0; i < 10; i++) double_unit_costs(side, 0, 2); /* disagreement widens the interval */
    assert_true(predict(f.model, unseen).spread > unseen_then.spread + 0.1);
    ft_graph_free(unseen);
    scan_graph_free(&known);
    fitted_free(&f);
}

/* A file from before there were robust networks has none, and its predictions are unchanged. */
static void old_files_open(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-sum", made_time, PLAIN);
    json_t *params = NULL;
    float_block block = {0};
    void *opened = NULL;
    ft_graph *unseen = unseen_graph();
    assert_int_equal(kernel_model_save(f.model, &params, &block, NULL), FT_OK);
    assert_int_equal(json_object_del(json_object_get(params, "config"), "careful"), 0);
    assert_int_equal(kernel_model_load(params, block.items, block.count, fitted_devices, FITTED_DEVICES, &opened, NULL),
                     FT_OK);
    assert_true(predict(opened, unseen).value == predict(f.model, unseen).value);
    kernel_model_free(opened);
    ft_graph_free(unseen);
    json_decref(params);
    float_block_free(&block);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(unseen_kernels_use_robust_networks), IN_FOLDER(old_files_open)};
    return cmocka_run_group_tests_name("predictor/kernel_predict", tests, NULL, NULL);
}
