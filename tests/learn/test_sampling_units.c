/* Tests of sampling units (tasks of tensor programs are selected and held out whole) and of lists of models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "foretell/foretell.h"
#include "learn/adapt/sampling_units.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"
#include "support/synth_data.h"
#include "support/synth_log.h"

enum { PROGRAMS = 108, TASKS = 3 }; /* as synth_log.h makes them, as many of each task */

static ft_dataset *programs(void) {
    ft_error error;
    ft_dataset *data = NULL;
    synth_logs("logs", PROGRAMS);
    assert_int_equal(ft_import("ansor", "logs", "set", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    return data;
}

static void programs_are_tasks_by_name(void **state) {
    (void)state;
    ft_dataset *data = programs();
    const ft_record *records = ft_dataset_records(data);
    ft_error error;
    arena memory;
    sampling_units found;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(sampling_units_find(data, &memory, &found, &error), FT_OK);
    assert_true(found.are_tasks);
    assert_int_equal(found.count, TASKS);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++)
        assert_string_equal(found.names[found.of_graph[records[i].graph]], records[i].name);
    arena_free(&memory);
    ft_dataset_free(data);
}

static double rule(const ft_graph *bound, const char *device) {
    (void)bound;
    (void)device;
    return 5;
}

static void models_are_each_their_own(void **state) {
    (void)state;
    ft_dataset *data = synth_data("models", 4, (const char *const[]){"k80"}, 1, rule);
    ft_error error;
    arena memory;
    sampling_units found;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(sampling_units_find(data, &memory, &found, &error), FT_OK);
    assert_false(found.are_tasks);
    assert_int_equal(found.count, ft_dataset_graph_count(data));
    for (uint32_t i = 0; i < found.count; i++) {
        assert_int_equal(found.of_graph[i], i);
        assert_string_equal(found.names[i], ft_dataset_graph_id(data, i));
    }
    arena_free(&memory);
    ft_dataset_free(data);
}

/* --- Choosing and adapting ----------------------------------------------------------------------------------- */

/* Knows the V100 alone. */
static ft_predictor *train(const ft_dataset *data) {
    static const char *const settings[] = {"steps=200", "hidden=16", "heads=2",       "layers=1",
                                           "batch=16",  "rate=0.01", "columns=shared"};
    ft_error error;
    ft_evaluation tested = {0};
    ft_predictor *predictor = NULL;
    ft_train_options options = ft_train_options_default();
    options.family = "leaf-sequence";
    options.split = "device:k80:shared";
    options.settings = settings;
    options.setting_count = sizeof settings / sizeof settings[0];
    options.threads = 1;
    if (ft_train(data, "run", &options, &tested, &error) != FT_OK) fail_msg("%s", error.message);
    ft_evaluation_free(&tested);
    assert_int_equal(ft_predictor_open("run/predictor.ftm", &predictor, &error), FT_OK);
    return predictor;
}

static void write_list(const ft_predictor *predictor, const ft_dataset *data, const char *path) {
    const ft_sample_options options = {.count = 2, .method = "kmeans", .threads = 1};
    ft_sample sample;
    ft_error error;
    ft_style style = {.output = FT_CSV};
    FILE *list = fopen(path, "w");
    if (ft_sample_make(predictor, data, &options, &sample, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(sample.pool_count, TASKS);
    assert_int_equal(sample.count, 2);
    assert_string_not_equal(sample.items[0].name, sample.items[1].name);
    assert_true(sample.items[0].weight + sample.items[1].weight > 0.999);
    assert_int_equal(ft_sample_write(&sample, &style, list, &error), FT_OK);
    assert_int_equal(fclose(list), 0);
    ft_sample_free(&sample);
}

static double error_after(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          double *before) {
    ft_adaptation a;
    ft_error error;
    if (ft_adapt(from, data, options, "a.ftm", &a, &error) != FT_OK)
        fail_msg("%s, %s: %s", options->method, options->discrepancy, error.message);
    assert_int_equal(a.model_count, 2);
    assert_int_equal(a.devices[0].models, 2);
    assert_int_equal(a.devices[0].records, 2 * PROGRAMS / TASKS);
    assert_int_equal(a.after.case_count, PROGRAMS / TASKS); /* the third task */
    assert_true(a.devices[0].is_new);
    double mape = a.after.scores[0].mape;
    if (before != NULL) *before = a.before.scores[0].mape;
    assert_true(a.before.scores[0].mape > mape);
    ft_adaptation_free(&a);
    return mape;
}

/* A network that is trained further supports the device, and is never tested on records that it learned from. */
static void check_adapted(const ft_dataset *data) {
    ft_predictor *adapted = NULL;
    ft_error error;
    ft_split split;
    bool is_found = false;
    assert_int_equal(ft_predictor_open("a.ftm", &adapted, &error), FT_OK);
    assert_int_equal(ft_predictor_device_count(adapted), 2);
    assert_non_null(strstr(ft_predictor_header(adapted), "\"tasks\""));
    assert_int_equal(ft_predictor_split(adapted, data, &split, &is_found, &error), FT_OK);
    assert_true(is_found);
    assert_int_equal(split.counts[FT_PART_TEST], PROGRAMS / TASKS);
    ft_split_free(&split);
    ft_predictor_free(adapted);
}

static void tasks_are_chosen_and_learned_whole(void **state) {
    (void)state;
    ft_dataset *data = programs();
    ft_predictor *from = train(data);
    write_list(from, data, "list.csv");
    ft_adapt_options options = {.models = "list.csv", .method = "scale", .threads = 1};
    error_after(from, data, &options, NULL);
    /* One step changes very little, but the median ratio of the device is removed before training. */
    options.method = "tune-all";
    options.steps = 1;
    double before, untrained = error_after(from, data, &options, &before);
    if (!(untrained < before / 3)) fail_msg("%g %%, before %g %%", untrained, before);
    static const char *const distances[] = {"none", "cmd", "mmd"};
    options.steps = 250;
    for (uint32_t i = 0; i < 3; i++) {
        options.method = i == 1 ? "tune-last" : "tune-all";
        options.discrepancy = distances[i];
        double mape = error_after(from, data, &options, NULL);
        if (!(mape < 80)) fail_msg("%s: %g %%", distances[i], mape);
        check_adapted(data);
    }
    ft_adaptation a;
    ft_error error;
    options.discrepancy = "other";
    assert_int_equal(ft_adapt(from, data, &options, "no.ftm", &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no discrepancy"));
    ft_predictor_free(from);
    ft_dataset_free(data);
}

/* Allocations fail in turn: all of finding units, and of training further so many that it stays quick. */
static void memory_may_run_out(void **state) {
    (void)state;
    ft_dataset *data = programs();
    ft_predictor *from = train(data);
    ft_error error;
    for (long n = 0;; n++) {
        arena memory;
        sampling_units found;
        arena_init(&memory, UINT64_MAX);
        failing_start(n);
        ft_status status = sampling_units_find(data, &memory, &found, &error);
        bool has_failed = failing_stop();
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    const ft_adapt_options options = {.budget = 2, .method = "tune-all", .steps = 1, .threads = 1};
    for (long n = 0;; n += 1 + n / 8) {
        ft_adaptation a;
        failing_start(n);
        ft_status status = ft_adapt(from, data, &options, "m.ftm", &a, &error);
        bool has_failed = failing_stop();
        if (!has_failed) ft_adaptation_free(&a);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_predictor_free(from);
    ft_dataset_free(data);
}

static arena list_memory;

static ft_status parse(const char *text, model_list *list, ft_error *error) {
    return model_list_parse("list.csv", text, strlen(text), &list_memory, list, error);
}

static void test_columns_in_any_order(void **state) {
    (void)state;
    model_list list;
    ft_error error;
    assert_int_equal(parse("weight,name,time_us,graph\n0.5,\"a, b\",7,00ff\n0.5,c,8,\n", &list, &error), FT_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a, b");
    assert_string_equal(list.items[0].graph, "00ff");
    assert_string_equal(list.items[1].name, "c");
    assert_string_equal(list.items[1].graph, "");
    assert_true(list.items[0].weight == 0.5);
    assert_int_equal(parse("name\nx\n", &list, &error), FT_OK);
    assert_string_equal(list.items[0].graph, "");
}

static void refuses(const char *text, ft_status status, const char *part) {
    model_list list;
    ft_error error;
    assert_int_equal(parse(text, &list, &error), status);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' has no '%s'", error.message, part);
}

static void test_what_is_refused(void **state) {
    (void)state;
    refuses("", FT_ERR_FORMAT, "'graph' or 'name'");
    refuses("model,device\na,b\n", FT_ERR_FORMAT, "'graph' or 'name'");
    refuses("name\n", FT_ERR_USAGE, "the list is empty");
    refuses("name,graph\na\n", FT_ERR_DAMAGED, "line 2: 1 fields");
    refuses("name,weight\na,much\n", FT_ERR_DAMAGED, "weight is 'much'");
    refuses("name,weight\na,-1\n", FT_ERR_DAMAGED, "weight is '-1'");
    refuses("name,graph\n\"a,b\n", FT_ERR_DAMAGED, "list.csv");
    model_list list;
    ft_error error;
    assert_int_equal(model_list_read("absent.csv", &list_memory, &list, &error), FT_ERR_IO);
}

static void test_models_are_found(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    const ft_record *records = ft_dataset_records(data);
    char text[512];
    uint32_t graphs[4];
    model_list list;
    ft_error error;
    snprintf(text, sizeof text, "name,graph\nabsent,%s\n%s,\nabsent,0000\n", ft_dataset_graph_id(data, 1),
             records[0].name);
    write_text("list.csv", text);
    assert_int_equal(model_list_read("list.csv", &list_memory, &list, &error), FT_OK);
    assert_int_equal(model_list_find(&list, data, &list_memory, graphs, &error), FT_OK);
    assert_int_equal(graphs[0], 1);
    assert_int_equal(graphs[1], records[0].graph);
    assert_int_equal(graphs[2], FT_NONE);
    ft_dataset_free(data);
}

static void test_lists_without_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        model_list list;
        ft_error error;
        arena own;
        arena_init(&own, UINT64_MAX);
        failing_start(n);
        ft_status status = model_list_parse("list.csv", "name\na\nb\n", 9, &own, &list, &error);
        bool has_failed = failing_stop();
        arena_free(&own);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

static int begin(void **state) {
    arena_init(&list_memory, UINT64_MAX);
    return folder_enter(state);
}

static int end(void **state) {
    arena_free(&list_memory);
    return folder_leave(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_are_tasks_by_name, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(models_are_each_their_own, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(tasks_are_chosen_and_learned_whole, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(memory_may_run_out, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_columns_in_any_order, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_models_are_found, begin, end),
        cmocka_unit_test_setup_teardown(test_lists_without_memory, begin, end),
    };
    return cmocka_run_group_tests_name("learn/sampling_units", tests, NULL, NULL);
}
