/* monitor.h - how busy processors and GPUs of this machine are, and the memory and power they take.
 *
 *     ft_monitor *monitor;
 *     ft_monitor_sample samples[FT_MONITOR_DEVICES];
 *     ft_monitor_open(NULL, &monitor, &error);
 *     for (...) {   // every 0.1 s
 *         ft_monitor_take(monitor, seconds, samples, &error);
 *     }
 *     ft_monitor_summary all[FT_MONITOR_DEVICES];
 *     ft_monitor_summarize(monitor, all, &error);
 *     ft_monitor_free(monitor);
 *
 * GPUs of NVIDIA are read through NVML, whose library is loaded at run time, those of AMD from sysfs. Values that a
 * device does not report are NaN. docs/monitor.md explains each. */
#ifndef FORETELL_MONITOR_H
#define FORETELL_MONITOR_H

#include <stdio.h>

#include "foretell/inspect.h"

FT_C_BEGIN

enum { FT_MONITOR_DEVICES = 65, FT_MONITOR_NAME = 96 };

typedef struct ft_monitor ft_monitor;

typedef struct ft_monitor_options {
    const char *nvml; /* path of NVML's library; NULL: the variable FORETELL_NVML, then libnvidia-ml.so.1 */
    const char *root; /* folder that contains proc and sys; NULL: "/" */
    double warm_up_s; /* samples before it count for no summary */
    double window_s;  /* samples after warm_up_s + window_s count for none either; 0: all later ones do */
} ft_monitor_options;

/* 30 s of warm-up and a window of 30 s, as PerfSeer's labels were measured. */
FT_API ft_monitor_options ft_monitor_options_default(void);

/* What a device does; NaN: not reported. */
typedef struct ft_monitor_sample {
    double util_ratio;        /* share of the time in which it was busy: of all cores, of the GPU's multiprocessors */
    double memory_util_ratio; /* share of the time in which the memory of a GPU was read or written */
    double memory_bytes;      /* in use */
    double power_w, clock_hz;
} ft_monitor_sample;

typedef struct ft_monitor_summary {
    uint32_t samples;
    ft_monitor_sample average, peak;
} ft_monitor_summary;

/* Opens all devices: the processor is the first. `options` may be NULL. GPUs whose driver fails are left out. */
FT_API ft_status ft_monitor_open(const ft_monitor_options *options, ft_monitor **monitor, ft_error *error);
FT_API void ft_monitor_free(ft_monitor *monitor);

FT_API uint32_t ft_monitor_device_count(const ft_monitor *monitor);
FT_API const char *ft_monitor_device_id(const ft_monitor *monitor, uint32_t index);   /* "cpu", "gpu0" */
FT_API const char *ft_monitor_device_name(const ft_monitor *monitor, uint32_t index); /* as the driver spells it */
FT_API double ft_monitor_memory_bytes(const ft_monitor *monitor, uint32_t index);     /* that it has; NaN: unknown */
/* Why there are no GPUs of NVIDIA; "" when there are, or no library of their driver. */
FT_API const char *ft_monitor_note(const ft_monitor *monitor);

/* A sample of each device. `seconds` is the time since the beginning, which only grows; utilisation and power of
 * processors are those since the sample before, and NaN in the first. */
FT_API ft_status ft_monitor_take(ft_monitor *monitor, double seconds, ft_monitor_sample *samples, ft_error *error);
/* Averages and peaks of each device over the window; over all samples when none is in it, and *is_short is true. */
FT_API ft_status ft_monitor_summarize(const ft_monitor *monitor, ft_monitor_summary *summaries, bool *is_short,
                                      ft_error *error);

/* Samples as CSV: the headings, and a line for each device, written by one call. */
FT_API const char *ft_monitor_csv_head(void);
FT_API ft_status ft_monitor_csv_sample(FILE *stream, const ft_monitor *monitor, double seconds,
                                       const ft_monitor_sample *samples, ft_error *error);
/* The summary as table, JSON or CSV. */
FT_API ft_status ft_report_monitor(FILE *stream, const ft_style *style, const ft_monitor *monitor, ft_error *error);

FT_C_END

#endif
