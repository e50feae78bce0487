/* report_plot.c - results as a plot: time and memory over batch size by device (or by device alone, when there is
 * one batch), then the time of the first result by kind of kernel and by the longest kernels. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forecast/report.h"
#include "report/plot_rows.h"
#include "report/units.h"

enum { MAX_BANDS = 4, MAX_ROWS = 12 };

static const double MARGIN = 22, HEAD = 46, PANEL = 330, PANEL_HEIGHT = 230, GAP = 36, LEGEND_GAP = 12;

/* --- Data of the plot ---------------------------------------------------------------------------------------- */

typedef struct figure {
    const ft_model_results *entry;
    const ft_results *results;
    uint32_t *device_of;   /* per result: the index of its device, in order of appearance */
    const char **devices;  /* their names */
    uint32_t device_count; /* devices of the results */
    bool has_batches;      /* more than one */
    plot_point *points, *lower, *upper;
    plot_row *rows;
    const ft_result *first; /* result with kernels; NULL: none has them */
} figure;

/* The two quantities that get a panel. */
typedef struct quantity {
    const char *metric, *title;
    const ft_metric_result *(*of)(const ft_result *);
} quantity;

static const quantity quantities[] = {{"time_us", "Time of a step", ft_result_time},
                                      {"peak_bytes", "Memory", ft_result_memory}};

static void find_devices(figure *f) {
    for (uint32_t i = 0; i < f->results->count; i++) {
        const ft_result *item = &f->results->items[i];
        uint32_t d = 0;
        while (d < f->device_count && strcmp(f->devices[d], item->request.device) != 0) d++;
        if (d == f->device_count) f->devices[f->device_count++] = item->request.device;
        assert(d < f->device_count && f->device_count <= f->results->count);
        f->device_of[i] = d;
        if (item->request.batch != f->results->items[0].request.batch) f->has_batches = true;
        if (f->first == NULL && ft_result_time(item)->part_count > 0 && ft_result_time(item)->value > 0)
            f->first = item;
    }
}

static ink color_of(uint32_t device) {
    return mark_style_at(device, 6).color;
}

/* --- Over batches -------------------------------------------------------------------------------------------- */

/* Intervals are drawn while there are few devices; more of them would hide each other. */
static bool has_bands(const figure *f) {
    return f->device_count <= MAX_BANDS;
}

/* The smallest and the largest value that is drawn, intervals included. */
static void value_range(const figure *f, const quantity *q, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = 0;
    for (uint32_t i = 0; i < f->results->count; i++) {
        const ft_metric_result *e = q->of(&f->results->items[i]);
        if (!(e->value > 0)) continue;
        bool is_band = has_bands(f) && e->lo > 0 && e->hi > 0;
        *lo = fmin(*lo, is_band ? e->lo : e->value);
        *hi = fmax(*hi, is_band ? e->hi : e->value);
    }
}

static void batch_range(const figure *f, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = 0;
    for (uint32_t i = 0; i < f->results->count; i++) {
        *lo = fmin(*lo, (double)f->results->items[i].request.batch);
        *hi = fmax(*hi, (double)f->results->items[i].request.batch);
    }
}

/* The points of a device; those with an interval are in `lower` and `upper` as well, when all have one. */
static uint32_t points_of(const figure *f, const quantity *q, uint32_t device, bool *has_band) {
    uint32_t count = 0;
    *has_band = true;
    assert(device < f->device_count);
    for (uint32_t i = 0; i < f->results->count; i++) {
        const ft_metric_result *e = q->of(&f->results->items[i]);
        double batch = (double)f->results->items[i].request.batch;
        if (f->device_of[i] != device || !(e->value > 0)) continue;
        if (!(e->lo > 0) || !(e->hi > 0)) *has_band = false;
        f->points[count] = (plot_point){batch, e->value};
        f->lower[count] = (plot_point){batch, e->lo};
        f->upper[count] = (plot_point){batch, e->hi};
        count++;
    }
    return count;
}

static void draw_lines(const figure *f, canvas *page, double left, double top, const quantity *q) {
    chart c = {.page = page,
               .left = left + CHART_ROOM_LEFT,
               .top = top + 24,
               .width = PANEL - CHART_ROOM_LEFT,
               .height = PANEL_HEIGHT - 24,
               .x_title = "batch"};
    char label[AXIS_LABEL];
    double lo, hi, first, last;
    value_range(f, q, &lo, &hi);
    batch_range(f, &first, &last);
    axis_log(&c.x, first, last, 6, (axis_unit){"", 1});
    axis_log(&c.y, lo, hi, 6, axis_unit_of(q->metric, label));
    canvas_text(page, left, top + 11, q->title, &(text_style){.size = 11.5, .color = INK_TEXT, .is_bold = true});
    chart_frame(&c);
    for (uint32_t d = 0; d < f->device_count; d++) {
        bool has_band;
        uint32_t count = points_of(f, q, d, &has_band);
        if (has_band && has_bands(f)) chart_band(&c, f->lower, f->upper, count, ink_faded(color_of(d), 0.16));
    }
    for (uint32_t d = 0; d < f->device_count; d++) {
        bool has_band;
        uint32_t count = points_of(f, q, d, &has_band);
        chart_line(&c, f->points, count, &(line_style){color_of(d), 1.6, false});
        chart_marks(&c, &(mark_series){mark_style_at(d, 5.5), f->points, count}, 1);
    }
}

