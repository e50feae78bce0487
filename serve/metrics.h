/* metrics.h - counters and histograms of requests in Prometheus' text format. Not for several threads at once. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "text.h"

enum { METRICS_BUCKETS = 14, METRICS_STATUSES = 16 };

/* Of one route. */
typedef struct route_metrics {
    const char *route, *method;
    struct {
        unsigned status;
        uint64_t count;
    } statuses[METRICS_STATUSES];
    uint64_t buckets[METRICS_BUCKETS + 1]; /* of durations; the last: above all bounds */
    double seconds;
} route_metrics;

void metrics_count(route_metrics *m, unsigned status, double seconds);
void metrics_put_routes(text *t, const route_metrics *routes, size_t count);
/* One value without labels. `type`: "counter" or "gauge". */
void metrics_put(text *t, const char *name, const char *type, const char *help, double value);
/* Memory, processor time, descriptors and start of this process, as Prometheus names them. */
void metrics_put_process(text *t);

#endif
