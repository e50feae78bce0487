/* report_gantt.c - plot of a replay: a row for each lane of an engine with a bar for each kernel, the critical path
 * underlined; of several replays, also speed-up and efficiency over workers.
 *
 * Bars have the colour of their phase in training, else of the type of kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "replay/report_values.h"
#include "report/metric.h"
#include "report/plot_chart.h"

enum { MAX_ROWS = 40, KINDS = PALETTE_COUNT, MAX_POINTS = 64, OTHER_KIND = KINDS - 1 };

static const double MARGIN = 22, HEAD = 46, WIDTH = 760, LABEL = 110, ROW = 20, BAR = 14, AXIS = 26, LEGEND = 22;
static const double GAP = 34, CHART = 200;

typedef struct figure {
    const ft_model_replays *entry;
    const ft_replay *replay; /* shown as timeline */
    struct {
        uint32_t engine, worker, lane;
    } rows[MAX_ROWS];
    uint32_t row_count;
    uint64_t row_total;
    bool has_phases;
    const char *kinds[KINDS]; /* one per colour */
    double kind_us[KINDS];
    uint32_t kind_count;
    canvas page;
    plot_axis axis;
} figure;

/* --- Rows and colours ------------------------------------------------------------------------------------------- */

static void find_rows(figure *f) {
    for (uint32_t i = FT_NONE, worker; engine_list_next(f->replay, &i, &worker);) {
        for (uint32_t lane = 0; lane < f->replay->engines[i].lane_count; lane++) {
            if (f->row_total++ >= MAX_ROWS) continue;
            f->rows[f->row_count].engine = i;
            f->rows[f->row_count].worker = worker;
            f->rows[f->row_count++].lane = lane;
        }
    }
}

/* The label of a colour: the phase, or the first word of the kernel's type ("conv" of conv-bn-relu). */
static size_t kind_of(const figure *f, const ft_replay_event *e, const char **text) {
    *text = f->has_phases ? ft_replay_phase_name(e->phase) : e->type;
    size_t length = strcspn(*text, "-");
    return length > 0 ? length : strlen(*text);
}

static uint32_t color_of(const figure *f, const ft_replay_event *e) {
    const char *text;
    size_t length = kind_of(f, e, &text);
    for (uint32_t i = 0; i < f->kind_count; i++) {
        size_t known = strcspn(f->kinds[i], "-");
        if (known == length && strncmp(f->kinds[i], text, length) == 0) return i;
    }
    return OTHER_KIND;
}

/* Colours are assigned in order of appearance; the rest shares the last one. */
static void find_kinds(figure *f) {
    for (uint32_t i = 0; i < f->replay->event_count; i++)
        if (f->replay->events[i].phase != FT_REPLAY_FORWARD) f->has_phases = true;
    for (uint32_t i = 0; i < f->replay->event_count; i++) {
        const ft_replay_event *e = &f->replay->events[i];
        uint32_t color = color_of(f, e);
        if (color == OTHER_KIND && f->kind_count < OTHER_KIND) {
            const char *text;
            kind_of(f, e, &text);
            color = f->kind_count;
            f->kinds[f->kind_count++] = text;
        }
        f->kind_us[color] += e->time_us;
    }
}

/* --- The timeline ------------------------------------------------------------------------------------------------ */

static double x_of(const figure *f, double us) {
    return MARGIN + LABEL + axis_place(&f->axis, us) * (WIDTH - LABEL);
}

static void draw_box(figure *f, double left, double top, double right, double height, ink color) {
    canvas_ink(&f->page, color);
    canvas_rectangle(&f->page, left, top, right - left, height);
    canvas_fill(&f->page);
}

/* Adjacent bars too thin to be distinguished are merged, to keep the file small. */
static void draw_row(figure *f, uint32_t row, double top, bool is_path) {
    static const double THIN = 0.4;
    double left = NAN, right = NAN;
    uint32_t color = 0, worker = f->rows[row].worker;
    if (is_path && worker != 0 && worker != FT_NONE) return; /* the path is that of the first worker */
    for (uint32_t i = 0; i < f->replay->event_count; i++) {
        const ft_replay_event *e = &f->replay->events[i];
        if (e->engine != f->rows[row].engine || e->lane != f->rows[row].lane || (is_path && !e->is_critical)) continue;
        double begin = x_of(f, e->start_us), end = x_of(f, e->start_us + e->time_us);
        uint32_t own = is_path ? 0 : color_of(f, e);
        if (!isnan(left) && own == color && begin - right < THIN && (end - begin < THIN || is_path)) {
            right = end;
            continue;
        }
        if (!isnan(left)) draw_box(f, left, top, right, is_path ? 2 : BAR, is_path ? INK_TEXT : palette_at(color));
        left = begin;
        right = end;
        color = own;
        if (!is_path && end - begin > 3 * THIN) right = end - THIN; /* a thin gap between adjacent bars */
    }
    if (!isnan(left)) draw_box(f, left, top, right, is_path ? 2 : BAR, is_path ? INK_TEXT : palette_at(color));
}

static void draw_label(figure *f, uint32_t row, double y) {
    const ft_replay_engine *e = &f->replay->engines[f->rows[row].engine];
    uint32_t worker = f->rows[row].worker;
    char text[96];
    int used = worker != FT_NONE && f->replay->options.workers > 1
                   ? snprintf(text, sizeof text, "%u: %.60s", worker, e->name)
                   : snprintf(text, sizeof text, "%.60s", e->name);
    if (e->lane_count > 1) snprintf(text + used, sizeof text - (size_t)used, " %u", f->rows[row].lane);
    canvas_text_fit(&f->page, MARGIN, y, LABEL - 8, text, &(text_style){.size = 10, .color = INK_TEXT});
}

