/* extrapolation_features.c - box plots of model and operator features: training models above evaluated ones, with the
 * share of the latter that is outside the range of training. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "learn/evaluate/extrapolation.h"
#include "report/plot_chart.h"

enum { COLUMNS = 3, MAX_LISTED = 8 };

static const double MARGIN = 24, HEAD = 66, CELL_WIDTH = 300, CELL_HEIGHT = 112, PANEL_WIDTH = 262, PANEL_HEIGHT = 56,
                    BOX = 15, FOOT = 30;
static const ink KNOWN_INK = {0.45, 0.47, 0.50, 1};

static plot_box box_of(const log_histogram *s) {
    return (plot_box){.min = s->min,
                      .low = log_histogram_quantile(s, 0.05),
                      .from = log_histogram_quantile(s, 0.25),
                      .middle = log_histogram_quantile(s, 0.5),
                      .to = log_histogram_quantile(s, 0.75),
                      .high = log_histogram_quantile(s, 0.95),
                      .max = s->max};
}

static void draw_note(canvas *page, double right, double y, const log_histogram *known, const log_histogram *here) {
    double outside = 100 * log_histogram_outside(here, known);
    if (isnan(outside)) return;
    char text[64], share[AXIS_TICK_TEXT];
    const text_style style = {.size = 9,
                              .color = outside > 5 ? (ink){0.80, 0.25, 0.05, 1} : INK_FAINT,
                              .is_bold = outside > 5,
                              .anchor = ANCHOR_END};
    axis_text(outside, (axis_unit){"%", 1}, share);
    snprintf(text, sizeof text, "%s%s outside", outside > 0 && outside < 0.01 ? "<" : "",
             outside > 0 && outside < 0.01 ? "0.01%" : share);
    canvas_text(page, right, y, outside > 0 ? text : "all within", &style);
}

static void draw_cell(const extrapolation *x, canvas *page, uint32_t feature, double left, double top) {
    static const log_histogram nothing = {0};
    const log_histogram *here = &x->here.features[feature];
    const log_histogram *known = extrapolation_is_known(x) ? &x->known.features[feature] : &nothing;
    canvas_text(page, left, top + 10, stats_feature_text(feature),
                &(text_style){.size = 10.5, .color = INK_TEXT, .is_bold = true});
    if (here->count == 0 && known->count == 0) return;
    draw_note(page, left + PANEL_WIDTH, top + 10, known, here);
    double lo = here->count > 0 ? here->min : known->min, hi = here->count > 0 ? here->max : known->max;
    if (known->count > 0) {
        lo = fmin(lo, known->min);
        hi = fmax(hi, known->max);
    }
    chart panel = {.page = page, .left = left, .top = top + 18, .width = PANEL_WIDTH, .height = PANEL_HEIGHT};
    axis_log(&panel.x, lo, hi, 5, (axis_unit){stats_feature_unit(feature), 1});
    panel.y = (plot_axis){.lo = 0, .hi = 1};
    chart_frame(&panel);
    bool has_both = known->count > 0 && here->count > 0;
    plot_box box = box_of(known);
    if (known->count > 0) chart_box(&panel, PANEL_HEIGHT * (has_both ? 0.29 : 0.5), BOX, &box, KNOWN_INK);
    box = box_of(here);
    if (here->count > 0) chart_box(&panel, PANEL_HEIGHT * (has_both ? 0.72 : 0.5), BOX, &box, palette_at(0));
}

static void draw_head(const extrapolation *x, canvas *page, double width, const char *title) {
    char text[256];
    const text_style large = {.size = 15, .color = INK_TEXT, .is_bold = true}, small = {.size = 10, .color = INK_FAINT};
    canvas_text_fit(page, MARGIN, MARGIN + 12, width - 2 * MARGIN, title, &large);
    double at = MARGIN;
    if (extrapolation_is_known(x)) {
        snprintf(text, sizeof text, "%llu models trained on", (unsigned long long)x->known.models);
        const text_style known = {.size = 10.5, .color = KNOWN_INK, .is_bold = true};
        canvas_text(page, at, MARGIN + 31, text, &known);
        at += canvas_text_width(page, text, &known) + 16;
    }
    snprintf(text, sizeof text, "%llu models evaluated", (unsigned long long)x->here.models);
    const text_style here = {.size = 10.5, .color = palette_at(0), .is_bold = true};
    canvas_text(page, at, MARGIN + 31, text, &here);
    canvas_text(page, MARGIN, MARGIN + 46,
                "Boxes: quartiles and median; thick lines: 5th to 95th percentile; thin lines: all."
                "  Outside: beyond the middle 99 % of training.",
                &small);
}

/* Lists the operators that do not occur in training. */
static ft_status draw_foot(const extrapolation *x, canvas *page, double width, double top, ft_error *error) {
    if (!extrapolation_is_known(x)) return FT_OK;
    uint32_t count;
    operator_count *unseen = dataset_stats_unseen(&x->here, &x->known, &count);
    if (unseen == NULL) return FT_NOMEM(error);
    buf text = {0};
    buf_text(&text, count == 0 ? "All operators occur in training." : "Operators that do not occur in training: ");
    for (uint32_t i = 0; i < count && i < MAX_LISTED; i++) {
        char share[AXIS_TICK_TEXT];
        axis_text(100 * (double)unseen[i].count / (double)x->here.operators, (axis_unit){"%", 1}, share);
        buf_format(&text, "%s%s %s", i > 0 ? ", " : "", unseen[i].name, share);
    }
    if (count > MAX_LISTED) buf_format(&text, ", and %u more", count - MAX_LISTED);
    ft_status status = text.failed ? FT_NOMEM(error) : FT_OK;
    const text_style style = {.size = 10.5, .color = INK_TEXT, .is_bold = count > 0};
    if (status == FT_OK) canvas_text_fit(page, MARGIN, top + 12, width - 2 * MARGIN, text.data, &style);
    buf_free(&text);
    free(unseen);
    return status;
}

ft_status extrapolation_draw_features(const extrapolation *x, const char *title, const char *path, ft_error *error) {
    uint32_t rows = (STATS_FEATURES + COLUMNS - 1) / COLUMNS;
    double width = 2 * MARGIN + COLUMNS * CELL_WIDTH - (CELL_WIDTH - PANEL_WIDTH);
    double foot = MARGIN + HEAD + rows * CELL_HEIGHT;
    canvas page;
    FT_TRY(canvas_open(path, width, foot + FOOT, &page, error));
    draw_head(x, &page, width, title);
    for (uint32_t i = 0; i < STATS_FEATURES; i++) {
        uint32_t row = i / COLUMNS, column = i % COLUMNS;
        draw_cell(x, &page, i, MARGIN + CELL_WIDTH * column, MARGIN + HEAD + CELL_HEIGHT * row);
    }
    ft_status status = draw_foot(x, &page, width, foot, error);
    if (status == FT_OK) return canvas_commit(&page, error);
    canvas_discard(&page);
    return status;
}
