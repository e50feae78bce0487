/* report.c - the summary of traces as table, JSON and CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"
#include "trace/summary.h"

typedef struct document {
    const summary *s;
    const ft_style *style;
    uint32_t top;               /* items that are listed; 0: all */
    const summary_items *shown; /* of the grid that is written */
} document;

static uint32_t listed(const document *d, const summary_items *items) {
    return d->top == 0 || items->count < d->top ? items->count : d->top;
}

static double share(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

static double occupancy(const summary_item *item) {
    return share(item->occupied_us, item->occupancy_us);
}

static const char *device_name(const summary_device *d, char text[static 32]) {
    snprintf(text, 32, "device %d", d->number);
    return d->name != NULL ? d->name : text;
}

/* --- Table --------------------------------------------------------------------------------------------------- */

static void put(const document *d, grid_cell *cell, const char *text) {
    text_fit(text, UINT32_MAX, d->style, cell->text, sizeof cell->text);
}

static void put_metric(grid_cell *cell, const char *metric, double value) {
    char text[UNIT_TEXT_SIZE];
    metric_words(metric, value, text);
    snprintf(cell->text, sizeof cell->text, "%s", text);
}

static void put_count(grid_cell *cell, uint64_t count) {
    snprintf(cell->text, sizeof cell->text, "%llu", (unsigned long long)count);
}

static void device_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const summary_device *g = &d->s->devices[row];
    char name[32];
    put(d, &cells[0], device_name(g, name));
    put_count(&cells[1], g->kernels);
    put_metric(&cells[2], "time_us", g->kernel_us);
    put_metric(&cells[3], "time_us", g->copy_us);
    put_metric(&cells[4], "busy_ratio", share(g->busy_us, g->span_us));
    put_count(&cells[5], g->gaps);
    put_metric(&cells[6], "time_us", g->late_us);
    put_metric(&cells[7], "time_us", g->waiting_us);
    put_metric(&cells[8], "time_us", g->launch_us);
}

static void step_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const summary_step *step = &d->s->steps[row];
    char number[UNIT_TEXT_SIZE];
    const char *slash = strrchr(d->s->traces[row]->path, '/');
    put(d, &cells[0], slash != NULL ? slash + 1 : d->s->traces[row]->path);
    put_count(&cells[1], step->steps);
    if (step->steps == 0) return;
    put_metric(&cells[2], "time_us", step->time_us);
    put_metric(&cells[3], "time_us", step->kernel_us);
    unit_fixed(step->kernels, 1, number);
    put(d, &cells[4], number);
}

static void item_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const summary_item *item = &d->shown->items[row];
    put(d, &cells[0], item->name);
    put_count(&cells[1], item->count);
    put_metric(&cells[2], "time_us", item->time_us);
    put_metric(&cells[3], "share_ratio", share(item->time_us, d->s->kernel_us));
    put_metric(&cells[4], "time_us", item->time_us / (double)item->count);
    put_metric(&cells[5], "occupancy_ratio", occupancy(item));
}

static void write_grid(const document *d, const grid_column *columns, uint32_t column_count, grid_row *row,
                       uint32_t row_count, sink *out) {
    buf_char(&out->text, '\n');
    grid_write(&(grid){.style = d->style,
                       .columns = columns,
                       .column_count = column_count,
                       .indent = 2,
                       .row = row,
                       .user = d,
                       .row_count = row_count},
               out);
}

static void write_items(document *d, const summary_items *items, const char *title, sink *out) {
    const grid_column columns[] = {
        {.title = title, .is_flexible = true},
        {.title = "Kernels", .is_right = true},
        {.title = "Time", .is_right = true},
        {.title = "Share", .is_right = true},
        {.title = "Mean", .is_right = true, .drop = 1},
        {.title = "Occupancy", .is_right = true, .drop = 2},
    };
    d->shown = items;
    write_grid(d, columns, sizeof columns / sizeof columns[0], item_row, listed(d, items), out);
    if (listed(d, items) < items->count)
        buf_format(&out->text, "  %u more; --top 0 lists all\n", items->count - listed(d, items));
}

