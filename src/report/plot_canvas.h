/* plot_canvas.h - a page to draw on that becomes an SVG or a PNG file, complete or not at all.
 *
 * The end of the file's name chooses the format; the drawing code is the same. Lengths are in points; a PNG has two
 * pixels a point, to be sharp on dense screens. SVG is written by plot_svg.c, with text as text; images are drawn by
 * cairo, which is loaded with the first of them and called by plot_canvas.c alone. */
#ifndef REPORT_PLOT_CANVAS_H
#define REPORT_PLOT_CANVAS_H

#include <stdint.h>

#include "base/outfile.h"

enum { CANVAS_MAX_POINTS = 16000 }; /* on a side: cairo's images end at 32767 pixels */

typedef struct canvas {
    struct svg_page *svg; /* NULL: an image */
    struct _cairo *cairo;
    struct _cairo_surface *surface;
    outfile file;
} canvas;

/* FT_ERR_USAGE when the path ends neither in .svg nor in .png, FT_ERR_UNSUPPORTED when an image needs cairo and it is
 * not installed. */
ft_status canvas_open(const char *path, double width, double height, canvas *c, ft_error *error);
/* A page without a file, to measure text as the page at `path` will, before its size is known. canvas_discard frees it.
 */
ft_status canvas_open_scratch(const char *path, canvas *c, ft_error *error);
/* An image without a file, one pixel a point. canvas_discard frees it. */
ft_status canvas_open_image(int width, int height, canvas *c, ft_error *error);
/* Puts the complete file in its place. Frees the canvas in any case. */
ft_status canvas_commit(canvas *c, ft_error *error);
void canvas_discard(canvas *c);

/* --- Colours: distinct for readers with red-green colour blindness (Okabe and Ito) --------------------------- */

typedef struct ink {
    double red, green, blue, alpha;
} ink;

enum { PALETTE_COUNT = 8 };
ink palette_at(uint32_t index); /* repeats after PALETTE_COUNT */
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
/* Text that does not fit loses its beginning: paths differ at the end. */
void canvas_text_fit(canvas *c, double x, double y, double width, const char *text, const text_style *style);
double canvas_text_width(canvas *c, const char *text, const text_style *style);

#endif
