/* report_json.c - forecasts as JSON: an array with one object a forecast (docs/schema/predict.schema.json). */
#include <math.h>
#include <stdlib.h>

#include "forecast/report_write.h"

static void write_memory(json_writer *j, const ft_result *f) {
    static const field part = {"", FIELD_WHOLE, 0};
    jsonw_key(j, "memory");
    jsonw_open_object(j, JSON_LINE);
    for (uint32_t i = 0; i < ft_result_memory(f)->part_count; i++) {
        double bytes = memory_part_bytes(f, i);
        field named = part;
        named.key = ft_result_memory(f)->parts[i].type;
        if (!isnan(bytes)) field_json(&named, &bytes, NULL, j);
    }
    jsonw_close(j);
}

static void write_others(json_writer *j, const ft_result *f) {
    jsonw_key(j, "others");
    jsonw_open_object(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->metric_count; i++) {
        const ft_metric_result *other = &f->metrics[i];
        if (!is_other_metric(other)) continue;
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

static void write_notes(json_writer *j, const ft_result *f) {
    jsonw_key(j, "notes");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->note_count; i++) jsonw_string(j, f->notes[i]);
    jsonw_close(j);
}

static void write_layer(json_writer *j, const ft_graph *model, const ft_result *f, uint32_t index) {
    layer_row row;
    layer_row_fill(f, index, &row);
    jsonw_open_object(j, JSON_LINE);
    for (const field *key = layer_fields; key->key != NULL; key++) field_json(key, &row, model, j);
    jsonw_key(j, "operators");
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t i = 0; i < row.part.op_count; i++)
        jsonw_string(j, facts_op_name(model, &ft_graph_ops(model)[row.part.ops[i]]));
    jsonw_close(j);
    jsonw_close(j);
}

static void write_layers(forecast_writer *w, json_writer *j, const ft_graph *model, const ft_result *f) {
    uint32_t count = 0;
    uint32_t *chosen = layers_chosen(f, w->style.top, &count);
    if (chosen == NULL) w->out.text.failed = true;
    jsonw_key(j, "layers");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; chosen != NULL && i < count; i++) {
        write_layer(j, model, f, chosen[i]);
        sink_relieve(&w->out);
    }
    jsonw_close(j);
    free(chosen);
}

void forecast_json_model(forecast_writer *w, const ft_model_results *entry, const model_facts *facts) {
    for (uint32_t i = 0; i < entry->results->count; i++) {
        const ft_result *f = &entry->results->items[i];
        forecast_row row;
        json_writer j;
        forecast_row_fill(entry, facts, f, w->style.samples, &row);
        buf_text(&w->out.text, w->forecast_count + i > 0 ? ",\n" : "[\n");
        jsonw_init(&j, &w->out.text);
        jsonw_open_object(&j, JSON_BLOCK);
        for (const field *key = forecast_fields; key->key != NULL; key++) field_json(key, &row, entry->model, &j);
        write_memory(&j, f);
        write_others(&j, f);
        write_notes(&j, f);
        if (w->style.has_layers) write_layers(w, &j, entry->model, f);
        jsonw_close(&j);
    }
}

void forecast_json_end(forecast_writer *w) {
    buf_text(&w->out.text, w->forecast_count > 0 ? "\n]\n" : "[]\n");
}
