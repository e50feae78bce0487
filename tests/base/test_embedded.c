/* Embedded files: found by each of their names, and by nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/embedded.h"

static const embedded_file files[] = {{"one", "", "uno ein", ""}, {"two", "", "", ""}};

static void files_are_found_by_name(void **state) {
    (void)state;
    assert_ptr_equal(embedded_find(files, 2, "one"), &files[0]);
    assert_ptr_equal(embedded_find(files, 2, "two"), &files[1]);
    assert_ptr_equal(embedded_find(files, 2, "uno"), &files[0]);
    assert_ptr_equal(embedded_find(files, 2, "ein"), &files[0]);
    const char *const none[] = {"", " ", "un", "in", "uno ein", "uno ", "three"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) assert_null(embedded_find(files, 2, none[i]));
}

static void known_names_are_listed(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(embedded_fail(files, 2, "number", "numbers", "three", &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "there is no number 'three'; choose one of one, two");
    assert_int_equal(embedded_fail(files, 2, "number", "numbers", "three", NULL), FT_ERR_USAGE);
}

/* Of many names, only similar ones are listed; case and separators do not matter. */
static void similar_names_are_suggested(void **state) {
    (void)state;
    static const embedded_file many[] = {
        {"a10", "", "", ""},      {"adreno-640", "", "mi9-gpu", ""}, {"cortex-a76", "", "", ""},
        {"l4", "", "", ""},       {"rtx-3080", "", "", ""},          {"rtx-3090", "", "", ""},
        {"rtx-4080", "", "", ""}, {"rtx-4090", "", "", ""},          {"v100", "", "", ""}};
    ft_error error;
    embedded_fail(many, 9, "device", "devices", "RTX_4090 ", &error);
    assert_string_equal(error.message,
                        "there is no device 'RTX_4090 '; similar names are rtx-4090, rtx-3090, rtx-4080; "
                        "'foretell list devices' lists all 9");
    embedded_fail(many, 9, "device", "devices", "mi8-gpu", &error);
    assert_non_null(strstr(error.message, "similar names are adreno-640;"));
    embedded_fail(many, 9, "device", "devices", "Adreno 740 of a phone", &error); /* a word in common */
    assert_non_null(strstr(error.message, "; similar names are adreno-640;"));
    embedded_fail(many, 9, "device", "devices", "my-gpu", &error); /* a kind is no word in common */
    assert_non_null(strstr(error.message, "and no similar name;"));
    embedded_fail(many, 9, "device", "devices", "v100 pcie", &error);
    assert_non_null(strstr(error.message, "; similar names are v100;"));
    embedded_fail(many, 9, "device", "devices", "jetson", &error);
    assert_string_equal(error.message, "there is no device 'jetson' and no similar name; "
                                       "'foretell list devices' lists all 9");
    char endless[2000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(embedded_fail(many, 9, "device", "devices", endless, &error), FT_ERR_USAGE);
    assert_null(strstr(error.message, "similar names are"));
    assert_non_null(strstr(error.message, "; 'foretell list devices' lists all 9"));
}

/* The distance is the smallest over all names of a file, also of one letter. */
static void other_names_count_as_well(void **state) {
    (void)state;
    static const embedded_file many[] = {{"first-device", "", "x  longer-name", ""},
                                         {"aaaa", "", "", ""},
                                         {"bbbb", "", "", ""},
                                         {"cccc", "", "", ""},
                                         {"dddd", "", "", ""},
                                         {"eeee", "", "", ""},
                                         {"ffff", "", "", ""},
                                         {"gggg", "", "", ""},
                                         {"hhhh", "", "y", ""}};
    ft_error error;
    embedded_fail(many, 9, "device", "devices", "z", &error); /* nothing is left of one letter that is replaced */
    assert_non_null(strstr(error.message, "and no similar name;"));
    embedded_fail(many, 9, "device", "devices", "yx", &error); /* one of two is left */
    assert_non_null(strstr(error.message, "similar names are first-device, hhhh;"));
    embedded_fail(many, 9, "device", "devices", "longername1", &error);
    assert_non_null(strstr(error.message, "similar names are first-device;"));
    embedded_fail(many, 9, "device", "devices", "gggx", &error);
    assert_non_null(strstr(error.message, "similar names are gggg;"));
    static const embedded_file dotted[] = {{"abcx", "", "", ""}, {"a.b.c.d", "", "", ""}, {"k", "", "", ""},
                                           {"l", "", "", ""},    {"m", "", "", ""},       {"n", "", "", ""},
                                           {"o", "", "", ""},    {"p", "", "", ""},       {"q", "", "", ""}};
    embedded_fail(dotted, 9, "device", "devices", "A-B cd", &error); /* letters and digits alone are compared */
    assert_non_null(strstr(error.message, "similar names are a.b.c.d, abcx"));
    /* Of eight, all are listed. */
    embedded_fail(many, 8, "device", "devices", "z", &error);
    assert_non_null(strstr(error.message, "choose one of first-device, aaaa, bbbb, cccc, dddd, eeee, ffff, gggg"));
}

static void paths_are_recognised(void **state) {
    (void)state;
    assert_true(embedded_is_path("./x"));
    assert_true(embedded_is_path("x.json"));
    assert_false(embedded_is_path(".json"));
    assert_false(embedded_is_path("x"));
    assert_false(embedded_is_path(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_by_name),     cmocka_unit_test(known_names_are_listed),
        cmocka_unit_test(similar_names_are_suggested), cmocka_unit_test(other_names_count_as_well),
        cmocka_unit_test(paths_are_recognised),
    };
    return cmocka_run_group_tests_name("base/embedded", tests, NULL, NULL);
}
