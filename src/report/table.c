/* table.c - facts for people: what the model is, what it costs, then its lists; rounded and fitted to the width.
 *
 * A zero is written as "-" so that the eye finds what is there. */
#include <stdio.h>
#include <string.h>

#include "report/fields.h"
#include "report/grid.h"
#include "report/units.h"
#include "report/write.h"

enum { INDENT = 2 };

/* --- Cells --------------------------------------------------------------------------------------------------- */

static void put_text(grid_cell *cell, const char *text, const ft_style *style) {
    text_fit(text, UINT32_MAX, style, cell->text, sizeof cell->text);
}

static void put_count(grid_cell *cell, uint64_t value) {
    if (value == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else
        unit_count(value, cell->text);
}

static void put_bytes(grid_cell *cell, uint64_t value) {
    if (value == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else
        unit_bytes(value, cell->text);
}

static void put_share(grid_cell *cell, double ratio) {
    if (ratio == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else
        unit_ratio(ratio, cell->text);
}

static void put_shape(grid_cell *cell, const ft_tensor *tensor) {
    char words[SHAPE_WORDS_SIZE];
    snprintf(cell->text, sizeof cell->text, "%s", shape_words(tensor, words));
    if (cell->text[0] == '\0') snprintf(cell->text, sizeof cell->text, "?");
}

/* --- Lines of the summary ------------------------------------------------------------------------------------ */

typedef struct line {
    const char *label;
    buf value;
} line;

typedef struct lines {
    line items[24];
    uint32_t count;
    const ft_style *style;
} lines;

static buf *add_line(lines *l, const char *label) {
    line *item = &l->items[l->count++];
    item->label = label;
    return &item->value;
}

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

static void line_row(const void *user, uint32_t row, grid_cell *cells) {
    const lines *l = user;
    const line *item = &l->items[row];
    put_text(&cells[0], item->label, l->style);
    put_text(&cells[1], item->value.data != NULL ? item->value.data : "", l->style);
}

/* The models of a data set share a file: their own names tell them apart. */
static bool has_many(const facts *f) {
    return ft_graph_format(f->graph) == FT_FORMAT_CG;
}

/* What a model is called. */
static void put_title(char *title, size_t size, const facts *f) {
    if (has_many(f))
        snprintf(title, size, "%s: %s", f->file, f->name);
    else
        snprintf(title, size, "%s", f->file);
}

static void add_format(lines *l, const facts *f) {
    const char *producer = ft_graph_meta(f->graph, "producer"), *opset = ft_graph_meta(f->graph, "opset");
    buf *out = add_line(l, "Format");
    buf_text(out, f->format);
    if (opset != NULL) buf_format(out, ", opset %s", opset);
    if (producer != NULL && producer[0] != '\0') buf_format(out, ", made by %s", producer);
    if (f->name[0] != '\0' && !has_many(f) && strstr(f->file, f->name) == NULL) buf_format(out, ", graph %s", f->name);
}

static void add_operators(lines *l, const summary_facts *s) {
    buf *out = add_line(l, "Operators");
    buf_format(out, "%llu of %llu type%s", (unsigned long long)s->op_count, (unsigned long long)s->op_type_count,
               s->op_type_count == 1 ? "" : "s");
    if (s->folded_op_count > 0)
        buf_format(out, ", and %llu known before the run (folded)", (unsigned long long)s->folded_op_count);
}

/* A line each for the first few inputs or outputs. */
static void add_tensors(lines *l, const char *label, const ft_graph *graph, const uint32_t *list, uint32_t count) {
    enum { SHOWN = 4 };
    for (uint32_t i = 0; i < count && i < SHOWN; i++) {
        const ft_tensor *tensor = &ft_graph_tensors(graph)[list[i]];
        buf *out = add_line(l, i == 0 ? label : "");
        char words[SHAPE_WORDS_SIZE];
        buf_format(out, "%s %s", tensor->rank < 0 ? "?" : shape_words(tensor, words), ft_dtype_name(tensor->dtype));
        if (tensor->name[0] != '\0') buf_format(out, "  %s", tensor->name);
        if (i + 1 == SHOWN && count > SHOWN) buf_format(out, "  (and %u more)", count - SHOWN);
    }
}

static void add_setting(lines *l, const facts *f) {
    const summary_facts *s = &f->summary;
    buf *out = add_line(l, "Batch");
    buf_format(out, "%llu", (unsigned long long)s->batch);
    if (s->is_scaled) {
        buf_format(out, " (the file fixes %llu: activations scaled %s%llu", (unsigned long long)s->exported_batch,
                   l->style->has_utf8 ? "\xc3\x97" : "x", (unsigned long long)s->batch);
        if (s->exported_batch > 1) buf_format(out, "/%llu", (unsigned long long)s->exported_batch);
        buf_text(out, ", weights not)");
    }
    if (f->symbol_count > 0) {
        out = add_line(l, "Symbols");
        for (uint32_t i = 0; i < f->symbol_count; i++)
            buf_format(out, "%s%s = %lld", i > 0 ? ", " : "", f->symbols[i].name, (long long)f->symbols[i].value);
    }
    if (s->dtype != NULL || s->is_mixed) {
        out = add_line(l, "Precision");
        buf_format(out, "%s%s", s->dtype != NULL ? s->dtype : "as in the file",
                   s->is_mixed ? ", training keeps float32 master weights" : "");
    }
}

static void add_work(lines *l, const summary_facts *s) {
    char number[UNIT_TEXT_SIZE];
    buf *out = add_line(l, "Parameters");
    add_count(out, s->params);
    if (s->buffer_elems > 0) {
        buf_text(out, ", and ");
        add_count(out, s->buffer_elems);
        buf_text(out, " not trained");
    }
    out = add_line(l, "Weights");
    add_bytes(out, s->weight_bytes);
    buf_text(out, " in memory, ");
    if (s->stored_bytes > 0)
        add_bytes(out, s->stored_bytes);
    else
        buf_text(out, "none");
    buf_text(out, " on disk");
    out = add_line(l, "MACs");
    add_count(out, s->macs);
    out = add_line(l, "FLOPs");
    add_count(out, s->flops);
    buf_text(out, " forward, ");
    add_count(out, s->train_flops);
    buf_text(out, " a training step");
    out = add_line(l, "Moved");
    add_bytes(out, s->moved_bytes);
    unit_number(s->flops_per_byte, number);
    buf_format(out, " forward, %s FLOPs per byte", number);
    out = add_line(l, "Activations");
    add_count(out, s->activation_elems);
    buf_text(out, " elements, ");
    add_count(out, s->conv_matmul_elems);
    buf_text(out, " by convolutions and matrix products");
    if (s->runtime != NULL) {
        out = add_line(l, "Kernels");
        buf_format(out, "%llu with %s, moving ", (unsigned long long)s->kernel_count, s->runtime);
        add_bytes(out, s->kernel_moved_bytes);
    }
}

static void add_coverage(lines *l, const facts *f) {
    const summary_facts *s = &f->summary;
    char ratio[UNIT_TEXT_SIZE];
    unit_ratio(s->coverage_ratio, ratio);
    buf_format(add_line(l, "Coverage"), "%s of the work, %llu of %llu operators", ratio,
               (unsigned long long)(s->op_count - s->estimated_op_count), (unsigned long long)s->op_count);
}

static void write_summary(writer *w, const facts *f) {
    static const grid_column columns[] = {{.title = ""}, {.title = "", .is_flexible = true, .wraps = true}};
    const ft_style *style = &w->options->style;
    const ft_graph *g = f->graph;
    lines l = {.style = style};
    add_format(&l, f);
    add_operators(&l, &f->summary);
    add_tensors(&l, "Inputs", g, ft_graph_inputs(g), ft_graph_input_count(g));
    add_tensors(&l, "Outputs", g, ft_graph_outputs(g), ft_graph_output_count(g));
    add_setting(&l, f);
    add_work(&l, &f->summary);
    add_coverage(&l, f);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = 2,
                       .indent = INDENT,
                       .row = line_row,
                       .user = &l,
                       .row_count = l.count,
                       .has_no_heading = true},
               &w->out);
    for (uint32_t i = 0; i < l.count; i++) {
        if (l.items[i].value.failed) w->out.text.failed = true;
        buf_free(&l.items[i].value);
    }
}

/* --- Warnings ------------------------------------------------------------------------------------------------ */

/* A line of its own for each kind of operator that was only estimated. */
static void write_estimates(writer *w, const facts *f) {
    enum { SHOWN = 10 };
    const ft_style *style = &w->options->style;
    for (uint32_t i = 0; i < f->estimate_count; i++) {
        const estimate_facts *e = &f->estimates[i];
        char type[GRID_CELL_SIZE];
        text_fit(e->type, 40, style, type, sizeof type);
        buf_format(&w->out.text, "  %s! ", tone_begin(style, TONE_WARNING));
        if (i == SHOWN) {
            buf_format(&w->out.text, "and %u more types%s\n", f->estimate_count - SHOWN, tone_end(style, TONE_WARNING));
            break;
        }
        buf_format(&w->out.text, "%s (%llu): %s, %s%s\n", type, (unsigned long long)e->count, e->reason, e->rule,
                   tone_end(style, TONE_WARNING));
    }
}

/* --- Memory -------------------------------------------------------------------------------------------------- */

enum { MEMORY_PARTS = 6 };

static void memory_row(const void *user, uint32_t row, grid_cell *cells) {
    const summary_facts *s = user;
    const struct {
        const char *label;
        uint64_t infer, train;
    } parts[MEMORY_PARTS] = {
        {"weights", s->peak_infer_weight_bytes, s->peak_train_weight_bytes},
        {"gradients", 0, s->peak_train_gradient_bytes},
        {"optimiser state", 0, s->peak_train_optimizer_bytes},
        {"activations", s->peak_infer_activation_bytes, s->peak_train_activation_bytes},
        {"workspace", s->peak_infer_workspace_bytes, s->peak_train_workspace_bytes},
        {"peak", s->peak_infer_bytes, s->peak_train_bytes},
    };
    snprintf(cells[0].text, sizeof cells[0].text, "%s", parts[row].label);
    put_bytes(&cells[1], parts[row].infer);
    put_bytes(&cells[2], parts[row].train);
}

static void write_peak(writer *w, const char *mode, const char *type, const char *name, const char *phase) {
    const ft_style *style = &w->options->style;
    if (name == NULL) return;
    char text[GRID_CELL_SIZE], fitted[GRID_CELL_SIZE];
    text_fit(name, 100, style, text, sizeof text);
    char whole[2 * GRID_CELL_SIZE];
    snprintf(whole, sizeof whole, "%s peaks at %.100s %s%s%s", mode, type, text, phase != NULL ? ", " : "",
             phase != NULL ? phase : "");
    text_fit(whole, style->width > INDENT + 20 ? style->width - INDENT : 20, style, fitted, sizeof fitted);
    buf_format(&w->out.text, "%*s%s\n", INDENT, "", fitted);
}

static void write_memory(writer *w, const facts *f) {
    const summary_facts *s = &f->summary;
    char training[64], saved[UNIT_TEXT_SIZE];
    snprintf(training, sizeof training, "Training (%s)", s->optimizer);
    const grid_column columns[] = {
        {.title = "Memory"}, {.title = "Inference", .is_right = true}, {.title = training, .is_right = true}};
    grid_write(&(grid){.style = &w->options->style,
                       .columns = columns,
                       .column_count = 3,
                       .indent = INDENT,
                       .row = memory_row,
                       .user = s,
                       .row_count = MEMORY_PARTS,
                       .foot_count = 1},
               &w->out);
    write_peak(w, "Inference", s->peak_infer_op_type, s->peak_infer_op, NULL);
    write_peak(w, "Training", s->peak_train_op_type, s->peak_train_op, s->peak_train_phase);
    unit_bytes(s->train_saved_bytes, saved);
    buf_format(&w->out.text, "%*sTraining keeps %s of activations for backward\n", INDENT, "", saved);
}

/* --- Lists --------------------------------------------------------------------------------------------------- */

typedef struct list {
    const facts *facts;
    const ft_style *style;
} list;

static void type_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    const facts *f = l->facts;
    const summary_facts *s = &f->summary;
    if (row == f->type_shown) {
        put_text(&cells[0], "Total", l->style);
        put_count(&cells[1], s->op_count);
        put_count(&cells[2], s->params);
        put_count(&cells[3], s->macs);
        put_count(&cells[4], s->flops);
        put_bytes(&cells[5], s->moved_bytes);
        return;
    }
    const type_facts *type = &f->types[row];
    put_text(&cells[0], type->type, l->style);
    put_count(&cells[1], type->count);
    put_count(&cells[2], type->params);
    put_count(&cells[3], type->macs);
    put_count(&cells[4], type->flops);
    put_bytes(&cells[5], type->moved_bytes);
    put_share(&cells[6], type->share_ratio);
    put_share(&cells[7], type->cumulative_ratio);
}

