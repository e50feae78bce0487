/* table_summary.c - the summary lines of a model: format, inputs and outputs, setting, costs. */
#include <math.h>
#include <string.h>

#include "report/fields.h"
#include "report/labelled.h"
#include "report/table.h"
#include "report/units.h"

static void add_count(buf *out, uint64_t value) {
    char text[UNIT_TEXT_SIZE] = "?";
    if (value != FACT_UNKNOWN) unit_count(value, text);
    buf_text(out, text);
}

static void add_bytes(buf *out, uint64_t value) {
    char text[UNIT_TEXT_SIZE] = "?";
    if (value != FACT_UNKNOWN) unit_bytes(value, text);
    buf_text(out, text);
}

/* A sum over operators: "1.40 M + ?" when some of them have open dimensions. */
static void add_sum(buf *out, uint64_t value, bool is_open, void (*write)(buf *, uint64_t)) {
    if (is_open && value == 0) {
        buf_char(out, '?');
        return;
    }
    write(out, value);
    if (is_open) buf_text(out, " + ?");
}

static void add_format(labelled *l, const facts *f) {
    const char *type = ft_graph_meta(f->graph, "model_type"), *packing = ft_graph_meta(f->graph, "quantisation");
    const char *producer = ft_graph_meta(f->graph, "producer"), *opset = ft_graph_meta(f->graph, "opset");
    buf *out = labelled_add(l, "Format");
    buf_text(out, f->format);
    if (opset != NULL) buf_format(out, ", opset %s", opset);
    if (producer != NULL && producer[0] != '\0') buf_format(out, ", made by %s", producer);
    if (type != NULL && type[0] != '\0') buf_format(out, ", model type %s", type);
    if (packing != NULL) buf_format(out, ", weights packed by %s", packing);
    if (f->name[0] != '\0' && !table_has_many(f) && strstr(f->file, f->name) == NULL)
        buf_format(out, ", graph %s", f->name);
}

static void add_operators(labelled *l, const summary_facts *s) {
    buf *out = labelled_add(l, "Operators");
    buf_format(out, "%llu of %llu type%s", (unsigned long long)s->op_count, (unsigned long long)s->op_type_count,
               s->op_type_count == 1 ? "" : "s");
    if (s->folded_op_count > 0) buf_format(out, ", and %llu constant-folded", (unsigned long long)s->folded_op_count);
    if (s->unused_op_count > 0)
        buf_format(out, ", %s%llu that no output needs", s->folded_op_count > 0 ? "" : "and ",
                   (unsigned long long)s->unused_op_count);
}

/* A line each for the first few inputs or outputs. */
static void add_tensors(labelled *l, const char *label, const facts *f, const uint32_t *list, uint32_t count) {
    enum { SHOWN = 4 };
    for (uint32_t i = 0; i < count && i < SHOWN; i++) {
        const ft_tensor *tensor = &f->tensors[list[i]];
        buf *out = labelled_add(l, i == 0 ? label : "");
        char words[SHAPE_WORDS_SIZE];
        buf_format(out, "%s %s", tensor->rank < 0 ? "?" : shape_words(tensor, f->graph, words),
                   ft_dtype_name(tensor->dtype));
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
        for (uint32_t i = 0; i < f->symbol_count; i++) {
            buf_format(out, "%s%s", i > 0 ? ", " : "", f->symbols[i].name);
            if (f->symbols[i].value >= 0)
                buf_format(out, " = %lld", (long long)f->symbols[i].value);
            else
                buf_text(out, " is open");
        }
    }
    if (s->dtype != NULL || s->is_mixed) {
        out = labelled_add(l, "Precision");
        buf_format(out, "%s%s", s->dtype != NULL ? s->dtype : "as in the file",
                   s->is_mixed ? ", training keeps float32 master weights" : "");
    }
}

static void add_work(labelled *l, const summary_facts *s) {
    enum { STORED_PART = 64 }; /* less than this part on disk is not a compact type, but no weights */
    const bool is_open = s->open_op_count > 0;
    char number[UNIT_TEXT_SIZE];
    buf *out = labelled_add(l, "Parameters");
    add_count(out, s->params);
    if (s->tied_params > 0) {
        buf_text(out, ", ");
        add_count(out, s->tied_params);
        buf_text(out, " of them tied (read by several operators, counted once)");
    }
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
    if (s->stored_bytes > 0 && s->stored_bytes < s->weight_bytes / STORED_PART)
        buf_text(out, " (weights are not in the file)"); /* only small constants are */
    out = labelled_add(l, "MACs");
    add_sum(out, s->macs, is_open, add_count);
    out = labelled_add(l, "FLOPs");
    add_sum(out, s->flops, is_open, add_count);
    buf_text(out, " forward, ");
    add_sum(out, s->train_flops, is_open, add_count);
    buf_text(out, " a training step");
    out = labelled_add(l, "Moved");
    add_sum(out, s->moved_bytes, is_open, add_bytes);
    buf_text(out, " forward");
    unit_number(s->flops_per_byte, number);
    if (!is_open) buf_format(out, ", %s FLOPs per byte", number);
    out = labelled_add(l, "Activations");
    add_sum(out, s->activation_elems, is_open, add_count);
    buf_text(out, " elements, ");
    add_count(out, s->conv_matmul_elems);
    buf_text(out, " by convolutions and matrix products");
    if (s->runtime != NULL) {
        out = labelled_add(l, "Kernels");
        buf_format(out, "%llu with %s, moving ", (unsigned long long)s->kernel_count, s->runtime);
        add_sum(out, s->kernel_moved_bytes, is_open, add_bytes);
    }
}

