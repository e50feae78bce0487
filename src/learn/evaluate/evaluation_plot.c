/* evaluation_plot.c - shared pages and panels of evaluation plots, and the plot of ft_evaluation_plot. */
#include "learn/evaluate/evaluation_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/evaluation.h"

enum { MEDIAN_COUNT = 12, MEDIAN_MIN_POINTS = 8 };

const double FIGURE_PANEL = 232, FIGURE_LOW_PANEL = 150, FIGURE_ROW_GAP = 56;
static const double MARGIN = 22, HEAD = 44, COLUMN_HEAD = 42, COLUMN = 308, LEGEND_GAP = 10, MIN_WIDTH = 480;
const line_style FIGURE_ZERO_LINE = {{0.35, 0.38, 0.42, 1}, 1, false},
                 FIGURE_TEN_LINE = {{0.55, 0.58, 0.62, 1}, 0.9, true};
static const line_style MEDIAN_LINE = {{0.10, 0.11, 0.13, 1}, 1.6, false};

/* --- Families ------------------------------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Families by name; those beyond the size of the palette share the last entry. */
static ft_status list_families(figure *f, ft_error *error) {
    uint32_t count = f->evaluation->case_count;
    const char **names = calloc(count > 0 ? count : 1, sizeof *names);
    if (names == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) names[i] = f->cases[i].family;
    qsort(names, count, sizeof *names, by_text);
    for (uint32_t i = 0; i < count && f->family_count <= FIGURE_MAX_FAMILIES; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0) continue;
        f->families[f->family_count] = f->family_count < FIGURE_MAX_FAMILIES ? names[i] : "others";
        f->family_count++;
    }
    free(names);
    return FT_OK;
}

static uint32_t family_index(const figure *f, const char *family) {
    for (uint32_t i = 0; i < f->family_count; i++)
        if (strcmp(f->families[i], family) == 0) return i;
    return f->family_count - 1;
}

/* The more points, the smaller and paler. */
static mark_style mark_of(const figure *f, const char *family, uint32_t count) {
    double size = count > 3000 ? 2.2 : count > 500 ? 3 : 4.5;
    mark_style style = mark_style_at(family_index(f, family), size);
    style.color.alpha = count > 3000 ? 0.30 : count > 500 ? 0.45 : 0.8;
    return style;
}

void figure_marks(const column *c, const chart *panel, figure_point *point) {
    mark_series series[FIGURE_MAX_FAMILIES + 1];
    uint32_t series_count = 0;
    for (uint32_t i = 0; i < c->count; i++) c->f->points[i] = point(c, &c->cases[i]);
    for (uint32_t i = 0, run; i < c->count; i += run) {
        run = cases_of_family(c->cases + i, c->count - i);
        mark_style style = mark_of(c->f, c->cases[i].family, c->count);
        if (series_count == FIGURE_MAX_FAMILIES + 1) { /* the rest is "others": adjacent, so the last series grows */
            series[series_count - 1].count += run;
            continue;
        }
        series[series_count++] = (mark_series){style, c->f->points + i, run};
    }
    chart_marks(panel, series, series_count);
}

double figure_signed_error(const ft_case *c) {
    return 100 * (c->predicted / c->measured - 1);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double figure_error_range(const column *c) {
    double *sizes = c->f->numbers;
    for (uint32_t i = 0; i < c->count; i++) sizes[i] = fabs(figure_signed_error(&c->cases[i]));
    qsort(sizes, c->count, sizeof *sizes, by_value);
    double range = sizes[(uint32_t)(0.99 * (c->count - 1))];
    static const double steps[] = {5, 12, 15, 20, 30, 40, 50, 60, 80, 100, 150};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (range * 1.05 <= steps[i]) return steps[i];
    return 200;
}

/* --- Panels -------------------------------------------------------------------------------------------------- */

chart figure_panel(const column *c, double top, double height) {
    return (chart){
        .page = c->page, .left = c->left + CHART_ROOM_LEFT, .top = top, .width = FIGURE_PANEL, .height = height};
}

void figure_value_range(const column *c, bool has_predicted, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const ft_case *item = &c->cases[i];
        *lo = fmin(*lo, item->measured);
        *hi = fmax(*hi, item->measured);
        if (!has_predicted || !(item->predicted > 0)) continue;
        *lo = fmin(*lo, item->predicted);
        *hi = fmax(*hi, item->predicted);
    }
}

