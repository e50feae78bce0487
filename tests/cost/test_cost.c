/* Whole graphs: totals, coverage, kernels, out of memory, and real models when they are available. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cost/cost.h"
#include "foretell/foretell.h"
#include "support/toy.h"

static ft_graph *graph;
static ft_cost_options options;
static ft_cost cost;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    options = ft_cost_options_default();
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_cost_free(&cost);
    ft_graph_free(graph);
    return 0;
}

static void compute(void) {
    ft_error error;
    ft_cost_free(&cost);
    if (ft_cost_compute(graph, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
}

/* conv -> batch norm -> relu -> an unknown operator. */
static void small_network(void) {
    uint32_t c = toy_op(graph, "Conv", toy_input(graph, 1, 3, 8, 8), toy_weight(graph, 4, 3, 3, 3), FT_NONE,
                        toy_value(graph, 1, 4, 6, 6));
    uint32_t bn_in[] = {c, toy_weight(graph, 4), toy_weight(graph, 4), toy_weight(graph, 4), toy_weight(graph, 4)};
    uint32_t n = toy_value(graph, 1, 4, 6, 6);
    ft_op bn = {.name = "bn", .type = "BatchNormalization", .inputs = bn_in, .outputs = &n};
    bn.input_count = 5;
    bn.output_count = 1;
    toy_op_full(graph, &bn);
    uint32_t r = toy_op(graph, "Relu", n, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 6, 6));
    toy_finish(graph, toy_op(graph, "Marvel", r, FT_NONE, FT_NONE, toy_value(graph, 1, 4, 6, 6)), 1, 1);
    for (uint32_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].role == FT_CONSTANT)
            graph->tensors[t].stored_bytes = ft_tensor_bytes(graph, &graph->tensors[t]);
}

static void totals_are_sums(void **state) {
    (void)state;
    small_network();
    options.mode = FT_TRAIN;
    compute();
    assert_int_equal(cost.op_count, 4);
    assert_int_equal(cost.total.params, 108 + 8);
    assert_int_equal(cost.ops[0].params, 108);
    assert_int_equal(cost.ops[1].params, 8);
    assert_int_equal(cost.total.param_bytes, 4 * 116);
    assert_int_equal(cost.buffers, 8);
    assert_int_equal(cost.weight_bytes, 4 * 124);
    assert_int_equal(cost.stored_bytes, 4 * 124);
    assert_int_equal(cost.total.forward.macs, 144 * 27);
    assert_int_equal(cost.total.activation_elems, 4 * 144);
    assert_int_equal(cost.conv_matmul_outputs, 144);
    assert_int_equal(cost.optimizer.flops, 116 * 4);
    ft_work sum = {0};
    for (uint32_t i = 0; i < cost.op_count; i++) {
        sum.flops += cost.ops[i].forward.flops;
        sum.read_bytes += cost.ops[i].backward_data.read_bytes;
        sum.write_bytes += cost.ops[i].backward_weights.write_bytes;
    }
    assert_int_equal(cost.total.forward.flops, sum.flops);
    assert_int_equal(cost.total.backward_data.read_bytes, sum.read_bytes);
    assert_int_equal(cost.total.backward_weights.write_bytes, sum.write_bytes);
    assert_true(sum.read_bytes > 0 && sum.write_bytes == 4 * 116);
}

static void inference_has_no_backward(void **state) {
    (void)state;
    small_network();
    compute();
    assert_int_equal(cost.total.backward_data.flops, 0);
    assert_int_equal(cost.total.backward_weights.flops, 0);
    assert_int_equal(cost.optimizer.flops, 0);
}

static void coverage_is_the_share_of_known_operators(void **state) {
    (void)state;
    small_network();
    compute();
    assert_int_equal(cost.estimated_ops, 1);
    assert_true(cost.ops[3].is_estimated && cost.total.is_estimated);
    assert_float_equal(cost.coverage_ops_ratio, 0.75, 1e-9);
    double unknown = 144 + 2 * 576;
    double all = (double)(cost.total.forward.flops + cost.total.forward.read_bytes + cost.total.forward.write_bytes);
    assert_float_equal(cost.coverage_ratio, 1 - unknown / all, 1e-9);
}

