/* csv.h - a CSV reader over text in memory that neither copies nor allocates, and a writer of cells.
 *
 * Fields point into the text, without their enclosing quotes; csv_unquote() copies a field and undoes doubled quotes.
 * Lines end in LF or CR LF; empty lines are skipped. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "foretell/status.h"

typedef struct csv {
    const char *name; /* of the file, for messages; borrowed */
    const char *next, *end;
    uint64_t line; /* of the row read last, from 1 */
    uint64_t next_line;
} csv;

typedef struct csv_field {
    const char *text; /* not NUL-terminated */
    size_t length;
    bool has_doubled_quotes;
} csv_field;

void csv_init(csv *c, const char *name, const char *text, size_t size);

/* The next row; *count = 0 at the end of the text. A row with more than `max_count` fields, or an unclosed quote, is an
 * error with file and line; the next call continues after it. */
ft_status csv_row(csv *c, csv_field *fields, uint32_t max_count, uint32_t *count, ft_error *error);

/* Skips up to `rows` rows, and returns how many there were. */
uint64_t csv_skip(csv *c, uint64_t rows);

bool csv_field_is(const csv_field *field, const char *text);
/* Copies the field to `out`, NUL-terminated and with doubled quotes made single; truncates it to `size`. Returns `out`.
 */
const char *csv_unquote(const csv_field *field, char *out, size_t size);

/* An integer from `min` to `max`; the error has file, line and column. */
ft_status csv_int(const csv *c, const csv_field *field, const char *column, int64_t min, int64_t max, int64_t *value,
                  ft_error *error);

/* Writes a cell, quoted when necessary. */
void csv_cell(buf *out, const char *text);

#endif
