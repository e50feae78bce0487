/* Tests of importing tuning logs: tasks are names, equal programs of two devices are one graph, and bad lines are
 * reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "foretell/foretell.h"
#include "graph/graph.h"
#include "read/ansor.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_log.h"

enum { PROGRAMS = 24 };

static ft_status import(const char *source, bool is_strict, ft_import_result *result, ft_error *error) {
    return ft_import("ansor", source, "set", &(ft_import_options){.is_strict = is_strict}, result, error);
}

static void put(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static void logs_become_records(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    ft_dataset *data = NULL;
    synth_logs("logs", PROGRAMS);
    if (import("logs", true, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(result.models, 2 * PROGRAMS);
    assert_int_equal(result.graphs, PROGRAMS);
    assert_int_equal(result.records, 2 * PROGRAMS);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].device, "k80");
    assert_string_equal(r[PROGRAMS].device, "v100-sxm2");
    assert_string_equal(r[0].name, "matmul_layer 32 64 32");
    assert_string_equal(r[0].family, "matmul_layer");
    assert_true(fabs(r[PROGRAMS + 5].metrics[0] / (synth_seconds(5, 0) * 1e6) - 1) < 1e-6);
    ft_dataset_free(data);
    assert_int_equal(ft_dataset_check("set", NULL, NULL, &error), FT_OK);
}

/* The stored text is a record with the same steps. */
static void programs_are_stored_completely(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = NULL;
    ft_graph *graph = NULL;
    bool is_record;
    ansor_record *first = calloc(1, sizeof *first), *kept = calloc(1, sizeof *kept);
    synth_logs("logs", 1);
    assert_int_equal(import("logs", true, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    assert_int_equal(ft_dataset_graph(data, 0, &graph, &error), FT_OK);
    const char *line = synth_line(0, 1), *text = graph_program_text(graph);
    assert_int_equal(ansor_read(line, strlen(line), first, &is_record, &error), FT_OK);
    assert_int_equal(ansor_read(text, strlen(text), kept, &is_record, &error), FT_OK);
    assert_true(is_record);
    assert_int_equal(kept->step_count, first->step_count);
    for (uint32_t i = 0; i < first->step_count; i++) {
        const ansor_step *a = &first->steps[i], *b = &kept->steps[i];
        assert_true(a->kind == b->kind && a->stage == b->stage && a->iter == b->iter && a->extent == b->extent);
        assert_int_equal(a->count, b->count);
        if (a->count > 0) assert_memory_equal(a->list, b->list, a->count * sizeof *a->list);
        assert_string_equal(a->text, b->text);
    }
    ft_graph_free(graph);
    ft_dataset_free(data);
    free(first);
    free(kept);
}

/* One device writes "SAME" where the other writes 1; both are one program. */
static void paddings_are_normalised(void **state) {
    (void)state;
#define CONV(padding)                                                                                                  \
    "{\"i\":[[\"[\\\"conv2d_layer\\\", 1, 8, 9, 9, 8, 3, 3, 1, " padding "]\",\"cuda\"],[[],[[\"CI\",1]]]],"           \
    "\"r\":[[0.5],0,1,1],\"v\":\"v0.6\"}\n"
    ft_error error;
    ft_import_result result;
    mkdir("logs", 0777);
    put("logs/v100.jsonl", CONV("\\\"SAME\\\"") CONV("\\\"VALID\\\""));
    put("logs/mi50.jsonl", CONV("1") CONV("0"));
    if (import("logs", true, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(result.graphs, 2);
    assert_int_equal(result.records, 4);
}

typedef struct reports {
    uint32_t count;
    char last[600];
} reports;

static void hear(void *user, const char *where, const char *why) {
    reports *t = user;
    t->count++;
    snprintf(t->last, sizeof t->last, "%s: %s", where, why);
}

static void bad_lines_are_reported(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    reports heard = {0};
    char log[4096];
    snprintf(log, sizeof log, "# a comment\n%s\n{\"i\": [}\n", synth_line(1, 0.25));
    put("v100.jsonl", log);
    assert_int_equal(import("v100.jsonl", true, NULL, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "line 3"));
    assert_int_equal(folder_count("set"), -1);
    ft_import_options options = {.skip = hear, .user = &heard};
    assert_int_equal(ft_import("ansor", "v100.jsonl", "set", &options, &result, &error), FT_OK);
    assert_true(result.records == 1 && result.skipped == 1 && heard.count == 1);
    assert_non_null(strstr(heard.last, "v100.jsonl: line 3"));
    put("v100.jsonl", synth_line(1, 1e10));
    assert_int_equal(ft_import("ansor", "v100.jsonl", "none", &options, &result, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(heard.last, "1e+10 s"));
}

/* Invalid steps are reported at import with their line, not at prediction. */
static void programs_that_do_not_lower_are_reported(void **state) {
    (void)state;
#define STEPS(steps)                                                                                                   \
    "{\"i\":[[\"[\\\"matmul_layer\\\", 8, 64, 32]\",\"cuda\"],[[]," steps "]],\"r\":[[1],0,1,1],\"v\":\"v0.6\"}\n"
    ft_error error;
    ft_import_result result;
    reports heard = {0};
    ft_import_options options = {.skip = hear, .user = &heard};
    put("v100.jsonl", STEPS("[]") STEPS("[[\"AN\", 99, 0, 0]]"));
    assert_int_equal(import("v100.jsonl", true, NULL, &error), FT_ERR_DAMAGED);
    if (ft_import("ansor", "v100.jsonl", "set", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(result.records == 1 && result.skipped == 1);
    assert_string_equal(heard.last, "v100.jsonl: line 2: step 0 (AN): there is no stage 99; the program has 3 stages: "
                                    "its steps cannot be lowered to a loop nest");
}

static void devices_are_named_by_files(void **state) {
    (void)state;
    ft_error error;
    put("v10.jsonl", synth_line(1, 1));
    assert_int_equal(import("v10.jsonl", false, NULL, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "v10.jsonl: the device is unknown"));
    put("v100.txt", synth_line(1, 1));
    assert_int_equal(import("v100.txt", false, NULL, &error), FT_ERR_USAGE);
    assert_int_not_equal(import("none.jsonl", false, NULL, &error), FT_OK);
}

#define TIMES(size, times)                                                                                             \
    "{\"i\":[[\"[\\\"matmul_layer\\\", " size ", 64, 32]\",\"cuda\"],[[],[]]],\"r\":[[" times                          \
    "],0,1,1],\"v\":\"v0.6\"}\n"

/* Too noisy, too short and too long runs are excluded, and are not errors. */
static void filters_leave_out(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    ft_import_options options = {.is_strict = true,
                                 .filter = {.max_noise = 0.1, .min_time_us = 20, .max_time_us = 1e6}};
    put("v100.jsonl", TIMES("1", "0.001, 0.0011") TIMES("2", "0.001, 0.002") TIMES("3", "0.00001") TIMES("4", "2"));
    if (ft_import("ansor", "v100.jsonl", "set", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    assert_true(result.records == 1 && result.filtered == 3 && result.skipped == 0);
    put("v100.jsonl", TIMES("4", "2"));
    assert_int_equal(ft_import("ansor", "v100.jsonl", "none", &options, &result, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "filtered out"));
}

static void check_part(const ft_dataset *data, const ft_split *split, const char *name, ft_split_part part) {
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        if (strcmp(records[i].name, name) == 0) assert_int_equal(split->parts[i] == FT_PART_TEST, part == FT_PART_TEST);
    }
}

/* A table of networks: a held-out network takes all its tasks, shared ones too. */
static void tasks_belong_to_networks(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = NULL;
    ft_split split;
    ft_import_options options = {.networks = "tasks.csv"};
    put("v100.jsonl", TIMES("1", "1") TIMES("2", "1") TIMES("3", "1") TIMES("4", "1") TIMES("5", "1") TIMES("6", "1"));
    put("tasks.csv", "network,task\nb,matmul_layer 2 64 32\na,matmul_layer 1 64 32\na,matmul_layer 2 64 32\n"
                     "bb,matmul_layer 3 64 32\na,matmul_layer 1 64 32\n");
    if (ft_import("ansor", "v100.jsonl", "set", &options, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    const ft_record *r = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        const char *family = strstr(r[i].name, " 1 ") != NULL   ? "a"
                             : strstr(r[i].name, " 2 ") != NULL ? "a+b"
                             : strstr(r[i].name, " 3 ") != NULL ? "bb"
                                                                : "";
        assert_string_equal(r[i].family, family);
    }
    if (ft_split_make(data, "network:b", 1, &split, &error) != FT_OK) fail_msg("%s", error.message);
    check_part(data, &split, "matmul_layer 1 64 32", FT_PART_TRAIN);
    check_part(data, &split, "matmul_layer 2 64 32", FT_PART_TEST);
    check_part(data, &split, "matmul_layer 3 64 32", FT_PART_TRAIN);
    assert_int_equal(split.counts[FT_PART_TEST], 1);
    ft_split_free(&split);
    assert_int_equal(ft_split_make(data, "network:c", 1, &split, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no task belongs to a network 'c'"));
    ft_dataset_free(data);
}

static void bad_networks(void **state) {
    (void)state;
    static const char *const tables[][2] = {
        {"task,net\nx,y\n", "tasks.csv: line 1: expected the columns task and network"},
        {"task,network\n", "tasks.csv: the table has no rows"},
        {"task,network\nx,a+b\n", "tasks.csv:2: expected a task and a network, without '+' in their names"},
        {"task,network\nx\n", "tasks.csv:2: the row has too few fields"},
    };
    ft_error error;
    ft_import_options options = {.networks = "tasks.csv"};
    put("v100.jsonl", TIMES("1", "1"));
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        put("tasks.csv", tables[i][0]);
        assert_int_not_equal(ft_import("ansor", "v100.jsonl", "set", &options, NULL, &error), FT_OK);
        assert_string_equal(error.message, tables[i][1]);
        assert_int_equal(folder_count("set"), -1);
    }
    assert_int_equal(ft_import("table", "v100.jsonl", "set", &options, NULL, &error), FT_ERR_USAGE);
}

#define TUNED(times)                                                                                                   \
    "{\"input\": [\"cuda\", \"dense_small_batch.gpu\", [[\"TENSOR\", [1, 12], \"float32\"], [\"TENSOR\", [5, 12], "    \
    "\"float32\"], null, \"float32\"], {}], \"config\": {\"index\": 1, \"entity\": [[\"tile_k\", \"sp\", [-1, 4]]]}, " \
    "\"result\": " times ", \"version\": 0.2}\n"

/* Both kinds of logs in one file, and AutoTVM's failed runs. */
static void templates_are_programs(void **state) {
    (void)state;
    ft_error error;
    ft_import_result result;
    reports heard = {0};
    ft_import_options options = {.skip = hear, .user = &heard};
    put("v100.jsonl", TIMES("1", "1") TUNED("[[0.5], 0, 1, 1]"));
    if (ft_import("ansor", "v100.jsonl", "set", &(ft_import_options){.is_strict = true}, &result, &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_int_equal(result.records, 2);
    put("v100.jsonl", TIMES("1", "1") TUNED("[[1000000000.0], 0, 1, 1]"));
    assert_int_equal(ft_import("ansor", "v100.jsonl", "late", &options, &result, &error), FT_OK);
    assert_string_equal(heard.last, "v100.jsonl: line 2: invalid time 1e+09 s");
    put("v100.jsonl", TIMES("1", "1") TUNED("[[1000000000.0], 4, 1, 1]"));
    assert_int_equal(ft_import("ansor", "v100.jsonl", "failed", &options, &result, &error), FT_OK);
    assert_string_equal(heard.last, "v100.jsonl: line 2: not measured: the run failed (error 4)");
    assert_int_equal(result.records, 1);
}

static void memory_may_run_out(void **state) {
    (void)state;
    synth_logs("logs", 1);
    put("tasks.csv", "task,network\nmatmul_layer 32 64 32,a\nmatmul_layer 32 64 32,b\n");
    for (long n = 0;; n++) {
        char set[32];
        snprintf(set, sizeof set, "set%ld", n);
        failing_start(n);
        ft_status status = ft_import("ansor", "logs", set, &(ft_import_options){.networks = "tasks.csv"}, NULL, NULL);
        bool has_failed = failing_stop();
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        if (status != FT_OK) assert_int_equal(folder_count(set), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(logs_become_records, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(programs_are_stored_completely, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(paddings_are_normalised, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(bad_lines_are_reported, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(programs_that_do_not_lower_are_reported, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(devices_are_named_by_files, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(filters_leave_out, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(tasks_belong_to_networks, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(bad_networks, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(templates_are_programs, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(memory_may_run_out, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
