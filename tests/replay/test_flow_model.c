/* Tests of flows of models: kernels add up to the result, depend on the producers of their inputs, are divided into
 * phases by work, and get times from tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "replay/flow.h"
#include "support/example_results.h"
#include "support/failing.h"

static example_results example;

static ft_flow *flow_of(uint32_t index) {
    ft_flow *flow = NULL;
    ft_error error;
    if (ft_flow_from_result(&example.entry, index, &flow, &error) != FT_OK) fail_msg("%s", error.message);
    return flow;
}

static double iteration(const ft_flow *flow, ft_mode mode) {
    ft_replay_options options = ft_replay_options_default();
    ft_replay replay;
    ft_error error;
    options.mode = mode;
    if (ft_replay_run(flow, &options, &replay, &error) != FT_OK) fail_msg("%s", error.message);
    double time = replay.iteration_us;
    ft_replay_free(&replay);
    return time;
}

/* Three kernels of 10, 60 and 30 us and a correction of -4: they keep their shares and add up to 96. */
static void test_inference(void **state) {
    (void)state;
    ft_flow *flow = flow_of(0);
    uint32_t count;
    const ft_flow_kernel *k = ft_flow_kernels(flow, &count);
    assert_int_equal(count, 3);
    assert_float_equal(k[0].time_us, 9.6, 1e-9);
    assert_float_equal(k[1].time_us, 57.6, 1e-9);
    assert_float_equal(k[0].backward_us, 0, 0);
    assert_string_equal(k[0].type, "conv-relu");
    assert_int_equal(k[1].dependency_count, 1);
    assert_int_equal(k[1].dependencies[0], 0);
    assert_int_equal(k[2].dependencies[0], 1);
    assert_float_equal(iteration(flow, FT_INFER), 96, 1e-9);
    assert_string_equal(ft_flow_note(flow, 0), "-4 us that belong to no kernel are spread over the kernels");
    assert_string_equal(ft_flow_note(flow, 2), "another");
    assert_null(ft_flow_note(flow, 3));
    assert_string_equal(ft_flow_name(flow), example.entry.file);
    ft_flow_free(flow);
}

/* The same time in three phases. */
static void test_training(void **state) {
    (void)state;
    ft_flow *flow = flow_of(2);
    uint32_t count;
    const ft_flow_kernel *k = ft_flow_kernels(flow, &count);
    for (uint32_t i = 0; i < count; i++) {
        double all = k[i].time_us + k[i].backward_us + k[i].update_us;
        assert_float_equal(all, ft_result_time(&example.items[2])->parts[i].value * 0.96, 1e-9);
    }
    assert_true(k[0].backward_us > k[0].time_us); /* a convolution has two gradients */
    assert_true(k[2].update_us > 0);
    assert_int_equal(k[2].gradient_bytes, 4 * 1440); /* float32, whatever the activations are */
    assert_float_equal(iteration(flow, FT_TRAIN), 96, 1e-9);
    ft_flow_free(flow);
}

static void test_training_derived_from_inference(void **state) {
    (void)state;
    ft_flow *flow = flow_of(0);
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    assert_int_equal(ft_flow_derive_training(flow, &(ft_binding){.batch = 8}, &options, NULL), FT_OK);
    uint32_t count;
    const ft_flow_kernel *k = ft_flow_kernels(flow, &count);
    assert_float_equal(k[0].time_us, 9.6, 1e-9);
    assert_true(k[0].backward_us > 9.6);
    assert_true(iteration(flow, FT_TRAIN) > 2 * 96);
    ft_flow_free(flow);
}

