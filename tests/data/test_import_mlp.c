/* Tests of importing trainings of multi-layer perceptrons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/import.h"
#include "foretell/foretell.h"
#include "support/folder.h"
#include "support/small_set.h"

#define HEADER                                                                                                         \
    "Filename,Activations-Params,Batch Size,Max GPU Memory (MiB),Avg GPUTL,Avg GRACT,Avg SMACT,Avg SMOCC,Avg FP32A\n"
#define TWO_LAYERS "\"[('linear', 4, 36), ('ReLU', 4, 0), ('dropout', 4, 0), ('linear', 2, 10)]\""

static char reported[4096];

static void on_skip(void *user, const char *where, const char *why) {
    (void)user;
    size_t used = strlen(reported);
    snprintf(reported + used, sizeof reported - used, "%s: %s\n", where, why);
}

static ft_status import(ft_import_result *result, ft_error *error) {
    ft_import_options options = {.skip = on_skip};
    reported[0] = '\0';
    return ft_import("mlp", "in.csv", "set", &options, result, error);
}

static void rows_become_trainings(void **state) {
    (void)state;
    ft_import_result result;
    ft_error error;
    write_text("in.csv",
               HEADER "input:8_output:2_arch:pyramid_batch:64.out," TWO_LAYERS ",64,1479,25,0.2,0.1,0.0,0.05\n"
                      "input:8_output:2_arch:pyramid_batch:32.out," TWO_LAYERS ",32,1470,20,0.2,0.1,0.01,\n");
    assert_int_equal(import(&result, &error), FT_OK);
    assert_int_equal(result.records, 2);
    assert_int_equal(result.graphs, 1); /* the batch is open */
    ft_dataset *data = open_set("set");
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "input:8_output:2_arch:pyramid");
    assert_string_equal(r[0].family, "pyramid");
    assert_string_equal(r[0].device, "a100-40gb");
    assert_string_equal(r[0].setting, "amp=no;compile=no;loader=inline;optimizer=adam");
    assert_int_equal(r[0].mode, FT_TRAIN);
    assert_int_equal(r[0].batch, 64);
    uint32_t util = ft_dataset_metric(data, "gpu_util_ratio"), resident = ft_dataset_metric(data, "sm_occupancy_ratio");
    assert_true(fabs(r[0].metrics[util] - 0.25) < 1e-12);
    assert_true(isnan(r[0].metrics[resident])); /* 0 is below the resolution */
    assert_true(fabs(r[1].metrics[resident] - 0.01) < 1e-12);
    ft_dataset_free(data);
}

static void unusable_rows_are_skipped_with_the_reason(void **state) {
    (void)state;
    ft_import_result result;
    ft_error error;
    write_text("in.csv", HEADER "a," TWO_LAYERS ",0,1,1,1,1,1,1\n"
                                "b,\"[('linear', 4, 36), ('linear', 2, 11)]\",8,1,1,1,1,1,1\n"
                                "c," TWO_LAYERS ",8,,,,,,\n"
                                "d," TWO_LAYERS ",8,1479,25,0.2,0.1,0.01,0.05\n");
    assert_int_equal(import(&result, &error), FT_OK);
    assert_int_equal(result.records, 1);
    assert_int_equal(result.skipped, 3);
    assert_non_null(strstr(reported, "line 2: the batch is not a number"));
    assert_non_null(strstr(reported, "line 3: its layers cannot be read"));
    assert_non_null(strstr(reported, "line 4: it has no measurement"));
}

static void a_table_without_a_column_is_refused(void **state) {
    (void)state;
    ft_error error;
    write_text("in.csv", "Filename,Batch Size\na,1\n");
    assert_int_equal(import(NULL, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "no column 'Activations-Params'"));
    assert_int_not_equal(access("set", F_OK), 0);
}

static void refuses(const char *layers, ft_status status, const char *part) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(mlp_graph(layers, &graph, &error), status);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' does not contain '%s'", error.message, part);
}

static void lists_that_are_no_layers_are_refused(void **state) {
    (void)state;
    refuses("", FT_ERR_FORMAT, "not a list");
    refuses("[]", FT_ERR_FORMAT, "layer 1");
    refuses("[('ReLU', 4, 0)]", FT_ERR_FORMAT, "not linear");
    refuses("[('linear', 0, 36)]", FT_ERR_LIMIT, "width of 0");
    refuses("[('linear', 4, 3)]", FT_ERR_LIMIT, "input of width");
    refuses("[('linear', 4, 36), ('ReLU', 5, 0)]", FT_ERR_FORMAT, "after one of width 4");
    refuses("[('linear', 4, 36), ('conv', 4, 0)]", FT_ERR_UNSUPPORTED, "unknown layer 'conv'");
    refuses("[('linear', 4, 36), ('linear', 4, 36)", FT_ERR_FORMAT, "layer 2");
}

static void as_many_layers_as_the_limit_are_read(void **state) {
    (void)state;
    static char text[600 * 16];
    enum { LIMIT = 512 };
    for (int more = 0; more < 2; more++) {
        size_t used = (size_t)snprintf(text, sizeof text, "[('linear', 4, 36)");
        for (int i = 1; i < LIMIT + more; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, ",('ReLU',4,0)");
        snprintf(text + used, sizeof text - used, "]");
        if (more == 1) {
            refuses(text, FT_ERR_LIMIT, "more than 512 layers");
            continue;
        }
        ft_graph *graph;
        ft_error error;
        assert_int_equal(mlp_graph(text, &graph, &error), FT_OK);
        assert_int_equal(ft_graph_op_count(graph), LIMIT);
        ft_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_become_trainings, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(unusable_rows_are_skipped_with_the_reason, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(a_table_without_a_column_is_refused, folder_enter, folder_leave),
        cmocka_unit_test(lists_that_are_no_layers_are_refused),
        cmocka_unit_test(as_many_layers_as_the_limit_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
