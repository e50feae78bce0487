/* plot_canvas.c - the page: one set of drawing calls, passed on to plot_svg.c or to cairo. */
#include "report/plot_canvas.h"

#include <assert.h>
#include <cairo.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/library.h"
#include "report/plot_svg.h"

static const double PNG_SCALE = 2;

const ink INK_TEXT = {0.13, 0.15, 0.18, 1}, INK_FAINT = {0.42, 0.45, 0.50, 1}, INK_GRID = {0.91, 0.92, 0.94, 1},
          INK_LINE = {0.62, 0.65, 0.70, 1};

/* --- cairo --------------------------------------------------------------------------------------------------- */

#define CAIRO_FUNCTIONS(F)                                                                                             \
    F(arc)                                                                                                             \
    F(clip)                                                                                                            \
    F(close_path)                                                                                                      \
    F(create)                                                                                                          \
    F(destroy)                                                                                                         \
    F(fill)                                                                                                            \
    F(fill_preserve)                                                                                                   \
    F(image_surface_create)                                                                                            \
    F(line_to)                                                                                                         \
    F(move_to)                                                                                                         \
    F(new_path)                                                                                                        \
    F(paint)                                                                                                           \
    F(rectangle)                                                                                                       \
    F(restore)                                                                                                         \
    F(rotate)                                                                                                          \
    F(save)                                                                                                            \
    F(scale)                                                                                                           \
    F(select_font_face)                                                                                                \
    F(set_dash)                                                                                                        \
    F(set_font_size)                                                                                                   \
    F(set_line_cap)                                                                                                    \
    F(set_line_join)                                                                                                   \
    F(set_line_width)                                                                                                  \
    F(set_source_rgb)                                                                                                  \
    F(set_source_rgba)                                                                                                 \
    F(show_text)                                                                                                       \
    F(status)                                                                                                          \
    F(status_to_string)                                                                                                \
    F(stroke)                                                                                                          \
    F(surface_destroy)                                                                                                 \
    F(surface_finish)                                                                                                  \
    F(surface_status)                                                                                                  \
    F(surface_write_to_png_stream)                                                                                     \
    F(text_extents)                                                                                                    \
    F(translate)

/* cairo brings 18 libraries along, X11 among them: it is loaded for the first image. */
static struct {
#define POINTER(name) __typeof__ (&cairo_##name)(name);
    CAIRO_FUNCTIONS(POINTER)
#undef POINTER
} cairo;
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

/* fontconfig and libstdc++ end the process where they get no memory: none is drawn without plenty of it. */
static const size_t ROOM_BYTES = (size_t)64 << 20;

static ft_status load(ft_error *error) {
#define ENTRY(name) {"cairo_" #name, &cairo.name},
    static const library_function functions[] = {CAIRO_FUNCTIONS(ENTRY)};
#undef ENTRY
    if (!library_has_room(ROOM_BYTES))
        return ft_fail(error, FT_ERR_NOMEM, "out of memory: images (.png) need %zu MiB; draw to .svg",
                       ROOM_BYTES >> 20);
    if (is_loaded) return FT_OK;
    ft_error why;
    ft_status status = library_load("libcairo.so.2", functions, sizeof functions / sizeof functions[0], &why);
    is_loaded = status == FT_OK;
    if (status == FT_ERR_UNSUPPORTED)
        return ft_fail(error, status,
                       "images (.png) need cairo: draw to .svg, or install the Debian package libcairo2 (%s)",
                       why.message);
    return is_loaded ? FT_OK : ft_fail(error, status, "cairo: %s", why.message);
}

static ft_status load_cairo(ft_error *error) {
    pthread_mutex_lock(&load_lock);
    ft_status status = load(error);
    pthread_mutex_unlock(&load_lock);
    return status;
}

