/* Tests of the session of a fit: states are restored and written at intervals, and progress covers the whole run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "learn/train/fit_session.h"
#include "support/folder.h"

typedef struct seen {
    uint64_t done, total;
    const char *what;
    bool goes_on;
} seen;

static bool look(void *user, uint64_t done, uint64_t total, const char *what) {
    seen *s = user;
    s->done = done;
    s->total = total;
    s->what = what;
    return s->goes_on;
}

static void open_run(run_folder *run) {
    char config[] = "{}\n";
    const buf text = {.data = config, .length = strlen(config)};
    ft_error error;
    assert_int_equal(run_open("run", &(run_mode){0}, &text, run, &error), FT_OK);
}

static bool is_on_disk(void) {
    return access("run/checkpoint.bin", F_OK) == 0;
}

static void test_state_comes_back(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    open_run(&run);
    fit_session k = {.run = &run, .identity = {.low = 5}};
    fit_context context = {0};
    size_t size = 7;
    assert_int_equal(fit_session_open(&k, &error), FT_OK);
    fit_session_connect(&k, &context);
    assert_null(context.load(context.user, &size));
    assert_int_equal(context.save(context.user, "first", 5, &error), FT_OK);
    assert_int_equal(context.save(context.user, "the second", 10, &error), FT_OK);
    assert_memory_equal(context.load(context.user, &size), "the second", 10);
    assert_int_equal(size, 10);
    fit_session_free(&k);
    fit_session again = {.run = &run, .identity = {.low = 5}};
    assert_int_equal(fit_session_open(&again, &error), FT_OK);
    fit_session_connect(&again, &context);
    assert_memory_equal(context.load(context.user, &size), "the second", 10);
    fit_session_free(&again);
    fit_session other = {.run = &run, .identity = {.low = 6}};
    assert_int_equal(fit_session_open(&other, &error), FT_ERR_USAGE);
    run_close(&run);
}

static void test_disk_when_it_is_time(void **state) {
    (void)state;
    run_folder run;
    ft_error error;
    seen s = {.goes_on = true};
    open_run(&run);
    fit_session k = {.run = &run, .interval_s = 1000, .progress = look, .user = &s};
    fit_context context = {0};
    assert_int_equal(fit_session_open(&k, &error), FT_OK);
    fit_session_connect(&k, &context);
    assert_int_equal(context.save(context.user, "a", 1, &error), FT_OK);
    assert_false(is_on_disk());
    assert_int_equal(fit_session_flush(&k, &error), FT_OK);
    assert_true(is_on_disk());
    assert_int_equal(unlink("run/checkpoint.bin"), 0);
    assert_int_equal(fit_session_flush(&k, &error), FT_OK); /* nothing new */
    assert_false(is_on_disk());
    s.goes_on = false; /* once asked to stop, every state is kept */
    assert_false(context.progress(context.user, 0.5, "stepping"));
    s.goes_on = true;
    assert_false(context.progress(context.user, 0.5, "stepping"));
    assert_int_equal(context.save(context.user, "b", 1, &error), FT_OK);
    assert_true(is_on_disk());
    fit_session_free(&k);
    run_close(&run);
}

static void test_progress_of_the_whole(void **state) {
    (void)state;
    seen s = {.goes_on = true};
    fit_session k = {.progress = look, .user = &s};
    fit_context context = {0};
    fit_session_connect(&k, &context);
    assert_true(context.progress(context.user, 0.5, "half"));
    assert_string_equal(s.what, "half");
    assert_int_equal(s.done * 100 / s.total, 47);
    assert_true(context.progress(context.user, 7, NULL)); /* more than all is all */
    assert_int_equal(s.done * 100 / s.total, 94);
    assert_string_equal(s.what, "");
    fit_session_range range = {.session = &k, .from = 0.96, .to = 0.98, .what = "scoring"};
    assert_true(fit_session_progress(&range, 1, 2, "predicting"));
    assert_string_equal(s.what, "scoring");
    assert_int_equal(s.done * 100 / s.total, 97);
    assert_true(fit_session_progress(&range, 1, 0, "predicting"));
    fit_session silent = {0};
    fit_session_connect(&silent, &context);
    assert_true(context.progress(context.user, 0.5, "half"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_state_comes_back, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_disk_when_it_is_time, folder_enter, folder_leave),
        cmocka_unit_test(test_progress_of_the_whole),
    };
    return cmocka_run_group_tests_name("learn/fit_session", tests, NULL, NULL);
}
