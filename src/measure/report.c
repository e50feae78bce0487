/* report.c - measurements as table, JSON and CSV. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "measure/measure.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

/* Words of the column `noisy`. */
static const char *const noise_words[] = {
    [FT_NOISE_NONE] = "no", [FT_NOISE_UNSTEADY] = "unsteady", [FT_NOISE_WAITING] = "waiting", [FT_NOISE_NAN] = "nan"};

static const char *noise_word(ft_noise noise) {
    return (size_t)noise < sizeof noise_words / sizeof noise_words[0] ? noise_words[noise] : "unknown";
}

/* --- CSV --------------------------------------------------------------------------------------------------------- */

const char *ft_measurements_csv_head(void) {
    return "model,device,batch,mode,shape,setting,time_us,time_median_us,cpu_us,cpu_median_us,resident_bytes,runs,"
           "noisy\n";
}

static void add_text(buf *out, const char *text) {
    csv_cell(out, text != NULL ? text : "");
    buf_char(out, ',');
}

static void add_number(buf *out, double value) {
    if (isfinite(value)) buf_format(out, "%.3f", value);
    buf_char(out, ',');
}

static void add_row(buf *out, const ft_measured_row *row) {
    const ft_measurement *m = &row->measurement;
    add_text(out, row->model);
    add_text(out, row->device);
    buf_format(out, "%lld,infer,", (long long)m->batch);
    add_text(out, row->shape);
    if (m->threads > 1) buf_format(out, "threads=%u", m->threads);
    buf_char(out, ',');
    add_number(out, m->time_us);
    add_number(out, m->time_median_us);
    add_number(out, m->cpu_us);
    add_number(out, m->cpu_median_us);
    buf_format(out, "%.0f,%u,%s\n", m->resident_bytes, m->runs, noise_word(m->noise));
}

ft_status ft_measurements_csv_row(FILE *stream, const ft_measured_row *row, ft_error *error) {
    FT_REQUIRE(error, stream, row);
    buf line = {0};
    add_row(&line, row);
    ft_status status = line.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && (fwrite(line.data, 1, line.length, stream) != line.length || fflush(stream) != 0))
        status = ft_fail_file(error, NULL, "cannot write", errno);
    buf_free(&line);
    return status;
}

/* --- Table ------------------------------------------------------------------------------------------------------- */

typedef struct document {
    const ft_style *style;
    const ft_measured_row *rows;
    uint32_t count;
    const ft_measured_row *shown; /* whose nodes are written */
} document;

static void put(const document *d, grid_cell *cell, const char *text) {
    text_fit(text != NULL ? text : "", UINT32_MAX, d->style, cell->text, sizeof cell->text);
}

static void put_metric(grid_cell *cell, const char *metric, double value) {
    char text[UNIT_TEXT_SIZE];
    metric_words(metric, value, text);
    snprintf(cell->text, sizeof cell->text, "%s", text);
}

static void model_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const ft_measurement *m = &d->rows[row].measurement;
    put(d, &cells[0], d->rows[row].model);
    snprintf(cells[1].text, sizeof cells[1].text, "%lld", (long long)m->batch);
    put_metric(&cells[2], "time_us", m->time_us);
    put_metric(&cells[3], "time_us", m->time_median_us);
    put_metric(&cells[4], "time_us", m->cpu_us);
    put_metric(&cells[5], "resident_bytes", m->resident_bytes);
    snprintf(cells[6].text, sizeof cells[6].text, "%u", m->runs);
    put(d, &cells[7], m->noise == FT_NOISE_NONE ? "" : noise_word(m->noise));
}

static void node_row(const void *user, uint32_t row, grid_cell *cells) {
    const document *d = user;
    const ft_measured_node *node = &d->shown->measurement.nodes[row];
    put(d, &cells[0], node->name);
    put(d, &cells[1], node->op);
    put_metric(&cells[2], "time_us", node->time_us);
    put_metric(&cells[3], "share_ratio", node->time_us / d->shown->measurement.time_us);
}

static double node_sum_us(const ft_measurement *m) {
    double sum = 0;
    for (uint32_t i = 0; i < m->node_count; i++) sum += m->nodes[i].time_us;
    return sum;
}

