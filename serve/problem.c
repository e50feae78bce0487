/* problem.c - errors as application/problem+json. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

unsigned problem_http_status(ft_status status) {
    switch (status) {
    case FT_OK:
        return 200;
    case FT_ERR_USAGE:
        return 400;
    case FT_ERR_FORMAT:
    case FT_ERR_DAMAGED:
    case FT_ERR_UNSUPPORTED:
    case FT_ERR_GRAPH:
    case FT_ERR_UNBOUND:
    case FT_ERR_REFUSED:
        return 422;
    case FT_ERR_LIMIT:
        return 413;
    case FT_ERR_NOMEM:
        return 507;
    case FT_ERR_CANCELLED:
        return 503;
    case FT_ERR_INTERNAL:
    case FT_ERR_IO:
    case FT_ERR_PARTIAL:
        break;
    }
    return 500;
}

const char *problem_title(unsigned http_status) {
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {{400, "Bad Request"},           {401, "Unauthorized"},        {404, "Not Found"},
                  {405, "Method Not Allowed"},    {413, "Content Too Large"},   {422, "Unprocessable Content"},
                  {500, "Internal Server Error"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
                  {507, "Insufficient Storage"}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (titles[i].status == http_status) return titles[i].title;
    return "Error";
}

void problem_put(text *t, unsigned http_status, ft_status status, const char *message) {
    text_put(t, "{\"type\": \"about:blank\", \"title\": ");
    text_json(t, status != FT_OK ? ft_status_text(status) : problem_title(http_status));
    text_format(t, ", \"status\": %u, \"detail\": ", http_status);
    text_json(t, message);
    text_put(t, ", \"code\": ");
    if (status != FT_OK)
        text_json(t, ft_status_name(status));
    else
        text_put(t, "null");
    text_put(t, "}");
}

ft_status error_set(ft_error *error, ft_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return error->status = status;
}
