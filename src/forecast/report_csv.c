/* report_csv.c - results as CSV (RFC 4180, LF line ends): one row a result, or one row a kernel when layers are
 * requested. The columns are the keys of the JSON; its objects and lists are "name=value;name=value" here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/report.h"

static void add_names(buf *out, const field *fields) {
    for (; fields->key != NULL; fields++) buf_format(out, "%s,", fields->key);
}

static void add_values(buf *out, const field *fields, const void *row, const ft_graph *model) {
    for (; fields->key != NULL; fields++) {
        field_csv(fields, row, model, out);
        buf_char(out, ',');
    }
}

/* Writes `text` as one cell, and frees it. */
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

static void add_memory(buf *out, const ft_result *result) {
    buf text = {0};
    for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++)
        add_pair(&text, ft_result_memory(result)->parts[i].type, round(memory_part_bytes(result, i)));
    add_cell(out, &text);
}

static void add_others(buf *out, const ft_result *result) {
    buf text = {0};
    char name[METRIC_NAME_SIZE];
    for (uint32_t i = 0; i < result->metric_count; i++) {
        const ft_metric_result *other = &result->metrics[i];
        if (!is_other_metric(result, i)) continue;
        add_pair(&text, other->metric, other->value);
        add_pair(&text, metric_end_name(other->metric, "lo", name), other->lo);
        add_pair(&text, metric_end_name(other->metric, "hi", name), other->hi);
    }
    add_cell(out, &text);
}

static void add_notes(buf *out, const ft_result *result) {
    buf text = {0};
    for (uint32_t i = 0; i < result->note_count; i++) buf_format(&text, "%s%s", i > 0 ? "; " : "", result->notes[i]);
    add_cell(out, &text);
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

/* The columns that identify the result of a kernel. */
static const char *const result_keys[] = {"file", "device", "batch", "mode", "dtype", "setting"};

static bool is_result_key(const field *f) {
    for (size_t i = 0; i < sizeof result_keys / sizeof result_keys[0]; i++)
        if (strcmp(f->key, result_keys[i]) == 0) return true;
    return false;
}

static void add_operators(buf *out, const ft_graph *model, const ft_kernel *part) {
    buf text = {0};
    for (uint32_t i = 0; i < part->op_count; i++)
        buf_format(&text, "%s%s", i > 0 ? "+" : "", facts_op_name(model, &ft_graph_ops(model)[part->ops[i]]));
    add_cell(out, &text);
}

static void write_layers(report_writer *w, const ft_graph *model, const ft_result *result, const result_row *row) {
    buf *out = &w->out.text;
    uint32_t count = 0;
    uint32_t *chosen = layers_choose(result, w->style.top, &count);
    if (chosen == NULL) out->failed = true;
    for (uint32_t i = 0; chosen != NULL && i < count; i++) {
        layer_row layer;
        layer_row_fill(result, chosen[i], &layer);
        for (const field *key = result_fields; key->key != NULL; key++) {
            if (!is_result_key(key)) continue;
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

static void write_heading(const report_writer *w, buf *out) {
    if (!w->style.has_layers) {
        add_names(out, result_fields);
        if (w->style.has_cost) add_names(out, cost_fields);
        buf_text(out, "memory,others,notes\n");
        return;
    }
    for (size_t i = 0; i < sizeof result_keys / sizeof result_keys[0]; i++) buf_format(out, "%s,", result_keys[i]);
    add_names(out, layer_fields);
    buf_text(out, "operators\n");
}

void report_add_csv(report_writer *w, const ft_model_results *entry, const model_facts *facts) {
    buf *out = &w->out.text;
    if (w->model_count == 0) write_heading(w, out);
    for (uint32_t i = 0; i < entry->results->count; i++) {
        const ft_result *result = &entry->results->items[i];
        result_row row;
        result_row_fill(entry, facts, result, w->style.samples, &row);
        if (w->style.has_cost) result_row_add_cost(&result->request, &row);
        if (w->style.has_layers) {
            write_layers(w, entry->model, result, &row);
            continue;
        }
        add_values(out, result_fields, &row, entry->model);
        if (w->style.has_cost) add_values(out, cost_fields, &row, entry->model);
        add_memory(out, result);
        buf_char(out, ',');
        add_others(out, result);
        buf_char(out, ',');
        add_notes(out, result);
        buf_char(out, '\n');
        sink_relieve(&w->out);
    }
}
