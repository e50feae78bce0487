#include "report/plot_box.h"

static double at(const chart *c, double value) {
    double place = axis_place(&c->x, value);
    return c->left + c->width * (place < 0 ? 0 : place > 1 ? 1 : place);
}

static void draw_line(const chart *c, double from, double to, double y, ink color, double width) {
    canvas_move_to(c->page, from, y);
    canvas_line_to(c->page, to, y);
    canvas_ink(c->page, color);
    canvas_stroke(c->page, width);
}

static void draw_end(const chart *c, double x, double y, double half, ink color, double width) {
    canvas_move_to(c->page, x, y - half);
    canvas_line_to(c->page, x, y + half);
    canvas_ink(c->page, color);
    canvas_stroke(c->page, width);
}

void chart_box(const chart *c, double y, double height, const plot_box *box, ink color) {
    double middle = c->top + y, half = height / 2;
    canvas_save(c->page);
    canvas_line_caps(c->page, CAPS_FLAT);
    draw_line(c, at(c, box->least), at(c, box->most), middle, ink_faded(color, 0.55), 1);
    draw_end(c, at(c, box->least), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_end(c, at(c, box->most), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_line(c, at(c, box->low), at(c, box->high), middle, color, 2.4);
    double from = at(c, box->from), to = at(c, box->to);
    if (to - from < 2) { /* all the same: still to be seen */
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
    draw_end(c, at(c, box->middle), middle, half, INK_TEXT, 2);
    canvas_restore(c->page);
}
