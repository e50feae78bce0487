/* tuning_plot.c - the plot of a search: the objective by trial with the best so far, and below it the objective against
 * each setting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "learn/search/search.h"
#include "learn/search/trials.h"
#include "report/plot_chart.h"

static const double MARGIN = 22, HEAD = 44, TOP_PANEL = 210, PANEL_WIDTH = 220, PANEL_HEIGHT = 150, ROW_GAP = 62,
                    COLUMN = 296, LEGEND = 30;
enum { COLUMNS = 3 };

typedef struct figure {
    const ft_tuning *tuning;
    canvas *page;
    plot_point *points; /* room for one per trial and rung */
    plot_axis y;
} figure;

/* --- Axis and marks ------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* An axis that resolves the better trials: the worst are drawn at its edge. */
static ft_status make_axis(figure *f, ft_error *error) {
    const ft_tuning *t = f->tuning;
    double *all = malloc(((size_t)t->count * HALVING_MAX_RUNGS + 1) * sizeof *all);
    uint32_t count = 0;
    if (all == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t r = 0; r < t->trials[i].rungs; r++)
            if (!isnan(t->trials[i].scores[r])) all[count++] = t->trials[i].scores[r];
    qsort(all, count, sizeof *all, by_value);
    double lo = all[0], hi = all[count - 1], middle = all[count / 2];
    if (t->is_higher_better)
        lo = fmax(lo, hi - 2.5 * (hi - middle));
    else
        hi = fmin(hi, lo + 2.5 * (middle - lo));
    double room = 0.06 * (hi - lo);
    axis_linear(&f->y, lo - room, hi + room, 5, (axis_unit){"", 1});
    free(all);
    return FT_OK;
}

/* Marks grow and darken with the rung. */
static mark_style style_of(const figure *f, uint32_t rung) {
    mark_style style = mark_style_at(rung, 4.5 + 1.5 * rung);
    style.color.alpha = rung + 1 == f->tuning->rungs ? 0.95 : 0.6;
    return style;
}

typedef double trial_position(const ft_trial *trial, uint32_t key);

static double by_index(const ft_trial *trial, uint32_t key) {
    (void)key;
    return trial->index;
}

static double by_key(const ft_trial *trial, uint32_t key) {
    return trial->values[key];
}

/* Draws the objective on each rung, of the trials for which it was the last one; with `is_every`, of all trials. */
static void draw_rungs(const figure *f, const chart *panel, trial_position *position, uint32_t key, bool is_every) {
    mark_series series[HALVING_MAX_RUNGS];
    uint32_t at = 0;
    for (uint32_t rung = 0; rung < f->tuning->rungs; rung++) {
        uint32_t first = at;
        for (uint32_t i = 0; i < f->tuning->count; i++) {
            const ft_trial *t = &f->tuning->trials[i];
            bool is_shown = is_every ? t->rungs > rung : t->rungs == rung + 1;
            if (!is_shown || isnan(t->scores[rung]) || isnan(position(t, key))) continue;
            f->points[at++] = (plot_point){position(t, key), t->scores[rung]};
        }
        series[rung] = (mark_series){style_of(f, rung), f->points + first, at - first};
    }
    chart_marks(panel, series, f->tuning->rungs);
}

/* --- Panels -------------------------------------------------------------------------------------------------- */

/* Of the trials with the full effort, a staircase. */
static void draw_best_so_far(const figure *f, const chart *panel) {
    const ft_tuning *t = f->tuning;
    const line_style line = {INK_TEXT, 1.4, false};
    uint32_t count = 0;
    double best = NAN;
    for (uint32_t i = 0; i < t->count; i++) {
        const ft_trial *trial = &t->trials[i];
        if (trial->rungs < t->rungs || isnan(trial->objective)) continue;
        bool is_better = isnan(best) || (t->is_higher_better ? trial->objective > best : trial->objective < best);
        if (!is_better) continue;
        if (count > 0) f->points[count++] = (plot_point){trial->index, best};
        best = trial->objective;
        f->points[count++] = (plot_point){trial->index, best};
    }
    if (count == 0) return;
    f->points[count++] = (plot_point){t->trials[t->count - 1].index, best};
    chart_line(panel, f->points, count, &line);
}

static void draw_history(const figure *f, double width) {
    chart panel = {.page = f->page,
                   .left = MARGIN + CHART_ROOM_LEFT,
                   .top = MARGIN + HEAD,
                   .width = width,
                   .height = TOP_PANEL,
                   .y = f->y,
                   .x_title = "trial",
                   .y_title = f->tuning->objective};
    axis_linear(&panel.x, -0.5, f->tuning->trials[f->tuning->count - 1].index + 0.5, 8, (axis_unit){"", 1});
    chart_frame(&panel);
    if (f->tuning->trials[0].index == 0 && !isnan(f->tuning->trials[0].objective))
        chart_level(&panel, f->tuning->trials[0].objective, &(line_style){INK_FAINT, 1, true});
    draw_best_so_far(f, &panel);
    draw_rungs(f, &panel, by_index, 0, true);
}

