/* plot_canvas.h - a page to draw on that becomes an SVG or a PNG file, whole or not at all.
 *
 * One drawing code serves both: the end of the file's name decides. Lengths are in points; a PNG has two pixels a
 * point, so that it is sharp on today's screens. cairo draws; it is loaded with the first page, and only plot_canvas.c
 * calls it. */
#ifndef REPORT_PLOT_CANVAS_H
#define REPORT_PLOT_CANVAS_H

#include <stdint.h>

#include "base/outfile.h"

enum { CANVAS_MOST_POINTS = 16000 }; /* on a side: cairo's images end at 32767 pixels */

typedef struct canvas {
    struct _cairo *cairo;
    struct _cairo_surface *surface;
    bool is_png;
    outfile file;
} canvas;

/* FT_ERR_USAGE when the path ends neither in .svg nor in .png, FT_ERR_UNSUPPORTED when cairo is not installed. */
ft_status canvas_open(const char *path, double width, double height, canvas *c, ft_error *error);
/* A page without a file, one pixel a point, to measure text on before the size of the real page is known.
 * canvas_discard frees it. */
ft_status canvas_open_image(int width, int height, canvas *c, ft_error *error);
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

/* --- Paths: built up point by point, then filled or stroked --------------------------------------------------- */

/* Saves ink, clip, caps, joins and dashes; canvas_restore brings them back. */
void canvas_save(canvas *c);
void canvas_restore(canvas *c);

void canvas_move_to(canvas *c, double x, double y);
void canvas_line_to(canvas *c, double x, double y);
void canvas_close_path(canvas *c);
void canvas_rectangle(canvas *c, double x, double y, double width, double height);
void canvas_circle(canvas *c, double x, double y, double radius);

void canvas_fill(canvas *c);
void canvas_fill_and_keep_path(canvas *c);
void canvas_stroke(canvas *c, double width);
void canvas_clip(canvas *c);

typedef enum line_caps { CAPS_FLAT, CAPS_ROUND } line_caps;
void canvas_line_caps(canvas *c, line_caps caps);
void canvas_round_joins(canvas *c);
void canvas_dashes(canvas *c, double dash, double gap);

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
