/* error.h - functions and macros for reporting failures. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "foretell/status.h"

/* Fills `error` (which may be NULL) and returns `status`. A message longer than the buffer is truncated; control
 * characters, which names in a hostile file may contain, become '?'. */
ft_status ft_fail(ft_error *error, ft_status status, const char *format, ...) FT_PRINTF(3, 4);

/* Prepends "prefix: " to the message of a failure, and returns its status. */
ft_status ft_fail_prefix(ft_error *error, ft_status status, const char *format, ...) FT_PRINTF(3, 4);

/* A failed system call on a file: "path: what: reason" with FT_ERR_IO, or FT_ERR_NOMEM. `code` is the errno; `path`
 * NULL: the caller adds it with ft_fail_prefix. */
ft_status ft_fail_file(ft_error *error, const char *path, const char *what, int code);

/* The static analyser reads one file at a time; these macros show it that a failure never returns FT_OK. */
#ifdef __clang_analyzer__
#define ft_fail(error, status, ...)           ((void)(ft_fail)((error), (status), __VA_ARGS__), (status))
#define ft_fail_prefix(error, status, ...)    ((void)(ft_fail_prefix)((error), (status), __VA_ARGS__), (status))
#define ft_fail_file(error, path, what, code) ((void)(ft_fail_file)((error), (path), (what), (code)), FT_ERR_IO)
#endif

#define FT_TRY(call)                                                                                                   \
    do {                                                                                                               \
        ft_status try_status = (call);                                                                                 \
        if (try_status != FT_OK) return try_status;                                                                    \
    } while (0)

/* For public functions: a pointer that must not be NULL is. */
#define FT_NULL_ARGUMENT(error) ft_fail((error), FT_ERR_USAGE, "%s: an argument is NULL", __func__)

#define FT_NOMEM(error) ft_fail((error), FT_ERR_NOMEM, "out of memory, or over the limit for one model")

#endif
