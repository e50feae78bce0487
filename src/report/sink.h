/* sink.h - where a report goes: text gathers in a buffer and is passed on to the stream in large pieces. */
#ifndef REPORT_SINK_H
#define REPORT_SINK_H

#include <stdio.h>

#include "base/buf.h"
#include "foretell/status.h"

typedef struct sink {
    FILE *stream;
    buf text;
    int write_errno; /* of the first write that failed, 0 while all is well */
} sink;

/* Passes on what has gathered when it is much; called between rows, so that long lists take little memory. */
void sink_relieve(sink *s);
/* Passes on everything and says whether all that was ever written arrived. */
ft_status sink_flush(sink *s, ft_error *error);
void sink_free(sink *s);

#endif
