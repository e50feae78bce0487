/* share.c - two models that share a GPU.
 *
 * Each runs at full speed as long as both together keep the GPU and its memory busy for no more than all of the time;
 * beyond, both slow down alike. On measured pairs (docs/utilisation.md) the rule is 0.1 to 0.2 off in mean, and within
 * the interval in about nine of ten. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "forecast/job.h"

enum { SHARE_METRICS = 5 };

static double value_of(const ft_result *result, const char *metric) {
    const ft_metric_result *m = ft_result_metric(result, metric);
    return m != NULL ? m->value : NAN;
}

/* The share of its speed alone that a model keeps; NaN where a utilisation is missing. */
static double speed_of_pair(const ft_result *a, const ft_result *b) {
    double busy = value_of(a, "gpu_util_ratio") + value_of(b, "gpu_util_ratio");
    double memory = value_of(a, "dram_util_ratio") + value_of(b, "dram_util_ratio");
    return isnan(busy) ? NAN : 1 / fmax(1, fmax(busy, memory)); /* fmax ignores a missing bandwidth */
}

static void add_metric(ft_result *result, ft_metric_result *metrics, const char *name, const double ends[3],
                       ft_provenance provenance) {
    if (isnan(ends[1])) return;
    ft_metric_result *m = &metrics[result->metric_count++];
    *m = (ft_metric_result){.metric = name, .lo = ends[0], .value = ends[1], .hi = ends[2], .predictor = "sharing"};
    metric_result_set_provenance(m, provenance, 0);
}

static void add_times(ft_result *result, ft_metric_result *metrics, const ft_result *of, const double speed[3],
                      const char *name) {
    const ft_metric_result *time = ft_result_time(of);
    const double ends[3] = {time->lo / speed[2], time->value / speed[1], time->hi / speed[0]};
    add_metric(result, metrics, name, ends, FT_ASSUMED);
}

static ft_status share_one(arena *memory, ft_result *result, const ft_result *other, ft_error *error) {
    static const double ERROR = 0.3, SLOWEST = 0.02;
    size_t size = result->metric_count * sizeof *result->metrics;
    ft_metric_result *metrics = arena_array(memory, (size_t)result->metric_count + SHARE_METRICS, sizeof *metrics);
    if (metrics == NULL) return FT_NOMEM(error);
    memcpy(metrics, result->metrics, size);
    result->metrics = metrics;
    double value = speed_of_pair(result, other);
    const double speed[3] = {fmax(value - ERROR, SLOWEST), value, fmin(value + ERROR, 1)};
    const ft_metric_result *mine = ft_result_memory(result), *theirs = ft_result_memory(other);
    const double bytes[3] = {mine->lo + theirs->lo, mine->value + theirs->value, mine->hi + theirs->hi};
    ft_provenance provenance = mine->provenance > theirs->provenance ? mine->provenance : theirs->provenance;
    add_metric(result, metrics, "shared_peak_bytes", bytes, provenance);
    if (isnan(value)) return FT_OK;
    add_metric(result, metrics, "shared_speed_ratio", speed, FT_ASSUMED);
    add_times(result, metrics, result, speed, "shared_time_us");
    add_times(result, metrics, other, speed, "other_shared_time_us");
    return FT_OK;
}

ft_status ft_share(ft_results *results, const ft_results *others, ft_error *error) {
    FT_REQUIRE(error, results, others);
    if (results->count != others->count)
        return ft_fail(error, FT_ERR_USAGE, "%u results cannot be paired with %u", results->count, others->count);
    if (results->count == 0) return FT_OK;
    forecast_context *c = results->owner;
    ft_result *items = arena_copy(&c->memory, results->items, results->count * sizeof *items);
    if (items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < results->count; i++) FT_TRY(share_one(&c->memory, &items[i], &others->items[i], error));
    results->items = items;
    return FT_OK;
}
