/* grid.c - layout of grids: measures columns, drops and shortens them until they fit, writes rows. */
#include "report/grid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, FLEXIBLE_MIN = 8, COMFORT = 12, WORD_MAX = 18, CELL_COLUMNS_MAX = (GRID_CELL_SIZE - 8) / 4 };

typedef struct layout {
    uint32_t widths[GRID_COLUMNS];
    uint32_t min_widths[GRID_COLUMNS]; /* of flexible columns; words that continue in the next line stay whole */
    bool is_dropped[GRID_COLUMNS];
} layout;

static void get_row(const grid *g, uint32_t row, grid_cell *cells) {
    for (uint32_t c = 0; c < g->column_count; c++) cells[c].text[0] = '\0';
    g->row(g->user, row, cells);
}

/* In columns, of words between spaces. */
static uint32_t longest_word(const char *text) {
    uint32_t longest = 0;
    while (*text != '\0') {
        char word[GRID_CELL_SIZE];
        size_t length = strcspn(text, " ");
        memcpy(word, text, length);
        word[length] = '\0';
        if (text_columns(word) > longest) longest = text_columns(word);
        text += length + strspn(text + length, " ");
    }
    return longest;
}

static void measure(const grid *g, grid_cell *cells, layout *l) {
    for (uint32_t c = 0; c < g->column_count; c++) {
        uint32_t title = text_columns(g->columns[c].title);
        l->widths[c] = title > g->columns[c].min_width ? title : g->columns[c].min_width;
        l->min_widths[c] = FLEXIBLE_MIN;
    }
    for (uint32_t r = 0; r < g->row_count; r++) {
        get_row(g, r, cells);
        for (uint32_t c = 0; c < g->column_count; c++) {
            uint32_t columns = text_columns(cells[c].text);
            if (columns > CELL_COLUMNS_MAX) columns = CELL_COLUMNS_MAX;
            if (columns > l->widths[c]) l->widths[c] = columns;
            uint32_t word = g->columns[c].wraps ? longest_word(cells[c].text) : 0;
            if (word > l->min_widths[c] && word <= WORD_MAX) l->min_widths[c] = word;
        }
    }
}

static uint32_t comfort_of(const grid_column *column) {
    return column->comfort > 0 ? column->comfort : COMFORT;
}

/* Width of the grid; `is_tight`: with flexible columns at their comfortable width or less. */
static uint32_t total_width(const grid *g, const layout *l, bool is_tight) {
    uint32_t total = g->indent;
    bool is_first = true;
    for (uint32_t c = 0; c < g->column_count; c++) {
        if (l->is_dropped[c]) continue;
        uint32_t width = l->widths[c];
        if (is_tight && g->columns[c].is_flexible && width > comfort_of(&g->columns[c]))
            width = comfort_of(&g->columns[c]);
        total += width + (is_first ? 0 : GAP);
        is_first = false;
    }
    return total;
}

/* Drops the column with the highest `drop`; false when none may be dropped. */
static bool drop_one(const grid *g, layout *l) {
    uint32_t found = g->column_count;
    for (uint32_t c = 0; c < g->column_count; c++) {
        if (l->is_dropped[c] || g->columns[c].drop == 0) continue;
        if (found == g->column_count || g->columns[c].drop > g->columns[found].drop) found = c;
    }
    if (found == g->column_count) return false;
    l->is_dropped[found] = true;
    return true;
}

/* Whether column `a` is shortened before column `b`: the one further above its comfortable width, else the wider. */
static bool is_shortened_first(const grid *g, const layout *l, uint32_t a, uint32_t b) {
    int64_t above_a = (int64_t)l->widths[a] - comfort_of(&g->columns[a]);
    int64_t above_b = (int64_t)l->widths[b] - comfort_of(&g->columns[b]);
    if (above_a > 0 || above_b > 0) return above_a > above_b;
    return l->widths[a] > l->widths[b];
}

/* Shortens flexible columns by one character at a time until the grid fits. */
static void shorten(const grid *g, layout *l) {
    while (total_width(g, l, false) > g->style->width) {
        uint32_t widest = g->column_count;
        for (uint32_t c = 0; c < g->column_count; c++) {
            if (l->is_dropped[c] || !g->columns[c].is_flexible || l->widths[c] <= l->min_widths[c]) continue;
            if (widest == g->column_count || is_shortened_first(g, l, c, widest)) widest = c;
        }
        if (widest == g->column_count) return; /* all are at their minimum: the grid is wider than the terminal */
        l->widths[widest]--;
    }
}

