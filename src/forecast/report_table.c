/* report_table.c - results as a table: one line for each device and batch, rounded and fitted to the width.
 * The lists below it are in report_table_more.c and report_layers.c.
 *
 * Facts that all results of a model share (mode, optimiser, type) stand once, above the table. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/report.h"
#include "report/grid.h"
#include "report/metric.h"

enum { INDENT = 2, MAX_PROVENANCE = sizeof "extrapolated" - 1 };

typedef struct view {
    const ft_model_results *entry;
    const model_facts *facts;
    const ft_style *style;
    int64_t samples;
    bool is_list, has_cost;
    const uint8_t *columns; /* those that are written, in the order of column_id; COLUMN_COUNT ends the list */
} view;

/* --- Cells --------------------------------------------------------------------------------------------------- */

typedef enum column_id {
    COLUMN_MODEL,
    COLUMN_DEVICE,
    COLUMN_TYPE,
    COLUMN_BATCH,
    COLUMN_TIME,
    COLUMN_TIME_INTERVAL,
    COLUMN_RUN,
    COLUMN_RUN_INTERVAL,
    COLUMN_COST,
    COLUMN_PER_SAMPLE,
    COLUMN_RATE,
    COLUMN_MEMORY,
    COLUMN_MEMORY_INTERVAL,
    COLUMN_PROVENANCE,
    COLUMN_BOUND,
    COLUMN_COUNT
} column_id;

static const grid_column all_columns[COLUMN_COUNT] = {
    [COLUMN_MODEL] = {.title = "Model", .is_flexible = true, .is_distinct = true, .comfort = 14},
    [COLUMN_DEVICE] = {.title = "Device", .is_flexible = true, .is_distinct = true, .comfort = 18},
    [COLUMN_TYPE] = {.title = "Type", .drop = 9},
    [COLUMN_BATCH] = {.title = "Batch", .is_right = true},
    [COLUMN_TIME] = {.title = "Time", .is_right = true, .min_width = 7},
    [COLUMN_TIME_INTERVAL] = {.title = "90 % interval", .is_right = true, .min_width = 14},
    [COLUMN_RUN] = {.title = "Run", .is_right = true, .min_width = 7},
    [COLUMN_RUN_INTERVAL] = {.title = "90 % int. of Run", .is_right = true, .min_width = 15},
    [COLUMN_COST] = {.title = "Cost", .is_right = true, .min_width = 6},
    [COLUMN_PER_SAMPLE] = {.title = "A sample", .is_right = true, .min_width = 7, .drop = 8},
    [COLUMN_RATE] = {.title = "Per s", .is_right = true, .min_width = 6, .drop = 2},
    [COLUMN_MEMORY] = {.title = "Memory", .is_right = true, .min_width = 9},
    [COLUMN_MEMORY_INTERVAL] = {.title = "90 % interval", .is_right = true, .min_width = 17, .drop = 7},
    [COLUMN_PROVENANCE] = {.title = "Provenance", .min_width = 10},
    [COLUMN_BOUND] = {.title = "Bound", .min_width = 7, .drop = 5},
};

static void put_text(grid_cell *cell, const char *text, const ft_style *style) {
    text_fit(text != NULL && text[0] != '\0' ? text : "-", UINT32_MAX, style, cell->text, sizeof cell->text);
}

static void put_metric(grid_cell *cell, const char *metric, double value, const ft_style *style) {
    char words[UNIT_TEXT_SIZE];
    metric_words(metric, value, words);
    put_text(cell, words, style);
}

static void put_number(grid_cell *cell, double value, const ft_style *style) {
    char words[UNIT_TEXT_SIZE] = "";
    if (!isnan(value)) unit_number(value, words);
    put_text(cell, words, style);
}

static void put_interval(grid_cell *cell, const char *metric, double lo, double hi, const ft_style *style) {
    char words[INTERVAL_TEXT_SIZE];
    metric_interval(metric, lo, hi, words);
    put_text(cell, words, style);
}

/* The provenance of the time: "learned", or, where it is not all of one kind, "61 % learned". Whole percents; never
 * "100 %" for less than all. Lists, whose columns are fixed before all rows are known, leave the share out. */
