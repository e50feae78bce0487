/* monitor_gpu.c - GPUs: NVIDIA's by the functions that NVML documents, AMD's by the files of their driver. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/library.h"
#include "measure/monitor.h"

#define AMD_VENDOR "0x1002"

enum { MAX_CARDS = 64, CLOCK_SM = 1 };

monitor_device *monitor_add_gpu(ft_monitor *m, const char *name) {
    if (m->count == FT_MONITOR_DEVICES) return NULL;
    monitor_device *d = &m->devices[m->count++];
    snprintf(d->id, sizeof d->id, "gpu%u", m->gpu_count++);
    snprintf(d->name, sizeof d->name, "%s", name);
    d->memory_bytes = NAN;
    return d;
}

/* --- NVIDIA ------------------------------------------------------------------------------------------------------ */

/* As NVML declares them: nvmlUtilization_t and nvmlMemory_t. */
typedef struct nvml_rates {
    unsigned gpu, memory; /* percent, over the driver's own last period */
} nvml_rates;

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

static bool load(ft_monitor *m, ft_error *error) {
    nvml *n = &m->nvml;
    const library_function functions[] = {
        {"nvmlInit_v2", &n->init},
        {"nvmlShutdown", &n->shutdown},
        {"nvmlErrorString", &n->error_text},
        {"nvmlDeviceGetCount_v2", &n->count},
        {"nvmlDeviceGetHandleByIndex_v2", &n->handle},
        {"nvmlDeviceGetName", &n->name},
        {"nvmlDeviceGetUtilizationRates", &n->utilization},
        {"nvmlDeviceGetMemoryInfo", &n->memory},
        {"nvmlDeviceGetPowerUsage", &n->power},
        {"nvmlDeviceGetClockInfo", &n->clock},
    };
    const char *file = m->options.nvml != NULL ? m->options.nvml : getenv("FORETELL_NVML");
    bool is_chosen = file != NULL && file[0] != '\0';
    if (library_load(is_chosen ? file : "libnvidia-ml.so.1", functions, sizeof functions / sizeof functions[0],
                     error) == FT_OK)
        return true;
    if (is_chosen) snprintf(m->note, sizeof m->note, "%s", error->message);
    return false; /* most machines have no driver */
}

static void add_card(ft_monitor *m, unsigned index) {
    void *handle;
    char name[FT_MONITOR_NAME] = "NVIDIA GPU";
    nvml_memory memory;
    if (m->nvml.handle(index, &handle) != 0) return;
    m->nvml.name(handle, name, sizeof name);
    monitor_device *d = monitor_add_gpu(m, name);
    if (d == NULL) return;
    d->handle = handle;
    if (m->nvml.memory(handle, &memory) == 0) d->memory_bytes = (double)memory.total;
}

void nvml_open(ft_monitor *m) {
    ft_error error;
    unsigned count = 0;
    if (!load(m, &error)) return;
    int code = m->nvml.init();
    m->nvml.is_open = code == 0;
    if (code == 0) code = m->nvml.count(&count);
    if (code != 0) snprintf(m->note, sizeof m->note, "NVML: %.200s", m->nvml.error_text(code));
    for (unsigned i = 0; code == 0 && i < count; i++) add_card(m, i);
}

void nvml_sample(const ft_monitor *m, const monitor_device *d, ft_monitor_sample *sample) {
    nvml_rates rates;
    nvml_memory memory;
    unsigned number;
    if (m->nvml.utilization(d->handle, &rates) == 0) {
        sample->util_ratio = rates.gpu / 100.0;
        sample->memory_util_ratio = rates.memory / 100.0;
    }
    if (m->nvml.memory(d->handle, &memory) == 0) sample->memory_bytes = (double)memory.used;
    if (m->nvml.power(d->handle, &number) == 0) sample->power_w = number / 1e3;
    if (m->nvml.clock(d->handle, CLOCK_SM, &number) == 0) sample->clock_hz = number * 1e6;
}

/* --- AMD --------------------------------------------------------------------------------------------------------- */

/* The folder of the card's sensors has a number that is not its own. */
static void find_sensors(monitor_device *d) {
    char folder[MONITOR_PATH + 16];
    snprintf(folder, sizeof folder, "%s/hwmon", d->folder);
    DIR *entries = opendir(folder);
    if (entries == NULL) return;
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (strncmp(e->d_name, "hwmon", 5) != 0) continue;
        int wrote = snprintf(d->sensors, sizeof d->sensors, "%s/%s", folder, e->d_name);
        if (wrote < 0 || (size_t)wrote >= sizeof d->sensors) d->sensors[0] = '\0';
        break;
    }
    closedir(entries);
}

void amd_open(ft_monitor *m) {
    char folder[2 * MONITOR_PATH], path[2 * MONITOR_PATH + 32], vendor[16], name[FT_MONITOR_NAME];
    for (int i = 0; i < MAX_CARDS; i++) {
        snprintf(folder, sizeof folder, "%s/sys/class/drm/card%d/device", m->root, i);
        snprintf(path, sizeof path, "%s/vendor", folder);
        if (strlen(folder) >= MONITOR_PATH || !monitor_read_text(path, vendor, sizeof vendor)) continue;
        if (strncmp(vendor, AMD_VENDOR, strlen(AMD_VENDOR)) != 0) continue;
        if (isnan(monitor_read_number(folder, "gpu_busy_percent"))) continue;
        snprintf(path, sizeof path, "%s/product_name", folder);
        if (!monitor_read_text(path, name, sizeof name) || name[0] == '\n') snprintf(name, sizeof name, "AMD GPU");
        name[strcspn(name, "\n")] = '\0';
        monitor_device *d = monitor_add_gpu(m, name);
        if (d == NULL) return;
        memcpy(d->folder, folder, strlen(folder) + 1);
        d->memory_bytes = monitor_read_number(folder, "mem_info_vram_total");
        find_sensors(d);
    }
}

void amd_sample(const monitor_device *d, ft_monitor_sample *sample) {
    sample->util_ratio = monitor_read_number(d->folder, "gpu_busy_percent") / 100;
    sample->memory_util_ratio = monitor_read_number(d->folder, "mem_busy_percent") / 100;
    sample->memory_bytes = monitor_read_number(d->folder, "mem_info_vram_used");
    if (d->sensors[0] == '\0') return;
    double power = monitor_read_number(d->sensors, "power1_average");
    sample->power_w = (isnan(power) ? monitor_read_number(d->sensors, "power1_input") : power) / 1e6;
    sample->clock_hz = monitor_read_number(d->sensors, "freq1_input");
}
