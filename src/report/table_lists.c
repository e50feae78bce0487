/* table_lists.c - the lists of a table about a model: by type, by operator, by kernel. */
#include <stdio.h>

#include "report/table.h"
#include "report/units.h"

typedef struct list {
    const facts *facts;
    const ft_style *style;
} list;

static void mark_open(grid_cell *cells, uint8_t open) {
    cell_mark_open(&cells[3], (open & OPEN_MACS) != 0);
    cell_mark_open(&cells[4], (open & OPEN_FLOPS) != 0);
    cell_mark_open(&cells[5], (open & OPEN_BYTES) != 0);
}

static void type_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    const facts *f = l->facts;
    const summary_facts *s = &f->summary;
    if (row == f->type_shown) {
        cell_text(&cells[0], "Total", l->style);
        cell_count(&cells[1], s->op_count);
        cell_count(&cells[2], s->params);
        cell_count(&cells[3], s->macs);
        cell_count(&cells[4], s->flops);
        cell_bytes(&cells[5], s->moved_bytes);
        mark_open(cells, f->all_open);
        return;
    }
    const type_facts *type = &f->types[row];
    cell_text(&cells[0], type->type, l->style);
    cell_count(&cells[1], type->count);
    cell_count(&cells[2], type->params);
    cell_count(&cells[3], type->macs);
    cell_count(&cells[4], type->flops);
    cell_bytes(&cells[5], type->moved_bytes);
    mark_open(cells, type->open);
    if (f->open_count > 0) return;
    cell_share(&cells[6], type->share_ratio);
    cell_share(&cells[7], type->cumulative_ratio);
}

static void node_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    node_facts node;
    facts_node(l->facts, row, &node);
    snprintf(cells[0].text, sizeof cells[0].text, "%u", node.index);
    cell_text(&cells[1], node.name, l->style);
    cell_text(&cells[2], node.type, l->style);
    cell_shape(&cells[3], node.output, l->facts->graph);
    cell_count(&cells[4], node.params);
    cell_count(&cells[5], node.macs);
    cell_count(&cells[6], node.flops);
    cell_bytes(&cells[7], node.moved_bytes);
    if (!node.is_open) unit_number(node.flops_per_byte, cells[8].text);
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
    cell_text(cell, text, l->style);
}

static void kernel_row(const void *user, uint32_t row, grid_cell *cells) {
    const list *l = user;
    kernel_facts kernel;
    facts_kernel(l->facts, row, &kernel);
    snprintf(cells[0].text, sizeof cells[0].text, "%u", kernel.index);
    cell_text(&cells[1], kernel.type, l->style);
    put_kernel_ops(&cells[2], l, &kernel);
    cell_shape(&cells[3], kernel.input, l->facts->graph);
    cell_shape(&cells[4], kernel.output, l->facts->graph);
    cell_count(&cells[5], kernel.params);
    cell_count(&cells[6], kernel.macs);
    cell_count(&cells[7], kernel.flops);
    cell_bytes(&cells[8], kernel.moved_bytes);
    if (!kernel.is_open) unit_number(kernel.flops_per_byte, cells[9].text);
}

static void write_list(writer *w, const facts *f, const grid_column *columns, uint32_t column_count, grid_row *row,
                       uint32_t row_count, uint32_t foot_count) {
    const list l = {f, &w->options->style};
    buf_char(&w->out.text, '\n');
    grid_write(&(grid){.style = l.style,
                       .columns = columns,
                       .column_count = column_count,
                       .indent = TABLE_INDENT,
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

void table_types(writer *w, const facts *f) {
    char share[32];
    snprintf(share, sizeof share, "%% %s", f->share_of);
    const grid_column columns[] = {
        {.title = "Type", .is_flexible = true}, {.title = "Count", .is_right = true},
        {.title = "Params", .is_right = true},  {.title = "MACs", .is_right = true, .drop = 2},
        {.title = "FLOPs", .is_right = true},   {.title = "Moved", .is_right = true},
        {.title = share, .is_right = true},     {.title = "So far", .is_right = true, .drop = 3},
    };
    write_list(w, f, columns, f->open_count > 0 ? 6 : 8, type_row, f->type_shown, 1); /* no shares of what is open */
    write_rest(w, f->type_count, f->type_shown, "type");
}

void table_nodes(writer *w, const facts *f) {
    static const grid_column columns[] = {
        {.title = "#", .is_right = true},
        {.title = "Operator", .is_flexible = true, .is_distinct = true, .comfort = 20},
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

void table_kernels(writer *w, const facts *f) {
    static const grid_column columns[] = {
        {.title = "#", .is_right = true},
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