static void write_table(document *d, sink *out) {
    static const grid_column steps[] = {
        {.title = "Trace", .is_flexible = true},       {.title = "Steps", .is_right = true},
        {.title = "Median", .is_right = true},         {.title = "Kernel time a step", .is_right = true},
        {.title = "Kernels a step", .is_right = true},
    };
    static const grid_column devices[] = {
        {.title = "Device", .is_flexible = true},
        {.title = "Kernels", .is_right = true},
        {.title = "Time", .is_right = true},
        {.title = "Copies", .is_right = true, .drop = 2},
        {.title = "Busy", .is_right = true},
        {.title = "Gaps", .is_right = true},
        {.title = "Late", .is_right = true},
        {.title = "Waiting", .is_right = true, .drop = 1},
        {.title = "Launch", .is_right = true, .drop = 3},
    };
    char time[UNIT_TEXT_SIZE];
    const summary *s = d->s;
    metric_words("time_us", s->kernel_us, time);
    buf_format(&out->text, "%s%llu kernels, %s%s\n", tone_begin(d->style, TONE_TITLE),
               (unsigned long long)s->kernel_count, time, tone_end(d->style, TONE_TITLE));
    if (s->unlinked > 0)
        buf_format(&out->text, "  %llu kernels cannot be connected to an operator\n", (unsigned long long)s->unlinked);
    if (s->shapeless > 0)
        buf_format(&out->text, "  %llu kernels have an operator without shapes (record_shapes=True records them)\n",
                   (unsigned long long)s->shapeless);
    write_grid(d, steps, sizeof steps / sizeof steps[0], step_row, s->trace_count, out);
    if (s->device_count > 0)
        write_grid(d, devices, sizeof devices / sizeof devices[0], device_row, s->device_count, out);
    if (s->operators.count > 0) write_items(d, &s->operators, "Operator", out);
    if (s->kernels.count > 0) write_items(d, &s->kernels, "Kernel", out);
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static void json_steps(const document *d, json_writer *j) {
    jsonw_key(j, "traces");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < d->s->trace_count; i++) {
        const summary_step *step = &d->s->steps[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "file", d->s->traces[i]->path);
        jsonw_key(j, "rank");
        if (d->s->traces[i]->rank >= 0)
            jsonw_int(j, d->s->traces[i]->rank);
        else
            jsonw_null(j);
        jsonw_pair_uint(j, "steps", step->steps);
        jsonw_pair_double(j, "step_median_us", step->time_us);
        jsonw_pair_double(j, "kernel_time_per_step_us", step->steps > 0 ? step->kernel_us : NAN);
        jsonw_pair_double(j, "kernels_per_step", step->steps > 0 ? step->kernels : NAN);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void json_devices(const document *d, json_writer *j) {
    jsonw_key(j, "devices");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < d->s->device_count; i++) {
        const summary_device *g = &d->s->devices[i];
        char name[32];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_uint(j, "trace", g->trace);
        jsonw_pair_string(j, "device", device_name(g, name));
        jsonw_pair_uint(j, "kernels", g->kernels);
        jsonw_pair_double(j, "kernel_time_us", g->kernel_us);
        jsonw_pair_uint(j, "copies", g->copies);
        jsonw_pair_double(j, "copy_time_us", g->copy_us);
        jsonw_pair_double(j, "span_us", g->span_us);
        jsonw_pair_double(j, "busy_us", g->busy_us);
        jsonw_pair_double(j, "busy_ratio", share(g->busy_us, g->span_us));
        jsonw_pair_uint(j, "gaps", g->gaps);
        jsonw_pair_uint(j, "late_gaps", g->late_gaps);
        jsonw_pair_double(j, "late_us", g->late_us);
        jsonw_pair_double(j, "waiting_us", g->waiting_us);
        jsonw_pair_double(j, "launch_median_us", g->launch_us);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void json_items(const document *d, const char *key, const summary_items *items, json_writer *j) {
    jsonw_key(j, key);
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < listed(d, items); i++) {
        const summary_item *item = &items->items[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "name", item->name);
        if (items == &d->s->operators) jsonw_pair_uint(j, "calls", item->calls);
        jsonw_pair_uint(j, "kernels", item->count);
        jsonw_pair_double(j, "time_us", item->time_us);
        jsonw_pair_double(j, "share_ratio", share(item->time_us, d->s->kernel_us));
        jsonw_pair_double(j, "occupancy_ratio", occupancy(item));
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_json(const document *d, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_uint(&j, "kernels", d->s->kernel_count);
    jsonw_pair_double(&j, "kernel_time_us", d->s->kernel_us);
    jsonw_pair_uint(&j, "kernels_without_operator", d->s->unlinked);
    jsonw_pair_uint(&j, "kernels_without_shapes", d->s->shapeless);
    json_steps(d, &j);
    json_devices(d, &j);
    json_items(d, "by_operator", &d->s->operators, &j);
    json_items(d, "by_kernel", &d->s->kernels, &j);
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void csv_number(double value, sink *out) {
    char text[DOUBLE_TEXT_SIZE] = "";
    if (isfinite(value)) double_text(value, text);
    buf_format(&out->text, ",%s", text);
}

static void csv_items(const document *d, const char *kind, const summary_items *items, sink *out) {
    for (uint32_t i = 0; i < listed(d, items); i++) {
        const summary_item *item = &items->items[i];
        buf_format(&out->text, "%s,", kind);
        csv_cell(&out->text, item->name);
        buf_format(&out->text, ",%llu", (unsigned long long)item->count);
        csv_number(item->time_us, out);
        csv_number(share(item->time_us, d->s->kernel_us), out);
        csv_number(occupancy(item), out);
        buf_text(&out->text, "\n");
    }
}

/* A device's ratio is the share of the time in which it is busy. */
static void write_csv(const document *d, sink *out) {
    buf_text(&out->text, "kind,name,kernels,time_us,share_ratio,occupancy_ratio\n");
    for (uint32_t i = 0; i < d->s->device_count; i++) {
        const summary_device *g = &d->s->devices[i];
        char name[32];
        buf_text(&out->text, "device,");
        csv_cell(&out->text, device_name(g, name));
        buf_format(&out->text, ",%llu", (unsigned long long)g->kernels);
        csv_number(g->kernel_us, out);
        csv_number(share(g->busy_us, g->span_us), out);
        buf_text(&out->text, ",\n");
    }
    csv_items(d, "operator", &d->s->operators, out);
    csv_items(d, "kernel", &d->s->kernels, out);
}

ft_status ft_report_trace_summary(FILE *stream, const ft_style *style, const ft_trace *const *traces, uint32_t count,
                                  const ft_trace_summary_options *options, ft_error *error) {
    FT_REQUIRE(error, stream, style, traces);
    FT_TRY(style_check(style, error));
    for (uint32_t i = 0; i < count; i++)
        if (traces[i] == NULL) return ft_fail(error, FT_ERR_USAGE, "ft_report_trace_summary: trace %u is NULL", i);
    summary s;
    sink out = {.stream = stream};
    ft_status status = summary_make(traces, count, &s, error);
    if (status == FT_OK) {
        document d = {.s = &s, .style = style, .top = options != NULL ? options->top : 0};
        if (style->output == FT_TABLE) write_table(&d, &out);
        if (style->output == FT_JSON) write_json(&d, &out);
        if (style->output == FT_CSV) write_csv(&d, &out);
        status = sink_flush(&out, error);
    }
    sink_free(&out);
    summary_free(&s);
    return status;
}
