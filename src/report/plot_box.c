#include "report/plot_box.h"

static double at(const chart *c, double value) {
    double place = axis_place(&c->x, value);
    return c->left + c->width * (place < 0 ? 0 : place > 1 ? 1 : place);
}

static void draw_line(const chart *c, double from, double to, double y, ink color, double width) {
    cairo_move_to(c->page->cairo, from, y);
    cairo_line_to(c->page->cairo, to, y);
    canvas_ink(c->page, color);
    cairo_set_line_width(c->page->cairo, width);
    cairo_stroke(c->page->cairo);
}

static void draw_end(const chart *c, double x, double y, double half, ink color, double width) {
    cairo_move_to(c->page->cairo, x, y - half);
    cairo_line_to(c->page->cairo, x, y + half);
    canvas_ink(c->page, color);
    cairo_set_line_width(c->page->cairo, width);
    cairo_stroke(c->page->cairo);
}

void chart_box(const chart *c, double y, double height, const plot_box *box, ink color) {
    cairo_t *cr = c->page->cairo;
    double middle = c->top + y, half = height / 2;
    cairo_save(cr);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    draw_line(c, at(c, box->least), at(c, box->most), middle, ink_faded(color, 0.55), 1);
    draw_end(c, at(c, box->least), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_end(c, at(c, box->most), middle, half * 0.45, ink_faded(color, 0.55), 1);
    draw_line(c, at(c, box->low), at(c, box->high), middle, color, 2.4);
    double from = at(c, box->from), to = at(c, box->to);
    if (to - from < 2) { /* all the same: still to be seen */
        from -= 1;
        to += 1;
    }
    cairo_rectangle(cr, from, middle - half, to - from, height);
    canvas_ink(c->page, (ink){1, 1, 1, 1});
    cairo_fill_preserve(cr);
    canvas_ink(c->page, ink_faded(color, 0.45));
    cairo_fill_preserve(cr);
    canvas_ink(c->page, color);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
    draw_end(c, at(c, box->middle), middle, half, INK_TEXT, 2);
    cairo_restore(cr);
}
