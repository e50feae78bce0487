/* forecast_report.h - forecasts as text and pictures: tables for people, JSON, CSV, a trace, plots.
 *
 * docs/predict.md explains every field. */
#ifndef FORETELL_FORECAST_REPORT_H
#define FORETELL_FORECAST_REPORT_H

#include <stdio.h>

#include "foretell/forecast.h"
#include "foretell/inspect.h"

FT_C_BEGIN

typedef struct ft_result_style {
    ft_style style;
    bool has_layers; /* also the time of each kernel */
    bool is_list;    /* tables: a line a forecast, instead of all there is to say of a model */
    uint32_t top;    /* the longest kernels only; 0: all, as they run */
    int64_t samples; /* also how long a run over so many takes; 0: not asked */
} ft_result_style;

/* A model and what was foretold of it. */
typedef struct ft_model_results {
    const char *file; /* what the report calls the model */
    const ft_graph *model;
    const ft_binding *shapes; /* as they were given to ft_predict */
    const ft_results *results;
} ft_model_results;

/* One document about any number of models: begin, any number of models, end. Nothing is written before the first
 * model. */
typedef struct ft_result_report ft_result_report;
FT_API ft_status ft_result_report_begin(FILE *stream, const ft_result_style *style, ft_result_report **report,
                                        ft_error *error);
FT_API ft_status ft_result_report_add(ft_result_report *report, const ft_model_results *subject, ft_error *error);
/* Ends the document and frees the report, also after an error; NULL is fine. */
FT_API ft_status ft_result_report_end(ft_result_report *report, ft_error *error);

/* The forecast of an index as a Chrome/Perfetto trace: kernels one after the other, with memory as a counter. */
FT_API ft_status ft_result_trace(const char *path, const ft_model_results *subject, uint32_t index, ft_error *error);

/* Time and memory over batch size by device, and where the time of the first goes by kind of kernel. The end of the
 * name says the format: .svg or .png. */
FT_API ft_status ft_result_plot(const char *path, const ft_model_results *subject, ft_error *error);

/* --- Documents of the commands around it ----------------------------------------------------------------------- */

/* Whether each result fits into the memory of its device, and with what margin. `free_bytes` has one number per result,
 * NaN when it is unknown; `is_whole`: it is the whole memory of the device by its data sheet. */
FT_API ft_status ft_report_fit(FILE *stream, const ft_style *style, const ft_model_results *subject,
                               const double *free_bytes, bool is_whole, ft_error *error);
/* What ft_max_batch found. The first answer is a forecast of the largest batch that surely fits, or of
 * batch 1 when none does. `most`: what it was asked to look up to. */
FT_API ft_status ft_report_max_batch(FILE *stream, const ft_style *style, const ft_model_results *subject,
                                     const ft_max_batch_result *largest, double free_bytes, bool is_whole, int64_t most,
                                     ft_error *error);
/* Tensor programs of tuning logs, each with what a predictor of programs says of it. NaN: not measured, or no interval.
 */
typedef struct ft_program_result {
    const char *file;
    uint64_t line;
    const char *task;
    const char *device;
    uint64_t rank;      /* among those of its task, the fastest is 1 */
    double measured_us; /* as the log has it */
    double time_us, time_lo_us, time_hi_us;
} ft_program_result;
FT_API ft_status ft_report_programs(FILE *stream, const ft_style *style, const ft_program_result *programs,
                                    uint32_t count, ft_error *error);
/* Devices with their data sheets and the predictors that know them: those in the box and those of the predictors, or
 * the named ones (any name, or the path of a file) at length. */
FT_API ft_status ft_report_devices(FILE *stream, const ft_style *style, const ft_predictor_set *box,
                                   const char *const *names, uint32_t count, ft_error *error);
/* The predictors of a box: what they tell of which devices, their size, and how accurate they were on held-out data. */
FT_API ft_status ft_report_predictors(FILE *stream, const ft_style *style, const ft_predictor_set *box,
                                      ft_error *error);

FT_C_END

#endif
