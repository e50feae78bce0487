/* evaluation_plot.c - the picture of an evaluation: a column for each device with predicted against measured, the
 * histogram of errors, and error against size. */
#include "learn/evaluate/case_figure.h"

static plot_point scatter_point(const column *c, const ft_case *item) {
    (void)c;
    return (plot_point){item->measured, item->predicted};
}

static void draw_scatter(const column *c, double top) {
    chart panel = figure_panel(c, top, FIGURE_PANEL);
    double lo, hi;
    figure_value_range(c, true, &lo, &hi);
    axis_log(&panel.x, lo, hi, 5, c->f->unit);
    panel.y = panel.x;
    panel.x_title = c->f->measured_title;
    panel.y_title = c->f->predicted_title;
    double a = panel.x.lo, b = panel.x.hi;
    chart_frame(&panel);
    chart_line(&panel, (const plot_point[]){{a, a}, {b, b}}, 2, &FIGURE_ZERO_LINE);
    chart_line(&panel, (const plot_point[]){{a, a * 1.1}, {b, b * 1.1}}, 2, &FIGURE_TEN_LINE);
    chart_line(&panel, (const plot_point[]){{a, a * 0.9}, {b, b * 0.9}}, 2, &FIGURE_TEN_LINE);
    figure_marks(c, &panel, scatter_point);
}

static plot_point error_point(const column *c, const ft_case *item) {
    (void)c;
    return (plot_point){item->measured, figure_signed_error(item)};
}

static void draw_errors(const column *c, double top, double range) {
    chart panel = figure_panel(c, top, FIGURE_LOW_PANEL);
    double lo, hi;
    figure_value_range(c, false, &lo, &hi);
    axis_log(&panel.x, lo, hi, 5, c->f->unit);
    panel.x_title = c->f->measured_title;
    figure_errors(c, &panel, range, error_point, NULL);
}

static void draw_column(const column *c, double top) {
    double range = figure_error_range(c);
    draw_scatter(c, top);
    top += FIGURE_PANEL + FIGURE_ROW_GAP;
    figure_error_histogram(c, top, range);
    top += FIGURE_LOW_PANEL + FIGURE_ROW_GAP;
    draw_errors(c, top, range);
}

ft_status ft_evaluation_plot(const ft_evaluation *evaluation, const char *title, const char *path, ft_error *error) {
    figure f;
    double height = FIGURE_PANEL + 2 * (FIGURE_ROW_GAP + FIGURE_LOW_PANEL);
    ft_status status = figure_open(&f, evaluation, path, error);
    if (status == FT_OK) status = figure_draw(&f, title, height, draw_column, path, error);
    figure_close(&f);
    return status;
}