/* --- File ---------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end) {
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

static cairo_status_t write_bytes(void *user, const unsigned char *bytes, unsigned int count) {
    FILE *stream = user;
    return fwrite(bytes, 1, count, stream) == count ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void begin_image(canvas *c, double width, double height) {
    c->surface = cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * PNG_SCALE), (int)(height * PNG_SCALE));
    c->cairo = cairo.create(c->surface);
    cairo.scale(c->cairo, PNG_SCALE, PNG_SCALE);
    cairo.set_source_rgb(c->cairo, 1, 1, 1);
    cairo.paint(c->cairo);
}

ft_status canvas_open(const char *path, double width, double height, canvas *c, ft_error *error) {
    if (!ends_in(path, ".svg") && !ends_in(path, ".png"))
        return ft_fail(error, FT_ERR_USAGE, "%s: a plot is drawn to a file that ends in .svg or .png", path);
    if (!(width >= 1 && width <= CANVAS_MAX_POINTS && height >= 1 && height <= CANVAS_MAX_POINTS))
        return ft_fail(error, FT_ERR_LIMIT, "%s: a plot of %.0f x %.0f points is too large; show fewer devices", path,
                       width, height);
    const bool is_png = ends_in(path, ".png");
    if (is_png) FT_TRY(load_cairo(error));
    canvas made = {0};
    FT_TRY(outfile_open(path, &made.file, error));
    if (is_png)
        begin_image(&made, width, height);
    else
        made.svg = svg_begin(made.file.stream, width, height);
    if (!is_png && made.svg == NULL) {
        canvas_discard(&made);
        return FT_NOMEM(error);
    }
    *c = made;
    return FT_OK;
}

ft_status canvas_open_scratch(const char *path, canvas *c, ft_error *error) {
    if (ends_in(path, ".png")) return canvas_open_image(1, 1, c, error);
    *c = (canvas){.svg = svg_begin(NULL, 1, 1)};
    return c->svg != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status canvas_open_image(int width, int height, canvas *c, ft_error *error) {
    FT_TRY(load_cairo(error));
    cairo_surface_t *surface = cairo.image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    *c = (canvas){.surface = surface, .cairo = cairo.create(surface)};
    return FT_OK;
}

static ft_status finish_svg(canvas *c, ft_error *error) {
    errno = 0;
    if (!svg_end(c->svg)) return FT_NOMEM(error);
    return ferror(c->file.stream) ? ft_fail_file(error, c->file.path, "cannot write", errno) : FT_OK;
}

static ft_status finish_image(canvas *c, ft_error *error) {
    errno = 0;
    cairo_status_t drawn = cairo.status(c->cairo);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo.surface_write_to_png_stream(c->surface, write_bytes, c->file.stream);
    cairo.surface_finish(c->surface);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo.surface_status(c->surface);
    if (drawn == CAIRO_STATUS_SUCCESS) return FT_OK;
    if (drawn == CAIRO_STATUS_NO_MEMORY) return FT_NOMEM(error);
    if (drawn == CAIRO_STATUS_WRITE_ERROR) return ft_fail_file(error, c->file.path, "cannot write", errno);
    return ft_fail(error, FT_ERR_INTERNAL, "%s: cannot draw: %s", c->file.path, cairo.status_to_string(drawn));
}

ft_status canvas_commit(canvas *c, ft_error *error) {
    assert((c->svg != NULL) != (c->cairo != NULL) && c->file.stream != NULL);
    ft_status status = c->svg != NULL ? finish_svg(c, error) : finish_image(c, error);
    if (status == FT_OK) status = outfile_commit(&c->file, error);
    canvas_discard(c);
    return status;
}

void canvas_discard(canvas *c) {
    svg_free(c->svg);
    if (c->cairo != NULL) cairo.destroy(c->cairo);
    if (c->surface != NULL) cairo.surface_destroy(c->surface);
    outfile_discard(&c->file);
    *c = (canvas){0};
}

/* --- Colours ------------------------------------------------------------------------------------------------- */

ink palette_at(uint32_t index) {
    static const ink palette[PALETTE_COUNT] = {
        {0.000, 0.447, 0.698, 1}, /* blue */
        {0.902, 0.624, 0.000, 1}, /* orange */
        {0.000, 0.620, 0.451, 1}, /* green */
        {0.835, 0.369, 0.000, 1}, /* vermilion */
        {0.337, 0.706, 0.914, 1}, /* sky */
        {0.800, 0.475, 0.655, 1}, /* purple */
        {0.350, 0.350, 0.380, 1}, /* grey */
        {0.730, 0.670, 0.050, 1}, /* yellow, darker than in the palette: visible on white */
    };
    return palette[index % PALETTE_COUNT];
}

ink ink_faded(ink color, double alpha) {
    color.alpha = alpha;
    return color;
}

void canvas_ink(canvas *c, ink color) {
    if (c->svg != NULL)
        svg_ink(c->svg, color);
    else
        cairo.set_source_rgba(c->cairo, color.red, color.green, color.blue, color.alpha);
}

/* --- Paths --------------------------------------------------------------------------------------------------- */

void canvas_save(canvas *c) {
    if (c->svg != NULL)
        svg_save(c->svg);
    else
        cairo.save(c->cairo);
}

void canvas_restore(canvas *c) {
    if (c->svg != NULL)
        svg_restore(c->svg);
    else
        cairo.restore(c->cairo);
}

void canvas_move_to(canvas *c, double x, double y) {
    if (c->svg != NULL)
        svg_move_to(c->svg, x, y);
    else
        cairo.move_to(c->cairo, x, y);
}

void canvas_line_to(canvas *c, double x, double y) {
    if (c->svg != NULL)
        svg_line_to(c->svg, x, y);
    else
        cairo.line_to(c->cairo, x, y);
}

void canvas_close_path(canvas *c) {
    if (c->svg != NULL)
        svg_close_path(c->svg);
    else
        cairo.close_path(c->cairo);
}

