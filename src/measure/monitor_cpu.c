/* monitor_cpu.c - the processor: /proc/stat, /proc/meminfo, and RAPL's energy counters where they are readable. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "measure/monitor.h"

enum { TEXT_SIZE = 8192, TICK_FIELDS = 8, IDLE = 3, IO_WAIT = 4, MAX_PACKAGES = 16 };

bool monitor_read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    size_t length = fread(text, 1, size - 1, file);
    bool is_read = !ferror(file) && length > 0;
    fclose(file);
    text[length] = '\0';
    return is_read;
}

double monitor_read_number(const char *folder, const char *file) {
    char path[2 * MONITOR_PATH], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!monitor_read_text(path, text, sizeof text)) return NAN;
    double number = strtod(text, &end);
    return end != text && isfinite(number) ? number : NAN;
}

/* user nice system idle iowait irq softirq steal: the guest's times are in user and nice. */
static bool read_ticks(const ft_monitor *m, uint64_t *busy, uint64_t *all) {
    char path[2 * MONITOR_PATH], text[TEXT_SIZE], *at = text + 4, *end;
    snprintf(path, sizeof path, "%s/proc/stat", m->root);
    if (!monitor_read_text(path, text, sizeof text) || strncmp(text, "cpu ", 4) != 0) return false;
    *busy = *all = 0;
    for (int i = 0; i < TICK_FIELDS; i++, at = end) {
        uint64_t ticks = strtoull(at, &end, 10);
        if (end == at) return i > IDLE;
        *all += ticks;
        if (i != IDLE && i != IO_WAIT) *busy += ticks;
    }
    return true;
}

static double meminfo_bytes(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line != NULL ? strtod(line + strlen(key), NULL) * 1024 : NAN;
}

/* In use is what is not available to programs: buffers and caches can be taken back. */
static void read_memory(const ft_monitor *m, double *used, double *total) {
    char path[2 * MONITOR_PATH], text[TEXT_SIZE];
    *used = *total = NAN;
    snprintf(path, sizeof path, "%s/proc/meminfo", m->root);
    if (!monitor_read_text(path, text, sizeof text)) return;
    *total = meminfo_bytes(text, "MemTotal:");
    *used = *total - meminfo_bytes(text, "MemAvailable:");
}

/* The sum over all packages, in joules. */
static double read_energy(const ft_monitor *m) {
    char folder[2 * MONITOR_PATH];
    double sum = NAN;
    for (int i = 0; i < MAX_PACKAGES; i++) {
        snprintf(folder, sizeof folder, "%s/sys/class/powercap/intel-rapl:%d", m->root, i);
        double energy = monitor_read_number(folder, "energy_uj");
        if (isnan(energy)) break;
        sum = (isnan(sum) ? 0 : sum) + energy / 1e6;
    }
    return sum;
}

static double read_clock(const ft_monitor *m) {
    char folder[2 * MONITOR_PATH];
    snprintf(folder, sizeof folder, "%s/sys/devices/system/cpu/cpu0/cpufreq", m->root);
    return monitor_read_number(folder, "scaling_cur_freq") * 1000;
}

static void read_name(const ft_monitor *m, char name[FT_MONITOR_NAME]) {
    char path[2 * MONITOR_PATH], text[TEXT_SIZE];
    snprintf(name, FT_MONITOR_NAME, "processor");
    snprintf(path, sizeof path, "%s/proc/cpuinfo", m->root);
    if (!monitor_read_text(path, text, sizeof text)) return;
    const char *line = strstr(text, "model name"), *colon = line != NULL ? strchr(line, ':') : NULL;
    if (colon == NULL) return;
    colon += 1 + strspn(colon + 1, " \t");
    snprintf(name, FT_MONITOR_NAME, "%.*s", (int)strcspn(colon, "\n"), colon);
}

ft_status processor_open(ft_monitor *m, ft_error *error) {
    monitor_device *d = &m->devices[0];
    double used;
    snprintf(d->id, sizeof d->id, "cpu");
    if (!read_ticks(m, &d->busy_ticks, &d->all_ticks))
        return ft_fail(error, FT_ERR_IO, "%s/proc/stat: cannot read the times of the processor", m->root);
    read_name(m, d->name);
    read_memory(m, &used, &d->memory_bytes);
    m->count = 1;
    return FT_OK;
}

ft_status processor_sample(ft_monitor *m, double seconds, ft_monitor_sample *sample, ft_error *error) {
    monitor_device *d = &m->devices[0];
    uint64_t busy, all;
    double total, energy = read_energy(m);
    if (!read_ticks(m, &busy, &all))
        return ft_fail(error, FT_ERR_IO, "%s/proc/stat: cannot read the times of the processor", m->root);
    bool is_later = m->last_s >= 0 && all > d->all_ticks && busy >= d->busy_ticks;
    if (is_later) sample->util_ratio = (double)(busy - d->busy_ticks) / (double)(all - d->all_ticks);
    /* Counters that were reset, or passed their largest value, give no power for one sample. */
    if (m->last_s >= 0 && seconds > d->energy_s && energy >= d->energy_j)
        sample->power_w = (energy - d->energy_j) / (seconds - d->energy_s);
    read_memory(m, &sample->memory_bytes, &total);
    sample->clock_hz = read_clock(m);
    d->busy_ticks = busy;
    d->all_ticks = all;
    d->energy_j = energy;
    d->energy_s = seconds;
    return FT_OK;
}
