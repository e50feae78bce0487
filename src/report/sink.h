/* sink.h - buffered output of a report to a stream. */
#ifndef REPORT_SINK_H
#define REPORT_SINK_H

#include <stdio.h>

#include "base/buf.h"
#include "foretell/status.h"

typedef struct sink {
    FILE *stream;
    buf text;
    int write_errno; /* of the first write that failed; 0: none did */
    /* Hashes of shortened texts, as shown and in full; `shortened_capacity` is a power of two, empty slots are 0. */
    struct shortened_text {
        uint64_t shown, whole;
    } * shortened;
    uint32_t shortened_count, shortened_capacity;
} sink;

/* Writes the buffer when it is large; called between rows, so that long lists need little memory. */
void sink_relieve(sink *s);
/* Writes the buffer, and returns the first error of all writes. */
ft_status sink_flush(sink *s, ft_error *error);
/* Records that `whole` was shortened to `shown`. False: another text of the document was shortened to the same. */
bool sink_is_new(sink *s, const char *shown, const char *whole);
void sink_free(sink *s);

#endif
