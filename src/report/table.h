/* table.h - shared by table.c, table_summary.c and table_lists.c: titles, cells, sections. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/grid.h"
#include "report/write.h"

enum { TABLE_INDENT = 2 };

/* --- Titles (table.c) ------------------------------------------------------------------------------------------- */

/* The models of a data set share a file: their titles include their names. */
bool table_has_many(const facts *f);
void table_title(char *title, size_t size, const facts *f);

/* --- Cells (table.c) -------------------------------------------------------------------------------------------- */

void cell_text(grid_cell *cell, const char *text, const ft_style *style);
void cell_count(grid_cell *cell, uint64_t value);
void cell_bytes(grid_cell *cell, uint64_t value);
/* Marks a sum that lacks operators with open dimensions: "1.40 M + ?", or "?" alone. */
void cell_mark_open(grid_cell *cell, bool is_open);
void cell_share(grid_cell *cell, double ratio);
void cell_shape(grid_cell *cell, const ft_tensor *tensor, const ft_graph *graph);

/* --- Sections ---------------------------------------------------------------------------------------------------- */

/* The summary and costs, in lines (table_summary.c). */
void table_summary(writer *w, const facts *f);
/* By type, by operator and by kernel (table_lists.c). */
void table_types(writer *w, const facts *f);
void table_nodes(writer *w, const facts *f);
void table_kernels(writer *w, const facts *f);

#endif
