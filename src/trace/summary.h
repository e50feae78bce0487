/* summary.h - sums over recorded traces: by operator, by kernel, by device and by step (summary.c), and their documents
 * (report.c). */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include "trace/trace.h"

/* Kernels of one name, or launched by one operator. */
typedef struct summary_item {
    const char *name;
    uint64_t count;      /* kernels */
    uint64_t calls;      /* of operators: those that launched kernels */
    double time_us;      /* of the kernels */
    double occupied_us;  /* sum of time times occupancy, over the kernels that have it */
    double occupancy_us; /* their time */
    uint32_t last_call;  /* the operator counted last */
} summary_item;

typedef struct summary_items {
    summary_item *items;
    uint32_t count, capacity;
    map index;
} summary_items;

/* One device in one trace. */
typedef struct summary_device {
    uint32_t trace;
    int32_t number;
    const char *name;          /* NULL: not listed in the trace */
    double span_us;            /* from the first step (or kernel) to the end of the last */
    double busy_us;            /* in which a kernel or a copy runs */
    double kernel_us, copy_us; /* sums, which exceed busy_us where streams overlap */
    uint64_t kernels, copies, gaps;
    double late_us, waiting_us; /* of gaps: until the host had launched the next kernel, and the rest */
    uint64_t late_gaps;
    double launch_us; /* median duration of the calls that launched its kernels; NaN: none */
} summary_device;

typedef struct summary_step {
    uint32_t trace, steps;
    double time_us;   /* median; NaN: no steps */
    double kernel_us; /* mean per step */
    double kernels;   /* mean per step */
} summary_step;

typedef struct summary {
    arena memory;
    const ft_trace *const *traces;
    uint32_t trace_count;
    summary_items operators, kernels; /* by time, largest first */
    summary_device *devices;
    uint32_t device_count;
    summary_step *steps; /* by trace */
    double kernel_us;
    uint64_t kernel_count, unlinked, shapeless; /* kernels: all, without an operator, of operators without shapes */
} summary;

ft_status summary_make(const ft_trace *const *traces, uint32_t count, summary *s, ft_error *error);
void summary_free(summary *s);

#endif
