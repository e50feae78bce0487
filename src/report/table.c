/* table.c - facts as tables: summary, costs, lists; rounded and fitted to the width.
 *
 * A zero is written as "-" to make the other numbers stand out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/fields.h"
#include "report/table.h"
#include "report/units.h"

/* --- Titles -------------------------------------------------------------------------------------------------- */

bool table_has_many(const facts *f) {
    return ft_graph_format(f->graph) == FT_FORMAT_CG;
}

void table_title(char *title, size_t size, const facts *f) {
    if (table_has_many(f))
        snprintf(title, size, "%s: %s", f->file, f->name);
    else
        snprintf(title, size, "%s", f->file);
}

/* --- Cells --------------------------------------------------------------------------------------------------- */

void cell_text(grid_cell *cell, const char *text, const ft_style *style) {
    text_fit(text, UINT32_MAX, style, cell->text, sizeof cell->text);
}

void cell_count(grid_cell *cell, uint64_t value) {
    if (value == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else if (value == FACT_UNKNOWN)
        snprintf(cell->text, sizeof cell->text, "?");
    else
        unit_count(value, cell->text);
}

void cell_bytes(grid_cell *cell, uint64_t value) {
    if (value == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else if (value == FACT_UNKNOWN)
        snprintf(cell->text, sizeof cell->text, "?");
    else
        unit_bytes(value, cell->text);
}

void cell_mark_open(grid_cell *cell, bool is_open) {
    size_t length = strlen(cell->text);
    if (!is_open || strcmp(cell->text, "?") == 0) return;
    if (strcmp(cell->text, "-") == 0) length = 0;
    snprintf(cell->text + length, sizeof cell->text - length, length > 0 ? " + ?" : "?");
}

void cell_share(grid_cell *cell, double ratio) {
    if (ratio == 0)
        snprintf(cell->text, sizeof cell->text, "-");
    else if (isnan(ratio))
        snprintf(cell->text, sizeof cell->text, "?");
    else
        unit_ratio(ratio, cell->text);
}

void cell_shape(grid_cell *cell, const ft_tensor *tensor, const ft_graph *graph) {
    char words[SHAPE_WORDS_SIZE];
    snprintf(cell->text, sizeof cell->text, "%s", shape_words(tensor, graph, words));
    if (cell->text[0] == '\0') snprintf(cell->text, sizeof cell->text, "?");
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
        {"optimizer state", 0, s->peak_train_optimizer_bytes},
        {"activations", s->peak_infer_activation_bytes, s->peak_train_activation_bytes},
        {"workspace", s->peak_infer_workspace_bytes, s->peak_train_workspace_bytes},
        {"peak", s->peak_infer_bytes, s->peak_train_bytes},
    };
    snprintf(cells[0].text, sizeof cells[0].text, "%s", parts[row].label);
    cell_bytes(&cells[1], parts[row].infer);
    cell_bytes(&cells[2], parts[row].train);
}

static void write_peak(writer *w, const char *mode, const char *type, const char *name, const char *phase) {
    const ft_style *style = &w->options->style;
    if (name == NULL) return;
    char text[GRID_CELL_SIZE], fitted[GRID_CELL_SIZE];
    text_fit(name, 100, style, text, sizeof text);
    char whole[2 * GRID_CELL_SIZE];
    snprintf(whole, sizeof whole, "%s peaks at %.100s %s%s%s", mode, type, text, phase != NULL ? ", " : "",
             phase != NULL ? phase : "");
    text_fit(whole, style->width > TABLE_INDENT + 20 ? style->width - TABLE_INDENT : 20, style, fitted, sizeof fitted);
    buf_format(&w->out.text, "%*s%s\n", TABLE_INDENT, "", fitted);
}

static void write_memory(writer *w, const facts *f) {
    const summary_facts *s = &f->summary;
    char training[64], saved[UNIT_TEXT_SIZE];
    snprintf(training, sizeof training, "Training (%s)", s->optimizer);
    const grid_column columns[] = {{.title = "Memory at the peak"},
                                   {.title = "Inference", .is_right = true},
                                   {.title = training, .is_right = true}};
    grid_write(&(grid){.style = &w->options->style,
                       .columns = columns,
                       .column_count = 3,
                       .indent = TABLE_INDENT,
                       .row = memory_row,
                       .user = s,
                       .row_count = MEMORY_PARTS,
                       .foot_count = 1},
               &w->out);
    write_peak(w, "Inference", s->peak_infer_op_type, s->peak_infer_op, NULL);
    write_peak(w, "Training", s->peak_train_op_type, s->peak_train_op, s->peak_train_phase);
    if (s->train_saved_bytes == FACT_UNKNOWN) return;
    unit_bytes(s->train_saved_bytes, saved);
    buf_format(&w->out.text, "%*sTraining keeps %s of activations for backward\n", TABLE_INDENT, "", saved);
}

/* --- One line a model ---------------------------------------------------------------------------------------- */

typedef struct model_view {
    const facts *facts;
    const ft_style *style;
} model_view;

static void model_row(const void *user, uint32_t row, grid_cell *cells) {
    const model_view *v = user;
    const facts *f = v->facts;
    const summary_facts *s = &f->summary;
    char title[GRID_CELL_SIZE];
    (void)row;
    table_title(title, sizeof title, f);
    cell_text(&cells[0], title, v->style);
    cell_count(&cells[1], s->op_count);
    cell_count(&cells[2], s->params);
    cell_count(&cells[3], s->macs);
    cell_count(&cells[4], s->flops);
    cell_mark_open(&cells[3], (f->all_open & OPEN_MACS) != 0);
    cell_mark_open(&cells[4], (f->all_open & OPEN_FLOPS) != 0);
    cell_bytes(&cells[5], s->peak_infer_bytes);
    cell_bytes(&cells[6], s->peak_train_bytes);
    if (s->open_op_count > 0)
        snprintf(cells[7].text, sizeof cells[7].text, "?");
    else
        cell_share(&cells[7], s->coverage_ratio);
}

/* The columns are wide enough for any number, since later models are not read yet. */
static void write_model_line(writer *w, const facts *f) {
    const ft_style *style = &w->options->style;
    const model_view v = {f, style};
    const grid_column columns[] = {
        {.title = "Model", .is_flexible = true, .is_distinct = true, .min_width = style->width, .comfort = 24},
        {.title = "Ops", .is_right = true, .min_width = 6, .drop = 5},
        {.title = "Params", .is_right = true, .min_width = 6, .drop = 1},
        {.title = "MACs", .is_right = true, .min_width = 6, .drop = 2},
        {.title = "FLOPs", .is_right = true, .min_width = 6, .drop = 4},
        {.title = "Inference", .is_right = true, .min_width = 10},
        {.title = "Training", .is_right = true, .min_width = 10},
        {.title = "Coverage", .is_right = true, .min_width = 8, .drop = 3},
    };
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = 8,
                       .row = model_row,
                       .user = &v,
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
    table_title(whole, sizeof whole, f);
    text_fit(whole, style->width, style, title, sizeof title);
    if (w->model_count > 0) buf_char(&w->out.text, '\n');
    buf_format(&w->out.text, "%s%s%s\n", tone_begin(style, TONE_TITLE), title, tone_end(style, TONE_TITLE));
    table_summary(w, f);
    write_estimates(w, f);
    buf_char(&w->out.text, '\n');
    write_memory(w, f);
    table_types(w, f);
    if (f->node_order != NULL) table_nodes(w, f);
    if (f->kernel_order != NULL) table_kernels(w, f);
}
