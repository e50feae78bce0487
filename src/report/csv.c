/* csv.c - facts as CSV (RFC 4180, LF line ends): one row a model, or one row an operator or kernel when those are
 * listed. The columns are those of fields.c, after the ones that name the model. */
#include <assert.h>

#include "report/fields.h"
#include "report/write.h"

/* Fields of a row: of an operator, a kernel or a model. ft_report_begin refuses operators together with kernels. */
static const field *row_fields(const ft_inspect_options *options) {
    if (options->has_nodes) return node_fields;
    return options->rules != NULL ? kernel_fields : summary_fields;
}

/* Rows of lists have a "name" of their own: the model is then "model". */
void report_csv_begin(writer *w) {
    const field *fields = row_fields(w->options);
    buf *out = &w->out.text;
    buf_text(out, fields == summary_fields ? "file,format,name" : "file,model");
    for (; fields->key != NULL; fields++) {
        buf_char(out, ',');
        buf_text(out, fields->key);
    }
    if (row_fields(w->options) == summary_fields) {
        buf_text(out, ",inputs,outputs,symbols,estimated");
        for (fields = language_fields; fields->key != NULL; fields++) buf_format(out, ",%s", fields->key);
    }
    buf_char(out, '\n');
}

static void add_fields(buf *out, const field *fields, const void *row, const ft_graph *graph) {
    for (; fields->key != NULL; fields++) {
        buf_char(out, ',');
        field_csv(fields, row, graph, out);
    }
}

/* Appends `text` as a cell and frees it. */
static void add_cell(buf *out, buf *text) {
    if (text->failed) out->failed = true;
    buf_char(out, ',');
    if (text->data != NULL) csv_cell(out, text->data);
    buf_free(text);
}

/* "name=1x3x224x224;mask=1x128" */
static void add_tensors(buf *out, const facts *f, const uint32_t *list, uint32_t count) {
    char words[SHAPE_WORDS_SIZE];
    buf text = {0};
    for (uint32_t i = 0; i < count; i++) {
        const ft_tensor *tensor = &f->tensors[list[i]];
        if (i > 0) buf_char(&text, ';');
        buf_format(&text, "%s=%s", tensor->name, shape_words(tensor, f->graph, words));
    }
    add_cell(out, &text);
}

static void add_symbols(buf *out, const facts *f) {
    buf text = {0};
    for (uint32_t i = 0; i < f->symbol_count; i++)
        if (f->symbols[i].value >= 0)
            buf_format(&text, "%s%s=%lld", i > 0 ? ";" : "", f->symbols[i].name, (long long)f->symbols[i].value);
        else
            buf_format(&text, "%s%s=?", i > 0 ? ";" : "", f->symbols[i].name);
    add_cell(out, &text);
}

static void add_estimates(buf *out, const facts *f) {
    buf text = {0};
    for (uint32_t i = 0; i < f->estimate_count; i++)
        buf_format(&text, "%s%s=%llu", i > 0 ? ";" : "", f->estimates[i].type,
                   (unsigned long long)f->estimates[i].count);
    add_cell(out, &text);
}

/* Empty cells where the model generates no text. */
static void add_language(buf *out, const facts *f) {
    for (const field *field = language_fields; field->key != NULL; field++) {
        buf_char(out, ',');
        if (f->language.of.has_cache) field_csv(field, &f->language, f->graph, out);
    }
}

static void summary_row(buf *out, const facts *f) {
    const ft_graph *g = f->graph;
    csv_cell(out, f->file);
    buf_char(out, ',');
    csv_cell(out, f->format);
    buf_char(out, ',');
    csv_cell(out, f->name);
    add_fields(out, summary_fields, &f->summary, g);
    add_tensors(out, f, ft_graph_inputs(g), ft_graph_input_count(g));
    add_tensors(out, f, ft_graph_outputs(g), ft_graph_output_count(g));
    add_symbols(out, f);
    add_estimates(out, f);
    add_language(out, f);
    buf_char(out, '\n');
}

static void list_row(sink *out, const facts *f, const field *fields, const void *row) {
    csv_cell(&out->text, f->file);
    buf_char(&out->text, ',');
    csv_cell(&out->text, f->name);
    add_fields(&out->text, fields, row, f->graph);
    buf_char(&out->text, '\n');
    sink_relieve(out);
}

void report_csv_model(writer *w, const facts *f) {
    const field *fields = row_fields(w->options);
    assert(fields == summary_fields || (fields == node_fields ? f->node_order : f->kernel_order) != NULL);
    if (fields == summary_fields) {
        summary_row(&w->out.text, f);
    } else if (fields == node_fields) {
        for (uint32_t i = 0; i < f->node_shown; i++) {
            node_facts row;
            facts_node(f, i, &row);
            list_row(&w->out, f, fields, &row);
        }
    } else {
        for (uint32_t i = 0; i < f->kernel_shown; i++) {
            kernel_facts row;
            facts_kernel(f, i, &row);
            list_row(&w->out, f, fields, &row);
        }
    }
}
