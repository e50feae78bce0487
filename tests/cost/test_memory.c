/* Memory over time, on graphs small enough to walk by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "foretell/cost.h"
#include "support/failing.h"
#include "support/toy.h"

static ft_graph *graph;
static ft_cost_options options;

static int begin(void **state) {
    (void)state;
    graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    options = ft_cost_options_default();
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_graph_free(graph);
    return 0;
}

static ft_memory plan(void) {
    ft_memory memory;
    ft_error error;
    assert_int_equal(ft_memory_plan(graph, &options, &memory, NULL, NULL, &error), FT_OK);
    assert_int_equal(memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes + memory.activation_bytes +
                         memory.workspace_bytes,
                     memory.peak_bytes);
    assert_true(memory.activation_gradient_bytes + memory.input_bytes <= memory.activation_bytes);
    return memory;
}

/* 100 -> 50 -> relu -> 10: weights 22000 bytes, values 400, 200, 200, 40. */
static void two_layers(void) {
    uint32_t x = toy_input(graph, 1, 100), a = toy_value(graph, 1, 50), b = toy_value(graph, 1, 50);
    toy_op(graph, "MatMul", x, toy_weight(graph, 100, 50), FT_NONE, a);
    toy_op(graph, "Relu", a, FT_NONE, FT_NONE, b);
    uint32_t y = toy_op(graph, "MatMul", b, toy_weight(graph, 50, 10), FT_NONE, toy_value(graph, 1, 10));
    toy_finish(graph, y, 1, 1);
}

static void inference_frees_after_the_last_use(void **state) {
    (void)state;
    two_layers();
    ft_memory m = plan(); /* the input is the caller's and stays: 400 + 200 + 40 at the end */
    assert_int_equal(m.weight_bytes, 22000);
    assert_int_equal(m.activation_bytes, 640);
    assert_int_equal(m.input_bytes, 400);
    assert_int_equal(m.peak_op, 2);
    assert_int_equal(m.peak_phase, FT_PHASE_FORWARD);
    assert_int_equal(m.saved_bytes, 0);
    options.has_inplace = false; /* the relu then has its input beside its output: 400 + 200 + 200 */
    m = plan();
    assert_int_equal(m.activation_bytes, 800);
    assert_int_equal(m.peak_op, 1);
    options.dtype = FT_FLOAT16;
    assert_int_equal(plan().peak_bytes, 11400);
}

static void training_keeps_what_backward_needs(void **state) {
    (void)state;
    two_layers();
    options.mode = FT_TRAIN;
    ft_memory m = plan();
    /* The highest point is the last backward step: all weights have gradients; alive are the input, the output and
     * the gradient of the first layer's output. */
    assert_int_equal(m.saved_bytes, 200); /* the relu's output, for the relu and for the second layer */
    assert_int_equal(m.gradient_bytes, 22000);
    assert_int_equal(m.optimizer_bytes, 22000);
    assert_int_equal(m.activation_bytes, 400 + 40 + 200);
    assert_int_equal(m.activation_gradient_bytes, 200);
    assert_int_equal(m.peak_phase, FT_PHASE_BACKWARD);
    assert_int_equal(m.peak_op, 0);
    assert_int_equal(m.peak_bytes, 66640);
}

static void optimizers_hold_their_state(void **state) {
    (void)state;
    two_layers();
    options.mode = FT_TRAIN;
    options.optimizer = FT_SGD;
    assert_int_equal(plan().peak_bytes, 44640);
    options.optimizer = FT_ADAM;
    assert_int_equal(plan().peak_bytes, 88640);
    options.is_mixed = true; /* half weights and gradients; float32 master and two moments */
    options.dtype = FT_FLOAT16;
    ft_memory m = plan();
    assert_int_equal(m.weight_bytes, 11000);
    assert_int_equal(m.gradient_bytes, 11000);
    assert_int_equal(m.optimizer_bytes, 66000);
    assert_int_equal(m.peak_bytes, 88320);
}

