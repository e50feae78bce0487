/* test_job.c - the bundled predictor that is chosen for a device, a model and a type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/onnx_model.h"

static const char *const files[] = {"predictors/gpu-kernels.ftm", "predictors/torch.ftm"};

static ft_predictor_set *set;
static ft_graph *products, *images;

static int begin(void **state) {
    (void)state;
    ft_error error;
    if (ft_predictor_set_open(files, 2, &set, &error) != FT_OK) fail_msg("%s", error.message);
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,512,256");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "256,1024");
    onnx_node(m, m->graph, "MatMul", "x w", "h");
    onnx_node(m, m->graph, "Relu", "h", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    products = onnx_model_read(m);
    onnx_model_free(m);
    m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,16,32,32");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "64,16,3,3");
    onnx_node(m, m->graph, "Conv", "x w", "c");
    onnx_node(m, m->graph, "Relu", "c", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    images = onnx_model_read(m);
    onnx_model_free(m);
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(products);
    ft_graph_free(images);
    ft_predictor_set_free(set);
    return 0;
}

static bool is_by_kernels(const ft_graph *model, const char *device, ft_dtype dtype, ft_mode mode) {
    const ft_request request = {.device = device, .batch = 8, .dtype = dtype, .mode = mode};
    ft_results results;
    ft_error error;
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_metric_result *time = ft_result_time(&results.items[0]);
    assert_non_null(time->predictor);
    assert_true(time->value > 0 && time->lo < time->value && time->hi > time->value);
    bool is_kernels = strstr(time->predictor, "gpu-kernels") != NULL;
    ft_results_free(&results);
    return is_kernels;
}

static void products_in_float32_are_sums_of_measured_kernels(void **state) {
    (void)state;
    assert_true(is_by_kernels(products, "v100-pcie-32gb", FT_FLOAT32, FT_INFER));
    assert_true(is_by_kernels(products, "v100-pcie-32gb", FT_FLOAT32, FT_TRAIN));
    assert_true(is_by_kernels(products, "l4", FT_FLOAT32, FT_INFER)); /* of neither */
}

static void models_that_were_measured_as_a_whole_decide_else(void **state) {
    (void)state;
    assert_false(is_by_kernels(products, "rtx-3090", FT_FLOAT32, FT_INFER)); /* measured with models */
    assert_false(is_by_kernels(products, "v100-pcie-32gb", FT_FLOAT16, FT_INFER));
    assert_false(is_by_kernels(images, "v100-pcie-32gb", FT_FLOAT32, FT_INFER));
}

/* The devices that are predicted unless a request names some are those of whole models. */
static void kernels_do_not_make_a_device_measured(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_predictor_set_device_count(set); i++)
        assert_string_not_equal(ft_predictor_set_device(set, i), "v100-pcie-32gb");
    ft_predictor_set *alone;
    assert_int_equal(ft_predictor_set_open(files, 1, &alone, NULL), FT_OK);
    assert_true(ft_predictor_set_device_count(alone) > 10);
    ft_predictor_set_free(alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_in_float32_are_sums_of_measured_kernels),
        cmocka_unit_test(models_that_were_measured_as_a_whole_decide_else),
        cmocka_unit_test(kernels_do_not_make_a_device_measured),
    };
    return cmocka_run_group_tests_name("forecast/job", tests, begin, end);
}
