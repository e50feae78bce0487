/* trace.h - files for chrome://tracing and ui.perfetto.dev: events on tracks, counters, names of tracks.
 *
 * The processes and threads of the format are used for devices, workers and engines. */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "base/json_writer.h"
#include "base/outfile.h"
#include "report/sink.h"

typedef struct trace {
    outfile file;
    sink out;
    json_writer json;
} trace;

typedef struct trace_track {
    uint32_t process, thread;
} trace_track;

ft_status trace_open(const char *path, trace *t, ft_error *error);
/* Puts the complete file in its place. */
ft_status trace_commit(trace *t, ft_error *error);
/* Removes the temporary file; after trace_commit, only frees. */
void trace_free(trace *t);

/* Names a track; `kind` is "process_name" or "thread_name". */
void trace_label(trace *t, const char *kind, trace_track track, const char *label);

/* An event: begin, pairs of `t->json` beyond those that every event has, the key "args" with an object when there is
 * one (trace_args opens it), end. `phase`: "X" lasts, "C" counts. */
void trace_begin(trace *t, const char *name, const char *phase, trace_track track, double ts_us);
void trace_args(trace *t);
void trace_end(trace *t);

#endif
