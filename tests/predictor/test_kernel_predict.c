/* Kernels like those of training have the price of the close networks, models of others that of the careful ones. */
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

static double price(const ft_graph *bound, const char *device) {
    (void)device;
    return 1e-3 * (double)made_cost(bound).forward.macs + 100;
}

/* A convolution as none of the made-up networks has one: of window 9 and many channels. */
static ft_graph *far_graph(void) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 3000, 20, 20), w = toy_weight(graph, 2000, 3000, 9, 9);
    uint32_t y = toy_op(graph, "Conv", x, w, FT_NONE, toy_value(graph, 1, 2000, 12, 12));
    toy_finish(graph, y, 1, 1);
    return graph;
}

static model_output ask(const void *m, const ft_graph *bound) {
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

/* Makes some networks of a runtime take twice as much for everything. */
static void double_prices(kernel_side_model *side, uint32_t first, uint32_t end) {
    for (uint32_t j = first; j < end; j++) {
        float *prices = params_values(&side->nets[j].values, side->nets[j].unit_costs);
        for (uint32_t i = 0; i < side->device_count * KERNEL_TERMS; i++) prices[i] += logf(2);
    }
}

static bool is_about(double value, double expected) {
    return fabs(value / expected - 1) < 1e-5;
}

static void near_is_close_and_far_is_careful(void **state) {
    (void)state;
    fitted f = fit_made("kernel-sum", price, QUICK);
    kernel_model *m = f.model;
    kernel_side_model *side = &m->sides[m->runtimes.of_device[0]];
    assert_int_equal(side->specialist_count, 2);
    assert_int_equal(side->net_count, 4);
    scan_graph known;
    assert_int_equal(scan_graph_open(f.data, &ft_dataset_records(f.data)[f.rows[0].record], &known, NULL), FT_OK);
    ft_graph *far = far_graph();
    model_output known_first = ask(f.model, known.bound), far_first = ask(f.model, far);

    double_prices(side, 2, 4);
    model_output known_then = ask(f.model, known.bound), far_then = ask(f.model, far);
    assert_true(known_then.value == known_first.value && known_then.spread == known_first.spread);
    assert_true(is_about(far_then.value, 2 * far_first.value)); /* no correction either: that is for known mixes */

    double_prices(side, 0, 2);
    known_then = ask(f.model, known.bound);
    assert_true(known_then.value > 1.6 * known_first.value && known_then.value < 2.5 * known_first.value);
    assert_true(is_about(ask(f.model, far).value, 2 * far_first.value));
    for (uint32_t i = 0; i < 10; i++) double_prices(side, 0, 2); /* the further they are apart, the less sure it is */
    assert_true(ask(f.model, far).spread > far_then.spread + 0.1);
    ft_graph_free(far);
    scan_graph_free(&known);
    fitted_free(&f);
}

/* A file from before there were careful networks has none, and says what it said. */
static void old_files_open(void **state) {
    (void)state;
    fitted f = fit_made("kernel-sum", price, PLAIN);
    json_t *params = NULL;
    float_block block = {0};
    void *opened = NULL;
    ft_graph *far = far_graph();
    assert_int_equal(kernel_model_save(f.model, &params, &block, NULL), FT_OK);
    assert_int_equal(json_object_del(json_object_get(params, "config"), "careful"), 0);
    assert_int_equal(kernel_model_load(params, block.items, block.count, fitted_devices, FITTED_DEVICES, &opened, NULL),
                     FT_OK);
    assert_true(ask(opened, far).value == ask(f.model, far).value);
    kernel_model_free(opened);
    ft_graph_free(far);
    json_decref(params);
    float_block_free(&block);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(near_is_close_and_far_is_careful), IN_FOLDER(old_files_open)};
    return cmocka_run_group_tests_name("predictor/kernel_predict", tests, NULL, NULL);
}
