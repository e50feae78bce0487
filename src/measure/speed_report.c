/* speed_report.c - bandwidth and peak rates as table, JSON, CSV and data sheet. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "measure/measure.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

static void put_bandwidth(grid_cell *cell, double bytes_per_s) {
    snprintf(cell->text, sizeof cell->text, "%.1f GB/s", bytes_per_s / 1e9);
}

static void point_row(const void *user, uint32_t row, grid_cell *cells) {
    const ft_machine_speed *s = user;
    char text[UNIT_TEXT_SIZE];
    metric_words("set_bytes", (double)s->points[row].bytes, text);
    snprintf(cells[0].text, sizeof cells[0].text, "%s", text);
    put_bandwidth(&cells[1], s->points[row].read_bytes_per_s);
    put_bandwidth(&cells[2], s->points[row].write_bytes_per_s);
    put_bandwidth(&cells[3], s->points[row].copy_bytes_per_s);
}

static void write_table(const ft_machine_speed *s, const ft_style *style, sink *out) {
    static const grid_column columns[] = {
        {.title = "Data", .is_right = true},
        {.title = "Read", .is_right = true},
        {.title = "Write", .is_right = true},
        {.title = "Copy", .is_right = true},
    };
    buf_format(&out->text, "%u thread%s, %s: float32 %.1f GFLOP/s, float64 %.1f GFLOP/s\n\n", s->threads,
               s->threads == 1 ? "" : "s", s->instructions, s->peak_float32_flops / 1e9, s->peak_float64_flops / 1e9);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .row = point_row,
                       .user = s,
                       .row_count = s->count},
               out);
}

static void write_json(const ft_machine_speed *s, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_uint(&j, "threads", s->threads);
    jsonw_pair_string(&j, "instructions", s->instructions);
    jsonw_pair_double(&j, "peak_float32_flops", s->peak_float32_flops);
    jsonw_pair_double(&j, "peak_float64_flops", s->peak_float64_flops);
    jsonw_pair_double(&j, "l2_bytes", s->l2_bytes);
    jsonw_pair_double(&j, "cache_bytes", s->cache_bytes);
    jsonw_key(&j, "bandwidth");
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < s->count; i++) {
        jsonw_open_object(&j, JSON_LINE);
        jsonw_pair_uint(&j, "bytes", s->points[i].bytes);
        jsonw_pair_double(&j, "read_bytes_per_s", s->points[i].read_bytes_per_s);
        jsonw_pair_double(&j, "write_bytes_per_s", s->points[i].write_bytes_per_s);
        jsonw_pair_double(&j, "copy_bytes_per_s", s->points[i].copy_bytes_per_s);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(const ft_machine_speed *s, sink *out) {
    buf_text(&out->text, "bytes,read_bytes_per_s,write_bytes_per_s,copy_bytes_per_s\n");
    for (uint32_t i = 0; i < s->count; i++)
        buf_format(&out->text, "%llu,%.0f,%.0f,%.0f\n", (unsigned long long)s->points[i].bytes,
                   s->points[i].read_bytes_per_s, s->points[i].write_bytes_per_s, s->points[i].copy_bytes_per_s);
}

static ft_status check_speed(const ft_machine_speed *s, ft_error *error) {
    if (s->count > 0 && s->count <= FT_SPEED_POINTS && s->instructions != NULL) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "the speed of the machine was not measured");
}

ft_status ft_report_machine_speed(FILE *stream, const ft_style *style, const ft_machine_speed *speed, ft_error *error) {
    FT_REQUIRE(error, stream, style, speed);
    FT_TRY(style_check(style, error));
    FT_TRY(check_speed(speed, error));
    sink out = {.stream = stream};
    if (style->output == FT_TABLE) write_table(speed, style, &out);
    if (style->output == FT_JSON) write_json(speed, &out);
    if (style->output == FT_CSV) write_csv(speed, &out);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}

/* --- Data sheet -------------------------------------------------------------------------------------------------- */

static void put_number(json_writer *j, const char *key, double value) {
    if (isfinite(value) && value > 0) jsonw_pair_double(j, key, round(value));
}

/* Reading is what inference does most; the largest data does not fit into caches. */
ft_status ft_machine_speed_sheet(FILE *stream, const char *name, const ft_machine_speed *speed, ft_error *error) {
    FT_REQUIRE(error, stream, name, speed);
    FT_TRY(check_speed(speed, error));
    char source[160];
    sink out = {.stream = stream};
    json_writer j;
    jsonw_init(&j, &out.text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_uint(&j, "foretell_device", 1);
    jsonw_pair_string(&j, "name", name);
    jsonw_pair_string(&j, "text", "measured with foretell measure --stream");
    jsonw_pair_string(&j, "kind", "cpu");
    jsonw_pair_string(&j, "runtime", "tflite-cpu");
    jsonw_pair_uint(&j, "threads", speed->threads);
    put_number(&j, "peak_float64_flops", speed->peak_float64_flops);
    put_number(&j, "peak_float32_flops", speed->peak_float32_flops);
    put_number(&j, "bandwidth_bytes_per_s", speed->points[speed->count - 1].read_bytes_per_s);
    put_number(&j, "l2_bytes", speed->l2_bytes);
    put_number(&j, "cache_bytes", speed->cache_bytes);
    jsonw_key(&j, "sources");
    jsonw_open_array(&j, JSON_BLOCK);
    snprintf(source, sizeof source, "peaks: multiply-adds in registers with %s, %u thread%s", speed->instructions,
             speed->threads, speed->threads == 1 ? "" : "s");
    jsonw_string(&j, source);
    snprintf(source, sizeof source, "bandwidth: reading %llu MiB",
             (unsigned long long)(speed->points[speed->count - 1].bytes >> 20));
    jsonw_string(&j, source);
    if (isfinite(speed->cache_bytes)) jsonw_string(&j, "caches: as the system reports them");
    jsonw_close(&j);
    jsonw_close(&j);
    buf_char(&out.text, '\n');
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