static void node_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    node_facts node;
    facts_node(l->facts, row, &node);
    snprintf(cells[0].text, sizeof cells[0].text, "%u", node.index);
    put_text(&cells[1], node.name, l->style);
    put_text(&cells[2], node.type, l->style);
    put_shape(&cells[3], node.output);
    put_count(&cells[4], node.params);
    put_count(&cells[5], node.macs);
    put_count(&cells[6], node.flops);
    put_bytes(&cells[7], node.moved_bytes);
    unit_number(node.flops_per_byte, cells[8].text);
}

static void put_kernel_ops(grid_cell *cell, const list *l, const kernel_facts *kernel) {
    enum { SHOWN = 12 };
    char text[GRID_CELL_SIZE];
    size_t used = 0;
    for (uint32_t i = 0; i < kernel->op_count && i < SHOWN && used < sizeof text; i++) {
        const char *type = ft_graph_ops(l->facts->graph)[kernel->kernel->ops[i]].type;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "+" : "", type);
    }
    if (kernel->op_count > SHOWN && used < sizeof text)
        snprintf(text + used, sizeof text - used, "+%llu more", (unsigned long long)(kernel->op_count - SHOWN));
    put_text(cell, text, l->style);
}

static void kernel_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    kernel_facts kernel;
    facts_kernel(l->facts, row, &kernel);
    snprintf(cells[0].text, sizeof cells[0].text, "%u", kernel.index);
    put_text(&cells[1], kernel.type, l->style);
    put_kernel_ops(&cells[2], l, &kernel);
    put_shape(&cells[3], kernel.input);
    put_shape(&cells[4], kernel.output);
    put_count(&cells[5], kernel.params);
    put_count(&cells[6], kernel.macs);
    put_count(&cells[7], kernel.flops);
    put_bytes(&cells[8], kernel.moved_bytes);
    unit_number(kernel.flops_per_byte, cells[9].text);
}

