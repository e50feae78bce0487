/* csv.c - one pass over the bytes of a row; the plain field, by far the most common, has the shortest way. */
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

static const char *pass_row_end(csv *c, const char *at) {
    if (at < c->end && *at == '\r') at++;
    if (at < c->end) at++;
    c->next_line++;
    return at;
}

static void pass_empty_rows(csv *c) {
    while (c->next < c->end && is_row_end(c->next, c->end)) c->next = pass_row_end(c, c->next);
    c->line = c->next_line;
}

/* `at` is behind the opening quote. Returns the place of the closing one, or NULL. */
static const char *pass_quoted(csv *c, const char *at, csv_field *field) {
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

/* One field from `at`; returns the place of the comma or row end behind it, or NULL for an open quote. */
static const char *pass_field(csv *c, const char *at, csv_field *field) {
    *field = (csv_field){.text = at};
    if (at < c->end && *at == '"') {
        at = pass_quoted(c, at + 1, field);
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

ft_status csv_row(csv *c, csv_field *fields, uint32_t most, uint32_t *count, ft_error *error) {
    *count = 0;
    pass_empty_rows(c);
    if (c->next == c->end) return FT_OK;
    const char *at = c->next;
    uint32_t used = 0;
    csv_field extra = {0};
    for (;; at++) {
        csv_field *field = used < most ? &fields[used] : &extra;
        used += used <= most;
        at = pass_field(c, at, field);
        if (at == NULL) {
            c->next = c->end;
            return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: a quote is never closed", c->name,
                           (unsigned long long)c->line);
        }
        if (at == c->end || *at != ',') break;
    }
    c->next = pass_row_end(c, at);
    if (used > most)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: more than the %u fields it may have", c->name,
                       (unsigned long long)c->line, most);
    *count = used;
    return FT_OK;
}

uint64_t csv_skip(csv *c, uint64_t rows) {
    uint64_t passed = 0;
    for (; passed < rows; passed++) {
        uint32_t count;
        pass_empty_rows(c);
        if (c->next == c->end) break;
        csv_row(c, NULL, 0, &count, NULL);
    }
    return passed;
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

ft_status csv_int(const csv *c, const csv_field *field, const char *column, int64_t least, int64_t most, int64_t *value,
                  ft_error *error) {
    if (text_int(field->text, field->length, value) && *value >= least && *value <= most) return FT_OK;
    char text[40];
    return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: %s is '%s'; expected an integer from %lld to %lld", c->name,
                   (unsigned long long)c->line, column, csv_unquote(field, text, sizeof text), (long long)least,
                   (long long)most);
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