static void another_batch_scales_activations_alone(void **state) {
    (void)state;
    two_layers();
    assert_true(graph_mark_bound(graph, 10, graph->exported_batch));
    ft_memory m = plan();
    assert_int_equal(m.weight_bytes, 22000);
    assert_int_equal(m.activation_bytes, 6400);
}

/* One layer, 100 times: tools that sum layers say either 100 weights or one activation. */
static void the_same_layer_a_hundred_times(void **state) {
    (void)state;
    enum { BYTES = 128 * 64 * 4 };
    uint32_t x = toy_input(graph, 128, 64), w = toy_weight(graph, 64, 64);
    for (int i = 0; i < 100; i++) {
        x = toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 128, 64));
        x = toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 128, 64));
    }
    toy_finish(graph, x, 1, 1);
    ft_memory m = plan();
    assert_int_equal(m.weight_bytes, 64 * 64 * 4);
    assert_int_equal(m.activation_bytes, 3 * BYTES); /* the input, one layer's input, its output */
    options.mode = FT_TRAIN;
    m = plan();
    assert_int_equal(m.weight_bytes, 64 * 64 * 4);
    assert_int_equal(m.saved_bytes, 100 * BYTES); /* each relu's output once */
    /* At the last product's backward step: everything kept, the input, two gradients, and the weight's own. */
    assert_int_equal(m.activation_bytes, (100 + 1 + 2) * BYTES);
    assert_int_equal(m.gradient_bytes, 64 * 64 * 4);
    assert_int_equal(m.peak_op, 198);
}

static void views_keep_their_base_alive(void **state) {
    (void)state;
    uint32_t x = toy_input(graph, 100), a = toy_value(graph, 100), v = toy_value(graph, 10, 10);
    toy_op(graph, "Exp", x, FT_NONE, FT_NONE, a);
    toy_op(graph, "Reshape", a, toy_tensor(graph, FT_CONSTANT, FT_INT64, 2, TOY_END), FT_NONE, v);
    uint32_t b = toy_op(graph, "Transpose", v, FT_NONE, FT_NONE, toy_value(graph, 10, 10));
    uint32_t c = toy_op(graph, "Transpose", b, FT_NONE, FT_NONE, toy_value(graph, 10, 10));
    toy_finish(graph, toy_op(graph, "Add", c, v, FT_NONE, toy_value(graph, 10, 10)), 1, 1);
    ft_memory m = plan();
    /* x and the base under its view stay until the addition; two more at the second transpose. */
    assert_int_equal(m.activation_bytes, 4 * 400);
    assert_int_equal(m.peak_op, 3);
}

static void an_addition_shares_its_gradient(void **state) {
    (void)state;
    enum { BYTES = 8 * 8 * 4 };
    uint32_t a =
        toy_op(graph, "MatMul", toy_input(graph, 8, 8), toy_weight(graph, 8, 8), FT_NONE, toy_value(graph, 8, 8));
    uint32_t b = toy_op(graph, "MatMul", a, toy_weight(graph, 8, 8), FT_NONE, toy_value(graph, 8, 8));
    toy_finish(graph, toy_op(graph, "Add", a, b, FT_NONE, toy_value(graph, 8, 8)), 1, 1);
    options.mode = FT_TRAIN;
    ft_memory m = plan();
    assert_int_equal(m.saved_bytes, BYTES); /* a, for the second product */
    /* The highest point is the second product: input, a, output; the shared gradient, the one made for a, and their
     * sum; one weight gradient. */
    assert_int_equal(m.peak_op, 1);
    assert_int_equal(m.activation_gradient_bytes, 3 * BYTES);
    assert_int_equal(m.activation_bytes, 6 * BYTES);
    assert_int_equal(m.gradient_bytes, BYTES);
}