static void put_provenance(grid_cell *cell, const ft_result *result, bool has_share) {
    const ft_metric_result *time = ft_result_time(result);
    assert(time->provenance <= FT_ASSUMED);
    double share = time->shares[time->provenance];
    const char *name = ft_provenance_name(time->provenance);
    if (isnan(time->value))
        snprintf(cell->text, sizeof cell->text, "-");
    else if (share >= 1 || !has_share)
        snprintf(cell->text, sizeof cell->text, "%s", name);
    else
        snprintf(cell->text, sizeof cell->text, "%s%.0f %% %s", share >= 0.995 ? ">" : "",
                 share >= 0.995 ? 99.0 : share * 100, name);
}

/* The models of a data set share a file: their names are added. */
static void put_title(char *title, size_t size, const ft_model_results *entry) {
    if (ft_graph_format(entry->model) == FT_FORMAT_CG)
        snprintf(title, size, "%s: %s", entry->file, ft_graph_name(entry->model));
    else
        snprintf(title, size, "%s", entry->file);
}

static void put_column(const view *v, const ft_result *result, const result_row *row, column_id id, grid_cell *cell) {
    char text[GRID_CELL_SIZE];
    switch (id) {
    case COLUMN_MODEL:
        put_title(text, sizeof text, v->entry);
        put_text(cell, text, v->style);
        break;
    case COLUMN_DEVICE:
        put_text(cell, row->device, v->style);
        break;
    case COLUMN_TYPE:
        put_text(cell, row->dtype, v->style);
        break;
    case COLUMN_BATCH:
        snprintf(cell->text, sizeof cell->text, "%llu", (unsigned long long)row->batch);
        break;
    case COLUMN_TIME:
        put_metric(cell, "time_us", row->time_us, v->style);
        break;
    case COLUMN_TIME_INTERVAL:
        put_interval(cell, "time_us", row->time_lo_us, row->time_hi_us, v->style);
        break;
    case COLUMN_RUN:
        put_metric(cell, "run_us", row->run_s * 1e6, v->style);
        break;
    case COLUMN_RUN_INTERVAL:
        put_interval(cell, "run_us", row->run_lo_s * 1e6, row->run_hi_s * 1e6, v->style);
        break;
    case COLUMN_COST:
        put_number(cell, v->samples > 0 ? row->run_cost : row->million_samples_cost, v->style);
        break;
    case COLUMN_PER_SAMPLE:
        put_metric(cell, "time_us", row->time_per_sample_us, v->style);
        break;
    case COLUMN_RATE:
        put_metric(cell, "samples_per_s", row->samples_per_s, v->style);
        break;
    case COLUMN_MEMORY:
        put_metric(cell, "peak_bytes", row->peak_bytes, v->style);
        break;
    case COLUMN_MEMORY_INTERVAL:
        put_interval(cell, "peak_bytes", row->peak_lo_bytes, row->peak_hi_bytes, v->style);
        break;
    case COLUMN_BOUND:
        put_text(cell, row->bound, v->style);
        break;
    case COLUMN_PROVENANCE:
        put_provenance(cell, result, !v->is_list);
        break;
    case COLUMN_COUNT:
        break;
    }
}

static void put_result(const void *user, uint32_t row, grid_cell *cells) {
    const view *v = user;
    const ft_result *result = &v->entry->results->items[row];
    result_row values;
    result_row_fill(v->entry, v->facts, result, v->samples, &values);
    if (v->has_cost) result_row_add_cost(&result->request, &values);
    for (uint32_t i = 0; v->columns[i] != COLUMN_COUNT; i++) put_column(v, result, &values, v->columns[i], &cells[i]);
}

/* --- The grid ------------------------------------------------------------------------------------------------ */

static bool has_one_type(const ft_results *results) {
    for (uint32_t i = 1; i < results->count; i++)
        if (results->items[i].request.dtype != results->items[0].request.dtype) return false;
    return true;
}