static void a_shared_weight_counts_once_at_its_first_reader(void **state) {
    (void)state;
    uint32_t w = toy_weight(graph, 8, 8), x = toy_input(graph, 1, 8);
    for (int i = 0; i < 3; i++) x = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, 8));
    toy_finish(graph, x, 1, 1);
    compute();
    assert_int_equal(cost.total.params, 64);
    assert_int_equal(cost.tied_params, 64);
    assert_int_equal(cost.ops[0].params, 64);
    assert_int_equal(cost.ops[1].params, 0);
}

static void packed_weights_count_as_unpacked(void **state) {
    (void)state;
    uint32_t w = toy_tensor(graph, FT_CONSTANT, FT_UINT8, 32, 2, 16, TOY_END), scales = toy_weight(graph, 64);
    uint32_t y = toy_op(graph, "MatMulNBits", toy_input(graph, 1, 64), w, scales, toy_value(graph, 1, 32));
    ft_attr sizes[] = {toy_int(graph, "K", 64), toy_int(graph, "N", 32)};
    toy_attrs(graph, sizes, 2);
    toy_finish(graph, y, 1, 1);
    compute();
    assert_int_equal(cost.total.params, 64 * 32);
    assert_int_equal(cost.total.param_bytes, 1024 + 64 * 4); /* with the scales, which are no parameters */
    assert_int_equal(cost.buffers, 0);
    assert_int_equal(cost.total.forward.macs, 64 * 32);
}

static void kernels_keep_inner_bytes(void **state) {
    (void)state;
    small_network();
    compute();
    static const uint32_t first[] = {0, 1, 2}, second[] = {3}, of_op[] = {0, 0, 0, 1};
    const ft_kernel items[] = {{.type = "conv-bn-relu", .ops = first, .op_count = 3},
                               {.type = "marvel", .ops = second, .op_count = 1}};
    ft_kernels kernels = {.items = items, .count = 2, .kernel_of_op = of_op};
    ft_op_cost k = ft_cost_kernel(graph, &cost, &kernels, 0);
    assert_int_equal(k.forward.macs, 144 * 27);
    assert_int_equal(k.params, 116);
    /* Reads the input, the weights and the statistics; writes the relu's output alone. */
    assert_int_equal(k.forward.read_bytes, 4 * (192 + 108 + 16));
    assert_int_equal(k.forward.write_bytes, 576);
    assert_false(k.is_estimated);
    k = ft_cost_kernel(graph, &cost, &kernels, 1);
    assert_int_equal(k.forward.read_bytes, 576);
    assert_true(k.is_estimated);
    /* A result that others read too is written. */
    static const uint32_t pair[] = {0, 1}, rest[] = {2, 3}, split[] = {0, 0, 1, 1};
    const ft_kernel halves[] = {{.type = "conv-bn", .ops = pair, .op_count = 2},
                                {.type = "rest", .ops = rest, .op_count = 2}};
    kernels = (ft_kernels){.items = halves, .count = 2, .kernel_of_op = split};
    assert_int_equal(ft_cost_kernel(graph, &cost, &kernels, 0).forward.write_bytes, 576);
}

static void views_in_a_kernel_move_no_bytes(void **state) {
    (void)state;
    /* input -> view -> relu -> transpose -> view: the relu reads the input and writes what leaves through the views. */
    uint32_t v = toy_op(graph, "Identity", toy_input(graph, 4, 8), FT_NONE, FT_NONE, toy_value(graph, 4, 8));
    uint32_t r = toy_op(graph, "Relu", v, FT_NONE, FT_NONE, toy_value(graph, 4, 8));
    uint32_t t = toy_op(graph, "Transpose", r, FT_NONE, FT_NONE, toy_value(graph, 8, 4));
    toy_finish(graph, toy_op(graph, "Flatten", t, FT_NONE, FT_NONE, toy_value(graph, 32)), 1, 1);
    compute();
    static const uint32_t ops[] = {0, 1, 2, 3}, of_op[] = {0, 0, 0, 0};
    static const bool is_free[] = {true, false, true, true};
    const ft_kernel item = {.type = "relu", .ops = ops, .op_count = 4, .root = 1};
    ft_kernels kernels = {.items = &item, .count = 1, .kernel_of_op = of_op, .is_free = is_free};
    ft_op_cost k = ft_cost_kernel(graph, &cost, &kernels, 0);
    assert_int_equal(k.forward.read_bytes, 128);
    assert_int_equal(k.forward.write_bytes, 128);
    /* A transpose that is launched does the writing, and the relu's result stays inside. */
    kernels.is_free = NULL;
    k = ft_cost_kernel(graph, &cost, &kernels, 0);
    assert_int_equal(k.forward.read_bytes, 128);
    assert_int_equal(k.forward.write_bytes, 128);
}

