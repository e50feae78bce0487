/* report_table.c - replays as tables: a line for each number of workers, then the engines, the critical path and, on
 * request, the kernels of the last replay. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/report_values.h"
#include "report/grid.h"
#include "report/metric.h"

enum { INDENT = 2, PATH_SHOWN = 10, MAX_NOTES = 12 };

typedef struct view {
    const ft_model_replays *entry;
    const ft_replay *last;
    const ft_style *style;
    const uint32_t *chosen; /* events */
    bool is_list, has_workers;
} view;

static void put_text(const view *v, grid_cell *cell, const char *text) {
    text_fit(text != NULL && text[0] != '\0' ? text : "-", UINT32_MAX, v->style, cell->text, sizeof cell->text);
}

static void put_metric(const view *v, grid_cell *cell, const char *metric, double value) {
    char words[UNIT_TEXT_SIZE];
    metric_words(metric, value, words);
    put_text(v, cell, words);
}

static void heading(sink *out, const ft_style *style, const char *text) {
    buf_format(&out->text, "\n%s%s%s\n", tone_begin(style, TONE_TITLE), text, tone_end(style, TONE_TITLE));
}

static void write_grid(sink *out, const view *v, const grid_column *columns, uint32_t count, grid_row *row,
                       uint32_t rows) {
    grid_write(&(grid){.style = v->style,
                       .columns = columns,
                       .column_count = count,
                       .indent = INDENT,
                       .row = row,
                       .user = v,
                       .row_count = rows},
               out);
}

/* --- Replays ---------------------------------------------------------------------------------------------------- */

static void put_worker(uint32_t worker, grid_cell *cell) {
    if (worker == FT_NONE)
        snprintf(cell->text, sizeof cell->text, "all");
    else
        snprintf(cell->text, sizeof cell->text, "%u", worker);
}

static void put_replay(const void *user, uint32_t index, grid_cell *cells) {
    const view *v = user;
    replay_row row;
    replay_row_fill(v->entry, &v->entry->replays[index], &row);
    if (v->is_list) put_text(v, cells++, row.file);
    snprintf(cells++->text, GRID_CELL_SIZE, "%llu", (unsigned long long)row.workers);
    put_metric(v, cells++, "time_us", row.iteration_us);
    put_metric(v, cells++, "time_us", row.kernel_us);
    put_metric(v, cells++, "time_us", row.critical_us);
    snprintf(cells++->text, GRID_CELL_SIZE, "%.2fx", row.speedup_ratio);
    put_metric(v, cells++, "samples_per_s", row.samples_per_s);
    if (!v->has_workers) return;
    put_metric(v, cells++, "time_us", row.exchange_us);
    put_metric(v, cells++, "time_us", row.exposed_us);
    unit_ratio(row.efficiency_ratio, cells->text);
}

static void write_replays(ft_replay_report *r, const view *v) {
    static const grid_column columns[] = {
        {.title = "Model", .is_flexible = true, .is_distinct = true, .comfort = 14},
        {.title = "Workers", .is_right = true},
        {.title = "Iteration", .is_right = true},
        {.title = "Serial", .is_right = true, .drop = 1},
        {.title = "Critical path", .is_right = true, .drop = 2},
        {.title = "Speed-up", .is_right = true, .drop = 5},
        {.title = "Per s", .is_right = true, .drop = 4},
        {.title = "Exchange", .is_right = true, .drop = 3},
        {.title = "Exposed", .is_right = true},
        {.title = "Efficiency", .is_right = true},
    };
    enum { COUNT = sizeof columns / sizeof columns[0] };
    grid_column chosen[COUNT];
    uint32_t first = v->is_list ? 0 : 1, count = COUNT - first;
    memcpy(chosen, columns, sizeof chosen);
    chosen[0].min_width = v->style->width; /* as wide as possible: later models are not known yet */
    grid_write(&(grid){.style = v->style,
                       .columns = chosen + first,
                       .column_count = v->has_workers ? count : count - 3,
                       .indent = v->is_list ? 0 : INDENT,
                       .row = put_replay,
                       .user = v,
                       .row_count = v->entry->count,
                       .has_no_heading = v->is_list && r->replay_count > 0},
               &r->out);
}

/* --- Engines ---------------------------------------------------------------------------------------------------- */

static void put_engine(const void *user, uint32_t index, grid_cell *cells) {
    const view *v = user;
    engine_row row;
    engine_row_fill(&v->last->engines[index], v->last->engines[index].worker, &row);
    put_worker(row.worker, &cells[0]);
    put_text(v, &cells[1], row.engine);
    snprintf(cells[2].text, sizeof cells[2].text, "%llu", (unsigned long long)row.lanes);
    snprintf(cells[3].text, sizeof cells[3].text, "%llu", (unsigned long long)row.kernel_count);
    put_metric(v, &cells[4], "time_us", row.busy_us);
    unit_ratio(row.use_ratio, cells[5].text);
    put_metric(v, &cells[6], "time_us", row.gap_us);
}