void canvas_rectangle(canvas *c, double x, double y, double width, double height) {
    if (c->svg != NULL)
        svg_rectangle(c->svg, x, y, width, height);
    else
        cairo.rectangle(c->cairo, x, y, width, height);
}

void canvas_circle(canvas *c, double x, double y, double radius) {
    if (c->svg != NULL)
        svg_circle(c->svg, x, y, radius);
    else
        cairo.arc(c->cairo, x, y, radius, 0, 6.2831853);
}

void canvas_fill(canvas *c) {
    if (c->svg != NULL)
        svg_fill(c->svg, false);
    else
        cairo.fill(c->cairo);
}

void canvas_fill_and_keep_path(canvas *c) {
    if (c->svg != NULL)
        svg_fill(c->svg, true);
    else
        cairo.fill_preserve(c->cairo);
}

void canvas_stroke(canvas *c, double width) {
    if (c->svg != NULL) {
        svg_stroke(c->svg, width);
        return;
    }
    cairo.set_line_width(c->cairo, width);
    cairo.stroke(c->cairo);
}

void canvas_clip(canvas *c) {
    if (c->svg != NULL)
        svg_clip(c->svg);
    else
        cairo.clip(c->cairo);
}

void canvas_line_caps(canvas *c, line_caps caps) {
    if (c->svg != NULL)
        svg_line_caps(c->svg, caps);
    else
        cairo.set_line_cap(c->cairo, caps == CAPS_ROUND ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
}

void canvas_round_joins(canvas *c) {
    if (c->svg != NULL)
        svg_round_joins(c->svg);
    else
        cairo.set_line_join(c->cairo, CAIRO_LINE_JOIN_ROUND);
}

void canvas_dashes(canvas *c, double dash, double gap) {
    if (c->svg != NULL)
        svg_dashes(c->svg, dash, gap);
    else
        cairo.set_dash(c->cairo, (const double[]){dash, gap}, 2, 0);
}

/* --- Text ---------------------------------------------------------------------------------------------------- */

/* cairo refuses to draw anything more after a text that is not UTF-8. */
static void clean_text(const char *text, char *clean, size_t size) {
    size_t out = 0;
    assert(size > 0);
    while (*text != '\0') {
        size_t length = utf8_length(text);
        bool is_plain = length > 0 && (unsigned char)*text >= 0x20 && *text != 0x7f;
        if (length == 0) length = 1;
        if (out + length >= size) break;
        if (is_plain)
            memcpy(clean + out, text, length);
        else
            memset(clean + out, '?', length);
        out += length;
        text += length;
    }
    clean[out] = '\0';
}

static void set_font(canvas *c, const text_style *style) {
    cairo.select_font_face(c->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo.set_font_size(c->cairo, style->size);
    canvas_ink(c, style->color);
}

double canvas_text_width(canvas *c, const char *text, const text_style *style) {
    char clean[512];
    cairo_text_extents_t extents;
    clean_text(text, clean, sizeof clean);
    if (c->svg != NULL) return svg_text_width(clean, style);
    set_font(c, style);
    cairo.text_extents(c->cairo, clean, &extents);
    return extents.x_advance;
}

/* `turn`: of the base line, in radians. */
static void show_text(canvas *c, double x, double y, double turn, const char *text, const text_style *style) {
    char clean[512];
    clean_text(text, clean, sizeof clean);
    if (c->svg != NULL) {
        svg_text(c->svg, x, y, turn != 0, clean, style);
        return;
    }
    double width = style->anchor == ANCHOR_START ? 0 : canvas_text_width(c, text, style);
    cairo.save(c->cairo);
    cairo.translate(c->cairo, x, y);
    cairo.rotate(c->cairo, turn);
    set_font(c, style);
    cairo.move_to(c->cairo, style->anchor == ANCHOR_MIDDLE ? -width / 2 : -width, 0);
    cairo.show_text(c->cairo, clean);
    cairo.new_path(c->cairo);
    cairo.restore(c->cairo);
}

void canvas_text(canvas *c, double x, double y, const char *text, const text_style *style) {
    show_text(c, x, y, 0, text, style);
}

void canvas_text_fit(canvas *c, double x, double y, double width, const char *text, const text_style *style) {
    char shortened[512];
    snprintf(shortened, sizeof shortened, "%s", text);
    while (*text != '\0' && canvas_text_width(c, shortened, style) > width) {
        size_t length = utf8_length(text);
        text += length > 0 ? length : 1;
        snprintf(shortened, sizeof shortened, "\xe2\x80\xa6%s", text);
    }
    canvas_text(c, x, y, shortened, style);
}

void canvas_text_upwards(canvas *c, double x, double y, const char *text, const text_style *style) {
    show_text(c, x, y, -1.5707963267948966, text, style);
}