/* A figure of one token, or "?" where the model cannot be bound for it. */
static void add_figure(buf *out, double value, void (*write)(buf *, uint64_t)) {
    write(out, isnan(value) ? FACT_UNKNOWN : (uint64_t)llround(value));
}

static void add_cache(labelled *l, const ft_language *m) {
    buf *out = labelled_add(l, "Cache");
    add_bytes(out, m->kv_bytes_per_token);
    buf_format(out, " a token in %u layer%s", m->attention_layers, m->attention_layers == 1 ? "" : "s");
    if (m->window_layers > 0) {
        buf_format(out, "; %u of them keep %llu tokens at most", m->window_layers,
                   (unsigned long long)m->window_tokens);
    }
    if (m->input_kv_bytes_per_token > 0) {
        out = labelled_add(l, "");
        add_bytes(out, m->input_kv_bytes_per_token);
        buf_text(out, " a token of the encoder's input");
    }
    if (m->index_bytes_per_token > 0) {
        out = labelled_add(l, "");
        add_bytes(out, m->index_bytes_per_token);
        buf_text(out, " a token of keys of the indexer");
    }
    if (m->state_bytes > 0) {
        out = labelled_add(l, "");
        add_bytes(out, m->state_bytes);
        buf_format(out, " of state a sequence in %u layer%s", m->state_layers, m->state_layers == 1 ? "" : "s");
    }
    if (m->kv_reserved_bytes == 0) return;
    out = labelled_add(l, "");
    add_bytes(out, m->kv_needed_bytes);
    buf_format(out, " for a sequence of %llu tokens", (unsigned long long)m->context_tokens);
    if (m->kv_needed_bytes == m->kv_reserved_bytes) return;
    buf_text(out, ", ");
    add_bytes(out, m->kv_reserved_bytes);
    buf_text(out, " where a runtime keeps all tokens in all layers");
}

/* What a token costs in a model that generates text. */
static void add_language(labelled *l, const language_facts *f) {
    const ft_language *m = &f->of;
    if (!m->has_cache) return;
    if (m->active_params < m->params) {
        buf *out = labelled_add(l, "Active");
        add_count(out, m->active_params);
        buf_text(out, " parameters for a token");
    }
    add_cache(l, m);
    if (m->run != FT_RUN_DECODE) {
        buf *out = labelled_add(l, "Prefill");
        add_figure(out, m->prefill_flops_per_token, add_count);
        buf_format(out, " FLOPs a token, for a prompt of %llu", (unsigned long long)m->prompt_tokens);
    }
    if (m->run == FT_RUN_PREFILL) return;
    buf *out = labelled_add(l, "Decode");
    add_figure(out, m->decode_flops_per_token, add_count);
    buf_text(out, " FLOPs and ");
    add_figure(out, m->decode_bytes_per_token, add_bytes);
    buf_format(out, " moved a token, after %llu", (unsigned long long)(m->context_tokens - 1));
}

/* Open dimensions, and the options that set them. */
static void add_open(labelled *l, const facts *f) {
    if (f->open_count == 0) return;
    buf_format(labelled_add(l, "Open"), "%llu of %llu operators depend on open dimensions and are not counted (?)",
               (unsigned long long)f->summary.open_op_count, (unsigned long long)f->summary.op_count);
    for (uint32_t i = 0; i < f->open_count; i++)
        buf_format(labelled_add(l, ""), "set %s with %s", f->open[i].name, f->open[i].flag);
}

static void add_coverage(labelled *l, const facts *f) {
    const summary_facts *s = &f->summary;
    char ratio[UNIT_TEXT_SIZE] = "?";
    buf *out = labelled_add(l, "Coverage");
    if (s->open_op_count > 0) {
        buf_format(out, "? (%llu operators have open dimensions)", (unsigned long long)s->open_op_count);
        return;
    }
    if (!isnan(s->coverage_ratio)) unit_ratio(s->coverage_ratio, ratio);
    buf_format(out, "%s of the work, %llu of %llu operators", ratio,
               (unsigned long long)(s->op_count - s->estimated_op_count), (unsigned long long)s->op_count);
}

/* What the reader of the file assumed. */
static void add_notes(labelled *l, const ft_graph *graph) {
    const char *key, *value;
    for (uint32_t i = 0; i < ft_graph_meta_count(graph); i++) {
        ft_graph_meta_at(graph, i, &key, &value);
        if (strncmp(key, "note", 4) == 0) buf_text(labelled_add(l, "Note"), value);
    }
}

void table_summary(writer *w, const facts *f) {
    const ft_style *style = &w->options->style;
    const ft_graph *g = f->graph;
    labelled l = {0};
    add_format(&l, f);
    add_operators(&l, &f->summary);
    add_tensors(&l, "Inputs", f, ft_graph_inputs(g), ft_graph_input_count(g));
    add_tensors(&l, "Outputs", f, ft_graph_outputs(g), ft_graph_output_count(g));
    add_setting(&l, f, style);
    add_open(&l, f);
    add_work(&l, &f->summary);
    add_language(&l, &f->language);
    add_coverage(&l, f);
    add_notes(&l, g);
    labelled_write(&l, style, TABLE_INDENT, &w->out);
}