static void write_nodes(document *d, const ft_measured_row *row, sink *out) {
    static const grid_column columns[] = {
        {.title = "Node", .is_flexible = true},
        {.title = "Operator"},
        {.title = "Time", .is_right = true},
        {.title = "Share", .is_right = true},
    };
    char sum[UNIT_TEXT_SIZE];
    d->shown = row;
    metric_words("time_us", node_sum_us(&row->measurement), sum);
    buf_format(&out->text, "\n%s, batch %lld: %u nodes, %s\n", row->model, (long long)row->measurement.batch,
               row->measurement.node_count, sum);
    grid_write(&(grid){.style = d->style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = 2,
                       .row = node_row,
                       .user = d,
                       .row_count = row->measurement.node_count},
               out);
}

static void write_table(document *d, sink *out) {
    static const grid_column columns[] = {
        {.title = "Model", .is_flexible = true},
        {.title = "Batch", .is_right = true},
        {.title = "Time", .is_right = true},
        {.title = "Median", .is_right = true, .drop = 2},
        {.title = "CPU", .is_right = true, .drop = 3},
        {.title = "Memory", .is_right = true},
        {.title = "Runs", .is_right = true, .drop = 4},
        {.title = "Noise", .drop = 1},
    };
    grid_write(&(grid){.style = d->style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .row = model_row,
                       .user = d,
                       .row_count = d->count},
               out);
    for (uint32_t i = 0; i < d->count; i++)
        if (d->rows[i].measurement.nodes != NULL) write_nodes(d, &d->rows[i], out);
}

/* --- JSON -------------------------------------------------------------------------------------------------------- */

static void json_nodes(const ft_measurement *m, json_writer *j) {
    jsonw_key(j, "nodes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < m->node_count; i++) {
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "name", m->nodes[i].name);
        jsonw_pair_string(j, "op", m->nodes[i].op);
        jsonw_pair_double(j, "time_us", m->nodes[i].time_us);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void json_row(const ft_measured_row *row, json_writer *j) {
    const ft_measurement *m = &row->measurement;
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_string(j, "model", row->model);
    jsonw_pair_string(j, "device", row->device);
    jsonw_pair_string(j, "runtime", row->runtime);
    jsonw_key(j, "batch");
    jsonw_int(j, m->batch);
    jsonw_pair_string(j, "shape", row->shape != NULL ? row->shape : "");
    jsonw_pair_uint(j, "threads", m->threads);
    jsonw_pair_double(j, "time_us", m->time_us);
    jsonw_pair_double(j, "time_median_us", m->time_median_us);
    jsonw_pair_double(j, "cpu_us", m->cpu_us);
    jsonw_pair_double(j, "cpu_median_us", m->cpu_median_us);
    jsonw_pair_double(j, "resident_bytes", m->resident_bytes);
    jsonw_pair_double(j, "load_us", m->load_us);
    jsonw_pair_uint(j, "runs", m->runs);
    jsonw_pair_string(j, "noisy", noise_word(m->noise));
    if (m->nodes != NULL) json_nodes(m, j);
    jsonw_close(j);
}

static void write_json(const document *d, const ft_machine *machine, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_uint(&j, "cores", machine->cores);
    jsonw_pair_double(&j, "free_cores", machine->free_cores);
    jsonw_key(&j, "measurements");
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < d->count; i++) json_row(&d->rows[i], &j);
    jsonw_close(&j);
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

ft_status ft_report_measurements(FILE *stream, const ft_style *style, const ft_machine *machine,
                                 const ft_measured_row *rows, uint32_t count, ft_error *error) {
    FT_REQUIRE(error, stream, style, machine);
    FT_TRY(style_check(style, error));
    if (rows == NULL && count > 0) return ft_fail(error, FT_ERR_USAGE, "ft_report_measurements: rows is NULL");
    document d = {.style = style, .rows = rows, .count = count};
    sink out = {.stream = stream};
    if (style->output == FT_TABLE) write_table(&d, &out);
    if (style->output == FT_JSON) write_json(&d, machine, &out);
    if (style->output == FT_CSV) buf_text(&out.text, ft_measurements_csv_head());
    for (uint32_t i = 0; style->output == FT_CSV && i < count; i++) add_row(&out.text, &rows[i]);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
