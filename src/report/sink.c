#include "report/sink.h"

#include <errno.h>

#include "base/error.h"

enum { RELIEVE_BYTES = 1 << 16 };

static void pass_on(sink *s) {
    if (s->text.length == 0) return;
    errno = 0;
    if (s->write_errno == 0 && fwrite(s->text.data, 1, s->text.length, s->stream) != s->text.length)
        s->write_errno = errno != 0 ? errno : EIO;
    s->text.length = 0;
}

void sink_relieve(sink *s) {
    if (s->text.length >= RELIEVE_BYTES) pass_on(s);
}

ft_status sink_flush(sink *s, ft_error *error) {
    pass_on(s);
    if (s->write_errno == 0 && fflush(s->stream) != 0) s->write_errno = errno;
    if (s->text.failed) return FT_NOMEM(error);
    if (s->write_errno != 0) return ft_fail_file(error, NULL, "cannot write the report", s->write_errno);
    return FT_OK;
}

void sink_free(sink *s) {
    buf_free(&s->text);
}
