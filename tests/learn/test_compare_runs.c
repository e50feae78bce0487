/* Tests of comparing run folders by their metrics.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "foretell/learn.h"
#include "support/failing.h"
#include "support/folder.h"

static void make_run(const char *folder, const char *metrics) {
    char path[64];
    assert_int_equal(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/metrics.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(metrics, file);
    fclose(file);
}

#define RESULT(part, device, family, mape)                                                                             \
    "{\"part\": \"" part "\", \"device\": \"" device "\", \"family\": \"" family                                       \
    "\", \"metric\": \"time_us\", \"n\": 5, \"mape\": " mape ", \"spearman\": null}"

static ft_status compare(const char *const *folders, uint32_t count, bool has_families, char **text, ft_error *error) {
    size_t size;
    ft_style style = ft_style_default();
    style.output = FT_CSV;
    FILE *stream = open_memstream(text, &size);
    assert_non_null(stream);
    ft_status status = ft_compare_runs(folders, count, has_families, &style, stream, error);
    fclose(stream);
    return status;
}

static const char *const both[] = {"one", "two"};

static void make_two(void) {
    make_run("one",
             "{\"results\": [" RESULT("valid", "cpu", "all", "9") ", " RESULT("test", "gpu", "all", "3") ", " RESULT(
                 "test", "cpu", "vgg", "5") ", " RESULT("test", "cpu", "all", "4") "]}");
    make_run("two", "{\"results\": [" RESULT("test", "cpu", "all", "6") ", " RESULT("test", "cpu", "vgg", "7") "]}");
}

static void test_runs(void **state) {
    (void)state;
    ft_error error;
    char *text;
    make_two();
    assert_int_equal(compare(both, 2, false, &text, &error), FT_OK);
    const char *rows = strchr(text, '\n') + 1;
    assert_string_equal(rows, "one,cpu,all,time_us,5,4,,,,,,,,,,,,,\n"
                              "two,cpu,all,time_us,5,6,,,,,,,,,,,,,\n"
                              "one,gpu,all,time_us,5,3,,,,,,,,,,,,,\n");
    free(text);
    assert_int_equal(compare(both, 2, true, &text, &error), FT_OK);
    assert_non_null(strstr(text, "one,cpu,vgg,time_us,5,5,,,,,,,,,,,,,\ntwo,cpu,vgg,time_us,5,7,"));
    free(text);
}

static void test_validation_when_nothing_was_tested(void **state) {
    (void)state;
    ft_error error;
    char *text;
    make_run("one", "{\"results\": [" RESULT("valid", "cpu", "all", "9") "]}");
    make_run("two", "{\"results\": [" RESULT("valid", "cpu", "all", "8") ", " RESULT("test", "cpu", "all", "1") "]}");
    assert_int_equal(compare(both, 2, false, &text, &error), FT_OK);
    assert_non_null(strstr(text, "one,cpu,all,time_us,5,9,,,,,,,,,,,,,\ntwo,cpu,all,time_us,5,8,"));
    free(text);
}

static void check_refused(const char *metrics, ft_status expected, const char *words) {
    static int number;
    char folder[16], *text;
    const char *const folders[] = {folder};
    ft_error error;
    snprintf(folder, sizeof folder, "bad%d", number++);
    make_run(folder, metrics);
    assert_int_equal(compare(folders, 1, false, &text, &error), expected);
    assert_non_null(strstr(error.message, words));
    free(text);
}

static void test_refused(void **state) {
    (void)state;
    const char *const absent[] = {"absent"};
    char *text;
    ft_error error;
    assert_int_equal(compare(absent, 1, false, &text, &error), FT_ERR_IO);
    free(text);
    check_refused("{", FT_ERR_DAMAGED, "metrics.json");
    check_refused("[]", FT_ERR_DAMAGED, "no list 'results'");
    check_refused("{\"results\": 7}", FT_ERR_DAMAGED, "no list 'results'");
    check_refused("{\"results\": [1, \"x\", {\"part\": 3}]}", FT_ERR_DAMAGED, "no evaluated part in common");
}

static void test_other_metrics(void **state) {
    (void)state;
    ft_error error;
    char *text;
    make_run("one", "{\"results\": [" RESULT("test", "cpu", "all", "9") "]}");
    make_run(
        "two",
        "{\"results\": [{\"part\": \"test\", \"device\": \"cpu\", \"family\": \"all\", \"metric\": \"peak_bytes\"}]}");
    assert_int_equal(compare(both, 2, false, &text, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'one' predicts time_us and 'two' predicts peak_bytes"));
    free(text);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_style style = ft_style_default();
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    make_two();
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = ft_compare_runs(both, 2, true, &style, stream, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    fclose(stream);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_runs),      IN_FOLDER(test_validation_when_nothing_was_tested),
        IN_FOLDER(test_refused),   IN_FOLDER(test_other_metrics),
        IN_FOLDER(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/compare_runs", tests, NULL, NULL);
}