static double legend(const figure *f, canvas *page, double top, bool is_drawn, legend_entry *entries) {
    for (uint32_t d = 0; d < f->device_count; d++) entries[d] = (legend_entry){mark_style_at(d, 6), f->devices[d]};
    return legend_draw(page, MARGIN, top, 2 * PANEL + GAP, entries, f->device_count, is_drawn);
}

/* --- Lists --------------------------------------------------------------------------------------------------- */

static void draw_devices(const figure *f, canvas *page, double left, double top, const quantity *q) {
    char label[AXIS_LABEL];
    const axis_unit unit = axis_unit_of(q->metric, label);
    for (uint32_t i = 0; i < f->results->count; i++) {
        const ft_result *item = &f->results->items[i];
        const ft_metric_result *e = q->of(item);
        char words[AXIS_TICK_TEXT] = "unknown";
        if (e->value > 0) axis_text(e->value, unit, words); /* in the units of the axis below */
        f->rows[i] = (plot_row){.label = item->request.device,
                                .value = e->value,
                                .lo = e->lo,
                                .hi = e->hi,
                                .color = color_of(f->device_of[i])};
        snprintf(f->rows[i].text, sizeof f->rows[i].text, "%s", words);
    }
    plot_rows_marks(&(plot_rows){.page = page,
                                 .left = left,
                                 .top = top,
                                 .width = PANEL,
                                 .title = q->title,
                                 .rows = f->rows,
                                 .count = f->results->count,
                                 .unit = unit});
}

static void put_share(plot_row *row, double time, double whole) {
    char ratio[UNIT_TEXT_SIZE];
    unit_ratio(time > 0 ? time / whole : 0, ratio);
    snprintf(row->text, sizeof row->text, "%.20s", ratio);
    row->value = time;
}

static int by_value(const void *left, const void *right) {
    const plot_row *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return strcmp(a->label, b->label);
}

/* The kinds of kernels of a result by their time; beyond MAX_ROWS, the rest is summed as "others". */
static uint32_t list_kinds(const ft_result *result, plot_row *rows) {
    uint32_t count = 0;
    double rest = 0;
    for (uint32_t k = 0; k < ft_result_time(result)->part_count; k++) {
        uint32_t i = 0;
        while (i < count && strcmp(rows[i].label, ft_result_time(result)->parts[k].type) != 0) i++;
        if (i == count)
            rows[count++] = (plot_row){.label = ft_result_time(result)->parts[k].type, .color = palette_at(0)};
        rows[i].value += ft_result_time(result)->parts[k].value;
    }
    qsort(rows, count, sizeof *rows, by_value);
    if (count > MAX_ROWS) {
        for (uint32_t i = MAX_ROWS - 1; i < count; i++) rest += rows[i].value;
        rows[MAX_ROWS - 1] = (plot_row){.label = "others", .value = rest, .color = palette_at(6)};
        count = MAX_ROWS;
    }
    assert(count <= MAX_ROWS);
    for (uint32_t i = 0; i < count; i++) put_share(&rows[i], rows[i].value, ft_result_time(result)->value);
    return count;
}

static ft_status draw_breakdown(const figure *f, canvas *page, double top, plot_row *rows, ft_error *error) {
    const ft_result *first = f->first;
    char title[160];
    snprintf(title, sizeof title, "%.60s, batch %lld: by kind of kernel", first->request.device,
             (long long)first->request.batch);
    uint32_t count = list_kinds(first, rows), longest;
    plot_rows_bars(&(plot_rows){
        .page = page, .left = MARGIN, .top = top, .width = PANEL, .title = title, .rows = rows, .count = count});
    uint32_t *chosen = layers_choose(first, MAX_ROWS, &longest);
    if (chosen == NULL) return FT_NOMEM(error);
    const ft_graph *model = f->entry->model;
    for (uint32_t i = 0; i < longest; i++) {
        const ft_part *part = &ft_result_time(first)->parts[chosen[i]];
        rows[i] = (plot_row){.color = palette_at(2)};
        rows[i].label = part->op_count > 0 ? facts_op_name(model, &ft_graph_ops(model)[part->ops[0]]) : part->type;
        put_share(&rows[i], part->value, ft_result_time(first)->value);
    }
    free(chosen);
    plot_rows_bars(&(plot_rows){.page = page,
                                .left = MARGIN + PANEL + GAP,
                                .top = top,
                                .width = PANEL,
                                .title = "the longest kernels, by their first operator",
                                .rows = rows,
                                .count = longest});
    return FT_OK;
}

