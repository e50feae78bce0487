/* Tests of searches: the best settings are found, the number of workers does not matter, and a search can be resumed at
 * any point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/json.h"
#include "base/outfile.h"
#include "foretell/tune.h"
#include "learn/tunable.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/toy_data.h"

static ft_tune_options usual(void) {
    ft_tune_options options = ft_tune_options_default();
    options.trial.seed = 2;
    options.trial.workers = options.trial.threads = 1;
    options.trials = 27;
    return options;
}

static void tune_well(const ft_dataset *data, const char *folder, const ft_tune_options *options, ft_tuning *tuning) {
    ft_error error = {0};
    ft_status status = ft_tune(data, folder, options, tuning, &error);
    if (status != FT_OK) print_message("%s\n", error.message);
    assert_int_equal(status, FT_OK);
}

static char *read_text(const char *path) {
    input in;
    ft_error error;
    assert_int_equal(input_open(path, 1 << 24, &in, &error), FT_OK);
    char *text = strndup((const char *)in.bytes, in.size);
    input_close(&in);
    return text;
}

static void expect_same(const char *a, const char *b) {
    char *first = read_text(a), *second = read_text(b);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* --- What comes out ------------------------------------------------------------------------------------------ */

static void finds_good_settings(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    ft_error error;
    tune_well(data, "search", &options, &t);
    assert_int_equal(t.count, 27);
    assert_true(t.is_complete && t.failed > 0 && t.failed < 20);
    assert_string_equal(t.keys[0].name, "gain");
    const ft_trial *best = &t.trials[t.best], *first = &t.trials[0];
    assert_int_equal(best->rungs, 3);
    assert_int_equal(first->rungs, 3);
    assert_true(best->objective < first->objective);
    assert_true(best->values[1] == 1); /* "better" */
    assert_true(best->values[0] > 1e-3 && best->values[0] < 0.1);
    assert_string_equal(first->config, "{}");
    assert_int_equal(folder_count("search"), 4); /* journal, table, plot, best; no run folders */

    char *text = read_text("search/best.json");
    json_t *config = NULL;
    assert_int_equal(json_parse(text, strlen(text), &config, &error), FT_OK);
    assert_string_equal(json_string_value(json_object_get(config, "kind")), "better");
    assert_null(json_object_get(config, "steps")); /* the full effort is the default */
    ft_train_options train = {.config = text, .seed = 2, .threads = 1};
    assert_int_equal(ft_train(data, "run", &train, NULL, &error), FT_OK);
    json_decref(config);
    free(text);
    ft_tuning_free(&t);
    ft_dataset_free(data);
}

/* Numbers come back as they were written, and not as the nearest binary one in all its digits. */
static void choices_are_told_as_written(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    options.space = "{\"gain\": [0.01, 0.09]}";
    options.trials = 4;
    tune_well(data, "search", &options, &t);
    assert_int_equal(t.keys[0].choice_count, 2);
    assert_string_equal(t.keys[0].choices[1], "0.09");
    char *table = read_text("search/trials.csv");
    assert_non_null(strstr(table, ",0.09"));
    assert_null(strstr(table, "0.0899"));
    free(table);
    ft_tuning_free(&t);
    ft_dataset_free(data);
}

static void workers_do_not_matter(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    tune_well(data, "one", &options, &t);
    ft_tuning_free(&t);
    options.trial.workers = options.trial.threads = 4;
    tune_well(data, "four", &options, &t);
    ft_tuning_free(&t);
    expect_same("one/trials.csv", "four/trials.csv");
    expect_same("one/best.json", "four/best.json");
    ft_dataset_free(data);
}

static bool stop_later(void *user, uint64_t done, uint64_t total, const char *what) {
    int *left = user;
    assert_non_null(what);
    assert_true(done <= total);
    return (*left)-- > 0;
}

