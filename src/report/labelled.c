/* labelled.c - labelled lines, written as a grid of two columns without a heading. */
#include "report/labelled.h"

#include <assert.h>

#include "report/grid.h"

typedef struct view {
    const labelled *lines;
    const ft_style *style;
} view;

buf *labelled_add(labelled *l, const char *label) {
    assert(l->count < LABELLED_MAX_LINES);
    l->lines[l->count].label = label;
    return &l->lines[l->count++].text;
}

static void put_line(const void *user, uint32_t row, grid_cell *cells) {
    const view *v = user;
    const char *text = v->lines->lines[row].text.data;
    text_fit(v->lines->lines[row].label, UINT32_MAX, v->style, cells[0].text, sizeof cells[0].text);
    text_fit(text != NULL ? text : "", UINT32_MAX, v->style, cells[1].text, sizeof cells[1].text);
}

void labelled_write(labelled *l, const ft_style *style, uint32_t indent, sink *out) {
    static const grid_column columns[] = {{.title = ""}, {.title = "", .is_flexible = true, .wraps = true}};
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = 2,
                       .indent = indent,
                       .row = put_line,
                       .user = &(view){l, style},
                       .row_count = l->count,
                       .has_no_heading = true},
               out);
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->lines[i].text.failed) out->text.failed = true;
        buf_free(&l->lines[i].text);
    }
    l->count = 0;
}
