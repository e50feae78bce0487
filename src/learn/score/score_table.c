/* score_table.c - lays out scores as a text table. */
#include "learn/score/score_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/score/metrics.h"
#include "report/metric.h"

enum { INDENT = 2, COLUMN_NAME = 0, COLUMN_COUNT = 1, COLUMN_FIRST_SCORE = 2 };

typedef struct view {
    const score_table *table;
    const ft_style *style;
    uint32_t marked; /* bit i: a row is marked as the best in score_fields[i] */
} view;

static void put_score(const view *v, const score_row *row, size_t field, char text[static GRID_CELL_SIZE]) {
    const score_field *f = &score_fields[field];
    double value = score_value(row->score, f);
    char number[UNIT_TEXT_SIZE];
    if (f->offset == offsetof(ft_score, rmse)) {
        metric_words(row->score->metric, value, number);
        snprintf(text, GRID_CELL_SIZE, "%s", number[0] != '\0' ? number : "-");
    } else {
        unit_fixed(value, f->decimals, number);
        snprintf(text, GRID_CELL_SIZE, "%s", number);
    }
    /* A blank in unmarked cells keeps the digits aligned. */
    size_t length = strlen(text);
    if ((v->marked & 1u << field) != 0)
        snprintf(text + length, GRID_CELL_SIZE - length, "%s", (row->best & 1u << field) != 0 ? "*" : " ");
}

static void put_row(const void *user, uint32_t index, grid_cell *cells) {
    const view *v = user;
    const score_row *row = &v->table->rows[index];
    const char *label = row->label[0] != '\0' ? row->label : "(none)";
    text_fit(label, UINT32_MAX, v->style, cells[COLUMN_NAME].text, sizeof cells[COLUMN_NAME].text);
    snprintf(cells[COLUMN_COUNT].text, sizeof cells[COLUMN_COUNT].text, "%u", row->score->n);
    for (size_t i = 0; i < SCORE_FIELDS; i++) put_score(v, row, i, cells[COLUMN_FIRST_SCORE + i].text);
    if (v->table->note_title != NULL && row->note != NULL)
        snprintf(cells[COLUMN_FIRST_SCORE + SCORE_FIELDS].text, GRID_CELL_SIZE, "%s", row->note);
}

void score_table_write(const score_table *t, const ft_style *style, sink *out) {
    grid_column columns[GRID_COLUMNS] = {
        {.title = t->title, .is_flexible = true, .is_distinct = true, .min_width = t->label_width, .comfort = 14},
        {.title = "n", .is_right = true, .min_width = 5},
    };
    uint32_t count = COLUMN_FIRST_SCORE;
    for (size_t i = 0; i < SCORE_FIELDS; i++)
        columns[count++] = (grid_column){
            .title = score_fields[i].title, .is_right = true, .drop = score_fields[i].drop, .min_width = 5};
    view v = {.table = t, .style = style};
    for (uint32_t i = 0; i < t->row_count; i++) v.marked |= t->rows[i].best;
    if (t->note_title != NULL) columns[count++] = (grid_column){.title = t->note_title, .is_right = true};
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = count,
                       .indent = INDENT,
                       .row = put_row,
                       .user = &v,
                       .row_count = t->row_count,
                       .foot_count = t->foot_count},
               out);
}
