/* Tests of tasks of tensor programs as what is chosen, measured and held out as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "learn/adapt/units.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/made_data.h"
#include "support/made_log.h"

enum { PROGRAMS = 108, TASKS = 3 }; /* as made_log.h makes them, as many of each task */

static ft_dataset *programs(void) {
    ft_error error;
    ft_dataset *data = NULL;
    made_logs("logs", PROGRAMS);
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
    units found;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(units_find(data, &memory, &found, &error), FT_OK);
    assert_true(found.are_tasks);
    assert_int_equal(found.count, TASKS);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++)
        assert_string_equal(found.names[found.of[records[i].graph]], records[i].name);
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
    ft_dataset *data = made_data("models", 4, (const char *const[]){"k80"}, 1, rule);
    ft_error error;
    arena memory;
    units found;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(units_find(data, &memory, &found, &error), FT_OK);
    assert_false(found.are_tasks);
    assert_int_equal(found.count, ft_dataset_graph_count(data));
    for (uint32_t i = 0; i < found.count; i++) {
        assert_int_equal(found.of[i], i);
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

/* A network that is trained further knows the device by itself, and is never tested on what it learned from. */
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
    /* One step changes next to nothing, but what the device is off by all in all is not for training to find. */
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
        units found;
        arena_init(&memory, UINT64_MAX);
        failing_start(n);
        ft_status status = units_find(data, &memory, &found, &error);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_are_tasks_by_name, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(models_are_each_their_own, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(tasks_are_chosen_and_learned_whole, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(memory_may_run_out, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/units", tests, NULL, NULL);
}
