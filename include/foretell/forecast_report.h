/* forecast_report.h - results as documents: tables, JSON, CSV, a trace, plots.
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
    bool is_list;    /* tables: one line a result, without the lists below */
    uint32_t top;    /* so many of the longest kernels only; 0: all, in the order in which they run */
    int64_t samples; /* also the time of a run over so many samples; 0: without */
    bool has_cost;   /* also prices, and the cost of the run and of a million samples */
} ft_result_style;

/* A model and its results. */
typedef struct ft_model_results {
    const char *file; /* the name of the model in the report */
    const ft_graph *model;
    const ft_binding *shapes; /* as passed to ft_predict */
    const ft_results *results;
} ft_model_results;

/* One document about any number of models: begin, any number of models, end. Nothing is written before the first
 * model. */
typedef struct ft_result_report ft_result_report;
FT_API ft_status ft_result_report_begin(FILE *stream, const ft_result_style *style, ft_result_report **report,
                                        ft_error *error);
FT_API ft_status ft_result_report_add(ft_result_report *report, const ft_model_results *entry, ft_error *error);
/* Ends the document and frees the report, also after an error; NULL is fine. */
FT_API ft_status ft_result_report_end(ft_result_report *report, ft_error *error);

/* One result as a Chrome/Perfetto trace: kernels one after the other, with memory as a counter. */
FT_API ft_status ft_result_trace(const char *path, const ft_model_results *entry, uint32_t index, ft_error *error);

/* Plots time and memory over batch size by device, and the time of the first result by kind of kernel. The path ends
 * in .svg or .png, which selects the format. */
FT_API ft_status ft_result_plot(const char *path, const ft_model_results *entry, ft_error *error);

/* --- Documents of other commands ------------------------------------------------------------------------------- */

/* Whether each result fits into the memory of its device, and with what margin. `free_bytes` has one number per result,
 * NaN when it is unknown; `is_whole`: it is the whole memory of the device by its data sheet. */
FT_API ft_status ft_report_fit(FILE *stream, const ft_style *style, const ft_model_results *entry,
                               const double *free_bytes, bool is_whole, ft_error *error);
/* What devices are ranked by: the time, cost or energy of a run. */
typedef enum ft_goal { FT_GOAL_TIME, FT_GOAL_COST, FT_GOAL_ENERGY } ft_goal;

FT_API const char *ft_goal_name(ft_goal goal); /* "time", "cost", "energy" */
FT_API bool ft_goal_parse(const char *text, ft_goal *goal);
/* Ranks devices and batches of which it is certain that the model fits, by a run over `samples` (0: a million). Energy
 * is the power limit of the data sheet over the time. `best` (may be NULL) gets the index of the first result; FT_NONE:
 * none can be chosen. Others follow with the reason. */
FT_API ft_status ft_report_choice(FILE *stream, const ft_style *style, const ft_model_results *entry, ft_goal goal,
                                  int64_t samples, uint32_t *best, ft_error *error);
/* What changed between two models: the whole, and kernels that became slower or larger, came or went, the worst first;
 * the `top` of them, 0: all. The results of both are of equal requests, in the same order. */
FT_API ft_status ft_report_diff(FILE *stream, const ft_style *style, const ft_model_results *before,
                                const ft_model_results *after, uint32_t top, ft_error *error);
/* The result of ft_max_batch. The first item of `entry->results` is the result at the largest batch that certainly
 * fits, or at batch 1 when none does. */
FT_API ft_status ft_report_max_batch(FILE *stream, const ft_style *style, const ft_model_results *entry,
                                     const ft_max_batch_result *found, bool is_whole, ft_error *error);
/* Tensor programs of tuning logs with their predicted times. NaN: not measured, or no interval. */
typedef struct ft_program_result {
    const char *file;
    uint64_t line;
    const char *task;
    const char *device;
    uint64_t rank;      /* among those of its task by predicted time; the fastest is 1 */
    double measured_us; /* as in the log */
    double time_us, time_lo_us, time_hi_us;
} ft_program_result;
FT_API ft_status ft_report_programs(FILE *stream, const ft_style *style, const ft_program_result *programs,
                                    uint32_t count, ft_error *error);
/* Devices and the predictors that were trained on them: a list of the bundled devices and those of the predictors, or
 * the data sheets of the named ones (by any name, or by the path of a file). Without a set (NULL), the bundled ones. */
FT_API ft_status ft_report_devices(FILE *stream, const ft_style *style, const ft_predictor_set *set,
                                   const char *const *names, uint32_t count, ft_error *error);
/* The predictors of a set: metrics, devices, size of the file, and accuracy on held-out data. */
FT_API ft_status ft_report_predictors(FILE *stream, const ft_style *style, const ft_predictor_set *set,
                                      ft_error *error);

FT_C_END

#endif
