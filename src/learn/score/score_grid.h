/* score_grid.h - scores as a table for people: a row each, with a name before it. */
#ifndef LEARN_SCORE_GRID_H
#define LEARN_SCORE_GRID_H

#include "foretell/learn.h"
#include "report/grid.h"

typedef struct score_row {
    const char *label;
    const ft_score *score;
    uint32_t best;    /* bit i: the best of its kind in score_fields[i], and marked as such */
    const char *note; /* of the last column; NULL: empty */
} score_row;

typedef struct score_grid {
    const char *title;      /* of the names */
    const char *note_title; /* of the last column; NULL: there is none */
    const score_row *rows;
    uint32_t row_count;
    uint32_t foot_count;
    uint32_t label_width; /* at least: tables under each other line up */
} score_grid;

void score_grid_write(const score_grid *grid, const ft_style *style, sink *out);

#endif
