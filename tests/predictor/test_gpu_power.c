/* Tests of the power of GPUs: a family fitted to made-up kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/folder.h"
#include "support/small_set.h"

enum { ROWS = 120 };

/* Large products take the limit of an H200, small ones a fifth of it. */
static double power_of(int size) {
    return 700 * (size >= 2048 ? 0.95 : 0.2);
}

static ft_predictor *trained(void) {
    static char text[ROWS * 100];
    size_t used = (size_t)snprintf(text, sizeof text, "device,dtype,op,inputs,time_us,power_w\n");
    for (int i = 0; i < ROWS; i++) {
        int size = i % 2 == 0 ? 64 + i : 4096 + 16 * i;
        used += (size_t)snprintf(text + used, sizeof text - used, "h200,bfloat16,MatMul,%dx%d;%dx%d:weight,%d,%.1f\n",
                                 size, size, size, size, size, power_of(size));
    }
    write_text("kernels.csv", text);
    ft_error error;
    ft_predictor *predictor;
    ft_train_options options = ft_train_options_default();
    options.family = "gpu-power";
    options.metric = "power_w";
    options.config = "{\"rounds\": 80}";
    if (ft_import("kernels", "kernels.csv", "set", NULL, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    ft_dataset *data = open_set("set");
    if (ft_train(data, "run", &options, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    ft_dataset_free(data);
    if (ft_predictor_open("run/predictor.ftm", &predictor, &error) != FT_OK) fail_msg("%s", error.message);
    return predictor;
}

static double ask(const ft_predictor *predictor, const char *device, int width, int batch, ft_status expected) {
    ft_error error;
    ft_graph *graph = small_graph(width), *bound;
    ft_result result;
    const ft_request request = {.device = device, .dtype = FT_BFLOAT16};
    double value = NAN;
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = batch}, &bound, &error), FT_OK);
    ft_status status = ft_predictor_predict(predictor, bound, &request, &result, &error);
    if (status != expected) fail_msg("status %d: %s", (int)status, error.message);
    if (status == FT_OK) {
        value = ft_result_metric(&result, "power_w")->value;
        ft_result_free(&result);
    }
    ft_graph_free(bound);
    ft_graph_free(graph);
    return value;
}

static void large_products_take_more_power(void **state) {
    (void)state;
    ft_predictor *p = trained();
    double small = ask(p, "h200", 16, 4096, FT_OK), large = ask(p, "h200", 16384, 1 << 20, FT_OK);
    assert_true(small > 0.1 * 700 && small < 0.25 * 700); /* the GPU waits for its host nearly all the time */
    assert_true(large > 300 && large <= 1.05 * 700);
    /* Another device: the same share of its own limit. */
    double other = ask(p, "a100", 16384, 1 << 20, FT_OK);
    assert_true(other > 0.3 * 400 && other <= 1.05 * 400);
    ask(p, "cortex-a76", 16, 4096, FT_ERR_UNSUPPORTED);
    ft_predictor_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_products_take_more_power, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