/* A negation makes a gradient of its own, though it saves nothing. */
static void a_negation_makes_its_own_gradient(void **state) {
    (void)state;
    enum { BYTES = 8 * 8 * 4 };
    uint32_t a =
        toy_op(graph, "MatMul", toy_input(graph, 8, 8), toy_weight(graph, 8, 8), FT_NONE, toy_value(graph, 8, 8));
    toy_finish(graph, toy_op(graph, "Neg", a, FT_NONE, FT_NONE, toy_value(graph, 8, 8)), 1, 1);
    options.mode = FT_TRAIN;
    options.has_inplace = false;
    ft_memory m = plan();
    /* The highest point is the negation: input and output, the gradients of its output and of its input. */
    assert_int_equal(m.activation_gradient_bytes, 2 * BYTES);
}

/* All outputs of an operator are stored, also behind one that overwrites an input. */
static void every_output_is_stored(void **state) {
    (void)state;
    uint32_t a = toy_op(graph, "Exp", toy_input(graph, 8, 8), FT_NONE, FT_NONE, toy_value(graph, 8, 8));
    uint32_t outputs[] = {toy_value(graph, 8, 8), toy_value(graph, 8, 8), toy_value(graph, 8, 8)};
    toy_op_full(
        graph,
        &(ft_op){.name = "", .type = "Relu", .inputs = &a, .input_count = 1, .outputs = outputs, .output_count = 3});
    uint32_t y = toy_op(graph, "Add", outputs[0], outputs[1], FT_NONE, toy_value(graph, 8, 8));
    toy_finish(graph, toy_op(graph, "Add", y, outputs[2], FT_NONE, toy_value(graph, 8, 8)), 1, 1);
    assert_int_equal(plan().activation_bytes, (1 + 3) * 256); /* the input, and three outputs, one in the place of a */
    options.has_inplace = false;
    assert_int_equal(plan().activation_bytes, (1 + 4) * 256);
}

static void what_a_loop_reads_lives_until_it_ends(void **state) {
    (void)state;
    uint32_t loop;
    ft_error error;
    graph_loop body = {.trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 5};
    assert_int_equal(graph_add_loop(graph, &body, &loop, &error), FT_OK);
    uint32_t t = toy_op(graph, "Transpose", toy_input(graph, 10, 10), FT_NONE, FT_NONE, toy_value(graph, 10, 10));
    for (int i = 0; i < 4; i++) t = toy_op(graph, "Transpose", t, FT_NONE, FT_NONE, toy_value(graph, 10, 10));
    toy_finish(graph, t, 1, 1);
    assert_int_equal(plan().activation_bytes, 3 * 400);
    for (int i = 1; i <= 3; i++) graph->ops[i].loop = loop;
    ft_memory m = plan(); /* the first result is read again in every round */
    assert_int_equal(m.activation_bytes, 4 * 400);
    assert_true(m.peak_op == 2 || m.peak_op == 3);
}

static void workspace_has_a_limit(void **state) {
    (void)state;
    uint32_t y = toy_op(graph, "Conv", toy_input(graph, 2, 3, 10, 10), toy_weight(graph, 4, 3, 3, 3), FT_NONE,
                        toy_value(graph, 2, 4, 8, 8));
    toy_finish(graph, y, 1, 1);
    assert_int_equal(plan().workspace_bytes, 0);
    options.workspace_bytes = 1 << 20;
    assert_int_equal(plan().workspace_bytes, 3 * 9 * 64 * 4); /* one image unrolled */
    options.workspace_bytes = 1000;
    assert_int_equal(plan().workspace_bytes, 1000);
}

typedef struct curve {
    uint64_t highest;
    uint32_t steps;
    ft_phase phase;
} curve;

static void follow(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    curve *c = user;
    (void)op;
    assert_true(phase >= c->phase);
    c->phase = phase;
    c->steps++;
    if (live_bytes > c->highest) c->highest = live_bytes;
}

