/* report_rows.h - what reports say of a forecast, in plain values: one place where they are worked out, so that tables,
 * JSON and CSV cannot disagree. The keys of JSON and CSV are here as well. */
#ifndef FORECAST_REPORT_ROWS_H
#define FORECAST_REPORT_ROWS_H

#include "foretell/forecast_report.h"
#include "report/fields.h"

/* Costs as a request means them: those of its mode, optimiser and type. */
ft_cost_options forecast_cost_options(const ft_request *request);

/* What is said of the model itself. */
typedef struct model_facts {
    uint64_t params;
    double macs_per_sample; /* forward */
} model_facts;

ft_status model_facts_gather(const ft_model_results *entry, model_facts *facts, ft_error *error);

/* One forecast. NaN and NULL are what is not known. */
typedef struct forecast_row {
    const char *file, *name;
    uint64_t params;
    double macs_per_sample;
    const char *device;
    uint64_t batch;
    const char *mode, *dtype, *setting, *optimizer;
    double time_us, time_lo_us, time_hi_us, time_per_sample_us, samples_per_s;
    double run_samples, run_s, run_lo_s, run_hi_s; /* of a run over so many samples; NaN: not asked */
    const char *provenance, *time_reason;
    double learned_ratio, extrapolated_ratio, assumed_ratio; /* shares of the time; NaN: no time */
    double coverage_ratio;
    const char *bound;
    double bound_ratio;
    double peak_bytes, peak_lo_bytes, peak_hi_bytes;
    const char *memory_provenance;
    double util_ratio;
    const char *util_reason;
    const char *predictor, *memory_predictor;
} forecast_row;

extern const field forecast_fields[];

/* `samples`: of a run; 0: none was asked about. */
void forecast_row_fill(const ft_model_results *entry, const model_facts *facts, const ft_result *result,
                       int64_t samples, forecast_row *row);

/* One kernel of a forecast. */
typedef struct layer_row {
    uint32_t index;
    const char *kernel;
    double time_us, share_ratio;
    const char *bound;
    ft_kernel part;         /* its operators */
    const ft_kernel *types; /* &part */
} layer_row;

extern const field layer_fields[]; /* without the names of the operators */

void layer_row_fill(const ft_result *result, uint32_t index, layer_row *row);

/* The kernels that a report lists: all as they run, or the `top` longest, longest first. NULL when out of memory; the
 * caller frees it. */
uint32_t *layers_chosen(const ft_result *result, uint32_t top, uint32_t *count);

/* The value of a memory part, with all others of its name; NaN when an earlier one stands for it already. */
double memory_part_bytes(const ft_result *result, uint32_t index);

/* Whether a metric is listed beside time and memory: one that was predicted. */
bool is_other_metric(const ft_metric_result *m);

/* "time_lo_us" of "time_us" and "lo". */
enum { METRIC_NAME_SIZE = 64 };
const char *metric_end_name(const char *metric, const char *end, char name[static METRIC_NAME_SIZE]);

#endif