/* --- The page ------------------------------------------------------------------------------------------------ */

static void draw_head(const figure *f, canvas *page) {
    const ft_request *request = &f->results->items[0].request;
    const text_style large = {.size = 15, .color = INK_TEXT, .is_bold = true}, small = {.size = 10, .color = INK_FAINT};
    char text[160];
    canvas_text_fit(page, MARGIN, MARGIN + 12, 2 * PANEL + GAP, f->entry->file, &large);
    const char *mode = request->mode == FT_TRAIN ? "a step of training with " : "inference";
    const char *optimizer = request->mode == FT_TRAIN ? ft_optimizer_name(request->optimizer) : "";
    if (!f->has_batches)
        snprintf(text, sizeof text, "%s%s, batch %lld; lines are 90 %% intervals", mode, optimizer,
                 (long long)request->batch);
    else
        snprintf(text, sizeof text, "%s%s%s", mode, optimizer,
                 f->device_count <= MAX_BANDS ? "; areas are 90 % intervals" : "");
    canvas_text_fit(page, MARGIN, MARGIN + 29, 2 * PANEL + GAP, text, &small);
}

/* The height of the legend has to be known before the page is opened: it is measured on a scratch page. */
static ft_status measure_legend(const char *path, const figure *f, legend_entry *entries, double *height,
                                ft_error *error) {
    canvas page;
    FT_TRY(canvas_open_scratch(path, &page, error));
    *height = legend(f, &page, 0, false, entries);
    canvas_discard(&page);
    return FT_OK;
}

static ft_status upper_height(const char *path, const figure *f, legend_entry *entries, double *height,
                              ft_error *error) {
    double measured = 0;
    if (f->has_batches) FT_TRY(measure_legend(path, f, entries, &measured, error));
    *height = f->has_batches ? PANEL_HEIGHT + CHART_ROOM_BELOW + LEGEND_GAP + measured
                             : plot_rows_height(f->results->count, true);
    return FT_OK;
}

static uint32_t kind_count(const ft_result *result, plot_row *rows) {
    return result != NULL ? list_kinds(result, rows) : 0;
}

static ft_status draw(const figure *f, const char *path, plot_row *rows, legend_entry *entries, ft_error *error) {
    uint32_t kinds = kind_count(f->first, rows), kernels = f->first != NULL ? ft_result_time(f->first)->part_count : 0;
    uint32_t rows_below = kinds > kernels || kernels > MAX_ROWS ? MAX_ROWS : kernels;
    double width = 2 * MARGIN + 2 * PANEL + GAP, top = MARGIN + HEAD, upper;
    double lower = f->first != NULL ? GAP + plot_rows_height(rows_below, false) : 0;
    canvas page;
    FT_TRY(upper_height(path, f, entries, &upper, error));
    FT_TRY(canvas_open(path, width, top + upper + lower + MARGIN, &page, error));
    draw_head(f, &page);
    for (uint32_t i = 0; i < 2; i++) {
        double left = MARGIN + (PANEL + GAP) * i;
        if (f->has_batches)
            draw_lines(f, &page, left, top, &quantities[i]);
        else
            draw_devices(f, &page, left, top, &quantities[i]);
    }
    if (f->has_batches) legend(f, &page, top + PANEL_HEIGHT + CHART_ROOM_BELOW + LEGEND_GAP, true, entries);
    ft_status status = f->first != NULL ? draw_breakdown(f, &page, top + upper + GAP, rows, error) : FT_OK;
    if (status == FT_OK) return canvas_commit(&page, error);
    canvas_discard(&page);
    return status;
}

ft_status ft_result_plot(const char *path, const ft_model_results *entry, ft_error *error) {
    FT_REQUIRE(error, path, entry);
    figure f = {.entry = entry, .results = entry->results};
    size_t count = f.results->count, max_rows = count;
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "%s: no results to plot", path);
    f.device_of = calloc(count, sizeof *f.device_of);
    f.devices = calloc(count, sizeof *f.devices);
    f.points = calloc(3 * count, sizeof *f.points);
    legend_entry *entries = calloc(count, sizeof *entries);
    if (f.device_of != NULL && f.devices != NULL) find_devices(&f);
    if (f.first != NULL && ft_result_time(f.first)->part_count > max_rows)
        max_rows = ft_result_time(f.first)->part_count;
    f.rows = calloc(max_rows, sizeof *f.rows);
    bool is_ready = f.device_of != NULL && f.devices != NULL && f.points != NULL && entries != NULL && f.rows != NULL;
    if (is_ready) {
        f.lower = f.points + count;
        f.upper = f.points + 2 * count;
    }
    ft_status status = is_ready ? draw(&f, path, f.rows, entries, error) : FT_NOMEM(error);
    free(f.device_of);
    free(f.devices);
    free(f.points);
    free(f.rows);
    free(entries);
    return status;
}
