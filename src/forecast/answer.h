/* answer.h - one request on its way to a forecast: what time.c, memory.c and forecast.c share. */
#ifndef FORECAST_ANSWER_H
#define FORECAST_ANSWER_H

#include "forecast/study.h"
#include "predictor/core/predictor.h"

enum { ANSWER_MOST_NOTES = 8 };

typedef struct answer {
    study *study;
    const ft_device *sheet; /* NULL: only a predictor knows the device */
    model_view *view;
    const ft_cost *cost;
    ft_result *out;
    const char *notes[ANSWER_MOST_NOTES];
    const char *refusal; /* what a predictor said that could not answer; NULL when none was asked */
} answer;

/* Adds a sentence for people. */
ft_status answer_note(answer *a, ft_error *error, const char *format, ...) FT_PRINTF(3, 4);

/* What a device is measured with: GPUs under autocast to float16, accelerators of quantised networks with those. */
ft_dtype answer_usual_dtype(const ft_device *sheet);

/* What a request asks of the arithmetic of costs. */
ft_cost_options answer_cost_options(const answer *a);

/* A predictor that was asked, and what it said. */
typedef struct told {
    const box_entry *entry; /* NULL: nobody can tell */
    const ft_predictor *predictor;
    target_device where;
    model_output says;
} told;

/* Asks the predictors of a metric: those that were trained on the device first, then those that read data sheets. */
ft_status answer_ask(answer *a, const char *metric, told *t, ft_error *error);

/* Time, what it is bound by, and what else the same predictor tells. */
ft_status answer_time(answer *a, ft_error *error);
ft_status answer_memory(answer *a, ft_error *error);

#endif
