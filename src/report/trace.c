/* trace.c - the Chrome trace format, written event by event. */
#include "report/trace.h"

#include <assert.h>

#include "base/error.h"

ft_status trace_open(const char *path, trace *t, ft_error *error) {
    FT_TRY(outfile_open(path, &t->file, error));
    t->out.stream = t->file.stream;
    jsonw_init(&t->json, &t->out.text);
    jsonw_open_object(&t->json, JSON_BLOCK);
    jsonw_pair_string(&t->json, "displayTimeUnit", "ms");
    jsonw_key(&t->json, "traceEvents");
    jsonw_open_array(&t->json, JSON_BLOCK);
    return FT_OK;
}

ft_status trace_commit(trace *t, ft_error *error) {
    assert(t->json.depth == 2); /* every event has ended */
    jsonw_close(&t->json);
    jsonw_close(&t->json);
    buf_char(&t->out.text, '\n');
    ft_status status = sink_flush(&t->out, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", t->file.path);
    return outfile_commit(&t->file, error);
}

void trace_free(trace *t) {
    outfile_discard(&t->file);
    sink_free(&t->out);
}

void trace_begin(trace *t, const char *name, const char *phase, trace_track track, double ts_us) {
    assert(t->json.depth == 2);
    jsonw_open_object(&t->json, JSON_LINE);
    jsonw_pair_string(&t->json, "name", name);
    jsonw_pair_string(&t->json, "ph", phase);
    jsonw_pair_double(&t->json, "ts", ts_us);
    jsonw_pair_uint(&t->json, "pid", track.process);
    jsonw_pair_uint(&t->json, "tid", track.thread);
}

void trace_args(trace *t) {
    assert(t->json.depth == 3);
    jsonw_key(&t->json, "args");
    jsonw_open_object(&t->json, JSON_LINE);
}

void trace_end(trace *t) {
    assert(t->json.depth > 2);
    while (t->json.depth > 2) jsonw_close(&t->json); /* the arguments, if any, and the event */
    sink_relieve(&t->out);
}

void trace_label(trace *t, const char *kind, trace_track track, const char *label) {
    trace_begin(t, kind, "M", track, 0);
    trace_args(t);
    jsonw_pair_string(&t->json, "name", label);
    trace_end(t);
}
