/* plot_chart.c - frames, lines, bars, marks, legends and box plots. */
#include "report/plot_chart.h"

#include <assert.h>
#include <math.h>

#define TICK_SIZE  9.0
#define TITLE_SIZE 10.0

plot_point chart_at(const chart *c, plot_point p) {
    return (plot_point){c->left + c->width * axis_place(&c->x, p.x), c->top + c->height * (1 - axis_place(&c->y, p.y))};
}

/* --- Frame --------------------------------------------------------------------------------------------------- */

static void stroke(const chart *c, ink color, double width) {
    canvas_ink(c->page, color);
    canvas_stroke(c->page, width);
}

static void draw_grid(const chart *c) {
    for (uint32_t i = 0; i < c->x.tick_count; i++) {
        double x = c->left + c->width * axis_place(&c->x, c->x.ticks[i].at);
        canvas_move_to(c->page, x, c->top);
        canvas_line_to(c->page, x, c->top + c->height);
    }
    for (uint32_t i = 0; i < c->y.tick_count; i++) {
        double y = c->top + c->height * (1 - axis_place(&c->y, c->y.ticks[i].at));
        canvas_move_to(c->page, c->left, y);
        canvas_line_to(c->page, c->left + c->width, y);
    }
    stroke(c, INK_GRID, 0.8);
    canvas_move_to(c->page, c->left, c->top);
    canvas_line_to(c->page, c->left, c->top + c->height);
    canvas_line_to(c->page, c->left + c->width, c->top + c->height);
    stroke(c, INK_LINE, 0.8);
}

static const text_style x_label = {.size = TICK_SIZE, .color = {0.42, 0.45, 0.50, 1}, .anchor = ANCHOR_MIDDLE};

static double x_of_tick(const chart *c, uint32_t tick) {
    return c->left + c->width * axis_place(&c->x, c->x.ticks[tick].at);
}

/* Whether every `stride`-th label, counted from the anchor, has room. */
static bool has_room(const chart *c, uint32_t stride) {
    assert(stride > 0);
    double free_from = -INFINITY;
    for (uint32_t i = c->x.anchor % stride; i < c->x.tick_count; i += stride) {
        double half = canvas_text_width(c->page, c->x.ticks[i].text, &x_label) / 2;
        if (x_of_tick(c, i) - half < free_from) return false;
        free_from = x_of_tick(c, i) + half + 5;
    }
    return true;
}

static void draw_x_labels(const chart *c) {
    uint32_t stride = 1;
    while (stride < c->x.tick_count && !has_room(c, stride)) stride++;
    for (uint32_t i = c->x.anchor % stride; i < c->x.tick_count; i += stride)
        canvas_text(c->page, x_of_tick(c, i), c->top + c->height + 13, c->x.ticks[i].text, &x_label);
}

static void draw_y_labels(const chart *c) {
    const text_style style = {.size = TICK_SIZE, .color = INK_FAINT, .anchor = ANCHOR_END};
    double free_below = INFINITY;
    for (uint32_t i = 0; i < c->y.tick_count; i++) {
        double y = c->top + c->height * (1 - axis_place(&c->y, c->y.ticks[i].at));
        if (y > free_below) continue;
        canvas_text(c->page, c->left - 5, y + TICK_SIZE * 0.36, c->y.ticks[i].text, &style);
        free_below = y - TICK_SIZE - 2;
    }
}

void chart_frame(const chart *c) {
    const text_style style = {.size = TITLE_SIZE, .color = INK_TEXT, .anchor = ANCHOR_MIDDLE};
    draw_grid(c);
    draw_x_labels(c);
    draw_y_labels(c);
    if (c->x_title != NULL) canvas_text(c->page, c->left + c->width / 2, c->top + c->height + 28, c->x_title, &style);
    if (c->y_title != NULL)
        canvas_text_upwards(c->page, c->left - CHART_ROOM_LEFT + 12, c->top + c->height / 2, c->y_title, &style);
}

/* --- Lines and bars ------------------------------------------------------------------------------------------ */

static void begin_inside(const chart *c) {
    canvas_save(c->page);
    canvas_rectangle(c->page, c->left, c->top, c->width, c->height);
    canvas_clip(c->page);
}

