/* Tests of run folders: when files appear, which runs may be replaced, and that no other file is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"
#include "learn/train/run.h"
#include "support/failing.h"
#include "support/folder.h"

static char first[] = "{\"foretell_run\": 1, \"seed\": 3, \"config\": {\"depth\": 6}}\n";
static char second[] = "{\"foretell_run\": 1, \"seed\": 4, \"config\": {\"depth\": 6}}\n";

static const run_mode plain = {0}, resumed = {.is_resumed = true}, forced = {.is_forced = true},
                      both = {.is_resumed = true, .is_forced = true};

static ft_status open_run(const char *path, const run_mode *mode, char *config, run_folder *run, ft_error *error) {
    const buf text = {.data = config, .length = strlen(config)};
    return run_open(path, mode, &text, run, error);
}

static void put(const char *path, const char *text) {
    ft_error error;
    assert_int_equal(outfile_write(path, text, strlen(text), &error), FT_OK);
}

/* Writes the files of a complete run, and finishes it. */
static void complete(run_folder *run, const char *predictor) {
    ft_error error;
    run_log(run, json_pack("{s:s}", "event", "start"));
    assert_int_equal(run_write(run, "checkpoint.bin", "state", 5, &error), FT_OK);
    assert_int_equal(run_write(run, "predictor.ftm", predictor, strlen(predictor), &error), FT_OK);
    assert_int_equal(run_write(run, "metrics.json", "{}", 2, &error), FT_OK);
    assert_int_equal(run_check_log(run, &error), FT_OK);
    assert_int_equal(run_finish(run, &error), FT_OK);
    run_close(run);
}

static void make_complete(const char *path, char *config, const char *predictor) {
    run_folder run;
    ft_error error;
    assert_int_equal(open_run(path, &plain, config, &run, &error), FT_OK);
    complete(&run, predictor);
}

static void test_complete_run(void **state) {
    (void)state;
    make_complete("run/", first, "one");
    assert_int_equal(folder_count("."), 1);
    assert_int_equal(folder_count("run"), 4);
    folder_expect("run/config.json", first);
    folder_expect("run/predictor.ftm", "one");
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_OK);
    assert_true(run.is_complete);
    run_close(&run);
    assert_int_equal(folder_count("run"), 4);
}

static void test_one_that_exists_is_kept(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    make_complete("run", first, "one");
    assert_int_equal(run_check("run", &plain, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "exists already"));
    assert_int_equal(open_run("run", &plain, second, &run, &error), FT_ERR_USAGE);
    folder_expect("run/config.json", first);
}

static void test_failure_leaves_nothing(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    run_log(&run, json_pack("{s:s}", "event", "start"));
    assert_int_equal(folder_count("run"), 2);
    run_close(&run);
    run_close(&run);
    assert_int_equal(folder_count("."), 0);
}

static void test_checkpoint_is_kept(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    assert_int_equal(run_write(&run, "checkpoint.bin", "state", 5, &error), FT_OK);
    run_close(&run);
    assert_int_equal(folder_count("run"), 3);
    put("run/checkpoint.bin.77-0.tmp", "half");
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_OK);
    assert_false(run.is_complete);
    assert_int_equal(folder_count("run"), 3); /* the leftover is gone */
    run_close(&run);
    folder_expect("run/checkpoint.bin", "state");
}

static void test_resume_needs_the_same_run(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no such run"));
    assert_int_equal(folder_count("."), 0);
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    assert_int_equal(run_write(&run, "checkpoint.bin", "state", 5, &error), FT_OK);
    run_close(&run);
    assert_int_equal(open_run("run", &resumed, second, &run, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "seed 3, now it is 4"));
    folder_expect("run/config.json", first);
    put("run/config.json", "{");
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_ERR_DAMAGED);
    unlink("run/config.json");
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no config.json"));
}

static void test_replaced_when_complete(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    make_complete("run", first, "one");
    assert_int_equal(open_run("run", &forced, second, &run, &error), FT_OK);
    folder_expect("run/config.json", first);
    complete(&run, "two");
    folder_expect("run/config.json", second);
    folder_expect("run/predictor.ftm", "two");
    assert_int_equal(folder_count("."), 1);
    assert_int_equal(folder_count("run"), 4);
}

