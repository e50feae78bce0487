/* text.c - cleaning, measuring and shortening text for a terminal. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "report/grid.h"

static uint32_t decode(const char *bytes, size_t length) {
    static const unsigned char lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    assert(length >= 1 && length <= 4);
    uint32_t code = (unsigned char)bytes[0] & lead_mask[length];
    for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)bytes[i] & 0x3f);
    return code;
}

typedef struct code_range {
    uint32_t first, last;
} code_range;

static bool is_in(const code_range *ranges, size_t count, uint32_t code) {
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

/* Columns of a character: the blocks that terminals draw two columns wide, and the marks that take none. */
static uint32_t code_columns(uint32_t code) {
    static const code_range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x33ff}, {0x3400, 0x4dbf},
                                      {0x4e00, 0x9fff},   {0xa000, 0xa4cf},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},
                                      {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
                                      {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    static const code_range none[] = {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    if (code < 0x300) return 1;
    if (is_in(none, sizeof none / sizeof none[0], code)) return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], code) ? 2 : 1;
}

/* Characters that would move the cursor, turn the writing direction or hide text. */
static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

uint32_t text_columns(const char *text) {
    uint32_t columns = 0;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        columns += length > 1 ? code_columns(decode(text, length)) : 1;
        text += length > 0 ? length : 1;
    }
    return columns;
}

size_t text_wrap(const char *text, uint32_t columns) {
    size_t used = 0, space = 0, joint = 0;
    for (uint32_t column = 0; text[used] != '\0';) {
        size_t length = utf8_length(text + used);
        if (length == 0) length = 1;
        column += length > 1 ? code_columns(decode(text + used, length)) : 1;
        if (text[used] == ' ') space = used;
        if (column > columns) return space > 0 ? space : joint > 0 ? joint : used > 0 ? used : length;
        used += length;
        if (strchr("-/", text[used - length]) != NULL) joint = used;
    }
    return used;
}

/* The next character of `text`, cleaned. Returns how many bytes of the text it replaces. */
static size_t next_clean(const char *text, bool has_utf8, const char **bytes, size_t *length) {
    size_t taken = utf8_length(text);
    bool is_good = taken == 1 || (taken > 1 && has_utf8);
    if (is_good && !is_control(decode(text, taken))) {
        *bytes = text;
        *length = taken;
    } else {
        *bytes = "?";
        *length = 1;
    }
    return taken > 0 ? taken : 1;
}

static uint32_t clean_columns(const char *bytes, size_t length) {
    return length == 1 ? 1 : code_columns(decode(bytes, length));
}

static uint32_t cleaned_columns(const char *text, bool has_utf8) {
    uint32_t columns = 0;
    while (*text != '\0') {
        const char *bytes;
        size_t length;
        text += next_clean(text, has_utf8, &bytes, &length);
        columns += clean_columns(bytes, length);
    }
    return columns;
}

/* Appends the cleaned characters of `text` that start in columns [from, to). */
static void append_columns(const char *text, uint32_t from, uint32_t to, bool has_utf8, char *out, size_t size) {
    uint32_t column = 0;
    size_t used = strlen(out);
    assert(from <= to && used < size);
    while (*text != '\0' && column < to) {
        const char *bytes;
        size_t length;
        text += next_clean(text, has_utf8, &bytes, &length);
        uint32_t columns = clean_columns(bytes, length);
        if (column >= from && column + columns <= to) {
            if (used + length >= size) break;
            memcpy(out + used, bytes, length);
            used += length;
        }
        column += columns;
    }
    out[used] = '\0';
}

/* Names differ more at the end than at the beginning (/model/encoder/layer.11/attention/MatMul): the end gets the odd
 * column. */
void text_fit(const char *text, uint32_t columns, const ft_style *style, char *fitted, size_t size) {
    uint32_t whole = cleaned_columns(text, style->has_utf8);
    uint32_t max = (uint32_t)(size - 8) / 4; /* characters of four bytes, and the ellipsis, fit the buffer */
    assert(size > 8);
    if (columns > max) columns = max;
    fitted[0] = '\0';
    if (whole <= columns) {
        append_columns(text, 0, whole, style->has_utf8, fitted, size);
        return;
    }
    const char *ellipsis = style->has_utf8 ? "\xe2\x80\xa6" : "..";
    uint32_t gap = style->has_utf8 ? 1 : 2;
    if (columns <= gap) {
        append_columns(text, 0, columns, style->has_utf8, fitted, size);
        return;
    }
    uint32_t head = (columns - gap) / 2, tail = columns - gap - head;
    append_columns(text, 0, head, style->has_utf8, fitted, size);
    memcpy(fitted + strlen(fitted), ellipsis, strlen(ellipsis) + 1);
    append_columns(text, whole - tail, whole, style->has_utf8, fitted, size);
}

const char *tone_begin(const ft_style *style, text_tone tone) {
    static const char *const codes[] = {
        [TONE_PLAIN] = "", [TONE_TITLE] = "\033[1m", [TONE_FAINT] = "\033[2m", [TONE_WARNING] = "\033[33m"};
    return style->has_color ? codes[tone] : "";
}

const char *tone_end(const ft_style *style, text_tone tone) {
    return style->has_color && tone != TONE_PLAIN ? "\033[0m" : "";
}