static void end_inside(const chart *c) {
    canvas_restore(c->page);
}

void chart_line(const chart *c, const plot_point *points, uint32_t count, const line_style *style) {
    begin_inside(c);
    for (uint32_t i = 0; i < count; i++) {
        plot_point at = chart_at(c, points[i]);
        canvas_line_to(c->page, at.x, at.y);
    }
    canvas_round_joins(c->page);
    if (style->is_dashed) canvas_dashes(c->page, 4, 3);
    stroke(c, style->color, style->width);
    end_inside(c);
}

void chart_band(const chart *c, const plot_point *lower, const plot_point *upper, uint32_t count, ink color) {
    begin_inside(c);
    for (uint32_t i = 0; i < count; i++) {
        plot_point at = chart_at(c, lower[i]);
        canvas_line_to(c->page, at.x, at.y);
    }
    for (uint32_t i = count; i-- > 0;) {
        plot_point at = chart_at(c, upper[i]);
        canvas_line_to(c->page, at.x, at.y);
    }
    canvas_ink(c->page, color);
    canvas_fill(c->page);
    end_inside(c);
}

void chart_level(const chart *c, double y, const line_style *style) {
    chart_line(c, (const plot_point[]){{c->x.lo, y}, {c->x.hi, y}}, 2, style);
}

void chart_upright(const chart *c, double x, const line_style *style) {
    chart_line(c, (const plot_point[]){{x, c->y.lo}, {x, c->y.hi}}, 2, style);
}

void chart_bars(const chart *c, const chart_bar *bars, uint32_t count, ink color) {
    begin_inside(c);
    for (uint32_t i = 0; i < count; i++) {
        if (!(bars[i].height > 0)) continue;
        plot_point from = chart_at(c, (plot_point){bars[i].from, bars[i].height});
        plot_point to = chart_at(c, (plot_point){bars[i].to, c->y.lo});
        double gap = to.x - from.x > 3 ? 0.5 : 0;
        canvas_rectangle(c->page, from.x + gap / 2, from.y, to.x - from.x - gap, to.y - from.y);
    }
    canvas_ink(c->page, color);
    canvas_fill(c->page);
    end_inside(c);
}

/* --- Marks --------------------------------------------------------------------------------------------------- */

enum { SHAPE_DOT, SHAPE_SQUARE, SHAPE_TRIANGLE, SHAPE_COUNT };

/* The second round through the palette is darker, the third paler: small marks do not show their shape well. */
static ink shade(ink color, uint32_t round) {
    double keep = round == 0 ? 1 : 0.6, add = round == 2 ? 0.4 * 0.95 : 0;
    return (ink){color.red * keep + add, color.green * keep + add, color.blue * keep + add, color.alpha};
}

mark_style mark_style_at(uint32_t index, double size) {
    uint32_t round = index / PALETTE_COUNT % SHAPE_COUNT;
    assert(size > 0);
    return (mark_style){.color = shade(palette_at(index), round), .shape = round, .size = size};
}

/* Adds a mark to the path. Dots are lines of no length with round ends, which is shortest in SVG. */
static void add_mark(canvas *page, const mark_style *style, plot_point at) {
    double half = style->size / 2;
    switch (style->shape) {
    case SHAPE_DOT:
        canvas_move_to(page, at.x, at.y);
        canvas_line_to(page, at.x, at.y);
        break;
    case SHAPE_SQUARE:
        canvas_rectangle(page, at.x - half * 0.85, at.y - half * 0.85, half * 1.7, half * 1.7);
        break;
    default:
        canvas_move_to(page, at.x, at.y - half * 1.15);
        canvas_line_to(page, at.x + half * 1.1, at.y + half * 0.8);
        canvas_line_to(page, at.x - half * 1.1, at.y + half * 0.8);
        canvas_close_path(page);
        break;
    }
}

static void paint_marks(canvas *page, const mark_style *style) {
    canvas_ink(page, style->color);
    if (style->shape == SHAPE_DOT) {
        canvas_line_caps(page, CAPS_ROUND);
        canvas_stroke(page, style->size);
    } else {
        canvas_fill(page);
    }
}