/* Each view reads the same tensor twice: exponentially many paths. */
static void repeated_views_do_not_take_exponential_time(void **state) {
    (void)state;
    enum { COUNT = 400 };
    uint32_t t = toy_op(graph, "Relu", toy_input(graph, 8), FT_NONE, FT_NONE, toy_value(graph, 8));
    for (int i = 1; i < COUNT; i++) t = toy_op(graph, "Reshape", t, t, FT_NONE, toy_value(graph, 8));
    toy_finish(graph, t, 1, 1);
    compute();
    uint32_t ops[COUNT], of_op[COUNT] = {0};
    for (uint32_t i = 0; i < COUNT; i++) ops[i] = i;
    const ft_kernel item = {.type = "relu", .ops = ops, .op_count = COUNT};
    ft_kernels kernels = {.items = &item, .count = 1, .kernel_of_op = of_op};
    assert_int_equal(ft_cost_kernel(graph, &cost, &kernels, 0).forward.write_bytes, 32);
}

static void intensity_is_flops_per_byte(void **state) {
    (void)state;
    assert_float_equal(ft_work_intensity(&(ft_work){0, 300, 100, 50}), 2, 1e-12);
    assert_float_equal(ft_work_intensity(&(ft_work){0, 300, 0, 0}), 0, 1e-12);
}

static void an_unbound_graph_is_refused(void **state) {
    (void)state;
    ft_error error;
    small_network();
    graph->is_bound = false;
    assert_int_equal(ft_cost_compute(graph, &options, &cost, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "ft_graph_bind"));
}

static void freeing_twice_is_fine(void **state) {
    (void)state;
    small_network();
    compute();
    ft_cost_free(&cost);
    ft_cost_free(&cost);
    ft_cost_free(NULL);
}

/* Counts published by the authors of the models and in the literature. */
typedef struct known {
    const char *file;
    uint64_t params, macs;
} known;

static void real_models_have_their_published_counts(void **state) {
    (void)state;
    static const known models[] = {
        {"../shared/data/timm/graphs/resnet50@224.onnx.gz", 25557032, 4089184256},
        {"../shared/data/timm/graphs/vgg16@224.onnx.gz", 138357544, 15470264320},
    };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        ft_graph *model = NULL, *bound = NULL;
        ft_error error;
        ft_cost c = {0};
        if (access(models[i].file, R_OK) != 0) {
            print_message("%s is not there\n", models[i].file);
            skip();
        }
        ft_status status = ft_graph_read(models[i].file, &model, &error);
        if (status == FT_OK) status = ft_graph_bind(model, NULL, &bound, &error);
        if (status == FT_OK) status = ft_cost_compute(bound, &options, &c, &error);
        if (status != FT_OK) fail_msg("%s", error.message);
        assert_int_equal(c.total.params, models[i].params);
        assert_int_equal(c.total.forward.macs, models[i].macs);
        ft_cost_free(&c);
        ft_graph_free(bound);
        ft_graph_free(model);
    }
}

