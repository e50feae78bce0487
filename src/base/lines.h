/* lines.h - the lines of a file, one after the other, plain or gzip: for files that are larger than memory should be.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

enum { LINES_MAX_BYTES = 16 * 1024 * 1024 };

typedef struct lines {
    void *file; /* zlib's; NULL for a text in memory */
    char *path;
    char *buffer;
    size_t capacity, begin, end; /* what was read and not yet given */
    uint64_t number;             /* of the line given last, from 1 */
    bool is_at_end;
} lines;

ft_status lines_open(const char *path, lines *l, ft_error *error);
/* A text in memory, which is copied. */
ft_status lines_open_memory(const char *text, size_t size, const char *name, lines *l, ft_error *error);
/* The next line without its end; *line = NULL after the last. It is valid until the next call. */
ft_status lines_next(lines *l, const char **line, size_t *length, ft_error *error);
void lines_close(lines *l);

#endif
