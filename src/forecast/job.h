/* job.h - one request on its way to a result: the state that forecast.c, time.c and memory.c share. */
#ifndef FORECAST_JOB_H
#define FORECAST_JOB_H

#include "forecast/context.h"
#include "predictor/core/predictor.h"

enum { JOB_MAX_NOTES = 8, JOB_MAX_METRICS = 64 };

/* The metrics that every result begins with. */
enum { METRIC_TIME, METRIC_MEMORY, METRIC_UTIL, METRIC_OTHERS };

typedef struct forecast_job {
    forecast_context *context;
    const ft_device *sheet; /* NULL: only a predictor has the device */
    model_view *view;
    const ft_cost *cost;
    ft_result *out;
    ft_metric_result *metrics; /* out->metrics: JOB_MAX_METRICS of them, from the arena of the context */
    const char *notes[JOB_MAX_NOTES];
    const char *refusal; /* message of the last predictor that could not predict; NULL: none was tried */
} forecast_job;

/* Adds a sentence to the notes of the result. */
ft_status job_note(forecast_job *job, ft_error *error, const char *format, ...) FT_PRINTF(3, 4);

/* The type that a device is usually run with, and measured in: float16 by autocast on GPUs, int8 on NPUs. */
ft_dtype job_usual_dtype(const ft_device *sheet);

/* The options of cost arithmetic that a request implies. */
ft_cost_options job_cost_options(const forecast_job *job);

/* The predictor chosen for a metric, and its output. */
typedef struct predictor_choice {
    const set_entry *entry; /* NULL: there is none */
    const ft_predictor *predictor;
    target_device target;
    model_output output;
} predictor_choice;

/* Tries the predictors of a metric: those that were trained on the device first, then those that read data sheets. */
ft_status job_choose(forecast_job *job, const char *metric, predictor_choice *choice, ft_error *error);

/* Predict the time with what bounds it and the other metrics of the same predictor; and the memory. */
ft_status job_predict_time(forecast_job *job, ft_error *error);
ft_status job_predict_memory(forecast_job *job, ft_error *error);

#endif