static void the_observer_sees_every_operator(void **state) {
    (void)state;
    two_layers();
    options.mode = FT_TRAIN;
    curve c = {0};
    ft_memory m;
    ft_error error;
    assert_int_equal(ft_memory_plan(graph, &options, &m, follow, &c, &error), FT_OK);
    assert_int_equal(c.steps, 3 + 3 + 1);
    assert_int_equal(c.highest, m.peak_bytes);
}

static void a_graph_without_operators(void **state) {
    (void)state;
    toy_finish(graph, toy_input(graph, 25), 1, 1);
    ft_memory m = plan();
    assert_int_equal(m.peak_bytes, 100);
    assert_true(m.peak_op == FT_NONE);
}

static void an_unbound_graph_is_refused(void **state) {
    (void)state;
    two_layers();
    graph->is_bound = false;
    ft_memory m;
    ft_error error;
    assert_int_equal(ft_memory_plan(graph, &options, &m, NULL, NULL, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "ft_graph_bind"));
}

/* PyTorch's FakeTensor mode says 80.57 MiB an image for this model (5164.56 - 2586.19 MiB, batch 64 against 32). */
static void a_real_model_saves_what_pytorch_saves(void **state) {
    (void)state;
    const char *path = "../shared/data/timm/graphs/resnet50@224.onnx.gz";
    ft_graph *model = NULL, *bound = NULL;
    ft_error error;
    ft_memory one = {0}, many = {0}, infer = {0};
    if (access(path, R_OK) != 0) {
        print_message("%s is not there\n", path);
        skip();
    }
    options.mode = FT_TRAIN;
    assert_int_equal(ft_graph_read(path, &model, &error), FT_OK);
    assert_int_equal(ft_graph_bind(model, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_memory_plan(bound, &options, &one, NULL, NULL, &error), FT_OK);
    ft_graph_free(bound);
    assert_int_equal(ft_graph_bind(model, &(ft_binding){.batch = 64}, &bound, &error), FT_OK);
    assert_int_equal(ft_memory_plan(bound, &options, &many, NULL, NULL, &error), FT_OK);
    options.mode = FT_INFER;
    assert_int_equal(ft_memory_plan(bound, &options, &infer, NULL, NULL, &error), FT_OK);
    assert_float_equal((double)one.saved_bytes / (1 << 20), 80.57, 0.02 * 80.57);
    assert_int_equal(many.saved_bytes, 64 * one.saved_bytes);
    assert_int_equal(many.weight_bytes, one.weight_bytes);
    assert_true(infer.peak_bytes < many.peak_bytes / 5);
    ft_graph_free(bound);
    ft_graph_free(model);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    two_layers();
    options.mode = FT_TRAIN;
    for (long n = 0;; n++) {
        ft_memory m;
        ft_cost cost = {0};
        ft_error error;
        failing_start(n);
        ft_status status = ft_memory_plan(graph, &options, &m, NULL, NULL, &error);
        if (status == FT_OK) status = ft_cost_compute(graph, &options, &cost, &error);
        bool has_failed = failing_stop();
        ft_cost_free(&cost);
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        if (!has_failed) break;
        assert_true(n < 100);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(inference_frees_after_the_last_use),
        TEST(training_keeps_what_backward_needs),
        TEST(optimizers_hold_their_state),
        TEST(another_batch_scales_activations_alone),
        TEST(the_same_layer_a_hundred_times),
        TEST(views_keep_their_base_alive),
        TEST(an_addition_shares_its_gradient),
        TEST(what_a_loop_reads_lives_until_it_ends),
        TEST(workspace_has_a_limit),
        TEST(the_observer_sees_every_operator),
        TEST(a_graph_without_operators),
        TEST(an_unbound_graph_is_refused),
        TEST(a_real_model_saves_what_pytorch_saves),
        TEST(out_of_memory_is_an_error),
        TEST(a_negation_makes_its_own_gradient),
        TEST(every_output_is_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
