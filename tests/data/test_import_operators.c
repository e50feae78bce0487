/* Tests of importing operators that nn-Meter timed alone: each becomes a model of one operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/import.h"
#include "support/folder.h"

static const char *const metrics[] = {"time_us"};

static void write_file(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static ft_dataset *import_text(const char *file, const char *text, ft_import_result *result) {
    ft_import_options options = {0};
    ft_error error;
    import_job job = {.source = "rules", .folder = "data", .options = &options, .result = result, .error = &error};
    builder *b = NULL;
    ft_dataset *data = NULL;
    *result = (ft_import_result){0};
    assert_int_equal(mkdir("rules", 0777), 0);
    write_file(file, text);
    assert_int_equal(builder_new("data", metrics, 1, &b, &error), FT_OK);
    ft_status status = import_operators(&job, b, "rules", 0, 1);
    if (status == FT_OK && result->models > 0) status = import_finish(&job, b);
    if (status != FT_OK) fail_msg("%s", error.message);
    builder_free(b);
    if (result->models > 0) assert_int_equal(ft_dataset_open("data", &data, &error), FT_OK);
    return data;
}

static void times_are_averaged(void **state) {
    (void)state;
    ft_import_result result;
    ft_dataset *data =
        import_text("rules/fusion_rules_tflite_gpu.json",
                    "{\"BF_relu_add\": {\"latency\": {\"relu\": \"0.004 +- 0.1\", \"add\": \"9 +- 0\"}},"
                    " \"BF_relu_relu\": {\"latency\": {\"relu_1\": \"0.006 +- 0\", \"relu_2\": \"7\"}},"
                    " \"BF_pooling_relu\": {\"latency\": {\"pooling\": \"0 +- 0\", \"relu\": \"0.003\"}},"
                    " \"BF_conv_se\": {\"latency\": {\"conv\": \"1 +- 0\", \"se\": \"0.2 +- 0\"}},"
                    " \"MON\": {\"latency\": {}, \"obey\": null}, \"RT\": 3}",
                    &result);
    const ft_record *records = ft_dataset_records(data);
    assert_int_equal(ft_dataset_record_count(data), 3);
    assert_string_equal(records[0].name, "relu");
    assert_true(fabs(records[0].metrics[0] - 5) < 1e-9); /* milliseconds in the file; add is never the first operator */
    assert_string_equal(records[1].name, "se-after-conv");
    assert_string_equal(records[2].name, "relu-after-pooling");
    assert_true(fabs(records[2].metrics[0] - 3) < 1e-9);
    assert_string_equal(records[2].device, "adreno-640");
    assert_string_equal(records[2].family, "nnmeter-operators");
    assert_string_equal(records[2].part, "support");
    ft_graph *graph = NULL;
    assert_int_equal(ft_dataset_graph(data, records[1].graph, &graph, NULL), FT_OK);
    assert_true(ft_graph_op_count(graph) > 8); /* the whole block */
    ft_graph_free(graph);
    ft_dataset_free(data);
}

static void other_files_add_nothing(void **state) {
    (void)state;
    ft_import_result result;
    assert_null(import_text("rules/fusion_rules_vpu.json", "{\"BF_relu_add\": {\"latency\": \"fast\"}}", &result));
    assert_int_equal(result.models, 0);
}

static void damaged_files_are_skipped(void **state) {
    (void)state;
    ft_import_result result;
    assert_null(import_text("rules/fusion_rules_vpu.json", "{\"BF_relu_add\": ", &result));
    assert_int_equal(result.skipped, 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(times_are_averaged), IN_FOLDER(other_files_add_nothing),
                                       IN_FOLDER(damaged_files_are_skipped)};
    return cmocka_run_group_tests_name("data/import_operators", tests, NULL, NULL);
}
