/* Launches of kernels on a GPU: settings, decomposed attention, gradients, anchors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/kernels/operator_text.h"
#include "foretell/graph.h"
#include "predictor/gpu/gpu_rows.h"

typedef struct found {
    gpu_work works[16];
    uint32_t count;
} found;

static found works_of(const operator_text *text, const ft_request *request) {
    ft_graph *graph, *bound;
    ft_rules *rules;
    model_view view;
    arena memory;
    gpu_runtime runtime;
    gpu_work *works;
    found f = {0};
    ft_error error;
    if (operator_text_graph(text, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = request->batch}, &bound, NULL), FT_OK);
    assert_int_equal(ft_rules_open("torch-eager", &rules, NULL), FT_OK);
    model_view_init(&view, bound, request);
    arena_init(&memory, 1 << 22);
    gpu_runtime_of(request, &runtime);
    if (gpu_works_of(&view, rules, &runtime, &memory, &works, &f.count, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(f.count <= 16);
    memcpy(f.works, works, f.count * sizeof *works);
    arena_free(&memory);
    model_view_free(&view);
    ft_rules_free(rules);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return f;
}

static const operator_text attention = {"Attention", "Nx12x128x64;Nx12x128x64;Nx12x128x64", "is_causal=1"};

static void attention_is_fused_in_16_bits_only(void **state) {
    (void)state;
    found narrow = works_of(&attention, &(ft_request){.batch = 2, .dtype = FT_FLOAT16}),
          wide = works_of(&attention, &(ft_request){.batch = 2, .dtype = FT_FLOAT32}),
          asked = works_of(&attention, &(ft_request){.batch = 2, .dtype = FT_FLOAT32, .setting = "attention=fused"});
    assert_int_equal(narrow.count, 1);
    assert_int_equal(narrow.works[0].kind, GPU_PREFILL);
    assert_true(narrow.works[0].window == 64.5); /* a causal query attends to half of the keys */
    assert_int_equal(asked.count, 1);
    assert_int_equal(wide.count, 5); /* two products, scale, mask, softmax */
    assert_int_equal(wide.works[0].kind, GPU_BATCHED);
    assert_true(wide.works[0].batch == 24 && wide.works[0].m == 128 && wide.works[0].k == 64);
}

static void training_adds_the_gradients_of_both_factors(void **state) {
    (void)state;
    const operator_text gemm = {"Gemm", "Nx256;512x256:weight", "transB=1"};
    found f = works_of(&gemm, &(ft_request){.batch = 64, .dtype = FT_FLOAT32, .mode = FT_TRAIN});
    assert_int_equal(f.count, 3);
    for (uint32_t i = 0; i < 3; i++) assert_true(f.works[i].flops == 2.0 * 64 * 256 * 512);
    assert_true(f.works[1].n == 256 && f.works[1].k == 512);
    assert_true(f.works[2].m == 256 && f.works[2].k == 64);
}

static void filters_that_are_computed_are_weight_gradients(void **state) {
    (void)state;
    const operator_text conv = {"Conv", "Nx64x28x28;64x64x3x3:weight", "pads=1x1x1x1"},
                        gradient = {"Conv", "64x8x28x28;64x8x28x28", "pads=1x1x1x1"};
    assert_int_equal(works_of(&conv, &(ft_request){.batch = 8}).works[0].pass, GPU_FORWARD);
    assert_int_equal(works_of(&gradient, &(ft_request){.batch = 64}).works[0].pass, GPU_WEIGHT_GRADIENT);
}

static void the_formula_of_gelu_is_a_launch_for_each_step(void **state) {
    (void)state;
    const operator_text one = {"Gelu", "Nx512", "approximate=tanh"}, steps = {"Gelu", "Nx512", "decomposed=1"};
    const ft_request eager = {.batch = 64}, compiled = {.batch = 64, .setting = "compile=yes"};
    found f = works_of(&steps, &eager);
    assert_int_equal(works_of(&one, &eager).count, 1);
    assert_int_equal(works_of(&steps, &compiled).count, 1);
    assert_int_equal(f.count, 2);
    assert_true(f.works[0].times + f.works[1].times == 8);
}

static void settings_say_where_a_kernel_was_measured(void **state) {
    (void)state;
    gpu_runtime r;
    gpu_runtime_of(&(ft_request){.dtype = FT_BFLOAT16, .setting = "framework=vllm;kernel=a;type=fp8"}, &r);
    assert_true(r.source == GPU_VLLM && r.is_fused && !isnan(r.kernel) && !isnan(r.type));
    gpu_runtime_of(&(ft_request){.dtype = FT_FLOAT32, .setting = "torch=1.10.0"}, &r);
    assert_true(r.source == GPU_EAGER && r.tf32_matmul == 1 && isnan(r.kernel));
    gpu_runtime_of(&(ft_request){.dtype = FT_FLOAT32, .setting = "torch=2.1.0"}, &r);
    assert_true(r.tf32_matmul == 0 && r.tf32_conv == 1);
    gpu_runtime_of(&(ft_request){.dtype = FT_FLOAT32, .setting = "tf32=all"}, &r);
    assert_true(r.tf32_matmul == 1);
}

static void anchors_are_not_below_what_the_data_sheet_allows(void **state) {
    (void)state;
    const operator_text gemm = {"Gemm", "Nx4096;4096x4096:weight", "transB=1"};
    found f = works_of(&gemm, &(ft_request){.batch = 4096, .dtype = FT_FLOAT16});
    ft_device *device;
    gpu_sheet sheet;
    gpu_runtime runtime;
    gpu_row row;
    assert_int_equal(ft_device_open("v100-pcie-32gb", &device, NULL), FT_OK);
    assert_int_equal(gpu_sheet_read(device, &sheet, NULL), FT_OK);
    gpu_runtime_of(&(ft_request){.dtype = FT_FLOAT16}, &runtime);
    gpu_row_of(&f.works[0], &sheet, FT_FLOAT16, &runtime, &row);
    assert_true(row.physical_us > 2e6 * 4096 * 4096 * 4096 / ft_device_number(device, "peak_float16_flops"));
    assert_true(row.anchor_us > row.physical_us);
    assert_true(gpu_queued_us(&row, row.anchor_us) < row.anchor_us); /* without the launch overhead */
    ft_device_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_fused_in_16_bits_only),
        cmocka_unit_test(training_adds_the_gradients_of_both_factors),
        cmocka_unit_test(filters_that_are_computed_are_weight_gradients),
        cmocka_unit_test(the_formula_of_gelu_is_a_launch_for_each_step),
        cmocka_unit_test(settings_say_where_a_kernel_was_measured),
        cmocka_unit_test(anchors_are_not_below_what_the_data_sheet_allows),
    };
    return cmocka_run_group_tests_name("predictor/gpu_work", tests, NULL, NULL);
}
