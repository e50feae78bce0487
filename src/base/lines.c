/* lines.c - a buffer over zlib that grows to the longest line. */
#include "base/lines.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"

enum { FIRST_BUFFER = 1024 * 1024 };

ft_status lines_open(const char *path, lines *l, ft_error *error) {
    *l = (lines){0};
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return ft_fail(error, FT_ERR_IO, "%s: is a folder", path);
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (file == NULL) return errno == 0 ? FT_NOMEM(error) : ft_fail_file(error, NULL, path, errno);
    gzbuffer(file, 256 * 1024);
    *l = (lines){.file = file, .path = strdup(path), .buffer = malloc(FIRST_BUFFER), .capacity = FIRST_BUFFER};
    if (l->path != NULL && l->buffer != NULL) return FT_OK;
    lines_close(l);
    return FT_NOMEM(error);
}

ft_status lines_open_memory(const char *text, size_t size, const char *name, lines *l, ft_error *error) {
    *l =
        (lines){.path = strdup(name), .buffer = malloc(size + 1), .capacity = size + 1, .end = size, .is_at_end = true};
    if (l->path == NULL || l->buffer == NULL) {
        lines_close(l);
        return FT_NOMEM(error);
    }
    if (size > 0) memcpy(l->buffer, text, size);
    return FT_OK;
}

/* Moves the unread rest to the front and reads more after it; a full buffer grows. */
static ft_status fill(lines *l, ft_error *error) {
    assert(l->begin <= l->end && l->end <= l->capacity);
    memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    if (l->end == l->capacity) {
        if (l->capacity >= LINES_MAX_BYTES)
            return ft_fail(error, FT_ERR_LIMIT, "%s:%llu: the line has more than %d bytes", l->path,
                           (unsigned long long)l->number + 1, LINES_MAX_BYTES);
        char *larger = realloc(l->buffer, l->capacity * 2);
        if (larger == NULL) return FT_NOMEM(error);
        l->buffer = larger;
        l->capacity *= 2;
    }
    int got = gzread(l->file, l->buffer + l->end, (unsigned)(l->capacity - l->end));
    int code = Z_OK;
    const char *why = gzerror(l->file, &code);
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR))
        return code == Z_MEM_ERROR
                   ? FT_NOMEM(error)
                   : ft_fail(error, code == Z_ERRNO ? FT_ERR_IO : FT_ERR_DAMAGED, "%s: after line %llu: %s", l->path,
                             (unsigned long long)l->number, code == Z_ERRNO ? strerror(errno) : why);
    l->end += (size_t)got;
    l->is_at_end = got == 0;
    return FT_OK;
}

ft_status lines_next(lines *l, const char **line, size_t *length, ft_error *error) {
    size_t searched = 0;
    for (;;) {
        const char *from = l->buffer + l->begin;
        const char *end = memchr(from + searched, '\n', l->end - l->begin - searched);
        if (end == NULL && !l->is_at_end) {
            searched = l->end - l->begin;
            FT_TRY(fill(l, error));
            continue;
        }
        *line = NULL;
        *length = 0;
        if (end == NULL && l->begin == l->end) return FT_OK;
        size_t size = end != NULL ? (size_t)(end - from) : l->end - l->begin;
        l->begin += size + (end != NULL);
        l->number++;
        *line = from;
        *length = size > 0 && from[size - 1] == '\r' ? size - 1 : size;
        return FT_OK;
    }
}

void lines_close(lines *l) {
    if (l->file != NULL) gzclose(l->file);
    free(l->path);
    free(l->buffer);
    *l = (lines){0};
}
