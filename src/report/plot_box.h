/* plot_box.h - distributions as lying boxes: the middle half, its median, and lines to where the rest ends. */
#ifndef REPORT_PLOT_BOX_H
#define REPORT_PLOT_BOX_H

#include "report/plot_chart.h"

typedef struct plot_box {
    double least, low, from, middle, to, high, most; /* 0, 5, 25, 50, 75, 95 and 100 of 100 are below */
} plot_box;

/* Along the x axis; `y` is its middle and `height` its height, in points from the top of the chart. */
void chart_box(const chart *c, double y, double height, const plot_box *box, ink color);

#endif
