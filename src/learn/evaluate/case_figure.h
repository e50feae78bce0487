/* case_figure.h - pictures of the cases of an evaluation: a column of panels for each device, colours for families.
 *
 * evaluation_plot.c and extrapolation_plot.c say what is in the columns; pages, heads, legends, colours and the panels
 * that both have are here. */
#ifndef LEARN_CASE_FIGURE_H
#define LEARN_CASE_FIGURE_H

#include "foretell/learn.h"
#include "report/plot_chart.h"

enum { FIGURE_MOST_FAMILIES = 23, FIGURE_MOST_BINS = 40 };

typedef struct figure {
    const ft_evaluation *evaluation;
    ft_case *cases; /* sorted by device and family */
    const char *families[FIGURE_MOST_FAMILIES + 1];
    uint32_t family_count;
    plot_point *points; /* room for those of one device */
    double *numbers;    /* the same */
    axis_unit unit;     /* of the metric */
    char label[AXIS_LABEL];
    char measured_title[AXIS_LABEL + 16], predicted_title[AXIS_LABEL + 16];
    const void *user; /* of those who draw the columns */
} figure;

/* One device. */
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
/* The whole page: columns as high as said, with heads, and the legend below. */
ft_status figure_draw(const figure *f, const char *title, double height, figure_column *draw, const char *path,
                      ft_error *error);

/* --- Panels -------------------------------------------------------------------------------------------------- */

extern const double FIGURE_PANEL, FIGURE_LOW_PANEL, FIGURE_ROW_GAP; /* width and height, height, between them */
extern const line_style FIGURE_ZERO_LINE, FIGURE_TEN_LINE;

chart figure_panel(const column *c, double top, double height);

double figure_signed_error(const ft_case *c); /* in percent */
/* The error, in percent, that 99 of 100 cases stay below, but never less than is worth a look. */
double figure_error_range(const column *c);
/* Lowest and highest measured value; with `has_predicted` also of the predicted ones. */
void figure_value_range(const column *c, bool has_predicted, double *lo, double *hi);

/* Where a case goes. */
typedef plot_point figure_point(const column *c, const ft_case *item);
void figure_marks(const column *c, const chart *panel, figure_point *point);

/* How many cases have which error. The first and the last bin also hold what is beyond them. */
void figure_error_histogram(const column *c, double top, double range);
/* Errors on an axis from -range to range, with the median of groups of equal count. The panel has its x axis. `known`,
 * or NULL, is from where to where on it training went: what is outside is shaded. */
void figure_errors(const column *c, chart *panel, double range, figure_point *point, const double known[2]);

#endif
