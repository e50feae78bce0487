/* plot_canvas.h - a page to draw on that becomes an SVG or a PNG file, whole or not at all.
 *
 * One drawing code serves both: the end of the file's name decides. Lengths are in points; a PNG has two pixels a
 * point, so that it is sharp on today's screens. */
#ifndef REPORT_PLOT_CANVAS_H
#define REPORT_PLOT_CANVAS_H

#include <cairo.h>
#include <stdint.h>

#include "base/outfile.h"

enum { CANVAS_MOST_POINTS = 16000 }; /* on a side: cairo's images end at 32767 pixels */

typedef struct canvas {
    cairo_t *cairo;
    cairo_surface_t *surface;
    bool is_png;
    outfile file;
} canvas;

/* FT_ERR_USAGE when the path ends neither in .svg nor in .png. */
ft_status canvas_open(const char *path, double width, double height, canvas *c, ft_error *error);
/* Makes the file appear, or says why it does not. Frees the canvas in any case. */
ft_status canvas_commit(canvas *c, ft_error *error);
void canvas_discard(canvas *c);

/* --- Colours: told apart by those who see red and green as one (Okabe and Ito) ----------------------------------- */

typedef struct ink {
    double red, green, blue, alpha;
} ink;

enum { PALETTE_COUNT = 8 };
ink palette_at(uint32_t index); /* goes round */
ink ink_faded(ink color, double alpha);
extern const ink INK_TEXT, INK_FAINT, INK_GRID, INK_LINE;
void canvas_ink(canvas *c, ink color);

/* --- Text ---------------------------------------------------------------------------------------------------- */

typedef enum text_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } text_anchor;

typedef struct text_style {
    double size;
    ink color;
    bool is_bold;
    text_anchor anchor;
} text_style;

/* At the base line; bytes that are not UTF-8 become '?'. */
void canvas_text(canvas *c, double x, double y, const char *text, const text_style *style);
/* The same, read from below. */
void canvas_text_upwards(canvas *c, double x, double y, const char *text, const text_style *style);
/* What does not fit loses its beginning: the end of a path tells more. */
void canvas_text_fit(canvas *c, double x, double y, double width, const char *text, const text_style *style);
double canvas_text_width(canvas *c, const char *text, const text_style *style);

#endif
