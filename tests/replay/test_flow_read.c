/* Tests of reading flows: TVM's graph.json and tables, and setting their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "replay/flow.h"
#include "support/failing.h"
#include "support/flow_csv.h"

static const char executor[] = "{\"nodes\": [\n"
                               "{\"op\": \"null\", \"name\": \"data\", \"inputs\": []},\n"
                               "{\"op\": \"tvm_op\", \"name\": \"conv\", \"attrs\": {\"func_name\": "
                               "\"tvmgen_default_fused_nn_conv2d\"}, \"inputs\": [[0, 0, 0]]},\n"
                               "{\"op\": \"tvm_op\", \"name\": \"view\", \"attrs\": {\"func_name\": \"__nop\"}, "
                               "\"inputs\": [[1, 0, 0]]},\n"
                               "{\"op\": \"tvm_op\", \"name\": \"dense\", \"attrs\": {\"func_name\": \"fused_dense\"}, "
                               "\"inputs\": [[2, 0, 0], [1, 0, 0]]}],\n"
                               "\"arg_nodes\": [0], \"heads\": [[3, 0, 0]]}\n";

static ft_times *times_of(const char *text) {
    ft_times *times = NULL;
    ft_error error;
    if (ft_times_read_memory(text, strlen(text), "times.csv", false, &times, &error) != FT_OK)
        fail_msg("%s", error.message);
    return times;
}

static const ft_flow_kernel *kernels_of(const ft_flow *flow) {
    uint32_t count;
    return ft_flow_kernels(flow, &count);
}

static void test_executor(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(executor);
    uint32_t count;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    assert_int_equal(count, 3);
    assert_string_equal(kernels[0].type, "nn_conv2d");
    assert_true(isnan(kernels[0].time_us));
    assert_float_equal(kernels[1].time_us, 0, 0);
    assert_string_equal(kernels[2].name, "dense");
    assert_int_equal(kernels[2].dependency_count, 2);
    ft_replay replay;
    ft_error error;
    ft_replay_options options = ft_replay_options_default();
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE); /* a missing time is not zero */
    assert_non_null(strstr(error.message, "no time for 'conv'"));
    ft_flow_free(flow);
}

static void test_times_by_name_and_function(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(executor);
    ft_times *times = times_of("name,time_us\ntvmgen_default_fused_nn_conv2d,40\ndense,2\nextra,1\n");
    assert_int_equal(ft_flow_set_times(flow, times, true, NULL), FT_OK);
    assert_float_equal(kernels_of(flow)[0].time_us, 40, 0);
    assert_float_equal(kernels_of(flow)[0].backward_us, 80, 0);
    assert_float_equal(kernels_of(flow)[1].time_us, 0, 0);
    assert_float_equal(kernels_of(flow)[2].time_us, 2, 0);
    assert_string_equal(ft_flow_note(flow, 0), "1 of 3 rows of times.csv match no kernel, first 'extra' (line 4)");
    ft_times_free(times);
    ft_flow_free(flow);
}

static void test_missing_times_are_medians_and_noted(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(executor);
    ft_times *times = times_of("name,time_us\nconv,40\ndense,0\n");
    ft_error error;
    assert_int_equal(ft_flow_set_times(flow, times, true, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "times.csv: no time for 1 of 3 kernels: dense");
    assert_int_equal(ft_flow_set_times(flow, times, false, &error), FT_OK);
    assert_float_equal(kernels_of(flow)[2].time_us, 40, 0);
    assert_string_equal(ft_flow_note(flow, 0),
                        "no time for 1 of 3 kernels (dense): each is assumed to take the median of the others, 40 us");
    assert_string_equal(ft_flow_note(flow, 1), "1 rows of times.csv have no usable time (line 3: '0')");
    ft_times_free(times);
    times = times_of("name,time_us\nother,40\n");
    assert_int_equal(ft_flow_set_times(flow, times, false, &error), FT_ERR_USAGE); /* no time to take the median of */
    ft_times_free(times);
    ft_flow_free(flow);
}

static void refuse(const char *text, ft_status status, const char *word) {
    ft_flow *flow = NULL;
    ft_error error;
    assert_int_equal(flow_read_memory(text, strlen(text), "f", &flow, &error), status);
    if (strstr(error.message, word) == NULL) fail_msg("no '%s' in '%s'", word, error.message);
    assert_null(flow);
}

static void test_invalid_files(void **state) {
    (void)state;
    refuse("name,time_us\na,1\n", FT_ERR_USAGE, "no column 'after'");
    refuse("name,time_us,after\na,1,b\n", FT_ERR_GRAPH, "f: line 2: comes after a kernel that does not exist: 'b'");
    refuse("name,time_us,after\na,,\n", FT_ERR_USAGE, "no time for 1 of 1 kernels");
    refuse("kernel,operators,time_us,after\nx,a,1,\n", FT_ERR_GRAPH, "line 2");
    refuse("{\"nodes\": [\n{\"op\": \"null\", \"name\": \"x\", \"inputs\": []},\n{\"op\": \"tvm_op\", \"name\": \"a\", "
           "\"attrs\": {\"func_name\": \"f\"}, \"inputs\": [[1, 0, 0]]}], \"heads\": []}",
           FT_ERR_GRAPH, "f: line 3: node 1: reads node 1");
    refuse("{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}], \"heads\": []}", FT_ERR_GRAPH,
           "none of its nodes runs a function");
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_flow *flow = NULL;
        failing_start(n);
        ft_status status = flow_read_memory(executor, strlen(executor), "f", &flow, NULL);
        bool is_failed = failing_stop();
        ft_flow_free(flow);
        if (!is_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_times *times = times_of("name,time_us\nconv,40\ndense,0\nextra,1\n");
    for (long n = 0;; n++) {
        ft_flow *flow = flow_from_csv(executor);
        failing_start(n);
        ft_status status = ft_flow_set_times(flow, times, false, NULL);
        bool is_failed = failing_stop();
        ft_flow_free(flow);
        if (!is_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_times_free(times);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executor),
        cmocka_unit_test(test_times_by_name_and_function),
        cmocka_unit_test(test_missing_times_are_medians_and_noted),
        cmocka_unit_test(test_invalid_files),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