/* Labels the positions of choices. */
static void name_choices(const chart *panel, const ft_tune_key *key) {
    const text_style style = {.size = 9, .color = INK_FAINT, .anchor = ANCHOR_MIDDLE};
    for (uint32_t i = 0; i < key->choice_count; i++) {
        plot_point at = chart_at(panel, (plot_point){i, panel->y.lo});
        canvas_text(panel->page, at.x, at.y + 13, key->choices[i], &style);
    }
}

static void draw_key(const figure *f, uint32_t k) {
    const ft_tune_key *key = &f->tuning->keys[k];
    uint32_t row = k / COLUMNS, column = k % COLUMNS;
    chart panel = {.page = f->page,
                   .left = MARGIN + CHART_ROOM_LEFT + COLUMN * column,
                   .top = MARGIN + HEAD + TOP_PANEL + ROW_GAP + (PANEL_HEIGHT + ROW_GAP) * row,
                   .width = PANEL_WIDTH,
                   .height = PANEL_HEIGHT,
                   .y = f->y,
                   .x_title = key->name,
                   .y_title = f->tuning->objective};
    if (key->choices != NULL)
        axis_linear(&panel.x, -0.5, key->choice_count - 0.5, 4, (axis_unit){"", 1});
    else if (key->is_log)
        axis_log(&panel.x, key->lo, key->hi, 4, (axis_unit){"", 1});
    else
        axis_linear(&panel.x, key->lo, key->hi, 4, (axis_unit){"", 1});
    if (key->choices != NULL) panel.x.tick_count = 0;
    chart_frame(&panel);
    if (key->choices != NULL) name_choices(&panel, key);
    draw_rungs(f, &panel, by_key, k, false);
}

/* --- Page ---------------------------------------------------------------------------------------------------- */

static void draw_head(const figure *f, double width) {
    const ft_tuning *t = f->tuning;
    const text_style large = {.size = 15, .color = INK_TEXT, .is_bold = true}, small = {.size = 10, .color = INK_FAINT};
    char text[512];
    snprintf(text, sizeof text, "settings of %s", t->family);
    canvas_text_fit(f->page, MARGIN + CHART_ROOM_LEFT, MARGIN + 12, width, text, &large);
    snprintf(text, sizeof text,
             "%s of %s on the validation part of split %s, seed %llu; %u trials, %u failed; dashed: the defaults",
             t->objective, t->metric, t->split, (unsigned long long)t->seed, t->count, t->failed);
    canvas_text_fit(f->page, MARGIN + CHART_ROOM_LEFT, MARGIN + 29, width, text, &small);
}

static void draw_legend(const figure *f, double top, double width) {
    legend_entry entries[HALVING_MAX_RUNGS];
    char texts[HALVING_MAX_RUNGS][64];
    for (uint32_t r = 0; r < f->tuning->rungs; r++) {
        double share = halving_share(r, f->tuning->rungs, f->tuning->factor);
        if (share == 1)
            snprintf(texts[r], sizeof texts[r], "full effort");
        else
            snprintf(texts[r], sizeof texts[r], "1/%.0f of the effort", 1 / share);
        entries[r] = (legend_entry){style_of(f, r), texts[r]};
    }
    legend_draw(f->page, MARGIN + CHART_ROOM_LEFT, top, width, entries, f->tuning->rungs, true);
}

static ft_status draw_figure(figure *f, const char *path, ft_error *error) {
    uint32_t rows = (f->tuning->key_count + COLUMNS - 1) / COLUMNS;
    double inside = COLUMN * (COLUMNS - 1) + PANEL_WIDTH, width = inside + 2 * MARGIN + CHART_ROOM_LEFT;
    double below = MARGIN + HEAD + TOP_PANEL + rows * (PANEL_HEIGHT + ROW_GAP) + CHART_ROOM_BELOW + 8;
    canvas page;
    FT_TRY(make_axis(f, error));
    FT_TRY(canvas_open(path, width, below + LEGEND + MARGIN, &page, error));
    f->page = &page;
    draw_head(f, inside);
    draw_history(f, inside);
    for (uint32_t k = 0; k < f->tuning->key_count; k++) draw_key(f, k);
    draw_legend(f, below, inside);
    f->page = NULL;
    return canvas_commit(&page, error);
}

ft_status ft_tuning_plot(const ft_tuning *tuning, const char *path, ft_error *error) {
    FT_REQUIRE(error, tuning, path);
    if (tuning->best == FT_NONE) return ft_fail(error, FT_ERR_USAGE, "%s: every trial failed: nothing to plot", path);
    figure f = {.tuning = tuning};
    f.points = calloc((size_t)tuning->count * HALVING_MAX_RUNGS + 2, sizeof *f.points);
    ft_status status = f.points != NULL ? draw_figure(&f, path, error) : FT_NOMEM(error);
    free(f.points);
    return status;
}
