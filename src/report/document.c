/* document.c - a document in memory: a stream whose bytes are kept in a buffer that grows. */
#include "foretell/document.h"

#include <stdlib.h>

#include "base/error.h"

struct ft_document {
    FILE *stream;
    char *text; /* both are set by the stream when it is flushed */
    size_t size;
};

ft_status ft_document_open(ft_document **document, ft_error *error) {
    FT_REQUIRE(error, document);
    ft_document *d = calloc(1, sizeof *d);
    if (d == NULL) return FT_NOMEM(error);
    d->stream = open_memstream(&d->text, &d->size);
    if (d->stream == NULL) {
        free(d);
        return FT_NOMEM(error);
    }
    *document = d;
    return FT_OK;
}

FILE *ft_document_stream(ft_document *document) {
    return document != NULL ? document->stream : NULL;
}

/* A write to memory fails only for want of it. */
ft_status ft_document_text(ft_document *document, const char **text, size_t *size, ft_error *error) {
    FT_REQUIRE(error, document, text, size);
    if (fflush(document->stream) != 0 || ferror(document->stream) || document->text == NULL) return FT_NOMEM(error);
    *text = document->text;
    *size = document->size;
    return FT_OK;
}

void ft_document_free(ft_document *document) {
    if (document == NULL) return;
    fclose(document->stream);
    free(document->text);
    free(document);
}