static void write_list(writer *w, const facts *f, const grid_column *columns, uint32_t column_count, grid_row *row,
                       uint32_t row_count, uint32_t foot_count) {
    const list l = {f, &w->options->style};
    buf_char(&w->out.text, '\n');
    grid_write(&(grid){.style = l.style,
                       .columns = columns,
                       .column_count = column_count,
                       .indent = INDENT,
                       .row = row,
                       .user = &l,
                       .row_count = row_count + foot_count,
                       .foot_count = foot_count},
               &w->out);
}

static void write_rest(writer *w, uint32_t count, uint32_t shown, const char *what) {
    if (shown < count)
        buf_format(&w->out.text, "  (%u more %s%s not shown: --top %u)\n", count - shown, what,
                   count - shown == 1 ? "" : "s", shown);
}

static void write_types(writer *w, const facts *f) {
    char share[32];
    snprintf(share, sizeof share, "%% %s", f->share_of);
    const grid_column columns[] = {
        {.title = "Type", .is_flexible = true}, {.title = "Count", .is_right = true},
        {.title = "Params", .is_right = true},  {.title = "MACs", .is_right = true, .drop = 2},
        {.title = "FLOPs", .is_right = true},   {.title = "Moved", .is_right = true},
        {.title = share, .is_right = true},     {.title = "So far", .is_right = true, .drop = 3},
    };
    write_list(w, f, columns, 8, type_row, f->type_shown, 1);
    write_rest(w, f->type_count, f->type_shown, "type");
}

