/* lines.h - reads a file line by line, plain or gzip, for files that are too large for memory. */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

enum { LINES_MAX_BYTES = 16 * 1024 * 1024 };

typedef struct lines {
    void *file; /* a gzFile; NULL for a text in memory */
    char *path;
    char *buffer;
    size_t capacity, begin, end; /* bytes begin..end are read but not yet returned */
    uint64_t number;             /* of the last returned line, from 1 */
    bool is_at_end;
} lines;

ft_status lines_open(const char *path, lines *l, ft_error *error);
/* A text in memory; it is copied. */
ft_status lines_open_memory(const char *text, size_t size, const char *name, lines *l, ft_error *error);
/* The next line without its line end, valid until the next call; *line = NULL at the end. */
ft_status lines_next(lines *l, const char **line, size_t *length, ft_error *error);
void lines_close(lines *l);

#endif
