/* error.h - functions and macros for reporting failures. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>

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

/* For public functions: returns FT_ERR_USAGE, with the name of the first of these pointers that is NULL. */
#define FT_REQUIRE(error, ...)                                                                                         \
    FT_TRY(error_null_argument((error), __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},                    \
                               sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
/* FT_OK when none of `count` pointers is NULL; `names` are those of the pointers, separated by commas. */
ft_status error_null_argument(ft_error *error, const char *function, const char *names, const void *const *pointers,
                              size_t count);
/* An enumeration or count in a public function is out of range: "cost options: mode 99 is not one of ft_mode". */
#define FT_OUT_OF_RANGE(error, what, value, type)                                                                      \
    ft_fail((error), FT_ERR_USAGE, "%s %lld is not one of %s", (what), (long long)(value), (type))

#define FT_NOMEM(error) ft_fail((error), FT_ERR_NOMEM, "out of memory, or over the limit for one model")

#endif