static void write_nodes(writer *w, const facts *f) {
    static const grid_column columns[] = {
        {.title = "#", .is_right = true, .drop = 4},
        {.title = "Operator", .is_flexible = true},
        {.title = "Type", .is_flexible = true},
        {.title = "Output", .is_flexible = true},
        {.title = "Params", .is_right = true, .drop = 1},
        {.title = "MACs", .is_right = true, .drop = 2},
        {.title = "FLOPs", .is_right = true},
        {.title = "Moved", .is_right = true},
        {.title = "FLOPs/B", .is_right = true, .drop = 3},
    };
    write_list(w, f, columns, 9, node_row, f->node_shown, 0);
    write_rest(w, f->node_count, f->node_shown, "operator");
}

static void write_kernels(writer *w, const facts *f) {
    static const grid_column columns[] = {
        {.title = "#", .is_right = true, .drop = 6},
        {.title = "Kernel", .is_flexible = true, .comfort = 18},
        {.title = "Operators", .is_flexible = true, .drop = 1},
        {.title = "Input", .is_flexible = true, .drop = 4},
        {.title = "Output", .is_flexible = true},
        {.title = "Params", .is_right = true, .drop = 2},
        {.title = "MACs", .is_right = true, .drop = 3},
        {.title = "FLOPs", .is_right = true},
        {.title = "Moved", .is_right = true},
        {.title = "FLOPs/B", .is_right = true, .drop = 5},
    };
    write_list(w, f, columns, 10, kernel_row, f->kernel_shown, 0);
    write_rest(w, f->kernel_count, f->kernel_shown, "kernel");
}

