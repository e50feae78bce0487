/* report.h - results as documents: the values of a row, shared by tables, JSON and CSV so that they cannot disagree,
 * and the three writers.
 *
 * report.c frames the document and writes JSON; report_rows.c computes the rows; report_csv.c, report_table.c,
 * report_table_more.c and report_layers.c write the other formats. */
#ifndef FORECAST_REPORT_H
#define FORECAST_REPORT_H

#include "foretell/forecast_report.h"
#include "report/fields.h"
#include "report/sink.h"

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* The options of cost arithmetic that a request implies: mode, optimiser and type. */
ft_cost_options request_cost_options(const ft_request *request);

/* Whether a result is that of a language model that is served. */
static inline bool result_is_served(const ft_result *result) {
    return result->request.mode == FT_INFER && result->request.serving.runtime != NULL;
}

/* Values of the model itself. */
typedef struct model_facts {
    uint64_t params;
    double macs_per_sample; /* forward */
} model_facts;

ft_status model_facts_compute(const ft_model_results *entry, model_facts *facts, ft_error *error);

/* One result. Values that are missing are NaN or NULL. */
typedef struct result_row {
    const char *file, *name;
    uint64_t params;
    double macs_per_sample;
    const char *device;
    uint64_t batch;
    const char *mode, *dtype, *setting, *optimizer;
    double time_us, time_lo_us, time_hi_us, time_per_sample_us, samples_per_s;
    double run_samples, run_s, run_lo_s, run_hi_s; /* of a run over so many samples; NaN: not requested */
    double price_per_hour; /* of all devices of the model; NaN: unknown, as the costs are then */
    double run_cost, run_lo_cost, run_hi_cost, million_samples_cost;
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
} result_row;

extern const field result_fields[]; /* the keys of JSON and CSV */
extern const field cost_fields[];   /* more of them, where prices are known */

/* A number of the data sheet of a device; NaN: unknown. */
double request_sheet_number(const ft_request *request, const char *key);
double request_device_count(const ft_request *request); /* that a model is divided between */

/* `samples`: of a run; 0: none is requested. */
void result_row_fill(const ft_model_results *entry, const model_facts *facts, const ft_result *result, int64_t samples,
                     result_row *row);

/* Its price and costs, which are not set otherwise. */
void result_row_add_cost(const ft_request *request, result_row *row);

/* One kernel of a result. */
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

/* The kernels that a report lists: all in the order in which they run, or the `top` longest, longest first. NULL when
 * out of memory; the caller frees it. */
uint32_t *layers_choose(const ft_result *result, uint32_t top, uint32_t *count);

/* The sum of all memory parts with the name of this one; NaN unless it is the first of them. */
double memory_part_bytes(const ft_result *result, uint32_t index);

/* Whether a metric is listed beside time and memory: one that was predicted. "util_ratio" is not where it repeats
 * "gpu_util_ratio". */
bool is_other_metric(const ft_result *result, uint32_t index);

/* "time_lo_us" of "time_us" and "lo". */
enum { METRIC_NAME_SIZE = 64 };
const char *metric_end_name(const char *metric, const char *end, char name[static METRIC_NAME_SIZE]);

/* --- Writers ------------------------------------------------------------------------------------------------- */

/* The document so far. */
typedef struct report_writer {
    sink out;
    ft_result_style style;
    uint64_t model_count, result_count; /* written so far */
} report_writer;

/* Each adds one model to the document. They mark `out` as failed when out of memory. */
void report_add_csv(report_writer *w, const ft_model_results *entry, const model_facts *facts);
void report_add_table(report_writer *w, const ft_model_results *entry, const model_facts *facts);

/* Sections of the table. */
void report_table_layers(sink *out, const ft_style *style, uint32_t top, const ft_model_results *entry,
                         const ft_result *result);
void report_table_notes(sink *out, const ft_style *style, const ft_results *results);
void report_table_memory(sink *out, const ft_style *style, const ft_results *results);
void report_table_utilisation(sink *out, const ft_style *style, const ft_results *results);
void report_table_others(sink *out, const ft_style *style, const ft_results *results);

#endif
