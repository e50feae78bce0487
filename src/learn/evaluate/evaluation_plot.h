/* evaluation_plot.h - plots of the cases of an evaluation: a column of panels per device, one color per family.
 *
 * Pages, headings, legends, colors and common panels, for evaluation_plot.c and extrapolation_plot.c, which define the
 * content of the columns. */
#ifndef LEARN_EVALUATION_PLOT_H
#define LEARN_EVALUATION_PLOT_H

#include "foretell/learn.h"
#include "report/plot_chart.h"

enum { FIGURE_MAX_FAMILIES = 23, FIGURE_MAX_BINS = 40 };

typedef struct figure {
    const ft_evaluation *evaluation;
    ft_case *cases; /* sorted by device and family */
    const char *families[FIGURE_MAX_FAMILIES + 1];
    uint32_t family_count;
    plot_point *points; /* scratch space for the cases of one device */
    double *numbers;    /* the same */
    axis_unit unit;     /* of the metric */
    char label[AXIS_LABEL];
    char measured_title[AXIS_LABEL + 16], predicted_title[AXIS_LABEL + 16];
    const void *user; /* for the functions that draw columns */
} figure;

/* The panels of one device. */
typedef struct column {
    const figure *f;
    canvas *page;
    double left;
    const ft_case *cases;
    uint32_t count;
} column;

/* FT_ERR_USAGE when there is no case; `path` is for the message. */
ft_status figure_open(figure *f, const ft_evaluation *evaluation, const char *path, ft_error *error);
void figure_close(figure *f);

/* Draws the panels of a device, from `top` downwards. */
typedef void figure_column(const column *c, double top);
/* Draws the whole page: columns of the given height with headings, and the legend below. */
ft_status figure_draw(const figure *f, const char *title, double height, figure_column *draw, const char *path,
                      ft_error *error);

/* --- Panels -------------------------------------------------------------------------------------------------- */

extern const double FIGURE_PANEL;     /* width of all panels, height of the large one */
extern const double FIGURE_LOW_PANEL; /* height of the others */
extern const double FIGURE_ROW_GAP;
extern const line_style FIGURE_ZERO_LINE, FIGURE_TEN_LINE;

chart figure_panel(const column *c, double top, double height);

double figure_signed_error(const ft_case *c); /* in percent */
/* The range of the error axis in percent: holds 99 of 100 cases, rounded up to one of a few readable steps. */
double figure_error_range(const column *c);
/* The smallest and largest measured value; with `has_predicted`, of predicted values too. */
void figure_value_range(const column *c, bool has_predicted, double *lo, double *hi);

/* The position of a case in a panel. */
typedef plot_point figure_point(const column *c, const ft_case *item);
void figure_marks(const column *c, const chart *panel, figure_point *point);

/* Histogram of relative errors. The first and the last bin include what is beyond them. */
void figure_error_histogram(const column *c, double top, double range);
/* Errors on an axis from -range to range, with the median of groups of equal count. The caller sets the x axis of the
 * panel. `known`, or NULL, is the interval of x that training covered: the rest is shaded. */
void figure_errors(const column *c, chart *panel, double range, figure_point *point, const double known[2]);

#endif