/* --- One line a model ---------------------------------------------------------------------------------------- */

static void model_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    const facts *f = l->facts;
    const summary_facts *s = &f->summary;
    char title[GRID_CELL_SIZE];
    (void)row;
    put_title(title, sizeof title, f);
    put_text(&cells[0], title, l->style);
    put_count(&cells[1], s->op_count);
    put_count(&cells[2], s->params);
    put_count(&cells[3], s->macs);
    put_count(&cells[4], s->flops);
    put_bytes(&cells[5], s->peak_infer_bytes);
    put_bytes(&cells[6], s->peak_train_bytes);
    put_share(&cells[7], s->coverage_ratio);
}

/* The columns are wide enough for any number, since the models to come are not known yet. */
static void write_model_line(writer *w, const facts *f) {
    const ft_style *style = &w->options->style;
    const list l = {f, style};
    const grid_column columns[] = {
        {.title = "Model", .is_flexible = true, .keeps_end = true, .min_width = style->width, .comfort = 24},
        {.title = "Ops", .is_right = true, .min_width = 6, .drop = 5},
        {.title = "Params", .is_right = true, .min_width = 6},
        {.title = "MACs", .is_right = true, .min_width = 6},
        {.title = "FLOPs", .is_right = true, .min_width = 6, .drop = 4},
        {.title = "Inference", .is_right = true, .min_width = 10, .drop = 1},
        {.title = "Training", .is_right = true, .min_width = 10, .drop = 2},
        {.title = "Known", .is_right = true, .min_width = 7, .drop = 3},
    };
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = 8,
                       .row = model_row,
                       .user = &l,
                       .row_count = 1,
                       .has_no_heading = w->model_count > 0},
               &w->out);
}

/* --- A model ------------------------------------------------------------------------------------------------- */

void report_table_model(writer *w, const facts *f) {
    const ft_style *style = &w->options->style;
    if (w->options->is_list) {
        write_model_line(w, f);
        return;
    }
    char whole[GRID_CELL_SIZE], title[GRID_CELL_SIZE];
    put_title(whole, sizeof whole, f);
    text_fit(whole, style->width, style, title, sizeof title);
    if (w->model_count > 0) buf_char(&w->out.text, '\n');
    buf_format(&w->out.text, "%s%s%s\n", tone_begin(style, TONE_TITLE), title, tone_end(style, TONE_TITLE));
    write_summary(w, f);
    write_estimates(w, f);
    buf_char(&w->out.text, '\n');
    write_memory(w, f);
    write_types(w, f);
    if (f->node_order != NULL) write_nodes(w, f);
    if (f->kernel_order != NULL) write_kernels(w, f);
}