static void write_grid(report_writer *w, const ft_model_results *entry, const model_facts *facts) {
    grid_column columns[COLUMN_COUNT];
    uint8_t ids[COLUMN_COUNT + 1];
    uint32_t count = 0;
    bool is_list = w->style.is_list;
    for (uint32_t id = 0; id < COLUMN_COUNT; id++) {
        if (id == COLUMN_MODEL && !is_list) continue;
        if (id == COLUMN_TYPE && !is_list && has_one_type(entry->results)) continue;
        if ((id == COLUMN_RUN || id == COLUMN_RUN_INTERVAL) && w->style.samples == 0) continue;
        if (id == COLUMN_COST && !w->style.has_cost) continue;
        columns[count] = all_columns[id];
        if (id == COLUMN_RUN_INTERVAL && w->style.has_cost) columns[count].drop = 1;
        if (id == COLUMN_COST && w->style.samples == 0) columns[count].title = "Cost/1 M";
        if (is_list && id == COLUMN_MODEL) /* as wide as the page allows: later models may have longer names */
            columns[count].min_width = w->style.style.width;
        if (is_list && id == COLUMN_PROVENANCE) columns[count].min_width = MAX_PROVENANCE; /* for the same reason */
        if (id == COLUMN_TIME_INTERVAL && w->style.samples > 0) columns[count].drop = 1;   /* the run has its own */
        ids[count++] = (uint8_t)id;
    }
    assert(count <= COLUMN_COUNT);
    ids[count] = COLUMN_COUNT;
    const view v = {entry, facts, &w->style.style, w->style.samples, is_list, w->style.has_cost, ids};
    grid_write(&(grid){.style = &w->style.style,
                       .columns = columns,
                       .column_count = count,
                       .indent = is_list ? 0 : INDENT,
                       .row = put_result,
                       .user = &v,
                       .row_count = entry->results->count,
                       .has_no_heading = is_list && w->model_count > 0},
               &w->out);
}

/* --- Above it ------------------------------------------------------------------------------------------------ */

static void write_heading(sink *out, const ft_style *style, const ft_model_results *entry) {
    char whole[GRID_CELL_SIZE], title[GRID_CELL_SIZE];
    put_title(whole, sizeof whole, entry);
    text_fit(whole, style->width, style, title, sizeof title);
    buf_format(&out->text, "%s%s%s\n", tone_begin(style, TONE_TITLE), title, tone_end(style, TONE_TITLE));
}

static void write_facts(sink *out, const ft_model_results *entry, const model_facts *facts) {
    const ft_results *results = entry->results;
    char params[UNIT_TEXT_SIZE], macs[UNIT_TEXT_SIZE];
    unit_count(facts->params, params);
    metric_words("macs", facts->macs_per_sample, macs);
    buf_format(&out->text, "%*s%s parameters", INDENT, "", params);
    if (macs[0] != '\0') buf_format(&out->text, ", %s MACs a sample", macs);
    if (results->count > 0) {
        const ft_request *request = &results->items[0].request;
        buf_text(&out->text, request->mode == FT_TRAIN ? "; training with " : "; inference");
        if (request->mode == FT_TRAIN) buf_text(&out->text, ft_optimizer_name(request->optimizer));
        if (has_one_type(results)) buf_format(&out->text, ", %s", ft_dtype_name(request->dtype));
    }
    buf_text(&out->text, "\n\n");
}

void report_add_table(report_writer *w, const ft_model_results *entry, const model_facts *facts) {
    const ft_style *style = &w->style.style;
    const ft_results *results = entry->results;
    if (w->style.is_list) {
        write_grid(w, entry, facts);
        return;
    }
    if (w->model_count > 0) buf_char(&w->out.text, '\n');
    write_heading(&w->out, style, entry);
    write_facts(&w->out, entry, facts);
    write_grid(w, entry, facts);
    report_table_memory(&w->out, style, results);
    report_table_utilisation(&w->out, style, results);
    report_table_others(&w->out, style, results);
    for (uint32_t i = 0; w->style.has_layers && i < results->count; i++)
        report_table_layers(&w->out, style, w->style.top, entry, &results->items[i]);
    report_table_notes(&w->out, style, results);
}