/* Writes the part of a cell that fits into a line; `*rest` becomes the part for the next line. */
static void write_cell(const grid *g, sink *out, uint32_t column, const char **rest, uint32_t width,
                       bool is_continued) {
    const grid_column *c = &g->columns[column];
    char fitted[GRID_CELL_SIZE];
    bool wraps = c->wraps;
    if (!wraps) {
        text_fit(*rest, width, g->style, fitted, sizeof fitted);
        if (c->is_distinct && strcmp(fitted, *rest) != 0) wraps = is_continued || !sink_is_new(out, fitted, *rest);
    }
    if (wraps) {
        size_t length = text_wrap(*rest, width);
        assert(length < sizeof fitted);
        memcpy(fitted, *rest, length);
        fitted[length] = '\0';
        *rest += length + strspn(*rest + length, " ");
    } else {
        *rest = "";
    }
    uint32_t taken = text_columns(fitted), pad = width > taken ? width - taken : 0;
    if (c->is_right) buf_format(&out->text, "%*s", (int)pad, "");
    buf_text(&out->text, fitted);
    if (!c->is_right) buf_format(&out->text, "%*s", (int)pad, "");
}

/* Ends a line without trailing spaces. */
static void end_line(buf *text, size_t start) {
    while (text->length > start && text->data[text->length - 1] == ' ') text->data[--text->length] = '\0';
    buf_char(text, '\n');
}

/* Writes a row, in as many lines as its wrapping cells need. */
static void write_cells(const grid *g, const layout *l, const grid_cell *cells, sink *out) {
    const char *rest[GRID_COLUMNS];
    bool has_rest = true;
    for (uint32_t c = 0; c < g->column_count; c++) rest[c] = cells[c].text;
    for (bool is_continued = false; has_rest; is_continued = true) {
        size_t start = out->text.length;
        bool is_first = true;
        has_rest = false;
        buf_format(&out->text, "%*s", (int)g->indent, "");
        for (uint32_t c = 0; c < g->column_count; c++) {
            if (l->is_dropped[c]) continue;
            if (!is_first) buf_format(&out->text, "%*s", GAP, "");
            write_cell(g, out, c, &rest[c], l->widths[c], is_continued);
            is_first = false;
            if (*rest[c] != '\0') has_rest = true;
        }
        end_line(&out->text, start);
    }
}

static void write_heading(const grid *g, const layout *l, grid_cell *cells, sink *out) {
    for (uint32_t c = 0; c < g->column_count; c++) {
        size_t length = strlen(g->columns[c].title);
        assert(length < GRID_CELL_SIZE);
        memcpy(cells[c].text, g->columns[c].title, length + 1);
    }
    buf_text(&out->text, tone_begin(g->style, TONE_TITLE));
    write_cells(g, l, cells, out);
    buf_text(&out->text, tone_end(g->style, TONE_TITLE));
}

static void write_line(const grid *g, const layout *l, sink *out) {
    const char *dash = g->style->has_utf8 ? "\xe2\x94\x80" : "-";
    uint32_t total = total_width(g, l, false) - g->indent;
    buf_text(&out->text, tone_begin(g->style, TONE_FAINT));
    buf_format(&out->text, "%*s", (int)g->indent, "");
    for (uint32_t i = 0; i < total; i++) buf_text(&out->text, dash);
    buf_text(&out->text, tone_end(g->style, TONE_FAINT));
    buf_char(&out->text, '\n');
}

void grid_write(const grid *g, sink *out) {
    assert(g->column_count > 0 && g->column_count <= GRID_COLUMNS);
    assert(g->foot_count <= g->row_count);
    grid_cell *cells = calloc(GRID_COLUMNS, sizeof *cells);
    if (cells == NULL) {
        out->text.failed = true;
        return;
    }
    layout l = {0};
    measure(g, cells, &l);
    while (total_width(g, &l, true) > g->style->width && drop_one(g, &l)) {
    }
    shorten(g, &l);
    if (!g->has_no_heading) {
        write_heading(g, &l, cells, out);
        write_line(g, &l, out);
    }
    for (uint32_t r = 0; r < g->row_count; r++) {
        if (g->foot_count > 0 && r == g->row_count - g->foot_count) write_line(g, &l, out);
        get_row(g, r, cells);
        write_cells(g, &l, cells, out);
        sink_relieve(out);
    }
    free(cells);
}

void text_paragraph(const char *text, uint32_t indent, const ft_style *style, sink *out) {
    enum { MIN_WIDTH = 20 };
    char clean[GRID_CELL_SIZE];
    uint32_t room = style->width > indent + MIN_WIDTH ? style->width - indent : MIN_WIDTH;
    text_fit(text, UINT32_MAX, style, clean, sizeof clean);
    for (const char *rest = clean; *rest != '\0';) {
        size_t length = text_wrap(rest, room);
        buf_format(&out->text, "%*s%.*s\n", (int)indent, "", (int)length, rest);
        rest += length + strspn(rest + length, " ");
    }
}