static void test_a_start_comes_first(void **state) {
    (void)state;
    static const uint32_t ops[] = {0};
    const ft_part parts[] = {{.type = "conv", .ops = ops, .op_count = 1, .value = 10}, {.type = "start", .value = 5}};
    ft_result forecast = example.items[0];
    ft_metric_result time = example.metrics[0][EXAMPLE_TIME];
    time.parts = parts;
    time.part_count = 2;
    forecast.metrics = &time;
    forecast.metric_count = 1;
    ft_results results = {.items = &forecast, .count = 1};
    ft_model_results view = example.entry;
    ft_flow *flow;
    view.results = &results;
    assert_int_equal(ft_flow_from_result(&view, 0, &flow, NULL), FT_OK);
    ft_replay_options options = ft_replay_options_default();
    ft_replay replay;
    assert_int_equal(ft_replay_run(flow, &options, &replay, NULL), FT_OK);
    assert_string_equal(replay.events[0].name, "start");
    assert_float_equal(replay.events[1].start_us, 5, 0);
    assert_float_equal(replay.iteration_us, 15, 0);
    ft_replay_free(&replay);
    ft_flow_free(flow);
}

/* The time of a predictor without kernels is divided by work, and a note says so. */
static void test_total_is_divided_by_work(void **state) {
    (void)state;
    ft_result forecast = example.items[0];
    ft_metric_result time = example.metrics[0][EXAMPLE_TIME];
    time.part_count = 0;
    forecast.metrics = &time;
    forecast.metric_count = 1;
    forecast.note_count = 0;
    ft_results results = {.items = &forecast, .count = 1};
    ft_model_results view = example.entry;
    ft_flow *flow;
    view.results = &results;
    assert_int_equal(ft_flow_from_result(&view, 0, &flow, NULL), FT_OK);
    assert_float_equal(iteration(flow, FT_INFER), 96, 1e-9);
    assert_non_null(strstr(ft_flow_note(flow, 0), "has no times of kernels"));
    ft_flow_free(flow);
}

/* Live bytes are recorded by kernel, for traces. */
static void test_memory_steps_are_recorded(void **state) {
    (void)state;
    ft_flow *flow = flow_of(2);
    uint64_t peak = 0;
    bool has_update = false;
    assert_true(flow->step_count > 2 * 3);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const flow_step *step = &flow->steps[i];
        assert_true(step->kernel == FT_NONE || step->kernel < flow->count);
        if (step->live_bytes > peak) peak = step->live_bytes;
        if (step->phase == FT_REPLAY_UPDATE) has_update = true;
    }
    assert_true(has_update);
    assert_true(peak > 4 * MODEL_PARAMS);
    ft_flow_free(flow);
}

