/* grid.h - text in columns that fit a width.
 *
 * Rows are read twice, once to measure the columns and once to write them, so a grid of any length needs no memory.
 * A grid that is too wide is narrowed in this order: columns that may be dropped are, the one with the highest `drop`
 * first, until flexible columns have a comfortable width; then flexible columns are shortened in the middle of their
 * text, or wrapped. */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/inspect.h"
#include "report/sink.h"

enum { GRID_COLUMNS = 16, GRID_CELL_SIZE = 1024 };

typedef struct grid_column {
    const char *title;
    bool is_right;      /* numbers */
    bool is_flexible;   /* may be shortened: names, shapes */
    bool is_distinct;   /* flexible: two texts are never shortened to the same one; the second is wrapped */
    bool wraps;         /* continues in the next line instead of being shortened: sentences */
    uint8_t drop;       /* columns with the highest number are dropped first; 0: never (name, time, interval, memory) */
    uint32_t min_width; /* at least this wide: for grids whose later rows are not known yet */
    uint32_t comfort;   /* flexible: other columns are dropped before it gets narrower; 0: 12 */
} grid_column;

typedef struct grid_cell {
    char text[GRID_CELL_SIZE];
} grid_cell;

/* Fills the cells of a row, one per column; they are empty before. */
typedef void grid_row(const void *user, uint32_t row, grid_cell *cells);

typedef struct grid {
    const ft_style *style;
    const grid_column *columns;
    uint32_t column_count;
    uint32_t indent;
    grid_row *row;
    const void *user;
    uint32_t row_count;
    uint32_t foot_count; /* the last foot_count rows are totals, below a line */
    bool has_no_heading;
} grid;

void grid_write(const grid *g, sink *out);

/* --- Text ---------------------------------------------------------------------------------------------------- */

/* Copies text of unknown origin: control characters, bytes that are not UTF-8 and (without has_utf8) characters
 * beyond ASCII become '?'. When it is wider than `columns`, its middle becomes an ellipsis. */
void text_fit(const char *text, uint32_t columns, const ft_style *style, char *fitted, size_t size);
/* The bytes of a clean text that fit in a line of `columns`, cut between words when that is possible, or else
 * after a '-' or '/'. */
size_t text_wrap(const char *text, uint32_t columns);
/* Columns that a (clean) text takes on a terminal. */
uint32_t text_columns(const char *text);
/* A text of any origin in lines of its own, cut between words to the width of the style. */
void text_paragraph(const char *text, uint32_t indent, const ft_style *style, sink *out);

/* Emphasis, when the style has colours: "" otherwise. */
typedef enum text_tone { TONE_PLAIN, TONE_TITLE, TONE_FAINT, TONE_WARNING } text_tone;
const char *tone_begin(const ft_style *style, text_tone tone);
const char *tone_end(const ft_style *style, text_tone tone);

#endif
