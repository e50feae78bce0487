/* score_table.h - scores as a text table: one labelled row per score, one column per score field. */
#ifndef LEARN_SCORE_TABLE_H
#define LEARN_SCORE_TABLE_H

#include "foretell/learn.h"
#include "report/grid.h"

typedef struct score_row {
    const char *label;
    const ft_score *score;
    uint32_t best;    /* bit i: marked as the best in score_fields[i] */
    const char *note; /* cell of the last column; NULL: empty */
} score_row;

typedef struct score_table {
    const char *title;      /* of the column of labels */
    const char *note_title; /* of the last column; NULL: no such column */
    const score_row *rows;
    uint32_t row_count;
    uint32_t foot_count;
    uint32_t label_width; /* minimum, so that consecutive tables line up */
} score_table;

void score_table_write(const score_table *table, const ft_style *style, sink *out);

#endif
