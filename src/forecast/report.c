/* report.c - a document about results: begin, model after model, end. JSON is written here: an array with one object a
 * result (docs/schema/predict.schema.json). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "forecast/report.h"
#include "report/style.h"

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void write_memory(json_writer *j, const ft_result *result) {
    static const field part = {"", FIELD_WHOLE, 0};
    jsonw_key(j, "memory");
    jsonw_open_object(j, JSON_LINE);
    for (uint32_t i = 0; i < ft_result_memory(result)->part_count; i++) {
        double bytes = memory_part_bytes(result, i);
        field named = part;
        named.key = ft_result_memory(result)->parts[i].type;
        if (!isnan(bytes)) field_json(&named, &bytes, NULL, j);
    }
    jsonw_close(j);
}

static void write_others(json_writer *j, const ft_result *result) {
    jsonw_key(j, "others");
    jsonw_open_object(j, JSON_BLOCK);
    for (uint32_t i = 0; i < result->metric_count; i++) {
        const ft_metric_result *other = &result->metrics[i];
        if (!is_other_metric(result, i)) continue;
        jsonw_key(j, other->metric);
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_double(j, "value", other->value);
        jsonw_pair_double(j, "lo", other->lo);
        jsonw_pair_double(j, "hi", other->hi);
        jsonw_pair_string(j, "provenance", ft_provenance_name(other->provenance));
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_notes(json_writer *j, const ft_result *result) {
    jsonw_key(j, "notes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < result->note_count; i++) jsonw_string(j, result->notes[i]);
    jsonw_close(j);
}

static void write_layer(json_writer *j, const ft_graph *model, const ft_result *result, uint32_t index) {
    layer_row row;
    layer_row_fill(result, index, &row);
    jsonw_open_object(j, JSON_LINE);
    for (const field *key = layer_fields; key->key != NULL; key++) field_json(key, &row, model, j);
    jsonw_key(j, "operators");
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t i = 0; i < row.part.op_count; i++)
        jsonw_string(j, facts_op_name(model, &ft_graph_ops(model)[row.part.ops[i]]));
    jsonw_close(j);
    jsonw_close(j);
}

static void write_layers(report_writer *w, json_writer *j, const ft_graph *model, const ft_result *result) {
    uint32_t count = 0;
    uint32_t *chosen = layers_choose(result, w->style.top, &count);
    if (chosen == NULL) w->out.text.failed = true;
    jsonw_key(j, "layers");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; chosen != NULL && i < count; i++) {
        write_layer(j, model, result, chosen[i]);
        sink_relieve(&w->out);
    }
    jsonw_close(j);
    free(chosen);
}

static void add_json(report_writer *w, const ft_model_results *entry, const model_facts *facts) {
    for (uint32_t i = 0; i < entry->results->count; i++) {
        const ft_result *result = &entry->results->items[i];
        result_row row;
        json_writer j;
        result_row_fill(entry, facts, result, w->style.samples, &row);
        buf_text(&w->out.text, w->result_count + i > 0 ? ",\n" : "[\n");
        jsonw_init(&j, &w->out.text);
        jsonw_open_object(&j, JSON_BLOCK);
        for (const field *key = result_fields; key->key != NULL; key++) field_json(key, &row, entry->model, &j);
        if (w->style.has_cost) result_row_add_cost(&result->request, &row);
        for (const field *key = cost_fields; w->style.has_cost && key->key != NULL; key++)
            field_json(key, &row, entry->model, &j);
        write_memory(&j, result);
        write_others(&j, result);
        write_notes(&j, result);
        if (w->style.has_layers) write_layers(w, &j, entry->model, result);
        jsonw_close(&j);
    }
}

static void end_json(report_writer *w) {
    buf_text(&w->out.text, w->result_count > 0 ? "\n]\n" : "[]\n");
}

/* --- The document -------------------------------------------------------------------------------------------- */

struct ft_result_report {
    report_writer writer;
};

ft_status ft_result_report_begin(FILE *stream, const ft_result_style *style, ft_result_report **report,
                                 ft_error *error) {
    FT_REQUIRE(error, stream, style, report);
    FT_TRY(style_check(&style->style, error));
    ft_result_report *r = calloc(1, sizeof *r);
    if (r == NULL) return FT_NOMEM(error);
    r->writer.style = *style;
    r->writer.out.stream = stream;
    *report = r;
    return FT_OK;
}

ft_status ft_result_report_add(ft_result_report *report, const ft_model_results *entry, ft_error *error) {
    FT_REQUIRE(error, report, entry);
    report_writer *w = &report->writer;
    model_facts facts;
    assert(entry->model != NULL && entry->results != NULL);
    FT_TRY(model_facts_compute(entry, &facts, error));
    switch (w->style.style.output) {
    case FT_TABLE:
        report_add_table(w, entry, &facts);
        break;
    case FT_JSON:
        add_json(w, entry, &facts);
        break;
    case FT_CSV:
        report_add_csv(w, entry, &facts);
        break;
    }
    w->model_count++;
    w->result_count += entry->results->count;
    return sink_flush(&w->out, error);
}

ft_status ft_result_report_end(ft_result_report *report, ft_error *error) {
    if (report == NULL) return FT_OK;
    report_writer *w = &report->writer;
    if (w->style.style.output == FT_JSON && w->model_count > 0) end_json(w);
    ft_status status = sink_flush(&w->out, error);
    sink_free(&w->out);
    free(report);
    return status;
}
