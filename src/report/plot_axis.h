/* plot_axis.h - positions of values on an axis, and its tick labels. Arithmetic only: plot_chart.h draws.
 *
 * Ticks stand at 1-2-5 steps, on long logarithmic axes at powers of ten, whichever gives a handful of them. */
#ifndef REPORT_PLOT_AXIS_H
#define REPORT_PLOT_AXIS_H

#include <stdbool.h>
#include <stdint.h>

enum { AXIS_MAX_TICKS = 16, AXIS_TICK_TEXT = 24 };

/* Unit of values: `value * scale` is in `symbol`, printed with a prefix: 12 ms, 3.5 MiB. No symbol: plain numbers. */
typedef struct axis_unit {
    const char *symbol;
    double scale;
} axis_unit;

/* The unit of a metric by the end of its name ("time_us", "peak_bytes", "util_ratio"); the rest ("time",
 * "peak", ...) is written to `label`. */
enum { AXIS_LABEL = 64 };
axis_unit axis_unit_of(const char *metric, char label[static AXIS_LABEL]);

typedef struct axis_tick {
    double at;
    char text[AXIS_TICK_TEXT];
} axis_tick;

typedef struct plot_axis {
    bool is_log;
    double lo, hi;
    axis_unit unit;
    uint32_t tick_count;
    axis_tick ticks[AXIS_MAX_TICKS];
    uint32_t anchor; /* the tick that keeps its label when there is no room for all: zero, or a power of ten */
} plot_axis;

/* An axis that shows all of lo .. hi, with about `about` ticks. An empty range is widened; one that is not finite
 * becomes 0 .. 1. */
void axis_linear(plot_axis *axis, double lo, double hi, uint32_t about, axis_unit unit);
/* The same in powers of ten, with a little room at both ends; lo and hi are positive. */
void axis_log(plot_axis *axis, double lo, double hi, uint32_t about, axis_unit unit);
/* A linear axis that ends at ticks, and at zero when it begins there: for counts. */
void axis_counts(plot_axis *axis, double hi, uint32_t about);

/* 0 at the beginning of the axis, 1 at its end; beyond for values outside. */
double axis_place(const plot_axis *axis, double value);

/* Three digits at most, a prefix when the unit has a symbol, no locale. */
void axis_text(double value, axis_unit unit, char text[static AXIS_TICK_TEXT]);

#endif
