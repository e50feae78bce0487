/* report_csv.c - forecasts as CSV (RFC 4180, LF line ends): one row a forecast, or one row a kernel when those are
 * asked for. The columns are the keys of the JSON; what is an object or a list there is "name=value;name=value" here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/report_write.h"

static void add_names(buf *out, const field *fields) {
    for (; fields->key != NULL; fields++) buf_format(out, "%s,", fields->key);
}

static void add_values(buf *out, const field *fields, const void *row, const ft_graph *model) {
    for (; fields->key != NULL; fields++) {
        field_csv(fields, row, model, out);
        buf_char(out, ',');
    }
}

/* Ends a cell that was put together in `text`. */
static void add_cell(buf *out, buf *text) {
    if (text->failed) out->failed = true;
    if (text->data != NULL) csv_cell(out, text->data);
    buf_free(text);
}

static void add_pair(buf *text, const char *name, double value) {
    char number[DOUBLE_TEXT_SIZE];
    if (isnan(value)) return;
    double_text(value, number);
    buf_format(text, "%s%s=%s", text->length > 0 ? ";" : "", name, number);
}

static void add_memory(buf *out, const ft_result *f) {
    buf text = {0};
    for (uint32_t i = 0; i < ft_result_memory(f)->part_count; i++)
        add_pair(&text, ft_result_memory(f)->parts[i].type, round(memory_part_bytes(f, i)));
    add_cell(out, &text);
}

static void add_others(buf *out, const ft_result *f) {
    buf text = {0};
    char name[METRIC_NAME_SIZE];
    for (uint32_t i = 0; i < f->metric_count; i++) {
        const ft_metric_result *other = &f->metrics[i];
        if (!is_other_metric(other)) continue;
        add_pair(&text, other->metric, other->value);
        add_pair(&text, metric_end_name(other->metric, "lo", name), other->lo);
        add_pair(&text, metric_end_name(other->metric, "hi", name), other->hi);
    }
    add_cell(out, &text);
}

static void add_notes(buf *out, const ft_result *f) {
    buf text = {0};
    for (uint32_t i = 0; i < f->note_count; i++) buf_format(&text, "%s%s", i > 0 ? "; " : "", f->notes[i]);
    add_cell(out, &text);
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

/* What says which forecast a kernel is of. */
static const char *const which[] = {"file", "device", "batch", "mode", "dtype", "setting"};

static bool is_which(const field *f) {
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++)
        if (strcmp(f->key, which[i]) == 0) return true;
    return false;
}

static void add_operators(buf *out, const ft_graph *model, const ft_kernel *part) {
    buf text = {0};
    for (uint32_t i = 0; i < part->op_count; i++)
        buf_format(&text, "%s%s", i > 0 ? "+" : "", facts_op_name(model, &ft_graph_ops(model)[part->ops[i]]));
    add_cell(out, &text);
}

static void write_layers(forecast_writer *w, const ft_graph *model, const ft_result *f, const forecast_row *row) {
    buf *out = &w->out.text;
    uint32_t count = 0;
    uint32_t *chosen = layers_chosen(f, w->style.top, &count);
    if (chosen == NULL) out->failed = true;
    for (uint32_t i = 0; chosen != NULL && i < count; i++) {
        layer_row layer;
        layer_row_fill(f, chosen[i], &layer);
        for (const field *key = forecast_fields; key->key != NULL; key++) {
            if (!is_which(key)) continue;
            field_csv(key, row, model, out);
            buf_char(out, ',');
        }
        add_values(out, layer_fields, &layer, model);
        add_operators(out, model, &layer.part);
        buf_char(out, '\n');
        sink_relieve(&w->out);
    }
    free(chosen);
}

static void write_heading(const forecast_writer *w, buf *out) {
    if (!w->style.has_layers) {
        add_names(out, forecast_fields);
        buf_text(out, "memory,others,notes\n");
        return;
    }
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) buf_format(out, "%s,", which[i]);
    add_names(out, layer_fields);
    buf_text(out, "operators\n");
}

void forecast_csv_model(forecast_writer *w, const ft_model_results *entry, const model_facts *facts) {
    buf *out = &w->out.text;
    if (w->model_count == 0) write_heading(w, out);
    for (uint32_t i = 0; i < entry->results->count; i++) {
        const ft_result *f = &entry->results->items[i];
        forecast_row row;
        forecast_row_fill(entry, facts, f, w->style.samples, &row);
        if (w->style.has_layers) {
            write_layers(w, entry->model, f, &row);
            continue;
        }
        add_values(out, forecast_fields, &row, entry->model);
        add_memory(out, f);
        buf_char(out, ',');
        add_others(out, f);
        buf_char(out, ',');
        add_notes(out, f);
        buf_char(out, '\n');
        sink_relieve(&w->out);
    }
}
