/* Tests of pages: the two formats, files that appear whole or not at all, and text that is not UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/plot_canvas.h"
#include "support/folder.h"

/* Nothing but what is named may be left behind. */
static void assert_only(const char *name) {
    DIR *here = opendir(".");
    assert_non_null(here);
    for (struct dirent *entry = readdir(here); entry != NULL; entry = readdir(here))
        if (entry->d_name[0] != '.') assert_string_equal(entry->d_name, name);
    closedir(here);
}

static void draw(canvas *c) {
    canvas_ink(c, palette_at(1));
    canvas_rectangle(c, 10, 10, 30, 20);
    canvas_fill(c);
    canvas_text(c, 5, 45, "a \xff b\n\xc3\xa4", &(text_style){.size = 9, .color = INK_TEXT});
}

static size_t make(const char *path, char *bytes, size_t size) {
    canvas c;
    ft_error error;
    assert_int_equal(canvas_open(path, 60, 50, &c, &error), FT_OK);
    draw(&c);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(canvas_commit(&c, &error), FT_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, size, file);
    fclose(file);
    assert_only(path);
    return count;
}

static void test_svg(void **state) {
    (void)state;
    char bytes[8192];
    size_t count = make("a.svg", bytes, sizeof bytes - 1);
    bytes[count] = '\0';
    assert_memory_equal(bytes, "<?xml", 5);
    assert_non_null(strstr(bytes, "width=\"60pt\" height=\"50pt\""));
    assert_non_null(strstr(bytes, ">a ? b?\xc3\xa4</text>")); /* text stays text */
    assert_non_null(strstr(bytes, "</svg>"));
}

static void test_png_has_two_pixels_a_point(void **state) {
    (void)state;
    char bytes[8192];
    assert_true(make("a.png", bytes, sizeof bytes) > 100);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(bytes + 16, "\0\0\0\x78\0\0\0\x64", 8); /* 120 x 100 */
}

static void test_refused(void **state) {
    (void)state;
    canvas c;
    ft_error error;
    assert_int_equal(canvas_open("plot.jpg", 60, 50, &c, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, ".svg or .png"));
    assert_int_equal(canvas_open(".png", 60, 50, &c, &error), FT_ERR_USAGE);
    assert_int_equal(canvas_open("plot.png", 1e6, 50, &c, &error), FT_ERR_LIMIT);
    assert_int_equal(canvas_open("absent/plot.png", 60, 50, &c, &error), FT_ERR_IO);
}

static void test_discarded(void **state) {
    (void)state;
    const char *names[] = {"b.svg", "b.png"};
    for (size_t i = 0; i < 2; i++) {
        canvas c;
        ft_error error;
        assert_int_equal(canvas_open(names[i], 60, 50, &c, &error), FT_OK);
        draw(&c);
        canvas_discard(&c);
        canvas_discard(&c);
        assert_only("");
    }
}

static void test_full_disk(void **state) {
    (void)state;
    const char *names[] = {"full.svg", "full.png"};
    for (size_t i = 0; i < 2; i++) {
        canvas c;
        ft_error error;
        assert_int_equal(symlink("/dev/full", names[i]), 0);
        assert_int_equal(canvas_open(names[i], 60, 50, &c, &error), FT_OK);
        draw(&c);
        assert_int_equal(canvas_commit(&c, &error), FT_ERR_IO);
        unlink(names[i]);
    }
}

static void test_text_fits(void **state) {
    (void)state;
    canvas c;
    ft_error error;
    const text_style style = {.size = 9, .color = INK_TEXT};
    assert_int_equal(canvas_open("c.svg", 60, 50, &c, &error), FT_OK);
    assert_true(canvas_text_width(&c, "wide wide", &style) > canvas_text_width(&c, "wide", &style));
    canvas_text_fit(&c, 0, 10, 20, "a/very/long/path/that/does/not/fit.ftm", &style);
    canvas_text_fit(&c, 0, 10, 0, "nothing fits", &style);
    canvas_text_upwards(&c, 10, 10, "up", &style);
    assert_int_equal(canvas_commit(&c, &error), FT_OK);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_svg),       IN_FOLDER(test_png_has_two_pixels_a_point),
        IN_FOLDER(test_refused),   IN_FOLDER(test_discarded),
        IN_FOLDER(test_full_disk), IN_FOLDER(test_text_fits),
    };
    return cmocka_run_group_tests_name("report/plot_canvas", tests, NULL, NULL);
}
