/* Predictors that are given, and those that are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/failing.h"
#include "support/flops_file.h"
#include "support/folder.h"

static const char *const first = "./a.ftm", *const second = "./b.ftm";

static int make_files(void **state) {
    if (folder_enter(state) != 0) return 1;
    flops_file_write(first, "time_us", 10, 0.5F);
    flops_file_write(second, "peak_bytes", 10, 0.5F);
    return 0;
}

static void opens_what_is_given(void **state) {
    (void)state;
    const char *files[] = {second, first};
    ft_predictor_set *box = NULL;
    ft_error error;
    if (ft_predictor_set_open(files, 2, &box, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(box), 2);
    assert_string_equal(ft_predictor_set_path(box, 0), second);
    assert_string_equal(ft_predictor_metric(ft_predictor_set_at(box, 1)), "time_us");
    assert_null(ft_predictor_set_at(box, 2));
    assert_null(ft_predictor_set_path(box, 2));
    /* Those of times, each once. */
    assert_int_equal(ft_predictor_set_device_count(box), 2);
    assert_string_equal(ft_predictor_set_device(box, 0), "adreno-640");
    assert_string_equal(ft_predictor_set_device(box, 1), "mine");
    assert_null(ft_predictor_set_device(box, 2));
    ft_predictor_set_free(box);
    ft_predictor_set_free(NULL);
}

static void finds_what_ships(void **state) {
    (void)state;
    ft_predictor_set *box = NULL;
    ft_error error;
    setenv("FORETELL_PREDICTORS", ".", 1);
    if (ft_predictor_set_open(NULL, 0, &box, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(box), 2);
    assert_string_equal(ft_predictor_set_path(box, 0), first);
    ft_predictor_set_free(box);
    box = NULL;
    /* Those of programs are in a folder of their own. */
    assert_int_equal(ft_predictor_set_open_programs(NULL, 0, &box, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "./programs: no predictors"));
    assert_int_equal(mkdir("programs", 0777), 0);
    assert_int_equal(rename(second, "programs/b.ftm"), 0);
    if (ft_predictor_set_open_programs(NULL, 0, &box, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(box), 1);
    assert_string_equal(ft_predictor_set_path(box, 0), "./programs/b.ftm");
    assert_int_equal(rename("programs/b.ftm", second), 0);
    ft_predictor_set_free(box);
    box = NULL;
    setenv("FORETELL_PREDICTORS", "/nowhere", 1);
    assert_int_equal(ft_predictor_set_open(NULL, 0, &box, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "/nowhere: no predictors"));
    assert_null(box);
    unsetenv("FORETELL_PREDICTORS");
}

static void refuses_what_is_none(void **state) {
    (void)state;
    FILE *file = fopen("none.txt", "w");
    assert_non_null(file);
    fputs("no predictor", file);
    fclose(file);
    const char *files[] = {first, "none.txt"};
    ft_predictor_set *box = NULL;
    ft_error error;
    assert_int_equal(ft_predictor_set_open(files, 2, &box, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "none.txt"));
    files[1] = "/nowhere/x.ftm";
    assert_int_equal(ft_predictor_set_open(files, 2, &box, &error), FT_ERR_IO);
    assert_null(box);
}

static void memory_runs_out(void **state) {
    (void)state;
    const char *files[] = {first, second};
    for (long n = 0;; n++) {
        ft_predictor_set *box = NULL;
        failing_start(n);
        ft_status status = ft_predictor_set_open(files, 2, &box, NULL);
        bool has_failed = failing_stop();
        ft_predictor_set_free(box);
        if (!has_failed) break;
        assert_true(status == FT_ERR_NOMEM || status == FT_ERR_DAMAGED); /* jansson takes a failure for a wrong token */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_what_is_given),
        cmocka_unit_test(finds_what_ships),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("forecast/box", tests, make_files, folder_leave);
}
