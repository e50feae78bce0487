/* metrics.c - metrics of requests and of the process in Prometheus' text format. */
#include "metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const double bounds[METRICS_BUCKETS] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                               0.025,  0.05,    0.1,    0.25,  1,      5,     30};

void metrics_count(route_metrics *m, unsigned status, double seconds) {
    size_t i = 0, bucket = 0;
    while (i + 1 < METRICS_STATUSES && m->statuses[i].count > 0 && m->statuses[i].status != status) i++;
    m->statuses[i].status = status;
    m->statuses[i].count++;
    while (bucket < METRICS_BUCKETS && seconds > bounds[bucket]) bucket++;
    m->buckets[bucket]++;
    m->seconds += seconds;
}

static void put_statuses(text *t, const route_metrics *m) {
    for (size_t i = 0; i < METRICS_STATUSES && m->statuses[i].count > 0; i++)
        text_format(t, "foretell_http_requests_total{method=\"%s\",route=\"%s\",code=\"%u\"} %llu\n", m->method,
                    m->route, m->statuses[i].status, (unsigned long long)m->statuses[i].count);
}

static void put_histogram(text *t, const route_metrics *m) {
    uint64_t total = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        total += m->buckets[i];
        text_format(t, "foretell_http_request_duration_seconds_bucket{method=\"%s\",route=\"%s\",le=\"%g\"} %llu\n",
                    m->method, m->route, bounds[i], (unsigned long long)total);
    }
    total += m->buckets[METRICS_BUCKETS];
    text_format(t, "foretell_http_request_duration_seconds_bucket{method=\"%s\",route=\"%s\",le=\"+Inf\"} %llu\n",
                m->method, m->route, (unsigned long long)total);
    text_format(t, "foretell_http_request_duration_seconds_sum{method=\"%s\",route=\"%s\"} %.9g\n", m->method, m->route,
                m->seconds);
    text_format(t, "foretell_http_request_duration_seconds_count{method=\"%s\",route=\"%s\"} %llu\n", m->method,
                m->route, (unsigned long long)total);
}

void metrics_put_routes(text *t, const route_metrics *routes, size_t count) {
    text_put(t, "# HELP foretell_http_requests_total Requests by route and status.\n"
                "# TYPE foretell_http_requests_total counter\n");
    for (size_t i = 0; i < count; i++) put_statuses(t, &routes[i]);
    text_put(t,
             "# HELP foretell_http_request_duration_seconds From the headers of a request to the end of its answer.\n"
             "# TYPE foretell_http_request_duration_seconds histogram\n");
    for (size_t i = 0; i < count; i++)
        if (routes[i].statuses[0].count > 0) put_histogram(t, &routes[i]);
}

void metrics_put(text *t, const char *name, const char *type, const char *help, double value) {
    text_format(t, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

/* --- The process ------------------------------------------------------------------------------------------------- */

static double resident_bytes(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0; /* NOLINT(cert-err34-c): the kernel writes it */
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    double count = 0;
    if (dir == NULL) return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) count += entry->d_name[0] != '.';
    closedir(dir);
    return count - 1; /* without that of the listing */
}

static double start_seconds(void) {
    enum { FIELDS_BEFORE = 19 }; /* those between the name of the program and the start in clock ticks */
    char line[1024] = "";
    struct timespec now, up;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) return 0;
    const char *field = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    for (int i = 0; i <= FIELDS_BEFORE && field != NULL; i++) field = strchr(field + 1, ' ');
    unsigned long long ticks = field != NULL ? strtoull(field, NULL, 10) : 0;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return (double)(now.tv_sec - up.tv_sec) + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void metrics_put_process(text *t) {
    struct rusage own;
    double seconds = 0;
    getrusage(RUSAGE_SELF, &own);
    seconds = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
              (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
    metrics_put(t, "process_cpu_seconds_total", "counter", "Processor time of the server, without its workers.",
                seconds);
    metrics_put(t, "process_resident_memory_bytes", "gauge", "Resident memory of the server, without its workers.",
                resident_bytes());
    metrics_put(t, "process_open_fds", "gauge", "Open file descriptors.", descriptors());
    metrics_put(t, "process_start_time_seconds", "gauge", "Start of the server since the epoch.", start_seconds());
}
