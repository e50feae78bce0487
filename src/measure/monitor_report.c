/* monitor_report.c - samples as CSV, and their summary as table, JSON and CSV. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "measure/monitor.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

static void csv_number(buf *out, double value) {
    char text[DOUBLE_TEXT_SIZE] = "";
    if (isfinite(value)) double_text(value, text);
    buf_format(out, ",%s", text);
}

static void csv_values(buf *out, const ft_monitor_sample *s) {
    csv_number(out, s->util_ratio);
    csv_number(out, s->memory_util_ratio);
    csv_number(out, s->memory_bytes);
    csv_number(out, s->power_w);
    csv_number(out, s->clock_hz);
}

const char *ft_monitor_csv_head(void) {
    return "time_s,device,util_ratio,memory_util_ratio,memory_bytes,power_w,clock_hz\n";
}

ft_status ft_monitor_csv_sample(FILE *stream, const ft_monitor *monitor, double seconds,
                                const ft_monitor_sample *samples, ft_error *error) {
    FT_REQUIRE(error, stream, monitor, samples);
    buf lines = {0};
    for (uint32_t i = 0; i < monitor->count; i++) {
        buf_format(&lines, "%.3f,%s", seconds, monitor->devices[i].id);
        csv_values(&lines, &samples[i]);
        buf_char(&lines, '\n');
    }
    ft_status status = lines.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && (fwrite(lines.data, 1, lines.length, stream) != lines.length || fflush(stream) != 0))
        status = ft_fail_file(error, NULL, "cannot write", errno);
    buf_free(&lines);
    return status;
}

/* --- Summary ----------------------------------------------------------------------------------------------------- */

typedef struct document {
    const ft_style *style;
    const ft_monitor *monitor;
    ft_monitor_summary summaries[FT_MONITOR_DEVICES];
    bool is_short;
} document;

static void put_metric(grid_cell *cell, const char *metric, double value) {
    char text[UNIT_TEXT_SIZE];
    metric_words(metric, value, text);
    snprintf(cell->text, sizeof cell->text, "%s", text);
}

static void put_power(grid_cell *cell, double watts) {
    if (!isnan(watts)) snprintf(cell->text, sizeof cell->text, "%.1f W", watts);
}

static void device_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const ft_monitor_summary *s = &d->summaries[row];
    snprintf(cells[0].text, sizeof cells[0].text, "%s", d->monitor->devices[row].id);
    text_fit(d->monitor->devices[row].name, UINT32_MAX, d->style, cells[1].text, sizeof cells[1].text);
    put_metric(&cells[2], "util_ratio", s->average.util_ratio);
    put_metric(&cells[3], "util_ratio", s->peak.util_ratio);
    put_metric(&cells[4], "util_ratio", s->average.memory_util_ratio);
    put_metric(&cells[5], "memory_bytes", s->average.memory_bytes);
    put_metric(&cells[6], "memory_bytes", s->peak.memory_bytes);
    put_power(&cells[7], s->average.power_w);
    snprintf(cells[8].text, sizeof cells[8].text, "%u", s->samples);
}

static void write_table(const document *d, sink *out) {
    static const grid_column columns[] = {
        {.title = "Device"},
        {.title = "Name", .is_flexible = true},
        {.title = "Busy", .is_right = true},
        {.title = "Peak", .is_right = true},
        {.title = "Memory busy", .is_right = true, .drop = 3},
        {.title = "Memory", .is_right = true},
        {.title = "Peak", .is_right = true},
        {.title = "Power", .is_right = true, .drop = 1},
        {.title = "Samples", .is_right = true, .drop = 2},
    };
    grid_write(&(grid){.style = d->style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .row = device_row,
                       .user = d,
                       .row_count = d->monitor->count},
               out);
}

static void json_device(const document *d, uint32_t index, json_writer *j) {
    const ft_monitor_summary *s = &d->summaries[index];
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_string(j, "device", d->monitor->devices[index].id);
    jsonw_pair_string(j, "name", d->monitor->devices[index].name);
    jsonw_pair_double(j, "memory_total_bytes", d->monitor->devices[index].memory_bytes);
    jsonw_pair_uint(j, "samples", s->samples);
    jsonw_pair_double(j, "util_ratio", s->average.util_ratio);
    jsonw_pair_double(j, "peak_util_ratio", s->peak.util_ratio);
    jsonw_pair_double(j, "memory_util_ratio", s->average.memory_util_ratio);
    jsonw_pair_double(j, "peak_memory_util_ratio", s->peak.memory_util_ratio);
    jsonw_pair_double(j, "average_bytes", s->average.memory_bytes);
    jsonw_pair_double(j, "peak_bytes", s->peak.memory_bytes);
    jsonw_pair_double(j, "power_w", s->average.power_w);
    jsonw_pair_double(j, "peak_power_w", s->peak.power_w);
    jsonw_pair_double(j, "clock_hz", s->average.clock_hz);
    jsonw_close(j);
}

static void write_json(const document *d, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_double(&j, "warm_up_s", d->is_short ? 0 : d->monitor->options.warm_up_s);
    jsonw_key(&j, "devices");
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < d->monitor->count; i++) json_device(d, i, &j);
    jsonw_close(&j);
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(const document *d, sink *out) {
    buf_text(&out->text, "device,name,samples,util_ratio,memory_util_ratio,average_bytes,power_w,clock_hz,"
                         "peak_util_ratio,peak_memory_util_ratio,peak_bytes,peak_power_w,peak_clock_hz\n");
    for (uint32_t i = 0; i < d->monitor->count; i++) {
        buf_format(&out->text, "%s,", d->monitor->devices[i].id);
        csv_cell(&out->text, d->monitor->devices[i].name);
        buf_format(&out->text, ",%u", d->summaries[i].samples);
        csv_values(&out->text, &d->summaries[i].average);
        csv_values(&out->text, &d->summaries[i].peak);
        buf_char(&out->text, '\n');
    }
}

ft_status ft_report_monitor(FILE *stream, const ft_style *style, const ft_monitor *monitor, ft_error *error) {
    FT_REQUIRE(error, stream, style, monitor);
    FT_TRY(style_check(style, error));
    document d = {.style = style, .monitor = monitor};
    sink out = {.stream = stream};
    FT_TRY(ft_monitor_summarize(monitor, d.summaries, &d.is_short, error));
    if (style->output == FT_TABLE) write_table(&d, &out);
    if (style->output == FT_JSON) write_json(&d, &out);
    if (style->output == FT_CSV) write_csv(&d, &out);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
