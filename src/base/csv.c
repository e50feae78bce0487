/* csv.c - reads a row in one pass over its bytes; the common case, a field without quotes, is the fast path. */
#include "base/csv.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

void csv_init(csv *c, const char *name, const char *text, size_t size) {
    *c = (csv){.name = name, .next = text, .end = text + size, .next_line = 1};
}

static bool is_row_end(const char *at, const char *end) {
    return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

static const char *skip_row_end(csv *c, const char *at) {
    if (at < c->end && *at == '\r') at++;
    if (at < c->end) at++;
    c->next_line++;
    return at;
}

static void skip_empty_rows(csv *c) {
    while (c->next < c->end && is_row_end(c->next, c->end)) c->next = skip_row_end(c, c->next);
    c->line = c->next_line;
}

/* `at` is after the opening quote. Returns the position of the closing one, or NULL. */
static const char *read_quoted(csv *c, const char *at, csv_field *field) {
    field->text = at;
    for (; at < c->end; at++) {
        if (*at == '\n') c->next_line++;
        if (*at != '"') continue;
        if (at + 1 == c->end || at[1] != '"') {
            field->length = (size_t)(at - field->text);
            return at;
        }
        field->has_doubled_quotes = true;
        at++;
    }
    return NULL;
}

/* Reads one field from `at`; returns the position of the comma or row end after it, or NULL for an unclosed quote. */
static const char *read_field(csv *c, const char *at, csv_field *field) {
    *field = (csv_field){.text = at};
    if (at < c->end && *at == '"') {
        at = read_quoted(c, at + 1, field);
        if (at == NULL) return NULL;
        at++;
        while (at < c->end && *at != ',' && !is_row_end(at, c->end)) at++; /* text after the quote is dropped */
        return at;
    }
    while (at < c->end && *at != ',' && *at != '\n') at++;
    field->length = (size_t)(at - field->text);
    if (field->length > 0 && at[-1] == '\r' && is_row_end(at - 1, c->end)) {
        at--;
        field->length--;
    }
    return at;
}

ft_status csv_row(csv *c, csv_field *fields, uint32_t max_count, uint32_t *count, ft_error *error) {
    *count = 0;
    skip_empty_rows(c);
    if (c->next == c->end) return FT_OK;
    const char *at = c->next;
    uint32_t used = 0;
    csv_field extra = {0};
    for (;; at++) {
        csv_field *field = used < max_count ? &fields[used] : &extra;
        used += used <= max_count;
        at = read_field(c, at, field);
        if (at == NULL) {
            c->next = c->end;
            return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: unclosed quote", c->name,
                           (unsigned long long)c->line);
        }
        if (at == c->end || *at != ',') break;
    }
    c->next = skip_row_end(c, at);
    if (used > max_count)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: more than %u fields", c->name,
                       (unsigned long long)c->line, max_count);
    *count = used;
    return FT_OK;
}

uint64_t csv_skip(csv *c, uint64_t rows) {
    uint64_t skipped = 0;
    for (; skipped < rows; skipped++) {
        uint32_t count;
        skip_empty_rows(c);
        if (c->next == c->end) break;
        csv_row(c, NULL, 0, &count, NULL);
    }
    return skipped;
}

bool csv_field_is(const csv_field *field, const char *text) {
    return strlen(text) == field->length && memcmp(field->text, text, field->length) == 0;
}

const char *csv_unquote(const csv_field *field, char *out, size_t size) {
    size_t length = 0;
    for (size_t i = 0; i < field->length && length + 1 < size; i++) {
        out[length++] = field->text[i];
        if (field->has_doubled_quotes && field->text[i] == '"') i++;
    }
    out[length] = '\0';
    return out;
}

ft_status csv_int(const csv *c, const csv_field *field, const char *column, int64_t min, int64_t max, int64_t *value,
                  ft_error *error) {
    if (text_int(field->text, field->length, value) && *value >= min && *value <= max) return FT_OK;
    char text[40];
    return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: %s is '%s'; expected an integer from %lld to %lld", c->name,
                   (unsigned long long)c->line, column, csv_unquote(field, text, sizeof text), (long long)min,
                   (long long)max);
}

void csv_cell(buf *out, const char *text) {
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        buf_text(out, text);
        return;
    }
    buf_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"') buf_char(out, '"');
        buf_char(out, *text);
    }
    buf_char(out, '"');
}
