/* Tests of importing recorded traces: operators with the times of their kernels, and steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static char root[PATH_MAX]; /* of the project */
static uint64_t skipped_shapes;

static void on_skip(void *user, const char *where, const char *why) {
    (void)user;
    (void)where;
    skipped_shapes += strcmp(why, "the shapes of an operator are not recorded") == 0;
}

static ft_dataset *import(const char *source, ft_import_result *result) {
    ft_import_options options = {.skip = on_skip};
    ft_dataset *data = NULL;
    ft_error error;
    skipped_shapes = 0;
    if (ft_import("trace", source, "set", &options, result, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_dataset_open("set", &data, &error) != FT_OK) fail_msg("%s", error.message);
    return data;
}

static const ft_record *find(const ft_dataset *data, const char *name) {
    const ft_record *r = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++)
        if (strcmp(r[i].name, name) == 0) return &r[i];
    fail_msg("no record %s", name);
    return NULL;
}

static double metric(const ft_dataset *data, const ft_record *record, const char *name) {
    return record->metrics[ft_dataset_metric(data, name)];
}

static uint64_t macs(const ft_dataset *data, const ft_record *r) {
    ft_graph *graph, *bound;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, r->graph, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = r->batch}, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t count = cost.total.forward.macs;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return count;
}

static void operators_have_the_median_time_of_their_kernels(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    ft_import_result result;
    snprintf(path, sizeof path, "%s/examples/measurements/trace-rank0.json", root);
    ft_dataset *data = import(path, &result);
    assert_int_equal(result.records, 4);
    assert_int_equal(skipped_shapes, 4);
    const ft_record *conv = find(data, "aten::conv2d"), *linear = find(data, "aten::linear");
    assert_string_equal(conv->device, "v100-sxm2");
    assert_string_equal(conv->family, "trace-operators");
    assert_int_equal(conv->batch, 8);
    assert_true(metric(data, conv, "time_us") == 50.5);
    assert_true(metric(data, conv, "occupancy_ratio") == 0.25);
    /* The next operator reads maps of 16 x 16: the stride is 2. */
    assert_int_equal(macs(data, conv), 8 * 16 * 16 * 16 * 3 * 9);
    assert_int_equal(linear->batch, 8);
    assert_int_equal(macs(data, linear), 8 * 4096 * 10);
    ft_dataset_free(data);
}

static void steps_are_records_of_their_forward_operators(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    ft_import_result result;
    snprintf(path, sizeof path, "%s/examples/measurements/trace-rank1.json", root);
    ft_dataset *data = import(path, &result);
    const ft_record *step = find(data, "trace-rank1.json");
    assert_string_equal(step->family, "trace-steps");
    assert_string_equal(step->setting, "amp=no;compile=no;profiler=yes");
    assert_true(metric(data, step, "time_us") == 900);
    assert_true(fabs(metric(data, step, "kernel_time_us") - 154.25) < 1e-9);
    assert_true(fabs(metric(data, step, "busy_ratio") - 154.25 / 900) < 1e-9);
    assert_int_equal(step->batch, 8);
    assert_int_equal(step->mode, FT_INFER);
    assert_int_equal(macs(data, step), 8 * 16 * 16 * 16 * 3 * 9 + 8 * 4096 * 10);
    ft_dataset_free(data);
}

#define OPERATOR(name, ts, dur, dims, types, more)                                                                     \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":5,\"tid\":5,\"ts\":" #ts ",\"dur\":" #dur          \
    ",\"args\":{\"Input Dims\":" dims ",\"Input type\":" types more "}},"
#define KERNEL(ts, correlation)                                                                                        \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":5,\"tid\":5,\"ts\":" #ts ",\"dur\":1,\"args\":{"    \
    "\"correlation\":" #correlation                                                                                    \
    "}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" #ts                               \
    ",\"dur\":7.5,\"args\":{\"device\":0,\"correlation\":" #correlation "}},"

static void recorded_arguments_are_used(void **state) {
    (void)state;
    FILE *stream = fopen("t.json", "w");
    ft_import_result result;
    assert_non_null(stream);
    fputs("{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 PCIe\"}],\"traceEvents\":[" OPERATOR(
              "aten::conv2d", 0, 10, "[[2,8,16,16],[16,4,3,3],[],[],[],[],[]]", "[\"c10::Half\",\"c10::Half\"]",
              ",\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"2\"]") KERNEL(1, 1)
              OPERATOR("aten::softmax", 20, 10, "[[4,6,8]]", "[\"float\"]", ",\"Concrete Inputs\":[\"\",\"1\"]")
                  KERNEL(21, 2) OPERATOR("AddmmBackward", 40, 20, "[]", "[]", "")
                      OPERATOR("aten::mm", 41, 10, "[[4,6],[6,8]]", "[\"float\",\"float\"]", "") KERNEL(42, 3)
                          OPERATOR("aten::conv2d", 70, 10, "[[2,8,16,16],[16,8,3,3]]", "[\"float\",\"float\"]", "")
                              KERNEL(71, 4) "1]}",
          stream);
    assert_int_equal(fclose(stream), 0);
    ft_dataset *data = import("t.json", &result);
    assert_int_equal(result.records, 3); /* the stride of the last convolution is not known */
    assert_int_equal(result.skipped, 1);
    const ft_record *conv = find(data, "aten::conv2d");
    assert_string_equal(conv->device, "h100-pcie");
    assert_int_equal(conv->dtype, FT_FLOAT16);
    assert_true(metric(data, conv, "time_us") == 7.5);
    assert_int_equal(macs(data, conv), 2 * 16 * 8 * 8 * 4 * 9);
    assert_int_equal(macs(data, find(data, "aten::mm")), 4 * 6 * 8);
    ft_dataset_free(data);
}

static void traces_of_the_shared_data_become_records(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    ft_import_result result;
    snprintf(path, sizeof path, "%s/../shared/data/traces", root);
    if (access(path, R_OK) != 0) {
        print_message("  skipped: %s is not there\n", path);
        return;
    }
    ft_dataset *data = import(path, &result);
    assert_true(result.records >= 400);
    uint64_t steps = 0, most = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        const ft_record *r = &ft_dataset_records(data)[i];
        if (strcmp(r->family, "trace-steps") != 0) continue;
        steps++;
        assert_int_equal(r->mode, FT_TRAIN);
        if (macs(data, r) > most) most = macs(data, r);
    }
    assert_int_equal(steps, 3);
    assert_int_equal(most, UINT64_C(32) * 4089184256); /* ResNet-50: all of its convolutions and its linear layer */
    ft_dataset_free(data);
}

int main(void) {
    assert_non_null(getcwd(root, sizeof root));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_have_the_median_time_of_their_kernels, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(steps_are_records_of_their_forward_operators, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(recorded_arguments_are_used, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(traces_of_the_shared_data_become_records, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