/* All workers are alike: shows the first, then the network. */
static void write_engines(sink *out, const view *v) {
    static const grid_column columns[] = {
        {.title = "Worker", .is_right = true}, {.title = "Engine", .is_flexible = true},
        {.title = "Lanes", .is_right = true},  {.title = "Kernels", .is_right = true},
        {.title = "Busy", .is_right = true},   {.title = "Use", .is_right = true},
        {.title = "Gaps", .is_right = true},
    };
    heading(out, v->style, v->last->options.workers > 1 ? "Engines of the first worker, and the network" : "Engines");
    write_grid(out, v, columns, sizeof columns / sizeof columns[0], put_engine, v->last->engine_count);
}

/* --- Kernels ---------------------------------------------------------------------------------------------------- */

static const grid_column event_columns[] = {
    {.title = "Start", .is_right = true},
    {.title = "Time", .is_right = true},
    {.title = "Share", .is_right = true, .drop = 3},
    {.title = "Phase", .drop = 4},
    {.title = "Worker", .is_right = true, .drop = 5},
    {.title = "Engine", .is_flexible = true, .drop = 2},
    {.title = "Kernel", .is_flexible = true, .comfort = 14},
    {.title = "Name", .is_flexible = true, .is_distinct = true, .comfort = 14},
    {.title = "Critical", .drop = 1},
};

static void put_event(const void *user, uint32_t index, grid_cell *cells) {
    const view *v = user;
    event_row row;
    event_copy copy = event_first(v->last, v->chosen[index]);
    event_row_fill(v->last, &copy, &row);
    put_metric(v, &cells[0], "time_us", row.start_us);
    put_metric(v, &cells[1], "time_us", row.time_us);
    unit_ratio(row.share_ratio, cells[2].text);
    put_text(v, &cells[3], row.phase);
    put_worker(row.worker, &cells[4]);
    put_text(v, &cells[5], row.engine);
    put_text(v, &cells[6], row.type);
    put_text(v, &cells[7], row.name);
    put_text(v, &cells[8], row.is_critical ? "yes" : "");
}

static void write_events(ft_replay_report *r, const view *v, const char *title, bool is_critical, uint32_t top) {
    view listed = *v;
    uint32_t count = 0, *chosen = select_events(v->last, is_critical, top, &count);
    if (chosen == NULL) {
        r->out.text.failed = true;
        return;
    }
    listed.chosen = chosen;
    heading(&r->out, v->style, title);
    write_grid(&r->out, &listed, event_columns, sizeof event_columns / sizeof event_columns[0] - (is_critical ? 1 : 0),
               put_event, count);
    free(chosen);
}

static void write_path(ft_replay_report *r, const view *v) {
    const ft_replay *last = v->last;
    uint32_t top = r->style.top > 0 ? r->style.top : PATH_SHOWN;
    char length[UNIT_TEXT_SIZE], title[160];
    metric_words("time_us", last->critical_us, length);
    snprintf(title, sizeof title, "Critical path: %u of %llu kernels, %s; its longest", last->critical_count,
             (unsigned long long)last->total_event_count, length);
    write_events(r, v, title, true, top);
}

/* --- Heading and notes ------------------------------------------------------------------------------------------ */

static void write_head(sink *out, const view *v) {
    const ft_model_replays *s = v->entry;
    const ft_replay_options *o = &v->last->options;
    char title[GRID_CELL_SIZE];
    buf about = {0};
    text_fit(s->file, v->style->width, v->style, title, sizeof title);
    buf_format(&out->text, "%s%s%s%s%s\n", tone_begin(v->style, TONE_TITLE), title, s->device != NULL ? " on " : "",
               s->device != NULL ? s->device : "", tone_end(v->style, TONE_TITLE));
    buf_text(&about, o->mode == FT_TRAIN ? "a step of training" : "inference");
    if (s->batch > 0) buf_format(&about, ", batch %lld%s", (long long)s->batch, o->workers > 1 ? " a worker" : "");
    buf_format(&about, "; engines %s", o->engines);
    if (o->gaps != NULL) buf_format(&about, ", gaps %s us", o->gaps);
    buf_format(&about, "; times from %s", s->times_from != NULL ? s->times_from : "the flow");
    if (about.failed) out->text.failed = true;
    text_paragraph(about.data != NULL ? about.data : "", INDENT, v->style, out);
    buf_char(&out->text, '\n');
    buf_free(&about);
}

static void write_notes(sink *out, const view *v) {
    for (uint32_t i = 0; i < MAX_NOTES; i++) {
        const char *note = replay_note(v->entry, v->last, i);
        if (note == NULL) return;
        if (i == 0) buf_char(&out->text, '\n');
        text_paragraph(note, INDENT, v->style, out);
    }
}

void replay_table_model(ft_replay_report *r, const ft_model_replays *entry) {
    view v = {.entry = entry,
              .last = &entry->replays[entry->count - 1],
              .style = &r->style.style,
              .is_list = r->style.is_list};
    v.has_workers = v.last->options.workers > 1;
    if (v.is_list) {
        write_replays(r, &v);
        return;
    }
    if (r->replay_count > 0) buf_char(&r->out.text, '\n');
    write_head(&r->out, &v);
    write_replays(r, &v);
    write_engines(&r->out, &v);
    write_path(r, &v);
    if (r->style.has_kernels) write_events(r, &v, "When kernels run", false, r->style.top);
    write_notes(&r->out, &v);
}
