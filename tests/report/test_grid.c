/* Tests of grids: alignment, and what gives way when the width does not suffice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "report/grid.h"

static const grid_column columns[] = {
    {.title = "Name", .is_flexible = true},
    {.title = "Count", .is_right = true},
    {.title = "Note", .drop = 1},
};

static void row(const void *user, uint32_t index, grid_cell *cells) {
    (void)user;
    static const char *const rows[][3] = {
        {"/encoder/layer.0/MatMul", "7", "first"}, {"Relu", "12345", ""}, {"Total", "12352", ""}};
    for (int c = 0; c < 3; c++) snprintf(cells[c].text, sizeof cells[c].text, "%s", rows[index][c]);
}

static void check(uint32_t width, const char *expected) {
    ft_style style = {.width = width};
    sink out = {0};
    grid_write(&(grid){.style = &style,
                       .columns = columns,
                       .column_count = 3,
                       .indent = 1,
                       .row = row,
                       .row_count = 3,
                       .foot_count = 1},
               &out);
    assert_string_equal(out.text.data, expected);
    sink_free(&out);
}

static void test_room_enough(void **state) {
    (void)state;
    check(80, " Name                     Count  Note\n"
              " -------------------------------------\n"
              " /encoder/layer.0/MatMul      7  first\n"
              " Relu                     12345\n"
              " -------------------------------------\n"
              " Total                    12352\n");
}

static void test_names_are_shortened(void **state) {
    (void)state;
    check(30, " Name             Count  Note\n"
              " -----------------------------\n"
              " /encod../MatMul      7  first\n"
              " Relu             12345\n"
              " -----------------------------\n"
              " Total            12352\n");
}

static void test_then_columns_are_dropped(void **state) {
    (void)state;
    check(22, " Name            Count\n"
              " ---------------------\n"
              " /encod..MatMul      7\n"
              " Relu            12345\n"
              " ---------------------\n"
              " Total           12352\n");
}

static void test_too_narrow_runs_over(void **state) {
    (void)state;
    check(1, " Name      Count\n"
             " ---------------\n"
             " /en..Mul      7\n"
             " Relu      12345\n"
             " ---------------\n"
             " Total     12352\n");
}

static void sentence_row(const void *user, uint32_t index, grid_cell *cells) {
    (void)user;
    (void)index;
    snprintf(cells[0].text, sizeof cells[0].text, "cg");
    snprintf(cells[1].text, sizeof cells[1].text, "three tables in one folder, unbelievablylongword");
}

static void test_sentences_wrap(void **state) {
    (void)state;
    static const grid_column sentence[] = {{.title = "F"}, {.title = "What", .is_flexible = true, .wraps = true}};
    ft_style style = {.width = 20};
    sink out = {0};
    grid_write(&(grid){.style = &style, .columns = sentence, .column_count = 2, .row = sentence_row, .row_count = 1},
               &out);
    assert_string_equal(out.text.data, "F   What\n"
                                       "--------------------\n"
                                       "cg  three tables in\n"
                                       "    one folder,\n"
                                       "    unbelievablylong\n"
                                       "    word\n");
    sink_free(&out);
}

static void names_row(const void *user, uint32_t index, grid_cell *cells) {
    (void)user;
    (void)index;
    snprintf(cells[0].text, sizeof cells[0].text, "rtx-4090, rtx-pro-6000");
    snprintf(cells[1].text, sizeof cells[1].text, "208.8 MiB");
}

/* A column of words is no narrower than they are, even where the grid then runs over the width. */
static void test_words_stay_whole(void **state) {
    (void)state;
    static const grid_column names[] = {{.title = "On", .is_flexible = true, .wraps = true}, {.title = "Weights"}};
    ft_style style = {.width = 20};
    sink out = {0};
    grid_write(&(grid){.style = &style, .columns = names, .column_count = 2, .row = names_row, .row_count = 1}, &out);
    assert_string_equal(out.text.data, "On            Weights\n"
                                       "-----------------------\n"
                                       "rtx-4090,     208.8 MiB\n"
                                       "rtx-pro-6000\n");
    sink_free(&out);
}

static void path_row(const void *user, uint32_t index, grid_cell *cells) {
    (void)user;
    static const char *const paths[] = {"models/a/one/net.onnx", "models/a/two/net.onnx", "models/a/one/net.onnx",
                                        "models/a/six/other.onnx"};
    snprintf(cells[0].text, sizeof cells[0].text, "%s", paths[index]);
    snprintf(cells[1].text, sizeof cells[1].text, "%u", index);
}

/* The document remembers what it has shortened, so this holds across grids too. */
static void test_distinct_paths_never_print_the_same(void **state) {
    (void)state;
    static const grid_column paths[] = {{.title = "Model", .is_flexible = true, .is_distinct = true},
                                        {.title = "N", .is_right = true}};
    ft_style style = {.width = 17};
    sink out = {0};
    const grid g = {.style = &style, .columns = paths, .column_count = 2, .row = path_row, .row_count = 4};
    grid_write(&g, &out);
    assert_string_equal(out.text.data, "Model           N\n"
                                       "-----------------\n"
                                       "models..t.onnx  0\n"
                                       "models/a/two/   1\n"
                                       "net.onnx\n"
                                       "models..t.onnx  2\n"
                                       "models..r.onnx  3\n");
    sink_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_enough),
        cmocka_unit_test(test_names_are_shortened),
        cmocka_unit_test(test_then_columns_are_dropped),
        cmocka_unit_test(test_too_narrow_runs_over),
        cmocka_unit_test(test_sentences_wrap),
        cmocka_unit_test(test_words_stay_whole),
        cmocka_unit_test(test_distinct_paths_never_print_the_same),
    };
    return cmocka_run_group_tests_name("report/grid", tests, NULL, NULL);
}
