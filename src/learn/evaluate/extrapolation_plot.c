/* extrapolation_plot.c - signed error against size, and the distributions of size and error, by device. Sizes beyond
 * the middle 99 % of training are shaded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/extrapolation.h"

#define EDGE 0.001 /* share of training at each end that may be off the axis */

enum { BINS = 24 };

/* One of the two plots: size is the measured value, or the number of operators. */
typedef struct view {
    const extrapolation *x;
    bool is_measured;
    log_histogram *known, *here; /* sizes of the training and of the evaluated records of a device */
} view;

static double size_of(const view *v, const ft_case *item) {
    return v->is_measured ? item->measured : v->x->operators[item->record];
}

static plot_point error_point(const column *c, const ft_case *item) {
    return (plot_point){size_of(c->f->user, item), figure_signed_error(item)};
}

/* Collects the sizes of the column's device; numbers of operators do not depend on the device. */
static void collect_sizes(const view *v, const column *c) {
    const extrapolation *x = v->x;
    *v->known = *v->here = (log_histogram){0};
    for (uint32_t i = 0; i < c->count; i++) log_histogram_add(v->here, size_of(v, &c->cases[i]));
    if (!v->is_measured && extrapolation_is_known(x)) *v->known = x->known.features[STATS_OPERATORS];
    if (!v->is_measured) return;
    const ft_record *records = x->trained != NULL ? ft_dataset_records(x->trained) : NULL;
    for (uint32_t i = 0; records != NULL && i < x->known_row_count; i++)
        if (strcmp(records[x->known_rows[i].record].device, c->cases[0].device) == 0)
            log_histogram_add(v->known, x->known_rows[i].label);
}

/* Computes the bars of a histogram in percent; returns the highest. */
static double fill_bars(const log_histogram *s, const plot_axis *axis, chart_bar bars[BINS]) {
    double ratio = pow(axis->hi / axis->lo, 1.0 / BINS), from = axis->lo, highest = 0;
    for (uint32_t i = 0; i < BINS; i++) {
        double share = s->count > 0 ? 100 * log_histogram_share(s, from, from * ratio) : 0;
        bars[i] = (chart_bar){from, from * ratio, share};
        highest = fmax(highest, share);
        from *= ratio;
    }
    return highest;
}

/* Draws the legend of the bars, above the panel. */
static void draw_key(const chart *panel, ink known, ink here) {
    const text_style grey = {.size = 9.5, .color = known, .is_bold = true, .anchor = ANCHOR_END};
    const text_style blue = {.size = 9.5, .color = here, .is_bold = true, .anchor = ANCHOR_END};
    double right = panel->left + panel->width;
    canvas_text(panel->page, right, panel->top - 6, "evaluated", &blue);
    canvas_text(panel->page, right - canvas_text_width(panel->page, "evaluated", &blue) - 12, panel->top - 6,
                "trained on", &grey);
}

static void draw_sizes(const column *c, const view *v, double top, const plot_axis *x, const char *title) {
    chart panel = figure_panel(c, top, FIGURE_LOW_PANEL);
    chart_bar known[BINS], here[BINS];
    const ink known_ink = {0.45, 0.47, 0.50, 1}, here_ink = palette_at(0);
    panel.x = *x;
    panel.x_title = title;
    panel.y_title = "share of records";
    double highest = fmax(fill_bars(v->known, x, known), fill_bars(v->here, x, here));
    axis_linear(&panel.y, 0, highest * 1.05, 4, (axis_unit){"%", 1});
    chart_frame(&panel);
    if (v->known->count > 0) chart_bars(&panel, known, BINS, ink_faded(known_ink, 0.45));
    chart_bars(&panel, here, BINS, ink_faded(here_ink, 0.6));
    if (v->known->count > 0) draw_key(&panel, known_ink, here_ink);
}

static void draw_column(const column *c, double top) {
    const view *v = c->f->user;
    double range = figure_error_range(c);
    collect_sizes(v, c);
    bool is_known = v->known->count > 0;
    const double known[2] = {log_histogram_quantile(v->known, TAIL_SHARE),
                             log_histogram_quantile(v->known, 1 - TAIL_SHARE)};
    /* a few outliers of training must not squeeze the others into a corner */
    double lo = is_known ? fmin(log_histogram_quantile(v->known, EDGE), v->here->min) : v->here->min;
    double hi = is_known ? fmax(log_histogram_quantile(v->known, 1 - EDGE), v->here->max) : v->here->max;
    const char *title = v->is_measured ? c->f->measured_title : "operators of the model";
    chart panel = figure_panel(c, top, FIGURE_PANEL);
    axis_log(&panel.x, lo, hi, 5, v->is_measured ? c->f->unit : (axis_unit){"", 1});
    panel.x_title = title;
    figure_errors(c, &panel, range, error_point, is_known ? known : NULL);
    top += FIGURE_PANEL + FIGURE_ROW_GAP;
    draw_sizes(c, v, top, &panel.x, title);
    top += FIGURE_LOW_PANEL + FIGURE_ROW_GAP;
    figure_error_histogram(c, top, range);
}

static ft_status draw(const extrapolation *x, bool is_measured, const char *title, const char *path, ft_error *error) {
    figure f;
    view v = {
        .x = x, .is_measured = is_measured, .known = calloc(1, sizeof *v.known), .here = calloc(1, sizeof *v.here)};
    double height = FIGURE_PANEL + 2 * (FIGURE_ROW_GAP + FIGURE_LOW_PANEL);
    ft_status status = figure_open(&f, x->evaluation, path, error);
    f.user = &v;
    if (status == FT_OK && (v.known == NULL || v.here == NULL)) status = FT_NOMEM(error);
    if (status == FT_OK) status = figure_draw(&f, title, height, draw_column, path, error);
    figure_close(&f);
    free(v.known);
    free(v.here);
    return status;
}

ft_status extrapolation_draw_operators(const extrapolation *x, const char *title, const char *path, ft_error *error) {
    return draw(x, false, title, path, error);
}

ft_status extrapolation_draw_measured(const extrapolation *x, const char *title, const char *path, ft_error *error) {
    return draw(x, true, title, path, error);
}
