/* report_write.h - the three renderings of forecasts. Each model is a piece of a document that report.c frames. */
#ifndef FORECAST_REPORT_WRITE_H
#define FORECAST_REPORT_WRITE_H

#include "forecast/report_rows.h"
#include "report/sink.h"

/* The document so far. */
typedef struct forecast_writer {
    sink out;
    ft_result_style style;
    uint64_t model_count, forecast_count; /* written so far */
} forecast_writer;

/* Writers note in `out` when memory runs out. */
void forecast_json_model(forecast_writer *w, const ft_model_results *entry, const model_facts *facts);
void forecast_json_end(forecast_writer *w);
void forecast_csv_model(forecast_writer *w, const ft_model_results *entry, const model_facts *facts);
void forecast_table_model(forecast_writer *w, const ft_model_results *entry, const model_facts *facts);

/* Pieces of the table. */
void forecast_table_layers(sink *out, const ft_style *style, uint32_t top, const ft_model_results *entry,
                           const ft_result *forecast);
void forecast_table_notes(sink *out, const ft_style *style, const ft_results *results);
void forecast_table_memory(sink *out, const ft_style *style, const ft_results *results);
void forecast_table_others(sink *out, const ft_style *style, const ft_results *results);

#endif
