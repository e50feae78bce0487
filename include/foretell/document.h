/* document.h - documents in memory instead of in a file: for services and for bindings of other languages.
 *
 *     ft_document *document;
 *     size_t size;
 *     const char *text;
 *     if (!ft_document_open(&document, &error) &&
 *         !ft_report_devices(ft_document_stream(document), &style, set, NULL, 0, &error) &&
 *         !ft_document_text(document, &text, &size, &error)) ...
 *     ft_document_free(document);
 *
 * The stream can be passed to every function that writes to one, so the bytes are those that the command prints. */
#ifndef FORETELL_DOCUMENT_H
#define FORETELL_DOCUMENT_H

#include <stddef.h>
#include <stdio.h>

#include "foretell/status.h"

FT_C_BEGIN

typedef struct ft_document ft_document;

FT_API ft_status ft_document_open(ft_document **document, ft_error *error);
/* The stream that is written to; NULL for NULL. */
FT_API FILE *ft_document_stream(ft_document *document);
/* What was written so far, with a NUL behind it that `size` does not count. The text lives until the next write. */
FT_API ft_status ft_document_text(ft_document *document, const char **text, size_t *size, ft_error *error);
FT_API void ft_document_free(ft_document *document);

FT_C_END

#endif
