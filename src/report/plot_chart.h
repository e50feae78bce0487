/* plot_chart.h - charts on a canvas: a frame with two axes, and marks, lines and bars in it.
 *
 * Draw the frame first, then the rest from back to front. Drawing outside the axes is clipped. */
#ifndef REPORT_PLOT_CHART_H
#define REPORT_PLOT_CHART_H

#include "report/plot_axis.h"
#include "report/plot_canvas.h"

typedef struct plot_point {
    double x, y;
} plot_point;

/* The area between the axes; titles and tick labels need room outside. */
typedef struct chart {
    canvas *page;
    double left, top, width, height;
    plot_axis x, y;
    const char *x_title, *y_title; /* NULL: none */
} chart;

enum { CHART_ROOM_LEFT = 56, CHART_ROOM_BELOW = 40 }; /* for tick labels and titles, in points */

void chart_frame(const chart *c);
/* Position of a point on the page. */
plot_point chart_at(const chart *c, plot_point p);

typedef struct line_style {
    ink color;
    double width;
    bool is_dashed;
} line_style;

void chart_line(const chart *c, const plot_point *points, uint32_t count, const line_style *style);
/* The area between two lines of as many points. */
void chart_band(const chart *c, const plot_point *lower, const plot_point *upper, uint32_t count, ink color);
/* From edge to edge at a value of one axis. */
void chart_level(const chart *c, double y, const line_style *style);
void chart_upright(const chart *c, double x, const line_style *style);

/* A bar from `from` to `to` on the x axis, as high as `height`. */
typedef struct chart_bar {
    double from, to, height;
} chart_bar;

void chart_bars(const chart *c, const chart_bar *bars, uint32_t count, ink color);

/* --- Marks --------------------------------------------------------------------------------------------------- */

/* Marks of a series: the palette first with dots, then darker with squares, then paler with triangles. */
typedef struct mark_style {
    ink color;
    uint32_t shape;
    double size; /* across, in points */
} mark_style;

mark_style mark_style_at(uint32_t index, double size);

typedef struct mark_series {
    mark_style style;
    const plot_point *points;
    uint32_t count;
} mark_series;

/* Points of several series. They are drawn in layers, so that thick clouds look darker than thin ones, no series hides
 * the others, and a file of ten thousand marks stays small. Points outside the axes are drawn at their edge. */
void chart_marks(const chart *c, const mark_series *series, uint32_t count);

/* --- Legend -------------------------------------------------------------------------------------------------- */

typedef struct legend_entry {
    mark_style style;
    const char *text;
} legend_entry;

/* Entries in columns of equal width, as many as fit; returns the height it takes. Draws only with `is_drawn`. */
double legend_draw(canvas *page, double left, double top, double width, const legend_entry *entries, uint32_t count,
                   bool is_drawn);

/* A distribution: the middle half as a box with its median, and lines to the ends. */
typedef struct plot_box {
    double min, low, from, middle, to, high, max; /* percentiles 0, 5, 25, 50, 75, 95 and 100 */
} plot_box;

/* Along the x axis; `y` is its middle and `height` its height, in points from the top of the chart. */
void chart_box(const chart *c, double y, double height, const plot_box *box, ink color);

#endif
