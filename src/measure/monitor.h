/* monitor.h - devices that are monitored: one kind per file. */
#ifndef MEASURE_MONITOR_H
#define MEASURE_MONITOR_H

#include <stdbool.h>

#include "foretell/monitor.h"

enum { MONITOR_PATH = 1024 };

typedef struct monitor_sum {
    ft_monitor_sample sum, peak;
    uint32_t counts[5]; /* of numbers in each field of the sum */
    uint32_t samples;
} monitor_sum;

typedef struct monitor_device {
    char id[16], name[FT_MONITOR_NAME];
    double memory_bytes; /* that it has */
    /* Of a processor: counters of the sample before. */
    uint64_t busy_ticks, all_ticks;
    double energy_j, energy_s;
    void *handle;              /* of NVML */
    char folder[MONITOR_PATH]; /* of an AMD card in sysfs, and of its sensors */
    char sensors[MONITOR_PATH];
    monitor_sum window, all;
} monitor_device;

typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int code);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *name, unsigned size);
    int (*utilization)(void *device, void *rates);
    int (*memory)(void *device, void *memory);
    int (*power)(void *device, unsigned *milliwatts);
    int (*clock)(void *device, int kind, unsigned *megahertz);
    bool is_open;
} nvml;

struct ft_monitor {
    ft_monitor_options options;
    char root[MONITOR_PATH];
    nvml nvml;
    monitor_device devices[FT_MONITOR_DEVICES];
    uint32_t count, gpu_count;
    double last_s; /* of the sample before; negative: there was none */
    char note[512];
};

/* The next device; NULL: there are too many. */
monitor_device *monitor_add_gpu(ft_monitor *m, const char *name);

ft_status processor_open(ft_monitor *m, ft_error *error);
ft_status processor_sample(ft_monitor *m, double seconds, ft_monitor_sample *sample, ft_error *error);
void nvml_open(ft_monitor *m);
void nvml_sample(const ft_monitor *m, const monitor_device *d, ft_monitor_sample *sample);
void amd_open(ft_monitor *m);
void amd_sample(const monitor_device *d, ft_monitor_sample *sample);

/* The number at the beginning of a file of proc or sys; NaN: there is none. */
double monitor_read_number(const char *folder, const char *file);
bool monitor_read_text(const char *path, char *text, size_t size);

#endif