static void draw_axis(figure *f, double top, double height) {
    const text_style style = {.size = 9, .color = INK_FAINT, .anchor = ANCHOR_MIDDLE};
    for (uint32_t i = 0; i < f->axis.tick_count; i++) {
        double x = x_of(f, f->axis.ticks[i].at);
        draw_box(f, x - 0.25, top, x + 0.25, height, INK_GRID);
        canvas_text(&f->page, x, top + height + 13, f->axis.ticks[i].text, &style);
    }
}

static void draw_timeline(figure *f, double top) {
    draw_axis(f, top, f->row_count * ROW);
    for (uint32_t i = 0; i < f->row_count; i++) {
        double y = top + i * ROW;
        draw_label(f, i, y + 13);
        draw_row(f, i, y + 2, false);
        draw_row(f, i, y + BAR + 3, true);
    }
}

static void draw_legend(figure *f, double top) {
    legend_entry entries[KINDS + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < KINDS; i++) {
        if (!(f->kind_us[i] > 0)) continue;
        entries[count] = (legend_entry){mark_style_at(i, 7), i < f->kind_count ? f->kinds[i] : "others"};
        entries[count].style.shape = 0;
        entries[count++].style.color = palette_at(i);
    }
    legend_draw(&f->page, MARGIN, top, WIDTH, entries, count, true);
}

/* --- Workers ------------------------------------------------------------------------------------------------------ */

static void draw_curve(figure *f, double left, double top, bool is_efficiency) {
    const ft_model_replays *s = f->entry;
    plot_point points[MAX_POINTS], ideal[MAX_POINTS];
    double last = 1, highest = 1;
    uint32_t count = s->count < MAX_POINTS ? s->count : MAX_POINTS;
    for (uint32_t i = 0; i < count; i++) {
        double workers = s->replays[i].options.workers, efficiency = s->replays[i].efficiency_ratio;
        points[i] = (plot_point){workers, is_efficiency ? efficiency : workers * efficiency};
        ideal[i] = (plot_point){workers, is_efficiency ? 1 : workers};
        last = fmax(last, workers);
        highest = fmax(highest, ideal[i].y);
    }
    chart c = {.page = &f->page,
               .left = left + CHART_ROOM_LEFT,
               .top = top + 24,
               .width = (WIDTH - GAP) / 2 - CHART_ROOM_LEFT,
               .height = CHART - 24,
               .x_title = "workers"};
    axis_linear(&c.x, 0, last, 6, (axis_unit){"", 1});
    axis_linear(&c.y, 0, highest * 1.02, 5, is_efficiency ? (axis_unit){"%", 100} : (axis_unit){"", 1});
    canvas_text(&f->page, left, top + 11,
                is_efficiency ? "Efficiency: time of one worker over time of all" : "Speed-up; dashed: ideal",
                &(text_style){.size = 11.5, .color = INK_TEXT, .is_bold = true});
    chart_frame(&c);
    chart_line(&c, ideal, count, &(line_style){INK_FAINT, 1.2, true});
    chart_line(&c, points, count, &(line_style){palette_at(0), 1.6, false});
    chart_marks(&c, &(mark_series){mark_style_at(0, 5.5), points, count}, 1);
}

/* --- The page ------------------------------------------------------------------------------------------------ */

static void draw_head(figure *f) {
    const ft_model_replays *s = f->entry;
    const ft_replay *r = f->replay;
    char title[160], text[320], time[UNIT_TEXT_SIZE], path[UNIT_TEXT_SIZE], more[64] = "";
    metric_words("time_us", r->iteration_us, time);
    metric_words("time_us", r->critical_us, path);
    snprintf(title, sizeof title, "%.100s%s%.40s", s->file, s->device != NULL ? " on " : "",
             s->device != NULL ? s->device : "");
    if (f->row_total > f->row_count)
        snprintf(more, sizeof more, "; %u rows of %llu", f->row_count, (unsigned long long)f->row_total);
    snprintf(text, sizeof text, "%s, %u worker%s: %s; critical path %s (underlined); engines %.80s%s",
             r->options.mode == FT_TRAIN ? "a step of training" : "inference", r->options.workers,
             r->options.workers > 1 ? "s" : "", time, path, r->options.engines, more);
    canvas_text_fit(&f->page, MARGIN, MARGIN + 12, WIDTH, title,
                    &(text_style){.size = 15, .color = INK_TEXT, .is_bold = true});
    canvas_text_fit(&f->page, MARGIN, MARGIN + 29, WIDTH, text, &(text_style){.size = 10, .color = INK_FAINT});
}

ft_status ft_replay_plot(const char *path, const ft_model_replays *entry, ft_error *error) {
    FT_REQUIRE(error, path, entry);
    if (entry->count == 0) return ft_fail(error, FT_ERR_USAGE, "%s: there is nothing to plot", path);
    figure f = {.entry = entry, .replay = &entry->replays[entry->count - 1]};
    char label[AXIS_LABEL];
    find_rows(&f);
    find_kinds(&f);
    axis_linear(&f.axis, 0, f.replay->iteration_us, 8, axis_unit_of("time_us", label));
    double top = MARGIN + HEAD, below = top + f.row_count * ROW + AXIS, curves = below + LEGEND + GAP;
    double height = entry->count > 1 ? curves + CHART + CHART_ROOM_BELOW : below + LEGEND;
    FT_TRY(canvas_open(path, WIDTH + 2 * MARGIN, height + MARGIN, &f.page, error));
    draw_head(&f);
    draw_timeline(&f, top);
    draw_legend(&f, below);
    if (entry->count > 1) {
        draw_curve(&f, MARGIN, curves, false);
        draw_curve(&f, MARGIN + (WIDTH + GAP) / 2, curves, true);
    }
    return canvas_commit(&f.page, error);
}
