/* trace.h - a recorded trace of PyTorch's profiler (Kineto): kernels, the calls that launched them, and the operators
 * that made those calls.
 *
 * trace_read.c keeps the events that are needed, trace_link.c connects them, summary.c adds them up, report.c writes
 * the sums and merge.c writes several traces as one. Times are whole nanoseconds: recorded times are microseconds since
 * 1970, too large for three decimals of a double. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/input.h"
#include "base/json_pull.h"
#include "base/map.h"
#include "foretell/trace.h"

enum { TRACE_MAX_NAME = 1024, TRACE_MAX_DEVICES = 512 };
#define TRACE_MAX_EVENTS (UINT32_C(1) << 24)
#define TRACE_MAX_NS     (INT64_C(1) << 61) /* differences of two times do not overflow */

typedef enum trace_kind {
    TRACE_KERNEL,
    TRACE_COPY, /* copies and fills on the device */
    TRACE_LAUNCH,
    TRACE_OPERATOR, /* also other annotations of the host: the innermost one names what runs */
    TRACE_STEP,
} trace_kind;

/* A part of the text of the file; length 0: absent. */
typedef struct trace_slice {
    uint32_t offset, length;
} trace_slice;

typedef struct trace_event {
    int64_t start_ns, duration_ns;
    int64_t correlation; /* of kernels and launches; -1: none */
    uint32_t name;       /* in trace.names */
    uint32_t lane;       /* in trace.lanes: the thread of the host, or the stream of a device */
    uint32_t parent;     /* kernel or copy: its launch; launch or operator: the innermost operator around it; FT_NONE */
    int32_t device;      /* kernels and copies; -1: unknown */
    double occupancy;    /* 0 to 1; NaN: not recorded */
    uint8_t kind;
    trace_slice shapes, types, values; /* of the inputs of an operator: JSON lists */
} trace_event;

struct ft_trace {
    char *path;
    arena memory;
    input in; /* slices point into it */
    trace_event *events;
    uint32_t count, capacity;
    const char **names;
    uint32_t name_count, name_capacity;
    map name_index, lane_index;
    uint32_t lane_count;
    const char *devices[TRACE_MAX_DEVICES]; /* names by number, as the driver spells them; NULL: not listed */
    int64_t base_ns;                        /* to be added to all times */
    int64_t rank, world_size;               /* -1: not recorded */
    uint64_t ignored;                       /* events of other kinds */
};

/* As ft_trace_open, from bytes that outlive the trace; messages use `name` as the file name. */
ft_status trace_from_memory(const void *bytes, size_t size, const char *name, ft_trace **trace, ft_error *error);
/* Fills events, names and devices from the text in `in`. */
ft_status trace_parse(ft_trace *t, ft_error *error);
/* Sets `parent` of all events. */
ft_status trace_link(ft_trace *t, ft_error *error);

/* The operator that a kernel or copy runs; NULL: not known. */
const trace_event *trace_operator_of(const ft_trace *t, const trace_event *kernel);
/* The step in which the host launched a kernel or began an operator, as an index in `steps`; FT_NONE: in none. */
uint32_t trace_step_of(const ft_trace *t, const uint32_t *steps, uint32_t step_count, const trace_event *event);
/* The steps in order of time, in `memory`. */
ft_status trace_steps(const ft_trace *t, arena *memory, const uint32_t **steps, uint32_t *count, ft_error *error);
static inline int64_t trace_end_ns(const trace_event *e) {
    return e->start_ns + e->duration_ns;
}
/* The text of a slice. */
static inline const char *trace_text(const ft_trace *t, trace_slice slice) {
    return (const char *)t->in.bytes + slice.offset;
}
/* Microseconds and up to three decimals, as text, in nanoseconds; false: not such a number, or out of range. */
bool trace_parse_ns(const char *text, size_t length, int64_t *ns);
bool trace_is_collective(const char *name);

#endif