void figure_error_histogram(const column *c, double top, double range) {
    chart panel = figure_panel(c, top, FIGURE_LOW_PANEL);
    chart_bar bars[FIGURE_MAX_BINS];
    uint32_t bin_count = c->count < 200 ? FIGURE_MAX_BINS / 2 : FIGURE_MAX_BINS;
    double highest = 0, width = 2 * range / bin_count;
    for (uint32_t i = 0; i < bin_count; i++) bars[i] = (chart_bar){-range + width * i, -range + width * (i + 1), 0};
    for (uint32_t i = 0; i < c->count; i++) {
        double bin = floor((figure_signed_error(&c->cases[i]) + range) / width);
        bars[(uint32_t)fmax(0, fmin(bin, bin_count - 1))].height += 1;
    }
    for (uint32_t i = 0; i < bin_count; i++) highest = fmax(highest, bars[i].height);
    axis_linear(&panel.x, -range, range, 6, (axis_unit){"%", 1});
    axis_counts(&panel.y, highest, 4);
    panel.x_title = "relative error";
    panel.y_title = "records";
    chart_frame(&panel);
    chart_bars(&panel, bars, bin_count, ink_faded(palette_at(0), 0.75));
    chart_upright(&panel, 0, &FIGURE_ZERO_LINE);
    chart_upright(&panel, -10, &FIGURE_TEN_LINE);
    chart_upright(&panel, 10, &FIGURE_TEN_LINE);
}

