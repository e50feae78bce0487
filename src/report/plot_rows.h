/* plot_rows.h - lists as charts: a row for each thing, with its name, a bar or a mark, and its value.
 *
 * Bars are for shares of a whole, on an axis from zero. Marks with a line from the lower to the upper end of an
 * interval are for values of very different size, on a logarithmic axis. */
#ifndef REPORT_PLOT_ROWS_H
#define REPORT_PLOT_ROWS_H

#include "report/plot_chart.h"

enum { PLOT_ROW_TEXT = 48 };

typedef struct plot_row {
    const char *label;
    double value;
    double lo, hi; /* NaN: no interval; marks only */
    char text[PLOT_ROW_TEXT];
    ink color;
} plot_row;

typedef struct plot_rows {
    canvas *page;
    double left, top, width; /* of the chart with labels and values */
    const char *title;
    const plot_row *rows;
    uint32_t count;
    axis_unit unit; /* marks only: of the axis below */
} plot_rows;

/* Height with the title. */
double plot_rows_height(uint32_t count, bool has_axis);
void plot_rows_bars(const plot_rows *list);
void plot_rows_marks(const plot_rows *list);

#endif
