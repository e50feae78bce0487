/* forecast_report.h - forecasts as text and pictures: tables for people, JSON, CSV, a trace, plots.
 *
 * docs/predict.md explains every field. */
#ifndef FORETELL_FORECAST_REPORT_H
#define FORETELL_FORECAST_REPORT_H

#include <stdio.h>

#include "foretell/forecast.h"
#include "foretell/inspect.h"

FT_C_BEGIN

typedef struct ft_forecast_style {
    ft_style style;
    bool has_layers; /* also the time of each kernel */
    uint32_t top;    /* the longest of them only; 0: all, as they run */
} ft_forecast_style;

/* One document about any number of models: begin, any number of models, end. */
typedef struct ft_forecast_report ft_forecast_report;
FT_API ft_status ft_forecast_report_begin(FILE *stream, const ft_forecast_style *style, ft_forecast_report **report,
                                          ft_error *error);
/* `file` is what the report calls the model. */
FT_API ft_status ft_forecast_report_add(ft_forecast_report *report, const char *file, const ft_graph *model,
                                        const ft_forecasts *answers, ft_error *error);
/* Ends the document and frees the report, also after an error. */
FT_API ft_status ft_forecast_report_end(ft_forecast_report *report, ft_error *error);

/* One forecast as a Chrome/Perfetto trace: kernels one after the other, with memory as a counter. */
FT_API ft_status ft_forecast_trace(const char *path, const char *file, const ft_graph *model,
                                   const ft_forecast *forecast, ft_error *error);

/* Time and memory over batch size by device, and where the time of the first goes by kind of kernel. The end of the
 * name says the format: .svg or .png. */
FT_API ft_status ft_forecast_plot(const char *path, const char *file, const ft_forecasts *answers, ft_error *error);

FT_C_END

#endif
