/* plot_rows.c - charts with a row for each value: bars and marks with intervals. */
#include "report/plot_rows.h"

#include <math.h>

static const double TITLE_ROOM = 24, ROW = 17, BAR = 10, AXIS_ROOM = 24, LABEL_SHARE = 0.40, VALUE_ROOM = 62;
static const text_style LABEL = {.size = 9.5, .color = {0.13, 0.15, 0.18, 1}, .anchor = ANCHOR_END},
                        VALUE = {.size = 9, .color = {0.42, 0.45, 0.50, 1}};

double plot_rows_height(uint32_t count, bool has_axis) {
    return TITLE_ROOM + ROW * count + (has_axis ? AXIS_ROOM : 0);
}

/* The part between labels and values. */
static chart middle_of(const plot_rows *list) {
    double labels = list->width * LABEL_SHARE;
    return (chart){.page = list->page,
                   .left = list->left + labels,
                   .top = list->top + TITLE_ROOM,
                   .width = list->width - labels - VALUE_ROOM,
                   .height = ROW * list->count};
}

static double row_middle(const chart *c, uint32_t row) {
    return c->top + ROW * row + ROW / 2;
}

static void draw_title(const plot_rows *list) {
    canvas_text_fit(list->page, list->left, list->top + 11, list->width, list->title,
                    &(text_style){.size = 11.5, .color = INK_TEXT, .is_bold = true});
}

/* Labels that are too long lose their beginning and start at the left; others end at the axis. */
static void draw_label(const plot_rows *list, const chart *c, uint32_t row) {
    const text_style fitted = {.size = LABEL.size, .color = LABEL.color};
    double room = c->left - list->left - 8, y = row_middle(c, row) + LABEL.size * 0.36;
    if (canvas_text_width(list->page, list->rows[row].label, &fitted) > room)
        canvas_text_fit(list->page, list->left, y, room, list->rows[row].label, &fitted);
    else
        canvas_text(list->page, c->left - 8, y, list->rows[row].label, &LABEL);
}

void plot_rows_bars(const plot_rows *list) {
    chart c = middle_of(list);
    double longest = 0;
    for (uint32_t i = 0; i < list->count; i++) longest = fmax(longest, list->rows[i].value);
    draw_title(list);
    for (uint32_t i = 0; i < list->count; i++) {
        const plot_row *row = &list->rows[i];
        double length = longest > 0 && row->value > 0 ? c.width * row->value / longest : 0, y = row_middle(&c, i);
        draw_label(list, &c, i);
        canvas_ink(list->page, row->color);
        canvas_rectangle(list->page, c.left, y - BAR / 2, fmax(length, 0.8), BAR);
        canvas_fill(list->page);
        canvas_text(list->page, c.left + length + 6, y + VALUE.size * 0.36, row->text, &VALUE);
    }
}

static double lowest_of(const plot_row *row) {
    return row->lo > 0 ? fmin(row->lo, row->value) : row->value;
}

static double highest_of(const plot_row *row) {
    return row->hi > 0 ? fmax(row->hi, row->value) : row->value;
}

static void draw_mark(const plot_rows *list, const chart *c, uint32_t i) {
    const plot_row *row = &list->rows[i];
    double y = row_middle(c, i), x = c->left + c->width * axis_place(&c->x, row->value);
    canvas_ink(list->page, row->color);
    if (row->lo > 0 && row->hi > 0) {
        canvas_move_to(list->page, c->left + c->width * axis_place(&c->x, row->lo), y);
        canvas_line_to(list->page, c->left + c->width * axis_place(&c->x, row->hi), y);
        canvas_stroke(list->page, 2);
    }
    canvas_circle(list->page, x, y, 3.6);
    canvas_fill(list->page);
}

void plot_rows_marks(const plot_rows *list) {
    chart c = middle_of(list);
    double lo = INFINITY, hi = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!(list->rows[i].value > 0)) continue;
        lo = fmin(lo, lowest_of(&list->rows[i]));
        hi = fmax(hi, highest_of(&list->rows[i]));
    }
    axis_log(&c.x, lo, hi, 5, list->unit);
    axis_linear(&c.y, 0, 1, 1, (axis_unit){"", 1});
    c.y.tick_count = 0;
    draw_title(list);
    chart_frame(&c);
    for (uint32_t i = 0; i < list->count; i++) {
        draw_label(list, &c, i);
        if (list->rows[i].value > 0) draw_mark(list, &c, i);
        canvas_text(list->page, c.left + c.width + 6, row_middle(&c, i) + VALUE.size * 0.36, list->rows[i].text,
                    &VALUE);
    }
}