static void test_replacement_that_fails(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    make_complete("run", first, "one");
    assert_int_equal(open_run("run", &forced, second, &run, &error), FT_OK);
    run_close(&run);
    assert_int_equal(folder_count("."), 1);
    assert_int_equal(open_run("run", &both, second, &run, &error), FT_ERR_USAGE);
    /* stopped: the old one is untouched, the new one goes on */
    assert_int_equal(open_run("run", &forced, second, &run, &error), FT_OK);
    assert_int_equal(run_write(&run, "checkpoint.bin", "state", 5, &error), FT_OK);
    run_close(&run);
    folder_expect("run/predictor.ftm", "one");
    assert_int_equal(open_run("run", &both, second, &run, &error), FT_OK);
    complete(&run, "two");
    folder_expect("run/predictor.ftm", "two");
    assert_int_equal(folder_count("."), 1);
    /* stopped and given up: a new replacement starts over */
    assert_int_equal(open_run("run", &forced, first, &run, &error), FT_OK);
    assert_int_equal(run_write(&run, "checkpoint.bin", "state", 5, &error), FT_OK);
    run_close(&run);
    assert_int_equal(open_run("run", &forced, second, &run, &error), FT_OK);
    complete(&run, "three");
    folder_expect("run/predictor.ftm", "three");
    assert_int_equal(folder_count("."), 1);
}

static void test_nothing_else_is_replaced(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(mkdir("precious", 0777), 0);
    assert_int_equal(open_run("precious", &forced, first, &run, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "not a run"));
    put("precious/config.json", "{}");
    put("precious/thesis.txt", "years");
    assert_int_equal(open_run("precious", &forced, first, &run, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "thesis.txt"));
    put("file", "text");
    assert_int_equal(open_run("file", &forced, first, &run, &error), FT_ERR_IO);
    assert_int_equal(open_run("", &plain, first, &run, &error), FT_ERR_USAGE);
    assert_int_equal(open_run("absent/run", &plain, first, &run, &error), FT_ERR_IO);
    assert_int_equal(folder_count("."), 2);
    assert_int_equal(folder_count("precious"), 2);
}

static void test_two_at_a_time(void **state) {
    (void)state;
    run_folder run, other;
    ft_error error;
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    assert_int_equal(open_run("run", &resumed, first, &other, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "another process"));
    complete(&run, "one");
    assert_int_equal(open_run("run", &resumed, first, &other, &error), FT_OK);
    run_close(&other);
}

static void test_half_a_line_is_cut(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    assert_int_equal(run_write(&run, "checkpoint.bin", "state", 5, &error), FT_OK);
    run_close(&run);
    put("run/log.jsonl", "{\"a\": 1}\n{\"b\"");
    assert_int_equal(open_run("run", &resumed, first, &run, &error), FT_OK);
    run_log(&run, json_pack("{s:i}", "c", 2));
    run_close(&run);
    input in;
    assert_int_equal(input_open("run/log.jsonl", 1 << 20, &in, &error), FT_OK);
    const char *text = (const char *)in.bytes, *line = memchr(text, '\n', in.size);
    assert_non_null(line);
    json_t *value = NULL;
    assert_int_equal(json_parse(text, (size_t)(line - text), &value, &error), FT_OK);
    json_decref(value);
    assert_int_equal(json_parse(line + 1, in.size - (size_t)(line + 1 - text), &value, &error), FT_OK);
    assert_int_equal(json_integer_value(json_object_get(value, "c")), 2);
    assert_int_equal(json_string_length(json_object_get(value, "time")), strlen("2026-01-31T23:59:59.123Z"));
    json_decref(value);
    input_close(&in);
}

static void test_full_disk_of_the_log(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    assert_int_equal(open_run("run", &plain, first, &run, &error), FT_OK);
    fclose(run.log);
    run.log = fopen("/dev/full", "w");
    assert_non_null(run.log);
    run_log(&run, json_pack("{s:i}", "c", 2));
    run_log(&run, json_pack("{s:i}", "c", 3));
    assert_int_equal(run_check_log(&run, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "log.jsonl: No space left"));
    run_close(&run);
}

static void test_no_memory(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    make_complete("old", first, "one");
    const struct {
        const char *path;
        const run_mode *mode;
    } cases[] = {{"run", &plain}, {"old", &resumed}, {"old", &forced}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (long n = 0;; n++) {
            failing_start(n);
            ft_status status = open_run(cases[i].path, cases[i].mode, first, &run, &error);
            bool has_failed = failing_stop();
            if (status == FT_OK) run_close(&run);
            if (!has_failed) break;
            if (status != FT_OK) assert_true(status == FT_ERR_NOMEM || status == FT_ERR_IO || status == FT_ERR_USAGE);
        }
        assert_int_equal(folder_count("."), 1);
        assert_int_equal(folder_count("old"), 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_complete_run, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_one_that_exists_is_kept, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_failure_leaves_nothing, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_checkpoint_is_kept, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_resume_needs_the_same_run, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_replaced_when_complete, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_replacement_that_fails, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_nothing_else_is_replaced, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_two_at_a_time, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_half_a_line_is_cut, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_full_disk_of_the_log, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_no_memory, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/run", tests, NULL, NULL);
}