static double within(double value, double lo, double hi) {
    return value < lo ? lo : value > hi ? hi : value;
}

/* Marks of one path do not darken each other, so each layer takes every LAYERS-th point. */
enum { LAYERS = 6 };

static void draw_layer(const chart *c, const mark_series *series, uint32_t layer) {
    assert(layer < LAYERS && series->style.shape < SHAPE_COUNT);
    for (uint32_t i = layer; i < series->count; i += LAYERS) {
        plot_point at = chart_at(c, series->points[i]);
        if (!isfinite(at.x) || !isfinite(at.y)) continue;
        at.x = within(at.x, c->left, c->left + c->width);
        at.y = within(at.y, c->top, c->top + c->height);
        add_mark(c->page, &series->style, at);
    }
    paint_marks(c->page, &series->style);
}

void chart_marks(const chart *c, const mark_series *series, uint32_t count) {
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t i = 0; i < count; i++) draw_layer(c, &series[i], layer);
}

/* --- Legend -------------------------------------------------------------------------------------------------- */

double legend_draw(canvas *page, double left, double top, double width, const legend_entry *entries, uint32_t count,
                   bool is_drawn) {
    const text_style style = {.size = TITLE_SIZE, .color = INK_TEXT};
    const double line = 18, mark_room = 14, gap = 18;
    double widest = 0;
    for (uint32_t i = 0; i < count; i++) widest = fmax(widest, canvas_text_width(page, entries[i].text, &style));
    double cell = fmin(widest + mark_room + gap, width);
    uint32_t columns = (uint32_t)fmax(1, floor((width + gap) / cell));
    for (uint32_t i = 0; is_drawn && i < count; i++) {
        uint32_t row = i / columns;
        double x = left + cell * (i % columns), y = top + line * row + line / 2;
        mark_style mark = entries[i].style;
        mark.color.alpha = 1;
        mark.size = 7;
        add_mark(page, &mark, (plot_point){x + 4, y});
        paint_marks(page, &mark);
        canvas_text(page, x + mark_room, y + TITLE_SIZE * 0.36, entries[i].text, &style);
    }
    uint32_t rows = (count + columns - 1) / columns;
    return line * rows;
}

/* --- Boxes ---------------------------------------------------------------------------------------------------- */

static double box_x(const chart *c, double value) {
    double place = axis_place(&c->x, value);
    return c->left + c->width * (place < 0 ? 0 : place > 1 ? 1 : place);
}

static void draw_box_line(const chart *c, double from, double to, double y, ink color, double width) {
    canvas_move_to(c->page, from, y);
    canvas_line_to(c->page, to, y);
    canvas_ink(c->page, color);
    canvas_stroke(c->page, width);
}

static void draw_box_end(const chart *c, double x, double y, double half, ink color, double width) {
    canvas_move_to(c->page, x, y - half);
    canvas_line_to(c->page, x, y + half);
    canvas_ink(c->page, color);
    canvas_stroke(c->page, width);
}

void chart_box(const chart *c, double y, double height, const plot_box *box, ink color) {
    double middle = c->top + y, half = height / 2;
    canvas_save(c->page);
    canvas_line_caps(c->page, CAPS_FLAT);
    draw_box_line(c, box_x(c, box->min), box_x(c, box->max), middle, ink_faded(color, 0.55), 1);
    draw_box_end(c, box_x(c, box->min), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_box_end(c, box_x(c, box->max), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_box_line(c, box_x(c, box->low), box_x(c, box->high), middle, color, 2.4);
    double from = box_x(c, box->from), to = box_x(c, box->to);
    if (to - from < 2) { /* a box without width would be invisible */
        from -= 1;
        to += 1;
    }
    canvas_rectangle(c->page, from, middle - half, to - from, height);
    canvas_ink(c->page, (ink){1, 1, 1, 1});
    canvas_fill_and_keep_path(c->page);
    canvas_ink(c->page, ink_faded(color, 0.45));
    canvas_fill_and_keep_path(c->page);
    canvas_ink(c->page, color);
    canvas_stroke(c->page, 1);
    draw_box_end(c, box_x(c, box->middle), middle, half, INK_TEXT, 2);
    canvas_restore(c->page);
}
