/* csv.h - rows and fields of a CSV text in memory, without copying it.
 *
 * Fields point into the text. A quoted field loses its quotes; one that holds doubled quotes says so, and
 * csv_unquote() puts it right. Lines end in LF or CR LF; empty lines are skipped. Nothing is allocated. */
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

/* The next row; *count = 0 at the end of the text. A row with more than `most` fields, or a quote that is never closed,
 * is an error that names file and line; the next call goes on after it. */
ft_status csv_row(csv *c, csv_field *fields, uint32_t most, uint32_t *count, ft_error *error);

/* Passes over `rows` rows as cheaply as it can, and tells how many there were. */
uint64_t csv_skip(csv *c, uint64_t rows);

bool csv_field_is(const csv_field *field, const char *text);
/* Writes the field, NUL-terminated and with doubled quotes made single; cut when it is longer. Returns `out`. */
const char *csv_unquote(const csv_field *field, char *out, size_t size);

/* Fails with file, line and the column's name. */
ft_status csv_int(const csv *c, const csv_field *field, const char *column, int64_t least, int64_t most, int64_t *value,
                  ft_error *error);

/* Writes a cell: quoted when it has to be. */
void csv_cell(buf *out, const char *text);

#endif
