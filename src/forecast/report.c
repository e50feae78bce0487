/* report.c - a document about forecasts: begin, model after model, end. The renderings are in report_table.c,
 * report_json.c and report_csv.c. */
#include <stdlib.h>

#include "base/error.h"
#include "forecast/report_write.h"

struct ft_result_report {
    forecast_writer writer;
};

ft_status ft_result_report_begin(FILE *stream, const ft_result_style *style, ft_result_report **report,
                                 ft_error *error) {
    ft_result_report *r = calloc(1, sizeof *r);
    if (r == NULL) return FT_NOMEM(error);
    r->writer.style = *style;
    r->writer.out.stream = stream;
    *report = r;
    return FT_OK;
}

ft_status ft_result_report_add(ft_result_report *report, const ft_model_results *entry, ft_error *error) {
    forecast_writer *w = &report->writer;
    model_facts facts;
    FT_TRY(model_facts_gather(entry, &facts, error));
    switch (w->style.style.output) {
    case FT_TABLE:
        forecast_table_model(w, entry, &facts);
        break;
    case FT_JSON:
        forecast_json_model(w, entry, &facts);
        break;
    case FT_CSV:
        forecast_csv_model(w, entry, &facts);
        break;
    }
    w->model_count++;
    w->forecast_count += entry->results->count;
    return sink_flush(&w->out, error);
}

ft_status ft_result_report_end(ft_result_report *report, ft_error *error) {
    if (report == NULL) return FT_OK;
    forecast_writer *w = &report->writer;
    if (w->style.style.output == FT_JSON && w->model_count > 0) forecast_json_end(w);
    ft_status status = sink_flush(&w->out, error);
    sink_free(&w->out);
    free(report);
    return status;
}
