/* status.h - status codes and error messages.
 *
 * Every call that can fail returns an ft_status and, unless `error` is NULL, fills an ft_error with a message: the
 * cause, the place, and the remedy. The values of the codes do not change between releases. */
#ifndef FORETELL_STATUS_H
#define FORETELL_STATUS_H

#ifdef __cplusplus
#define FT_C_BEGIN extern "C" {
#define FT_C_END   }
#else
#define FT_C_BEGIN
#define FT_C_END
#endif

#if defined(__GNUC__)
#define FT_API               __attribute__((visibility("default")))
#define FT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define FT_API
#define FT_PRINTF(fmt, args)
#endif

FT_C_BEGIN

/* name, value (also the exit code of the command), meaning */
#define FT_STATUS_LIST(X)                                                                                              \
    X(FT_OK, 0, "ok")                                                                                                  \
    X(FT_ERR_INTERNAL, 1, "internal error")                                                                            \
    X(FT_ERR_USAGE, 2, "wrong argument")                                                                               \
    X(FT_ERR_IO, 3, "cannot open, read or write")                                                                      \
    X(FT_ERR_FORMAT, 4, "not a model in any known format")                                                             \
    X(FT_ERR_DAMAGED, 5, "damaged or truncated file")                                                                  \
    X(FT_ERR_UNSUPPORTED, 6, "valid, but not supported")                                                               \
    X(FT_ERR_LIMIT, 7, "larger than a documented limit")                                                               \
    X(FT_ERR_GRAPH, 8, "the graph is not valid")                                                                       \
    X(FT_ERR_UNBOUND, 9, "a symbolic dimension has no value")                                                          \
    X(FT_ERR_REFUSED, 10, "refused: the file asks to run code")                                                        \
    X(FT_ERR_NOMEM, 11, "out of memory")                                                                               \
    X(FT_ERR_CANCELLED, 12, "cancelled")                                                                               \
    X(FT_ERR_PARTIAL, 13, "some of several inputs failed")

typedef enum ft_status {
#define FT_STATUS_ENUM(name, value, text) name = (value),
    FT_STATUS_LIST(FT_STATUS_ENUM)
#undef FT_STATUS_ENUM
} ft_status;

typedef struct ft_error {
    ft_status status;
    char message[512]; /* one line, no newline at its end */
} ft_error;

/* "FT_ERR_IO", and "cannot open, read or write". Both are static; "unknown status" for other values. */
FT_API const char *ft_status_name(ft_status status);
FT_API const char *ft_status_text(ft_status status);

FT_C_END

#endif
