/* problem.h - errors as application/problem+json (RFC 9457), with the status and message of the library. */
#ifndef SERVE_PROBLEM_H
#define SERVE_PROBLEM_H

#include "text.h"

/* The HTTP status of a status of the library. */
unsigned problem_http_status(ft_status status);
/* Adds the document. FT_OK as `status`: the error is not one of the library. */
void problem_put(text *t, unsigned http_status, ft_status status, const char *message);
/* Sets the error of a function; returns the status. */
ft_status error_set(ft_error *error, ft_status status, const char *format, ...) FT_PRINTF(3, 4);
/* "Not Found" */
const char *problem_title(unsigned http_status);

#endif
