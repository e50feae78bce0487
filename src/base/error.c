/* error.c - formats error messages, and the names and texts of statuses. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void clean(char *text) {
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) *text = '?';
    }
}

ft_status(ft_fail)(ft_error *error, ft_status status, const char *format, ...) {
    if (error == NULL) return status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    clean(error->message);
    error->status = status;
    return status;
}

ft_status(ft_fail_prefix)(ft_error *error, ft_status status, const char *format, ...) {
    if (error == NULL) return status;
    char rest[sizeof error->message];
    memcpy(rest, error->message, sizeof rest);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof error->message - 2) length = 0;
    memcpy(error->message + length, ": ", 2);
    snprintf(error->message + length + 2, sizeof error->message - 2 - (size_t)length, "%.*s",
             (int)(sizeof rest - 3) - length, rest);
    clean(error->message);
    error->status = status;
    return status;
}

ft_status(ft_fail_file)(ft_error *error, const char *path, const char *what, int code) {
    bool is_full = code == ENOSPC || code == EDQUOT;
    return ft_fail(error, code == ENOMEM ? FT_ERR_NOMEM : FT_ERR_IO, "%s%s%s: %s%s", path != NULL ? path : "",
                   path != NULL ? ": " : "", what, strerror(code != 0 ? code : EIO),
                   is_full ? "; free space, or choose another path" : "");
}

ft_status error_null_argument(ft_error *error, const char *function, const char *names, const void *const *pointers,
                              size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(names, ",");
        if (pointers[i] == NULL)
            return ft_fail(error, FT_ERR_USAGE, "%s: '%.*s' is NULL", function, (int)length, names);
        names += length + strspn(names + length, ", ");
    }
    return FT_OK;
}

const char *ft_status_name(ft_status status) {
    switch (status) {
#define NAME(name, value, text)                                                                                        \
    case name:                                                                                                         \
        return #name;
        FT_STATUS_LIST(NAME)
#undef NAME
    }
    return "unknown status";
}

const char *ft_status_text(ft_status status) {
    switch (status) {
#define TEXT(name, value, text)                                                                                        \
    case name:                                                                                                         \
        return text;
        FT_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unknown status";
}
