/* json_writer.c - tracks nesting, and escapes strings. */
#include "base/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

void jsonw_init(json_writer *w, buf *out) {
    *w = (json_writer){.out = out};
}

static void new_line(json_writer *w) {
    buf_char(w->out, '\n');
    for (uint32_t i = 0; i < w->depth; i++) buf_text(w->out, "  ");
}

/* Writes the separator before an item: a comma, then a line break or a space. */
static void begin_item(json_writer *w) {
    if (w->depth == 0) return;
    uint32_t level = w->depth - 1;
    if (w->levels[level].has_items) buf_char(w->out, ',');
    if (w->levels[level].style == JSON_BLOCK)
        new_line(w);
    else if (w->levels[level].has_items)
        buf_char(w->out, ' ');
    w->levels[level].has_items = true;
}

static void begin_value(json_writer *w) {
    assert(w->depth == 0 || w->levels[w->depth - 1].is_object == w->has_key);
    if (!w->has_key) begin_item(w);
    w->has_key = false;
}

static void open_level(json_writer *w, bool is_object, json_style style) {
    begin_value(w);
    assert(w->depth < JSON_WRITER_DEPTH);
    if (w->depth > 0 && w->levels[w->depth - 1].style == JSON_LINE) style = JSON_LINE;
    w->levels[w->depth].is_object = is_object;
    w->levels[w->depth].has_items = false;
    w->levels[w->depth].style = style;
    w->depth++;
    buf_char(w->out, is_object ? '{' : '[');
}

void jsonw_open_object(json_writer *w, json_style style) {
    open_level(w, true, style);
}

void jsonw_open_array(json_writer *w, json_style style) {
    open_level(w, false, style);
}

void jsonw_close(json_writer *w) {
    assert(w->depth > 0 && !w->has_key);
    w->depth--;
    if (w->levels[w->depth].has_items && w->levels[w->depth].style == JSON_BLOCK) new_line(w);
    buf_char(w->out, w->levels[w->depth].is_object ? '}' : ']');
}

size_t utf8_length(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    if (b[0] < 0x80) return 1;
    if (b[0] < 0xc2 || b[0] > 0xf4) return 0; /* a continuation, an overlong form, or past U+10FFFF */
    size_t length = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80) return 0; /* also stops at the terminator */
    if (b[0] == 0xe0 && b[1] < 0xa0) return 0;
    if (b[0] == 0xed && b[1] > 0x9f) return 0; /* a surrogate */
    if (b[0] == 0xf0 && b[1] < 0x90) return 0;
    if (b[0] == 0xf4 && b[1] > 0x8f) return 0;
    return length;
}

static void escape_ascii(buf *out, unsigned char c) {
    switch (c) {
    case '"':
        buf_text(out, "\\\"");
        break;
    case '\\':
        buf_text(out, "\\\\");
        break;
    case '\n':
        buf_text(out, "\\n");
        break;
    case '\r':
        buf_text(out, "\\r");
        break;
    case '\t':
        buf_text(out, "\\t");
        break;
    default:
        buf_format(out, "\\u%04x", c);
    }
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quoted(buf *out, const char *text) {
    buf_char(out, '"');
    while (*text != '\0') {
        const char *run = text;
        while (is_plain((unsigned char)*text)) text++;
        buf_add(out, run, (size_t)(text - run));
        if (*text == '\0') break;
        size_t length = utf8_length(text);
        if (length > 1)
            buf_add(out, text, length);
        else if (length == 1)
            escape_ascii(out, (unsigned char)*text);
        else
            buf_text(out, "\xef\xbf\xbd");
        text += length > 0 ? length : 1;
    }
    buf_char(out, '"');
}

void jsonw_key(json_writer *w, const char *key) {
    assert(w->depth > 0 && w->levels[w->depth - 1].is_object && !w->has_key);
    begin_item(w);
    quoted(w->out, key);
    buf_text(w->out, ": ");
    w->has_key = true;
}

void jsonw_string(json_writer *w, const char *text) {
    if (text == NULL) {
        jsonw_null(w);
        return;
    }
    begin_value(w);
    quoted(w->out, text);
}

void jsonw_uint(json_writer *w, uint64_t value) {
    begin_value(w);
    buf_format(w->out, "%llu", (unsigned long long)value);
}

void jsonw_int(json_writer *w, int64_t value) {
    begin_value(w);
    buf_int(w->out, value);
}

void double_text(double value, char text[static DOUBLE_TEXT_SIZE]) {
    char raw[DOUBLE_TEXT_SIZE];
    if (format_double(value, text)) return;
    /* Any decimal of up to 15 digits survives conversion to double and back, so the search starts there. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(raw, sizeof raw, "%.*g", digits, value);
        if (strtod(raw, NULL) == value) break;
    }
    /* The locale of the calling program may have another, even a longer, decimal point. */
    size_t length = 0;
    bool in_point = false;
    for (const char *c = raw; *c != '\0'; c++) {
        bool is_number = strchr("0123456789+-e", *c) != NULL;
        if (is_number)
            text[length++] = *c;
        else if (!in_point)
            text[length++] = '.';
        in_point = !is_number;
    }
    assert(length < DOUBLE_TEXT_SIZE);
    text[length] = '\0';
}

void jsonw_double(json_writer *w, double value) {
    if (!isfinite(value)) {
        jsonw_null(w);
        return;
    }
    begin_value(w);
    char text[DOUBLE_TEXT_SIZE];
    double_text(value, text);
    buf_text(w->out, text);
}

void jsonw_bool(json_writer *w, bool value) {
    begin_value(w);
    buf_text(w->out, value ? "true" : "false");
}

void jsonw_null(json_writer *w) {
    begin_value(w);
    buf_text(w->out, "null");
}

void jsonw_pair_string(json_writer *w, const char *key, const char *text) {
    jsonw_key(w, key);
    jsonw_string(w, text);
}

void jsonw_pair_uint(json_writer *w, const char *key, uint64_t value) {
    jsonw_key(w, key);
    jsonw_uint(w, value);
}

void jsonw_pair_double(json_writer *w, const char *key, double value) {
    jsonw_key(w, key);
    jsonw_double(w, value);
}
