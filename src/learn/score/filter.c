/* filter.c - rejects records by their measured time and its deviation. */
#include "learn/score/filter.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "data/records.h"

bool filter_is_set(const ft_time_filter *filter) {
    return filter->max_noise > 0 || filter->min_time_us > 0 || filter->max_time_us > 0;
}

/* NaN when it was not measured. */
static double value_of(const ft_dataset *data, const ft_record *record, const char *metric) {
    uint32_t column = ft_dataset_metric(data, metric);
    return column != FT_NONE ? record->metrics[column] : NAN;
}

bool filter_rejects(const ft_time_filter *filter, const ft_dataset *data, const ft_record *record) {
    if (!filter_is_set(filter)) return false;
    double time_us = value_of(data, record, "time_us"), deviation_us = value_of(data, record, "time_std_us");
    return time_filter_rejects(filter, time_us, deviation_us / time_us);
}

ft_status filter_split(const ft_time_filter *filter, const ft_dataset *data, ft_split *split, ft_error *error) {
    FT_TRY(time_filter_check(filter, error));
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; filter_is_set(filter) && i < ft_dataset_record_count(data); i++) {
        if (!filter_rejects(filter, data, &records[i])) continue;
        assert(split->counts[split->parts[i]] > 0);
        split->counts[split->parts[i]]--;
        split->counts[FT_PART_UNUSED]++;
        split->parts[i] = FT_PART_UNUSED;
    }
    return FT_OK;
}
