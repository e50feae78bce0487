/* labelled.h - lines of a label and a text: "Batch   64, training". */
#ifndef REPORT_LABELLED_H
#define REPORT_LABELLED_H

#include "foretell/inspect.h"
#include "report/sink.h"

enum { LABELLED_MAX_LINES = 32 };

/* Begins as {0}. */
typedef struct labelled {
    struct {
        const char *label; /* "": continues the line before */
        buf text;
    } lines[LABELLED_MAX_LINES];
    uint32_t count;
} labelled;

/* The text of a new line, to write to. */
buf *labelled_add(labelled *l, const char *label);
/* Wraps texts that are too long. Frees the lines. */
void labelled_write(labelled *l, const ft_style *style, uint32_t indent, sink *out);

#endif