static void stopped_and_resumed(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    ft_error error;
    int left, stops = 0;
    options.trials = 12;
    tune_well(data, "whole", &options, &t);
    ft_tuning_free(&t);
    options.trial.progress = stop_later;
    options.trial.user = &left;
    for (ft_status status = FT_ERR_CANCELLED; status != FT_OK; stops++) {
        left = 17;
        status = ft_tune(data, "parts", &options, &t, &error);
        assert_true(status == FT_OK || status == FT_ERR_CANCELLED);
        options.trial.is_resumed = true;
    }
    assert_true(stops > 4);
    ft_tuning_free(&t);
    expect_same("whole/trials.csv", "parts/trials.csv");
    expect_same("whole/best.json", "parts/best.json");
    ft_dataset_free(data);
}

static void nothing_is_trained_twice(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    tune_well(data, "search", &options, &t);
    ft_tuning_free(&t);
    uint32_t before = tunable_fits();
    options.trial.is_resumed = true;
    tune_well(data, "search", &options, &t);
    ft_tuning_free(&t);
    assert_int_equal(tunable_fits(), before);
    options.trials += 9; /* a longer search goes on where the shorter one ended */
    tune_well(data, "search", &options, &t);
    assert_int_equal(t.count, 36);
    assert_int_equal(tunable_fits(), before + 9 + 3 + 1);
    ft_tuning_free(&t);
    ft_dataset_free(data);
}

/* A journal that lost its last lines gives the same result. */
static void a_cut_journal_goes_on(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options options = usual();
    ft_tuning t;
    ft_error error;
    options.trials = 9;
    tune_well(data, "search", &options, &t);
    ft_tuning_free(&t);
    char *journal = read_text("search/journal.jsonl"), *table = read_text("search/trials.csv");
    options.trial.is_resumed = true;
    for (size_t size = strlen(journal); size > 100; size -= size / 7 + 1) {
        assert_int_equal(outfile_write("search/journal.jsonl", journal, size, &error), FT_OK);
        tune_well(data, "search", &options, &t);
        ft_tuning_free(&t);
        char *now = read_text("search/trials.csv");
        assert_string_equal(now, table);
        free(now);
    }
    free(journal);
    free(table);
    ft_dataset_free(data);
}

/* --- What is refused ----------------------------------------------------------------------------------------- */

static void expect_refused(const ft_dataset *data, const ft_tune_options *options, const char *message) {
    ft_tuning t;
    ft_error error = {0};
    ft_status status = ft_tune(data, "refused", options, &t, &error);
    if (strstr(error.message, message) == NULL) print_message("%s\n", error.message);
    assert_int_equal(status, FT_ERR_USAGE);
    assert_non_null(strstr(error.message, message));
    assert_int_equal(folder_count("refused"), -1);
}

static void wrong_options_leave_no_files(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    const char *range = "gian=real:0..1";
    ft_tune_options o = usual();
    o.ranges = &range;
    o.range_count = 1;
    expect_refused(data, &o, "has no setting 'gian'");
    range = "gain=real:0..1";
    expect_refused(data, &o, "'gain': is 0, but must be from 1e-06 to 10");
    range = "kind=plain,none";
    expect_refused(data, &o, "'kind': is 'none', but must be one of plain, better, broken");
    o.range_count = 0;
    o.space = "{}";
    expect_refused(data, &o, "nothing to search");
    o.space = NULL;
    o.trial.objective = "speed";
    expect_refused(data, &o, "'speed' is not an objective; the objectives are mape, rmspe");
    o.trial.objective = NULL;
    o.trial.family = "none";
    expect_refused(data, &o, "no family 'none'");
    o.trial.family = NULL;
    o.trial.metric = "none";
    expect_refused(data, &o, "no metric 'none'");
    o.trial.metric = NULL;
    o.trial.config = "{\"gian\": 1}";
    expect_refused(data, &o, "there is no setting 'gian'");
    o.trial.config = NULL;
    o.effort = "kind";
    expect_refused(data, &o, "'kind' is not a numeric setting");
    o.effort = NULL;
    o.factor = 1;
    expect_refused(data, &o, "the factor between rungs: 1");
    ft_dataset_free(data);
}

