/* plot_svg.h - an SVG page: paths, clips and text, written as they are drawn.
 *
 * Text stays text (cairo's SVG surface turns it into outlines), so that it can be searched, copied and read aloud, and
 * files are small and the same on every machine. Lengths are in points. */
#ifndef REPORT_PLOT_SVG_H
#define REPORT_PLOT_SVG_H

#include <stdio.h>

#include "report/plot_canvas.h"

typedef struct svg_page svg_page;

/* NULL when out of memory. The stream must outlive the page; it may be NULL for one that is only measured on. */
svg_page *svg_begin(FILE *stream, double width, double height);
/* Writes the end. False when out of memory on the way; errors of the stream are left to its owner. */
bool svg_end(svg_page *page);
void svg_free(svg_page *page);

void svg_save(svg_page *page);
void svg_restore(svg_page *page);
void svg_ink(svg_page *page, ink color);
void svg_line_caps(svg_page *page, line_caps caps);
void svg_round_joins(svg_page *page);
void svg_dashes(svg_page *page, double dash, double gap);

void svg_move_to(svg_page *page, double x, double y);
void svg_line_to(svg_page *page, double x, double y);
void svg_close_path(svg_page *page);
void svg_rectangle(svg_page *page, double x, double y, double width, double height);
void svg_circle(svg_page *page, double x, double y, double radius);
/* Fill, stroke and clip end the path; `keeps_path` does not. */
void svg_fill(svg_page *page, bool keeps_path);
void svg_stroke(svg_page *page, double width);
void svg_clip(svg_page *page);

/* `text` is clean UTF-8. `is_upwards`: read from below. */
void svg_text(svg_page *page, double x, double y, bool is_upwards, const char *text, const text_style *style);
/* By the metrics of Helvetica, with room for wider fonts that stand in for it. */
double svg_text_width(const char *text, const text_style *style);

#endif
