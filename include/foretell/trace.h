/* trace.h - traces that PyTorch's profiler recorded: sums by operator and kernel, and several traces as one timeline.
 *
 *     ft_trace *trace;
 *     if (!ft_trace_open("worker0.pt.trace.json.gz", &trace, &error) &&
 *         !ft_report_trace_summary(stdout, &style, (const ft_trace *const[]){trace}, 1, NULL, &error)) ...
 *     ft_trace_free(trace);
 *
 * docs/traces.md explains every column. `ft_import` with the kind "trace" makes a data set of the measured operators.
 */
#ifndef FORETELL_TRACE_H
#define FORETELL_TRACE_H

#include <stdio.h>

#include "foretell/inspect.h"

FT_C_BEGIN

typedef struct ft_trace ft_trace;

/* Reads a trace, packed with gzip or not: JSON of PyTorch's profiler (Kineto, the TensorBoard plugin). A file without
 * any kernel or operator is FT_ERR_FORMAT. */
FT_API ft_status ft_trace_open(const char *path, ft_trace **trace, ft_error *error);
FT_API void ft_trace_free(ft_trace *trace);
/* Sum of the times of all kernels, and their number. */
FT_API double ft_trace_kernel_time_us(const ft_trace *trace);
FT_API uint64_t ft_trace_kernel_count(const ft_trace *trace);

typedef struct ft_trace_summary_options {
    uint32_t top; /* operators and kernels that are listed, by time; 0: all */
} ft_trace_summary_options;

/* Writes time by operator and by kernel, launch gaps and the busy share of each device, as table, JSON or CSV. */
FT_API ft_status ft_report_trace_summary(FILE *stream, const ft_style *style, const ft_trace *const *traces,
                                         uint32_t count, const ft_trace_summary_options *options, ft_error *error);

typedef struct ft_trace_merge_result {
    uint64_t events;
    uint32_t aligned; /* traces whose clock was moved to that of the first */
} ft_trace_merge_result;

/* Writes the events of several traces as one timeline in the same format, with processes, devices and correlations of
 * their own. Traces of other ranks than the first are aligned to it by the ends of collectives, else by steps. */
FT_API ft_status ft_trace_merge(FILE *stream, const ft_trace *const *traces, uint32_t count,
                                ft_trace_merge_result *result, ft_error *error);

FT_C_END

#endif
