/* json.c - facts as JSON: an array with one object a model (docs/schema/inspect.schema.json). */
#include "report/fields.h"
#include "report/write.h"

enum { SCHEMA_VERSION = 1 };

void report_json_begin(writer *w) {
    buf_text(&w->out.text, "[");
}

void report_json_end(writer *w) {
    buf_text(&w->out.text, w->model_count > 0 ? "\n]\n" : "]\n");
}

static void write_fields(json_writer *j, const char *key, const field *fields, const void *row, const ft_graph *graph) {
    jsonw_key(j, key);
    jsonw_open_object(j, JSON_BLOCK);
    for (; fields->key != NULL; fields++) field_json(fields, row, graph, j);
    jsonw_close(j);
}

/* null where the model generates no text. */
static void write_language(json_writer *j, const facts *f) {
    if (f->language.of.has_cache) {
        write_fields(j, "language", language_fields, &f->language, f->graph);
        return;
    }
    jsonw_key(j, "language");
    jsonw_null(j);
}

/* One line of a list. */
static void write_row(json_writer *j, sink *out, const field *fields, const void *row, const ft_graph *graph) {
    jsonw_open_object(j, JSON_LINE);
    for (; fields->key != NULL; fields++) field_json(fields, row, graph, j);
    jsonw_close(j);
    sink_relieve(out);
}

static void write_tensors(json_writer *j, const char *key, const facts *f, const uint32_t *list, uint32_t count) {
    static const field shape = {"shape", FIELD_SHAPE, 0};
    jsonw_key(j, key);
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        const ft_tensor *tensor = &f->tensors[list[i]];
        jsonw_open_object(j, JSON_LINE);
        jsonw_key(j, "name");
        jsonw_string(j, tensor->name);
        jsonw_key(j, "dtype");
        jsonw_string(j, ft_dtype_name(tensor->dtype));
        field_json(&shape, &tensor, f->graph, j);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_meta(json_writer *j, const ft_graph *graph) {
    jsonw_key(j, "meta");
    jsonw_open_object(j, JSON_BLOCK);
    for (uint32_t i = 0; i < ft_graph_meta_count(graph); i++) {
        const char *key, *value;
        ft_graph_meta_at(graph, i, &key, &value);
        jsonw_key(j, key);
        jsonw_string(j, value);
    }
    jsonw_close(j);
}

static void write_symbols(json_writer *j, const facts *f) {
    jsonw_key(j, "symbols");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->symbol_count; i++) {
        jsonw_open_object(j, JSON_LINE);
        jsonw_key(j, "name");
        jsonw_string(j, f->symbols[i].name);
        jsonw_key(j, "value");
        if (f->symbols[i].value >= 0)
            jsonw_int(j, f->symbols[i].value);
        else
            jsonw_null(j);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_open(json_writer *j, const facts *f) {
    jsonw_key(j, "open");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->open_count; i++) {
        jsonw_open_object(j, JSON_LINE);
        jsonw_key(j, "name");
        jsonw_string(j, f->open[i].name);
        jsonw_key(j, "flag");
        jsonw_string(j, f->open[i].flag);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_estimates(json_writer *j, const facts *f) {
    jsonw_key(j, "estimated");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->estimate_count; i++) {
        jsonw_open_object(j, JSON_LINE);
        jsonw_key(j, "type");
        jsonw_string(j, f->estimates[i].type);
        jsonw_key(j, "count");
        jsonw_uint(j, f->estimates[i].count);
        jsonw_key(j, "reason");
        jsonw_string(j, f->estimates[i].reason);
        jsonw_key(j, "rule");
        jsonw_string(j, f->estimates[i].rule);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_lists(json_writer *j, sink *out, const facts *f) {
    jsonw_key(j, "share_of");
    jsonw_string(j, f->share_of);
    jsonw_key(j, "by_type");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < f->type_shown; i++) write_row(j, out, type_fields, &f->types[i], f->graph);
    jsonw_close(j);
    if (f->node_order != NULL) {
        jsonw_key(j, "nodes");
        jsonw_open_array(j, JSON_BLOCK);
        for (uint32_t i = 0; i < f->node_shown; i++) {
            node_facts row;
            facts_node(f, i, &row);
            write_row(j, out, node_fields, &row, f->graph);
        }
        jsonw_close(j);
    }
    if (f->kernel_order != NULL) {
        jsonw_key(j, "kernels");
        jsonw_open_array(j, JSON_BLOCK);
        for (uint32_t i = 0; i < f->kernel_shown; i++) {
            kernel_facts row;
            facts_kernel(f, i, &row);
            write_row(j, out, kernel_fields, &row, f->graph);
        }
        jsonw_close(j);
    }
}

void report_json_model(writer *w, const facts *f) {
    const ft_graph *g = f->graph;
    json_writer j;
    buf_text(&w->out.text, w->model_count > 0 ? ",\n" : "\n");
    jsonw_init(&j, &w->out.text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_key(&j, "schema_version");
    jsonw_uint(&j, SCHEMA_VERSION);
    jsonw_key(&j, "file");
    jsonw_string(&j, f->file);
    jsonw_key(&j, "format");
    jsonw_string(&j, f->format);
    jsonw_key(&j, "name");
    jsonw_string(&j, f->name);
    write_fields(&j, "summary", summary_fields, &f->summary, g);
    write_language(&j, f);
    write_tensors(&j, "inputs", f, ft_graph_inputs(g), ft_graph_input_count(g));
    write_tensors(&j, "outputs", f, ft_graph_outputs(g), ft_graph_output_count(g));
    write_symbols(&j, f);
    write_open(&j, f);
    write_estimates(&j, f);
    write_meta(&j, g);
    write_lists(&j, &w->out, f);
    jsonw_close(&j);
}