static void totals_at(const ft_graph *model, int64_t batch, ft_op_cost *total, bool *is_scaled) {
    ft_graph *bound = NULL;
    ft_cost c = {0};
    ft_error error;
    ft_cost_options inference = ft_cost_options_default();
    ft_status status = ft_graph_bind(model, &(ft_binding){.batch = batch}, &bound, &error);
    if (status == FT_OK) status = ft_cost_compute(bound, &inference, &c, &error);
    if (status != FT_OK) fail_msg("%s: %s", ft_graph_name(model), error.message);
    *total = c.total;
    *is_scaled = ft_graph_is_scaled(bound);
    ft_cost_free(&c);
    ft_graph_free(bound);
}

/* Eight times the batch is eight times the work on the same weights, whether the file leaves the batch open or was
 * exported at one, which is scaled. */
static void check_scaling(const char *pattern) {
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) {
        print_message("there is no %s\n", pattern);
        skip();
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ft_graph *model = NULL;
        ft_error error;
        ft_op_cost one, eight;
        bool is_one_scaled, is_eight_scaled;
        if (ft_graph_read(files.gl_pathv[i], &model, &error) != FT_OK) fail_msg("%s", error.message);
        totals_at(model, 1, &one, &is_one_scaled);
        totals_at(model, 8, &eight, &is_eight_scaled);
        if (is_one_scaled || eight.forward.macs != 8 * one.forward.macs || eight.params != one.params)
            fail_msg("%s does not scale", files.gl_pathv[i]);
        ft_graph_free(model);
    }
    globfree(&files);
}

static void real_models_scale_with_the_batch(void **state) {
    (void)state;
    check_scaling("../shared/data/timm/graphs/*.onnx.gz");
    check_scaling("../shared/data/npu/tflite/*.tflite.gz");
}

/* --- Shares of forward, backward and optimiser ------------------------------------------------------------------ */

static const ft_op_cost step_ops[] = {
    {.forward = {.flops = 60, .read_bytes = 30, .write_bytes = 10},
     .backward_data = {.flops = 60, .read_bytes = 30, .write_bytes = 10},
     .backward_weights = {.flops = 50, .read_bytes = 30, .write_bytes = 20},
     .params = 30},
    {.forward = {.flops = 5, .read_bytes = 5}, .params = 10},
    {.params = 0},
};

static void shares_of_a_step_add_up(void **state) {
    (void)state;
    const uint32_t first[] = {0}, second[] = {1}, third[] = {2};
    const ft_cost step = {
        .ops = step_ops, .op_count = 3, .total = {.params = 40}, .optimizer = {.flops = 300, .read_bytes = 100}};
    work_share share = work_share_of(&step, first, 1);
    assert_float_equal(share.forward, 100.0 / 600, 1e-12);
    assert_float_equal(share.backward, 200.0 / 600, 1e-12);
    assert_float_equal(share.update, 300.0 / 600, 1e-12); /* 30 of 40 parameters, of 400 */
    share = work_share_of(&step, second, 1);
    assert_float_equal(share.forward, 10.0 / 110, 1e-12);
    assert_float_equal(share.backward, 0, 0);
    assert_float_equal(work_share_of(&step, third, 1).forward, 1, 0);
    assert_float_equal(work_share_of(&step, NULL, 0).forward, 1, 0);
    assert_float_equal(work_amount_of(&step, first, 1), 300, 1e-12);
}

static void inference_is_all_forward(void **state) {
    (void)state;
    const uint32_t second[] = {1};
    const ft_cost step = {.ops = step_ops, .op_count = 3, .total = {.params = 40}};
    assert_float_equal(work_share_of(&step, second, 1).forward, 1, 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(totals_are_sums),
        TEST(inference_has_no_backward),
        TEST(coverage_is_the_share_of_known_operators),
        TEST(a_shared_weight_counts_once_at_its_first_reader),
        TEST(packed_weights_count_as_unpacked),
        TEST(kernels_keep_inner_bytes),
        TEST(views_in_a_kernel_move_no_bytes),
        TEST(repeated_views_do_not_take_exponential_time),
        TEST(intensity_is_flops_per_byte),
        TEST(an_unbound_graph_is_refused),
        TEST(freeing_twice_is_fine),
        TEST(shares_of_a_step_add_up),
        TEST(inference_is_all_forward),
        TEST(real_models_have_their_published_counts),
        TEST(real_models_scale_with_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
