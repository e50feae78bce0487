/* table_summary.c - the first lines of a table about a model: what it is, how it was asked about, what it costs. */
#include <string.h>

#include "report/fields.h"
#include "report/labelled.h"
#include "report/table.h"
#include "report/units.h"

static void add_count(buf *out, uint64_t value) {
    char text[UNIT_TEXT_SIZE];
    unit_count(value, text);
    buf_text(out, text);
}

static void add_bytes(buf *out, uint64_t value) {
    char text[UNIT_TEXT_SIZE];
    unit_bytes(value, text);
    buf_text(out, text);
}

static void add_format(labelled *l, const facts *f) {
    const char *producer = ft_graph_meta(f->graph, "producer"), *opset = ft_graph_meta(f->graph, "opset");
    buf *out = labelled_add(l, "Format");
    buf_text(out, f->format);
    if (opset != NULL) buf_format(out, ", opset %s", opset);
    if (producer != NULL && producer[0] != '\0') buf_format(out, ", made by %s", producer);
    if (f->name[0] != '\0' && !table_has_many(f) && strstr(f->file, f->name) == NULL)
        buf_format(out, ", graph %s", f->name);
}

static void add_operators(labelled *l, const summary_facts *s) {
    buf *out = labelled_add(l, "Operators");
    buf_format(out, "%llu of %llu type%s", (unsigned long long)s->op_count, (unsigned long long)s->op_type_count,
               s->op_type_count == 1 ? "" : "s");
    if (s->folded_op_count > 0)
        buf_format(out, ", and %llu known before the run (folded)", (unsigned long long)s->folded_op_count);
}

/* A line each for the first few inputs or outputs. */
static void add_tensors(labelled *l, const char *label, const ft_graph *graph, const uint32_t *list, uint32_t count) {
    enum { SHOWN = 4 };
    for (uint32_t i = 0; i < count && i < SHOWN; i++) {
        const ft_tensor *tensor = &ft_graph_tensors(graph)[list[i]];
        buf *out = labelled_add(l, i == 0 ? label : "");
        char words[SHAPE_WORDS_SIZE];
        buf_format(out, "%s %s", tensor->rank < 0 ? "?" : shape_words(tensor, words), ft_dtype_name(tensor->dtype));
        if (tensor->name[0] != '\0') buf_format(out, "  %s", tensor->name);
        if (i + 1 == SHOWN && count > SHOWN) buf_format(out, "  (and %u more)", count - SHOWN);
    }
}

static void add_setting(labelled *l, const facts *f, const ft_style *style) {
    const summary_facts *s = &f->summary;
    buf *out = labelled_add(l, "Batch");
    buf_format(out, "%llu", (unsigned long long)s->batch);
    if (s->is_scaled) {
        buf_format(out, " (the file fixes %llu: activations scaled %s%llu", (unsigned long long)s->exported_batch,
                   style->has_utf8 ? "\xc3\x97" : "x", (unsigned long long)s->batch);
        if (s->exported_batch > 1) buf_format(out, "/%llu", (unsigned long long)s->exported_batch);
        buf_text(out, ", weights not)");
    }
    if (f->symbol_count > 0) {
        out = labelled_add(l, "Symbols");
        for (uint32_t i = 0; i < f->symbol_count; i++)
            buf_format(out, "%s%s = %lld", i > 0 ? ", " : "", f->symbols[i].name, (long long)f->symbols[i].value);
    }
    if (s->dtype != NULL || s->is_mixed) {
        out = labelled_add(l, "Precision");
        buf_format(out, "%s%s", s->dtype != NULL ? s->dtype : "as in the file",
                   s->is_mixed ? ", training keeps float32 master weights" : "");
    }
}

static void add_work(labelled *l, const summary_facts *s) {
    char number[UNIT_TEXT_SIZE];
    buf *out = labelled_add(l, "Parameters");
    add_count(out, s->params);
    if (s->buffer_elems > 0) {
        buf_text(out, ", and ");
        add_count(out, s->buffer_elems);
        buf_text(out, " not trained");
    }
    out = labelled_add(l, "Weights");
    add_bytes(out, s->weight_bytes);
    buf_text(out, " in memory, ");
    if (s->stored_bytes > 0)
        add_bytes(out, s->stored_bytes);
    else
        buf_text(out, "none");
    buf_text(out, " on disk");
    out = labelled_add(l, "MACs");
    add_count(out, s->macs);
    out = labelled_add(l, "FLOPs");
    add_count(out, s->flops);
    buf_text(out, " forward, ");
    add_count(out, s->train_flops);
    buf_text(out, " a training step");
    out = labelled_add(l, "Moved");
    add_bytes(out, s->moved_bytes);
    unit_number(s->flops_per_byte, number);
    buf_format(out, " forward, %s FLOPs per byte", number);
    out = labelled_add(l, "Activations");
    add_count(out, s->activation_elems);
    buf_text(out, " elements, ");
    add_count(out, s->conv_matmul_elems);
    buf_text(out, " by convolutions and matrix products");
    if (s->runtime != NULL) {
        out = labelled_add(l, "Kernels");
        buf_format(out, "%llu with %s, moving ", (unsigned long long)s->kernel_count, s->runtime);
        add_bytes(out, s->kernel_moved_bytes);
    }
}

static void add_coverage(labelled *l, const facts *f) {
    const summary_facts *s = &f->summary;
    char ratio[UNIT_TEXT_SIZE];
    unit_ratio(s->coverage_ratio, ratio);
    buf_format(labelled_add(l, "Coverage"), "%s of the work, %llu of %llu operators", ratio,
               (unsigned long long)(s->op_count - s->estimated_op_count), (unsigned long long)s->op_count);
}

void table_summary(writer *w, const facts *f) {
    const ft_style *style = &w->options->style;
    const ft_graph *g = f->graph;
    labelled l = {0};
    add_format(&l, f);
    add_operators(&l, &f->summary);
    add_tensors(&l, "Inputs", g, ft_graph_inputs(g), ft_graph_input_count(g));
    add_tensors(&l, "Outputs", g, ft_graph_outputs(g), ft_graph_output_count(g));
    add_setting(&l, f, style);
    add_work(&l, &f->summary);
    add_coverage(&l, f);
    labelled_write(&l, style, TABLE_INDENT, &w->out);
}
