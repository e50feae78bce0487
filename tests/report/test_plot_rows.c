/* Tests of lists as charts: bars are as long as their values, marks stand at theirs, and nothing is too odd to draw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cairo.h>
#include <math.h>
#include <string.h>

#include "report/plot_rows.h"

enum { WIDTH = 400, ROWS = 3 };

static canvas page; /* its pixels are read through cairo itself */

static void clear(void) {
    cairo_set_source_rgb(page.cairo, 1, 1, 1);
    cairo_paint(page.cairo);
}

/* Points of a colour in the line of pixels that goes through a row: how many, and the middle of them. */
static uint32_t count_of(ink color, double y, double *middle) {
    cairo_surface_flush(page.surface);
    const unsigned char *pixels = cairo_image_surface_get_data(page.surface);
    int stride = cairo_image_surface_get_stride(page.surface);
    uint32_t wanted = (uint32_t)lround(color.red * 255) << 16 | (uint32_t)lround(color.green * 255) << 8 |
                      (uint32_t)lround(color.blue * 255);
    uint32_t count = 0;
    double sum = 0;
    for (int x = 0; x < WIDTH; x++) {
        uint32_t pixel;
        memcpy(&pixel, pixels + (size_t)y * (size_t)stride + (size_t)x * 4, 4);
        if ((pixel & 0xffffff) != wanted) continue;
        count++;
        sum += x;
    }
    *middle = count > 0 ? sum / count : 0;
    return count;
}

static double row_y(uint32_t row) {
    return plot_rows_height(row, false) + (plot_rows_height(1, false) - plot_rows_height(0, false)) / 2;
}

static const ink red = {1, 0, 0, 1};

static plot_rows list_of(const plot_row *rows, uint32_t count) {
    return (plot_rows){
        .page = &page, .width = WIDTH, .title = "title", .rows = rows, .count = count, .unit = {"s", 1e-6}};
}

static void test_bars(void **state) {
    (void)state;
    double middle;
    const plot_row rows[ROWS] = {{.label = "a", .value = 100, .color = red},
                                 {.label = "b", .value = 50, .color = red},
                                 {.label = "c", .color = red}};
    plot_rows list = list_of(rows, ROWS);
    clear();
    plot_rows_bars(&list);
    uint32_t whole = count_of(red, row_y(0), &middle), half = count_of(red, row_y(1), &middle);
    assert_true(whole > 100);
    assert_true(half >= whole / 2 - 1 && half <= whole / 2 + 1);
    assert_true(count_of(red, row_y(2), &middle) <= 2);
}

static void test_marks(void **state) {
    (void)state;
    double places[ROWS];
    const plot_row rows[ROWS] = {{.label = "a", .value = 10, .lo = NAN, .hi = NAN, .color = red},
                                 {.label = "b", .value = 100, .lo = 50, .hi = 200, .color = red},
                                 {.label = "c", .value = 1000, .lo = NAN, .hi = NAN, .color = red}};
    plot_rows list = list_of(rows, ROWS);
    clear();
    plot_rows_marks(&list);
    uint32_t dot = count_of(red, row_y(0), &places[0]), line = count_of(red, row_y(1), &places[1]);
    count_of(red, row_y(2), &places[2]);
    assert_true(dot >= 4 && dot <= 9);
    assert_true(line > 2 * dot);                                    /* the interval */
    assert_true(fabs(places[1] - (places[0] + places[2]) / 2) < 2); /* a logarithmic axis */
}

static void test_odd_rows(void **state) {
    (void)state;
    const plot_row rows[ROWS] = {
        {.label = "", .value = NAN, .lo = NAN, .hi = NAN},
        {.label = "\xff\n a label that is so long that it cannot stand beside its bar", .value = -4},
        {.label = "c", .value = 1e300, .lo = 0, .hi = INFINITY}};
    for (uint32_t count = 0; count <= ROWS; count++) {
        plot_rows list = list_of(rows, count);
        plot_rows_bars(&list);
        plot_rows_marks(&list);
    }
    assert_int_equal(cairo_status(page.cairo), CAIRO_STATUS_SUCCESS);
}

static int set_up(void **state) {
    (void)state;
    return canvas_open_image(WIDTH, 200, &page, NULL);
}

static int tear_down(void **state) {
    (void)state;
    canvas_discard(&page);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_odd_rows),
    };
    return cmocka_run_group_tests_name("report/plot_rows", tests, set_up, tear_down);
}
