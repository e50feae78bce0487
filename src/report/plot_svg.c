/* plot_svg.c - an SVG writer with the graphics state of cairo: ink, clip, caps, joins and dashes. */
#include "report/plot_svg.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json_writer.h"

enum { MAX_SAVED = 16, FLUSH_BYTES = 1 << 16 };

/* State that canvas_save saves. */
typedef struct graphics_state {
    ink color;
    line_caps caps;
    bool has_round_joins;
    double dash, gap; /* 0: solid */
    uint32_t clip;    /* id of the clip path; 0: none */
} graphics_state;

struct svg_page {
    FILE *stream;
    buf out, path;
    graphics_state state, saved[MAX_SAVED];
    uint32_t saved_count, clip_count;
};

/* --- Numbers and text ---------------------------------------------------------------------------------------- */

/* Hundredths of a point, whatever the locale. */
static void add_number(buf *out, double value) {
    long long hundredths = llround(fmin(fmax(value, -1e9), 1e9) * 100), size = llabs(hundredths);
    buf_format(out, "%s%lld", hundredths < 0 ? "-" : "", size / 100);
    if (size % 100 != 0)
        buf_format(out, size % 10 != 0 ? ".%02lld" : ".%lld", size % 10 != 0 ? size % 100 : size / 10 % 10);
}

static void add_attribute(buf *out, const char *name, double value) {
    buf_format(out, " %s=\"", name);
    add_number(out, value);
    buf_char(out, '"');
}

static void add_point(buf *path, char command, double x, double y) {
    buf_char(path, command);
    add_number(path, x);
    buf_char(path, ' ');
    add_number(path, y);
}

static void add_escaped(buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            buf_text(out, "&amp;");
            break;
        case '<':
            buf_text(out, "&lt;");
            break;
        case '>':
            buf_text(out, "&gt;");
            break;
        default:
            buf_char(out, *text);
        }
    }
}

static void add_color(buf *out, const char *name, const ink *color) {
    buf_format(out, " %s=\"#%02x%02x%02x\"", name, (unsigned)lround(color->red * 255),
               (unsigned)lround(color->green * 255), (unsigned)lround(color->blue * 255));
    if (color->alpha < 1) {
        buf_format(out, " %s-opacity=\"", name);
        add_number(out, color->alpha);
        buf_char(out, '"');
    }
}

static void add_clip(svg_page *page) {
    if (page->state.clip > 0) buf_format(&page->out, " clip-path=\"url(#clip%u)\"", page->state.clip);
}

/* --- The page ------------------------------------------------------------------------------------------------ */

static void pass_on(svg_page *page, size_t from) {
    if (page->out.length < from || page->out.length == 0) return;
    if (page->stream != NULL) fwrite(page->out.data, 1, page->out.length, page->stream);
    page->out.length = 0;
}

