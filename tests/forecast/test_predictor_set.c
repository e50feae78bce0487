/* test_predictor_set.c - predictor sets of given files and of the bundled ones. */
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
#include "support/small_set.h"

static const char *const first = "./a.ftm", *const second = "./b.ftm";

static int make_files(void **state) {
    if (folder_enter(state) != 0) return 1;
    flops_file_write(first, "time_us", 10, 0.5F);
    flops_file_write(second, "peak_bytes", 10, 0.5F);
    return 0;
}

static void opens_the_given_files(void **state) {
    (void)state;
    const char *files[] = {second, first};
    ft_predictor_set *set = NULL;
    ft_error error;
    if (ft_predictor_set_open(files, 2, &set, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(set), 2);
    assert_string_equal(ft_predictor_set_path(set, 0), second);
    assert_string_equal(ft_predictor_metric(ft_predictor_set_at(set, 1)), "time_us");
    assert_null(ft_predictor_set_at(set, 2));
    assert_null(ft_predictor_set_path(set, 2));
    /* Devices of predictors of times, each once. */
    assert_int_equal(ft_predictor_set_device_count(set), 2);
    assert_string_equal(ft_predictor_set_device(set, 0), "adreno-640");
    assert_string_equal(ft_predictor_set_device(set, 1), "mine");
    assert_null(ft_predictor_set_device(set, 2));
    ft_predictor_set_free(set);
    ft_predictor_set_free(NULL);
}

static void finds_bundled_predictors(void **state) {
    (void)state;
    ft_predictor_set *set = NULL;
    ft_error error;
    setenv("FORETELL_PREDICTORS", ".", 1);
    if (ft_predictor_set_open(NULL, 0, &set, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(set), 2);
    assert_string_equal(ft_predictor_set_path(set, 0), first);
    ft_predictor_set_free(set);
    set = NULL;
    /* Predictors of programs are in a sub-folder. */
    assert_int_equal(ft_predictor_set_open_programs(NULL, 0, &set, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "./programs: no predictors"));
    assert_int_equal(mkdir("programs", 0777), 0);
    assert_int_equal(rename(second, "programs/b.ftm"), 0);
    if (ft_predictor_set_open_programs(NULL, 0, &set, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_set_count(set), 1);
    assert_string_equal(ft_predictor_set_path(set, 0), "./programs/b.ftm");
    assert_int_equal(rename("programs/b.ftm", second), 0);
    ft_predictor_set_free(set);
    set = NULL;
    setenv("FORETELL_PREDICTORS", "/nowhere", 1);
    assert_int_equal(ft_predictor_set_open(NULL, 0, &set, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "/nowhere: no predictors"));
    assert_null(set);
    unsetenv("FORETELL_PREDICTORS");
}

static void other_files_are_errors(void **state) {
    (void)state;
    FILE *file = fopen("none.txt", "w");
    assert_non_null(file);
    fputs("no predictor", file);
    fclose(file);
    const char *files[] = {first, "none.txt"};
    ft_predictor_set *set = NULL;
    ft_error error;
    assert_int_equal(ft_predictor_set_open(files, 2, &set, &error), FT_ERR_FORMAT);
    assert_non_null(strstr(error.message, "none.txt"));
    files[1] = "/nowhere/x.ftm";
    assert_int_equal(ft_predictor_set_open(files, 2, &set, &error), FT_ERR_IO);
    assert_null(set);
}

/* The values of all results of a small model on all devices. */
static uint32_t predict_all(const ft_predictor_set *set, double values[static 2]) {
    ft_results results;
    ft_error error;
    ft_graph *model = small_graph(64);
    ft_request requests[2];
    assert_int_equal(ft_predictor_set_device_count(set), 2);
    for (uint32_t i = 0; i < 2; i++) requests[i] = (ft_request){.device = ft_predictor_set_device(set, i), .batch = 1};
    if (ft_predict(set, model, NULL, requests, 2, &results, &error) != FT_OK) fail_msg("%s", error.message);
    uint32_t count = results.count;
    for (uint32_t i = 0; i < count; i++) values[i] = results.items[i].metrics[0].value;
    ft_results_free(&results);
    ft_graph_free(model);
    return count;
}

/* A predictor file that is overwritten or cut while it is open changes nothing. */
static void files_may_be_replaced_in_place(void **state) {
    (void)state;
    const char *file = "./changed.ftm", *files[] = {file};
    double before[2], after[2];
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        ft_predictor_set *set = NULL;
        struct stat info;
        flops_file_write(file, "time_us", 10, 0.5F);
        assert_int_equal(stat(file, &info), 0);
        assert_int_equal(ft_predictor_set_open(files, 1, &set, NULL), FT_OK);
        assert_int_equal(predict_all(set, before), 2);
        FILE *out = fopen(file, is_cut ? "wb" : "r+b");
        assert_non_null(out);
        for (long i = 0; i < info.st_size && !is_cut; i++) putc(0xff, out);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(predict_all(set, after), 2);
        assert_memory_equal(after, before, sizeof before);
        ft_predictor_set_free(set);
    }
    assert_int_equal(remove(file), 0);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    const char *files[] = {first, second};
    for (long n = 0;; n++) {
        ft_predictor_set *set = NULL;
        failing_start(n);
        ft_status status = ft_predictor_set_open(files, 2, &set, NULL);
        bool has_failed = failing_stop();
        ft_predictor_set_free(set);
        if (!has_failed) break;
        assert_true(status == FT_ERR_NOMEM ||
                    status == FT_ERR_DAMAGED); /* jansson reports a failed allocation as a wrong token */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_the_given_files),     cmocka_unit_test(finds_bundled_predictors),
        cmocka_unit_test(other_files_are_errors),    cmocka_unit_test(files_may_be_replaced_in_place),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("forecast/predictor_set", tests, make_files, folder_leave);
}