static int by_x(const void *a, const void *b) {
    const plot_point *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static int by_y(const void *a, const void *b) {
    const plot_point *p = a, *q = b;
    return (p->y > q->y) - (p->y < q->y);
}

/* The number of groups: few or none when the points are narrow on the page. */
static uint32_t count_groups(const chart *panel, const plot_point *sorted, uint32_t count) {
    double extent = axis_place(&panel->x, sorted[count - 1].x) - axis_place(&panel->x, sorted[0].x);
    uint32_t groups = extent >= 0.5 ? MEDIAN_COUNT : (uint32_t)fmax(0, 2 * MEDIAN_COUNT * extent);
    return groups >= 3 ? groups : 0;
}

/* Draws the medians of groups of equal count, ordered by x. */
static void draw_medians(const column *c, const chart *panel, figure_point *point) {
    plot_point *points = c->f->points, medians[MEDIAN_COUNT];
    if (c->count < MEDIAN_COUNT * MEDIAN_MIN_POINTS) return;
    for (uint32_t i = 0; i < c->count; i++) points[i] = point(c, &c->cases[i]);
    qsort(points, c->count, sizeof *points, by_x);
    uint32_t groups = count_groups(panel, points, c->count);
    for (uint32_t i = 0; i < groups; i++) {
        uint32_t from = (uint32_t)((uint64_t)c->count * i / groups);
        uint32_t to = (uint32_t)((uint64_t)c->count * (i + 1) / groups);
        double x = points[from + (to - from) / 2].x;
        qsort(points + from, to - from, sizeof *points, by_y);
        medians[i] = (plot_point){x, points[from + (to - from) / 2].y};
    }
    if (groups == 0) return;
    chart_line(panel, medians, groups, &(line_style){{1, 1, 1, 0.8}, 3.6, false});
    chart_line(panel, medians, groups, &MEDIAN_LINE);
}

static void shade(const chart *panel, double from, double to) {
    const ink color = {0.90, 0.62, 0.0, 0.13};
    double lo = panel->y.lo, hi = panel->y.hi;
    if (from < to)
        chart_band(panel, (const plot_point[]){{from, lo}, {to, lo}}, (const plot_point[]){{from, hi}, {to, hi}}, 2,
                   color);
}

void figure_errors(const column *c, chart *panel, double range, figure_point *point, const double known[2]) {
    axis_linear(&panel->y, -range, range, 4, (axis_unit){"%", 1});
    panel->y_title = "relative error";
    if (known != NULL) {
        shade(panel, panel->x.lo, fmin(known[0], panel->x.hi));
        shade(panel, fmax(known[1], panel->x.lo), panel->x.hi);
    }
    chart_frame(panel);
    chart_level(panel, 0, &FIGURE_ZERO_LINE);
    chart_level(panel, 10, &FIGURE_TEN_LINE);
    chart_level(panel, -10, &FIGURE_TEN_LINE);
    figure_marks(c, panel, point);
    draw_medians(c, panel, point);
}

/* --- Page ---------------------------------------------------------------------------------------------------- */

static const ft_score *score_of_device(const ft_evaluation *e, const char *device) {
    for (uint32_t i = 0; i < e->score_count; i++)
        if (strcmp(e->scores[i].device, device) == 0) return &e->scores[i]; /* "all" comes first */
    return NULL;
}

static void draw_column_head(const column *c, double top) {
    const ft_score *score = score_of_device(c->f->evaluation, c->cases[0].device);
    double left = c->left + CHART_ROOM_LEFT;
    canvas_text(c->page, left, top + 12, c->cases[0].device,
                &(text_style){.size = 12.5, .color = INK_TEXT, .is_bold = true});
    if (score == NULL) return;
    char facts[128], mape[AXIS_TICK_TEXT], acc10[AXIS_TICK_TEXT];
    axis_text(score->mape, (axis_unit){"%", 1}, mape);
    axis_text(score->acc10, (axis_unit){"%", 1}, acc10);
    snprintf(facts, sizeof facts, "%u records, MAPE %s, within 10 %%: %s", score->n, mape, acc10);
    canvas_text(c->page, left, top + 27, facts, &(text_style){.size = 9.5, .color = INK_FAINT});
}

static double legend(const figure *f, canvas *page, double top, double width, bool is_drawn) {
    legend_entry entries[FIGURE_MAX_FAMILIES + 1];
    for (uint32_t i = 0; i < f->family_count; i++)
        entries[i] = (legend_entry){mark_style_at(i, 6), f->families[i][0] != '\0' ? f->families[i] : "no family"};
    return legend_draw(page, MARGIN + CHART_ROOM_LEFT, top, width - 2 * MARGIN - CHART_ROOM_LEFT, entries,
                       f->family_count, is_drawn);
}

static void draw_head(const figure *f, canvas *page, double width, const char *title) {
    const ft_evaluation *e = f->evaluation;
    const text_style large = {.size = 15, .color = INK_TEXT, .is_bold = true}, small = {.size = 10, .color = INK_FAINT};
    char text[512], part[PART_TEXT];
    double left = MARGIN + CHART_ROOM_LEFT, room = width - left - MARGIN;
    canvas_text_fit(page, left, MARGIN + 12, room, title, &large);
    evaluation_part_text(e, part);
    snprintf(text, sizeof text, "%s predicted by %s; %s", f->label, e->predictor_family, part);
    canvas_text_fit(page, left, MARGIN + 29, room, text, &small);
}

static uint32_t count_devices(const figure *f) {
    uint32_t devices = 0, count = f->evaluation->case_count;
    for (uint32_t i = 0; i < count; devices++) i += cases_of_device(f->cases + i, count - i);
    return devices;
}

/* The page size depends on the height of the legend, so that is measured on a scratch page first. */
static ft_status measure_legend(const char *path, const figure *f, double width, double *height, ft_error *error) {
    canvas page;
    FT_TRY(canvas_open_scratch(path, &page, error));
    *height = legend(f, &page, 0, width, false);
    canvas_discard(&page);
    return FT_OK;
}

ft_status figure_draw(const figure *f, const char *title, double column_height, figure_column *draw, const char *path,
                      ft_error *error) {
    double width = fmax(2 * MARGIN + COLUMN * count_devices(f), MIN_WIDTH);
    double top = MARGIN + HEAD, legend_top = top + COLUMN_HEAD + column_height + CHART_ROOM_BELOW + LEGEND_GAP;
    double legend_height;
    canvas page;
    FT_TRY(measure_legend(path, f, width, &legend_height, error));
    FT_TRY(canvas_open(path, width, legend_top + legend_height + MARGIN, &page, error));
    draw_head(f, &page, width, title);
    uint32_t count = f->evaluation->case_count, run;
    double left = MARGIN;
    for (uint32_t i = 0; i < count; i += run) {
        run = cases_of_device(f->cases + i, count - i);
        const column c = {.f = f, .page = &page, .left = left, .cases = f->cases + i, .count = run};
        draw_column_head(&c, top);
        draw(&c, top + COLUMN_HEAD);
        left += COLUMN;
    }
    legend(f, &page, legend_top, width, true);
    return canvas_commit(&page, error);
}

ft_status figure_open(figure *f, const ft_evaluation *evaluation, const char *path, ft_error *error) {
    *f = (figure){.evaluation = evaluation};
    if (evaluation->case_count == 0) return ft_fail(error, FT_ERR_USAGE, "%s: no records to plot", path);
    f->cases = cases_sorted(evaluation->cases, evaluation->case_count);
    f->points = calloc(evaluation->case_count, sizeof *f->points);
    f->numbers = calloc(evaluation->case_count, sizeof *f->numbers);
    f->unit = axis_unit_of(evaluation->metric, f->label);
    snprintf(f->measured_title, sizeof f->measured_title, "measured %s", f->label);
    snprintf(f->predicted_title, sizeof f->predicted_title, "predicted %s", f->label);
    if (f->cases == NULL || f->points == NULL || f->numbers == NULL) return FT_NOMEM(error);
    return list_families(f, error);
}

void figure_close(figure *f) {
    free(f->cases);
    free(f->points);
    free(f->numbers);
}

/* --- The plot of an evaluation ------------------------------------------------------------------------------- */

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
    FT_REQUIRE(error, evaluation, title, path);
    figure f;
    double height = FIGURE_PANEL + 2 * (FIGURE_ROW_GAP + FIGURE_LOW_PANEL);
    ft_status status = figure_open(&f, evaluation, path, error);
    if (status == FT_OK) status = figure_draw(&f, title, height, draw_column, path, error);
    figure_close(&f);
    return status;
}