svg_page *svg_begin(FILE *stream, double width, double height) {
    svg_page *page = calloc(1, sizeof *page);
    if (page == NULL) return NULL;
    page->stream = stream;
    buf *out = &page->out;
    buf_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    add_number(out, width);
    buf_text(out, "pt\" height=\"");
    add_number(out, height);
    buf_text(out, "pt\" viewBox=\"0 0 ");
    add_number(out, width);
    buf_char(out, ' ');
    add_number(out, height);
    buf_text(
        out,
        "\" font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    if (!out->failed) return page;
    svg_free(page);
    return NULL;
}

bool svg_end(svg_page *page) {
    buf_text(&page->out, "</svg>\n");
    pass_on(page, 0);
    return !page->out.failed && !page->path.failed;
}

void svg_free(svg_page *page) {
    if (page == NULL) return;
    buf_free(&page->out);
    buf_free(&page->path);
    free(page);
}

/* --- State --------------------------------------------------------------------------------------------------- */

void svg_save(svg_page *page) {
    assert(page->saved_count < MAX_SAVED);
    page->saved[page->saved_count++] = page->state;
}

void svg_restore(svg_page *page) {
    assert(page->saved_count > 0);
    page->state = page->saved[--page->saved_count];
}

void svg_ink(svg_page *page, ink color) {
    page->state.color = color;
}

void svg_line_caps(svg_page *page, line_caps caps) {
    page->state.caps = caps;
}

void svg_round_joins(svg_page *page) {
    page->state.has_round_joins = true;
}

void svg_dashes(svg_page *page, double dash, double gap) {
    page->state.dash = dash;
    page->state.gap = gap;
}

/* --- Paths --------------------------------------------------------------------------------------------------- */

void svg_move_to(svg_page *page, double x, double y) {
    add_point(&page->path, 'M', x, y);
}

/* Like cairo's, a line without a point before it begins there. */
void svg_line_to(svg_page *page, double x, double y) {
    add_point(&page->path, page->path.length > 0 ? 'L' : 'M', x, y);
}

void svg_close_path(svg_page *page) {
    buf_char(&page->path, 'Z');
}

void svg_rectangle(svg_page *page, double x, double y, double width, double height) {
    add_point(&page->path, 'M', x, y);
    add_point(&page->path, 'L', x + width, y);
    add_point(&page->path, 'L', x + width, y + height);
    add_point(&page->path, 'L', x, y + height);
    buf_char(&page->path, 'Z');
}

void svg_circle(svg_page *page, double x, double y, double radius) {
    add_point(&page->path, 'M', x - radius, y);
    for (int half = 0; half < 2; half++) {
        add_point(&page->path, 'A', radius, radius);
        buf_text(&page->path, " 0 1 0 ");
        add_number(&page->path, half == 0 ? x + radius : x - radius);
        buf_char(&page->path, ' ');
        add_number(&page->path, y);
    }
    buf_char(&page->path, 'Z');
}

static void add_path(svg_page *page) {
    buf_format(&page->out, "<path d=\"%s\"", page->path.data != NULL ? page->path.data : "");
}

/* Ends an element; `ends_path`: the next one begins a new path. */
static void end_element(svg_page *page, bool ends_path) {
    buf_text(&page->out, "/>\n");
    if (ends_path) page->path.length = 0;
    if (ends_path && page->path.data != NULL) page->path.data[0] = '\0';
    pass_on(page, FLUSH_BYTES);
}

void svg_fill(svg_page *page, bool keeps_path) {
    add_path(page);
    add_color(&page->out, "fill", &page->state.color);
    add_clip(page);
    end_element(page, !keeps_path);
}

void svg_stroke(svg_page *page, double width) {
    const graphics_state *s = &page->state;
    buf *out = &page->out;
    add_path(page);
    buf_text(out, " fill=\"none\"");
    add_color(out, "stroke", &s->color);
    add_attribute(out, "stroke-width", width);
    if (s->caps == CAPS_ROUND) buf_text(out, " stroke-linecap=\"round\"");
    if (s->has_round_joins) buf_text(out, " stroke-linejoin=\"round\"");
    if (s->dash > 0) {
        buf_text(out, " stroke-dasharray=\"");
        add_number(out, s->dash);
        buf_char(out, ' ');
        add_number(out, s->gap);
        buf_char(out, '"');
    }
    add_clip(page);
    end_element(page, true);
}

/* A clip in a clip refers to it, so that both hold. */
void svg_clip(svg_page *page) {
    buf_format(&page->out, "<clipPath id=\"clip%u\"", ++page->clip_count);
    add_clip(page);
    buf_char(&page->out, '>');
    add_path(page);
    end_element(page, true);
    buf_text(&page->out, "</clipPath>\n");
    page->state.clip = page->clip_count;
}

/* --- Text ---------------------------------------------------------------------------------------------------- */

void svg_text(svg_page *page, double x, double y, bool is_upwards, const char *text, const text_style *style) {
    static const char *const anchors[] = {
        [ANCHOR_START] = "", [ANCHOR_MIDDLE] = " text-anchor=\"middle\"", [ANCHOR_END] = " text-anchor=\"end\""};
    buf *out = &page->out;
    buf_text(out, "<text");
    if (is_upwards) {
        buf_text(out, " transform=\"translate(");
        add_number(out, x);
        buf_char(out, ' ');
        add_number(out, y);
        buf_text(out, ") rotate(-90)\"");
    } else {
        add_attribute(out, "x", x);
        add_attribute(out, "y", y);
    }
    add_attribute(out, "font-size", style->size);
    if (style->is_bold) buf_text(out, " font-weight=\"bold\"");
    add_color(out, "fill", &style->color);
    buf_text(out, anchors[style->anchor]);
    add_clip(page);
    buf_char(out, '>');
    add_escaped(out, text);
    buf_text(out, "</text>\n");
    pass_on(page, FLUSH_BYTES);
}

double svg_text_width(const char *text, const text_style *style) {
    /* Thousandths of the font size, from ' ' to '~'. */
    static const uint16_t widths[] = {278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                                      556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                                      1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                                      667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                                      333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                                      556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};
    static const double OTHER = 600, BOLD = 1.07, FALLBACK = 1.12; /* DejaVu Sans is wider */
    double width = 0;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        unsigned char byte = (unsigned char)*text;
        width += byte >= ' ' && byte <= '~' ? widths[byte - ' '] : OTHER;
        text += length > 0 ? length : 1;
    }
    return width / 1000 * FALLBACK * style->size * (style->is_bold ? BOLD : 1);
}
