/* monitor.c - takes samples of all devices, and sums them up over the window. */
#include "measure/monitor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ft_monitor_options ft_monitor_options_default(void) {
    return (ft_monitor_options){.warm_up_s = 30, .window_s = 30};
}

static ft_status check_options(const ft_monitor_options *o, ft_error *error) {
    if (!(o->warm_up_s >= 0 && isfinite(o->warm_up_s) && o->window_s >= 0 && isfinite(o->window_s)))
        return ft_fail(error, FT_ERR_USAGE, "a warm-up of %g s and a window of %g s are not possible", o->warm_up_s,
                       o->window_s);
    if (o->root != NULL && strlen(o->root) > MONITOR_PATH / 2)
        return ft_fail(error, FT_ERR_LIMIT, "%.60s...: too long a path", o->root);
    return FT_OK;
}

ft_status ft_monitor_open(const ft_monitor_options *options, ft_monitor **monitor, ft_error *error) {
    FT_REQUIRE(error, monitor);
    ft_monitor_options chosen = options != NULL ? *options : ft_monitor_options_default();
    *monitor = NULL;
    FT_TRY(check_options(&chosen, error));
    ft_monitor *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->options = chosen;
    m->last_s = -1;
    snprintf(m->root, sizeof m->root, "%s", chosen.root != NULL ? chosen.root : "");
    ft_status status = processor_open(m, error);
    if (status != FT_OK) {
        free(m);
        return status;
    }
    nvml_open(m);
    amd_open(m);
    m->options.root = m->options.nvml = NULL; /* the caller's */
    *monitor = m;
    return FT_OK;
}

void ft_monitor_free(ft_monitor *monitor) {
    if (monitor != NULL && monitor->nvml.is_open) monitor->nvml.shutdown();
    free(monitor);
}

uint32_t ft_monitor_device_count(const ft_monitor *monitor) {
    return monitor != NULL ? monitor->count : 0;
}

const char *ft_monitor_device_id(const ft_monitor *monitor, uint32_t index) {
    return monitor != NULL && index < monitor->count ? monitor->devices[index].id : NULL;
}

const char *ft_monitor_device_name(const ft_monitor *monitor, uint32_t index) {
    return monitor != NULL && index < monitor->count ? monitor->devices[index].name : NULL;
}

double ft_monitor_memory_bytes(const ft_monitor *monitor, uint32_t index) {
    return monitor != NULL && index < monitor->count ? monitor->devices[index].memory_bytes : NAN;
}

const char *ft_monitor_note(const ft_monitor *monitor) {
    return monitor != NULL ? monitor->note : "";
}

/* --- Samples ----------------------------------------------------------------------------------------------------- */

enum { FIELDS = sizeof(ft_monitor_sample) / sizeof(double) };

static const ft_monitor_sample nothing = {NAN, NAN, NAN, NAN, NAN};

static void add_sample(monitor_sum *s, const ft_monitor_sample *sample) {
    double values[FIELDS], sums[FIELDS], peaks[FIELDS];
    memcpy(values, sample, sizeof values);
    memcpy(sums, &s->sum, sizeof sums);
    memcpy(peaks, &s->peak, sizeof peaks);
    s->samples++;
    for (int i = 0; i < FIELDS; i++) {
        if (isnan(values[i])) continue;
        sums[i] += values[i];
        if (s->counts[i]++ == 0 || values[i] > peaks[i]) peaks[i] = values[i];
    }
    memcpy(&s->sum, sums, sizeof sums);
    memcpy(&s->peak, peaks, sizeof peaks);
}

static ft_monitor_summary summarize(const monitor_sum *s) {
    double sums[FIELDS], peaks[FIELDS];
    memcpy(sums, &s->sum, sizeof sums);
    memcpy(peaks, &s->peak, sizeof peaks);
    for (int i = 0; i < FIELDS; i++) {
        if (s->counts[i] == 0) peaks[i] = NAN;
        sums[i] = s->counts[i] == 0 ? NAN : sums[i] / s->counts[i];
    }
    ft_monitor_summary made = {.samples = s->samples};
    memcpy(&made.average, sums, sizeof sums);
    memcpy(&made.peak, peaks, sizeof peaks);
    return made;
}

static bool is_in_window(const ft_monitor *m, double seconds) {
    double end = m->options.window_s > 0 ? m->options.warm_up_s + m->options.window_s : INFINITY;
    return seconds >= m->options.warm_up_s && seconds <= end;
}

ft_status ft_monitor_take(ft_monitor *monitor, double seconds, ft_monitor_sample *samples, ft_error *error) {
    FT_REQUIRE(error, monitor, samples);
    if (!(seconds >= 0 && seconds > monitor->last_s))
        return ft_fail(error, FT_ERR_USAGE, "ft_monitor_take: %g s is not later than the sample before", seconds);
    for (uint32_t i = 0; i < monitor->count; i++) {
        const monitor_device *d = &monitor->devices[i];
        samples[i] = nothing;
        if (i == 0)
            FT_TRY(processor_sample(monitor, seconds, &samples[i], error));
        else if (d->handle != NULL)
            nvml_sample(monitor, d, &samples[i]);
        else
            amd_sample(d, &samples[i]);
    }
    for (uint32_t i = 0; i < monitor->count; i++) {
        add_sample(&monitor->devices[i].all, &samples[i]);
        if (is_in_window(monitor, seconds)) add_sample(&monitor->devices[i].window, &samples[i]);
    }
    monitor->last_s = seconds;
    return FT_OK;
}

ft_status ft_monitor_summarize(const ft_monitor *monitor, ft_monitor_summary *summaries, bool *is_short,
                               ft_error *error) {
    FT_REQUIRE(error, monitor, summaries, is_short);
    *is_short = monitor->devices[0].window.samples == 0;
    for (uint32_t i = 0; i < monitor->count; i++) {
        const monitor_device *d = &monitor->devices[i];
        summaries[i] = summarize(*is_short ? &d->all : &d->window);
    }
    return FT_OK;
}