static void other_searches_are_refused(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options o = usual();
    ft_tuning t;
    ft_error error;
    o.trials = 3;
    tune_well(data, "search", &o, &t);
    ft_tuning_free(&t);
    assert_int_equal(ft_tune(data, "search", &o, &t, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "exists already"));
    o.trial.is_resumed = true;
    o.trial.seed = 3;
    assert_int_equal(ft_tune(data, "search", &o, &t, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "belongs to another search: its seed was 2, now it is 3"));
    assert_int_equal(ft_tune(data, "none", &o, &t, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no journal to resume"));
    ft_dataset_free(data);
}

static void a_file_in_place_of_the_folder_is_an_error(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options o = usual();
    ft_tuning t;
    ft_error error = {0};
    FILE *file = fopen("search", "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(ft_tune(data, "search", &o, &t, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "cannot create the folder"));
    ft_dataset_free(data);
}

/* --- Documents ----------------------------------------------------------------------------------------------- */

static void documents_agree(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options o = usual();
    ft_tuning t;
    ft_error error;
    char *text = NULL;
    size_t length;
    ft_style style = ft_style_default();
    o.trial.keeps_runs = true;
    o.rungs = 1;
    tune_well(data, "search", &o, &t);
    assert_int_equal(folder_count("search/trials"), (int)(t.count - t.failed));
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(ft_tuning_write(&t, 5, &style, stream, &error), FT_OK);
    style.output = FT_JSON;
    assert_int_equal(ft_tuning_write(&t, 0, &style, stream, &error), FT_OK);
    fclose(stream);
    char found[64];
    snprintf(found, sizeof found, "mape %.3f with the settings of trial %u", t.trials[t.best].objective,
             t.trials[t.best].index);
    assert_non_null(strstr(text, found));
    assert_non_null(strstr(text, "0 (default)"));
    assert_non_null(strstr(text, "\"error\": \"broken as asked for\""));
    assert_int_equal(ft_tuning_plot(&t, "plot.png", &error), FT_OK);
    assert_int_equal(ft_tuning_plot(&t, "plot.txt", &error), FT_ERR_USAGE);
    free(text);
    ft_tuning_free(&t);
    ft_dataset_free(data);
}

static void time_may_be_up(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_tune_options o = usual();
    ft_tuning t;
    o.trial.time_s = 1e-9;
    tune_well(data, "search", &o, &t);
    assert_true(!t.is_complete && t.count == 0 && t.best == FT_NONE);
    ft_tuning_free(&t);
    o.trial.time_s = 0;
    o.trial.is_resumed = true;
    tune_well(data, "search", &o, &t);
    assert_true(t.is_complete && t.count == o.trials);
    ft_tuning_free(&t);
    ft_dataset_free(data);
}

/* Each allocation in turn: no crash, no leak, and the search can be resumed. */
static void memory_may_run_out(void **state) {
    (void)state;
    toy_data few = {.graph_count = 20};
    ft_dataset *data = toy_data_open("data", &few);
    ft_tune_options o = usual();
    o.trials = 2;
    o.rungs = 1;
    o.trial.split = "random:60/20/20";
    for (long n = 0;; n += 1 + n / 30) {
        ft_tuning t;
        ft_error error = {0};
        failing_start(n);
        ft_status status = ft_tune(data, "search", &o, &t, &error);
        bool has_failed = failing_stop();
        assert_int_equal(error.message[0] != '\0', status != FT_OK);
        if (status == FT_OK) ft_tuning_free(&t);
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        o.trial.is_resumed = access("search/journal.jsonl", F_OK) == 0;
    }
    ft_dataset_free(data);
}

int main(void) {
    use_only_family(&tunable);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_good_settings, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(choices_are_told_as_written, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(workers_do_not_matter, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(stopped_and_resumed, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(nothing_is_trained_twice, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(a_cut_journal_goes_on, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(wrong_options_leave_no_files, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(other_searches_are_refused, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(a_file_in_place_of_the_folder_is_an_error, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(documents_agree, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(time_may_be_up, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(memory_may_run_out, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/tune", tests, NULL, NULL);
}
