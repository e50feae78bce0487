/* made_forecast.h - results put together by hand, for the tests of reports.
 *
 * The model is that of report_model.h. The first result has everything: three kernels of 10, 60 and 30 us and a
 * correction of -4, parts of memory of which two share a name, two other metrics, a note. The second has no time; the
 * third is the first with another batch, in training. */
#ifndef TESTS_MADE_FORECAST_H
#define TESTS_MADE_FORECAST_H

#include "foretell/forecast_report.h"
#include "support/report_model.h"

enum { MADE_FORECASTS = 3, MADE_KERNELS = 4, MADE_TIME = 0, MADE_MEMORY, MADE_UTIL, MADE_METRICS = 5 };

typedef struct made_forecast {
    ft_graph *model;
    ft_result items[MADE_FORECASTS];
    ft_metric_result metrics[MADE_FORECASTS][MADE_METRICS]; /* of each: time, memory, utilisation, two others */
    ft_results results;
    ft_model_results view;
} made_forecast;

void made_forecast_init(made_forecast *made);
void made_forecast_free(made_forecast *made);
/* The text of a report that has this model `count` times; the caller frees it. */
char *made_report(const made_forecast *made, const ft_result_style *style, int count);

#endif