static void test_no_time(void **state) {
    (void)state;
    ft_flow *flow = NULL;
    ft_error error;
    assert_int_equal(ft_flow_from_result(&example.entry, 1, &flow, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "its data sheet lacks the bandwidth"));
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

static ft_times *times_of(const char *text) {
    ft_times *times = NULL;
    ft_error error;
    if (ft_times_read_memory(text, strlen(text), "t.csv", true, &times, &error) != FT_OK) fail_msg("%s", error.message);
    return times;
}

static void test_times_of_operators(void **state) {
    (void)state;
    ft_rules *rules;
    ft_flow *flow;
    const ft_cost_options options = ft_cost_options_default();
    ft_times *times = times_of("name,time_us\nconv,7\nrelu,2\n");
    assert_int_equal(ft_rules_open("torch-eager", &rules, NULL), FT_OK);
    assert_int_equal(ft_flow_from_model(example.model, NULL, rules, &options, &flow, NULL), FT_OK);
    assert_int_equal(ft_flow_set_times(flow, times, false, NULL), FT_OK);
    uint32_t count;
    const ft_flow_kernel *k = ft_flow_kernels(flow, &count);
    assert_string_equal(k[0].type, "conv");
    assert_float_equal(k[0].time_us, 7, 0); /* by its type */
    assert_float_equal(k[1].time_us, 2, 0);
    assert_float_equal(k[2].time_us, 7, 0); /* the median, upper of two */
    assert_non_null(strstr(ft_flow_note(flow, 0), "assumed to take the median"));
    ft_flow_free(flow);
    ft_times_free(times);
    ft_rules_free(rules);
}

static const char *op_name(uint32_t op) {
    const ft_op *ops = ft_graph_ops(example.model);
    return ops[op].name[0] != '\0' ? ops[op].name : ft_graph_tensors(example.model)[ops[op].outputs[0]].name;
}

static void test_kernels_of_a_table(void **state) {
    (void)state;
    const ft_cost_options options = ft_cost_options_default();
    ft_flow *flow = NULL;
    ft_error error;
    char text[1024], quoted[5][128];
    for (uint32_t i = 0; i < 5; i++) { /* names with quotes and the like, as CSV has them */
        size_t used = 0;
        for (const char *at = op_name(i); *at != '\0' && used < 120; at++) {
            if (*at == '"') quoted[i][used++] = '"';
            quoted[i][used++] = *at;
        }
        quoted[i][used] = '\0';
    }
    snprintf(text, sizeof text, "kernel,operators,time_us\nfirst,\"%s+%s\",5\nsecond,\"%s\",1\n", quoted[0], quoted[1],
             quoted[4]);
    ft_times *times = times_of(text);
    if (ft_flow_from_table(example.model, NULL, times, &options, &flow, &error) != FT_OK) fail_msg("%s", error.message);
    assert_float_equal(iteration(flow, FT_INFER), 6, 1e-12);
    uint32_t count;
    const ft_flow_kernel *k = ft_flow_kernels(flow, &count);
    assert_int_equal(count, 4); /* with two views, which are in no kernel */
    assert_string_equal(k[0].type, "first");
    assert_string_equal(k[3].type, "second");
    assert_int_equal(k[3].dependencies[0], 2);
    ft_flow_free(flow);
    ft_times_free(times);
    /* Listed in reverse, they are put into order. */
    snprintf(text, sizeof text, "kernel,operators,time_us\nsecond,\"%s\",1\nfirst,\"%s+%s\",5\n", quoted[4], quoted[0],
             quoted[1]);
    times = times_of(text);
    assert_int_equal(ft_flow_from_table(example.model, NULL, times, &options, &flow, &error), FT_OK);
    k = ft_flow_kernels(flow, &count);
    assert_string_equal(k[0].type, "first");
    assert_string_equal(k[3].type, "second");
    assert_null(ft_flow_note(flow, 0));
    ft_flow_free(flow);
    ft_times_free(times);
    times = times_of("kernel,operators,time_us\nx,nowhere,1\n");
    assert_int_equal(ft_flow_from_table(example.model, NULL, times, &options, &flow, &error), FT_ERR_GRAPH);
    assert_string_equal(error.message, "t.csv: line 2: the model has no operator 'nowhere'");
    ft_times_free(times);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (uint32_t whole = 0; whole < 2; whole++) {
        ft_result forecast = example.items[2];
        ft_metric_result time = example.metrics[2][EXAMPLE_TIME];
        if (whole == 1) time.part_count = 0;
        forecast.metrics = &time;
        forecast.metric_count = 1;
        ft_results results = {.items = &forecast, .count = 1};
        ft_model_results view = example.entry;
        view.results = &results;
        for (long n = 0;; n++) {
            ft_flow *flow = NULL;
            failing_start(n);
            ft_status status = ft_flow_from_result(&view, 0, &flow, NULL);
            bool is_failed = failing_stop();
            ft_flow_free(flow);
            if (!is_failed) {
                assert_int_equal(status, FT_OK);
                break;
            }
            assert_true(status == FT_ERR_NOMEM || whole == 1); /* a data sheet that cannot be opened is optional */
        }
    }
}

static int begin(void **state) {
    (void)state;
    example_results_init(&example);
    return 0;
}

static int end(void **state) {
    (void)state;
    example_results_free(&example);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_training_derived_from_inference),
        cmocka_unit_test(test_a_start_comes_first),
        cmocka_unit_test(test_total_is_divided_by_work),
        cmocka_unit_test(test_memory_steps_are_recorded),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_times_of_operators),
        cmocka_unit_test(test_kernels_of_a_table),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
