/* data_report.h - reports on a data set as table, JSON and CSV. docs/data.md explains every column. */
#ifndef FORETELL_DATA_REPORT_H
#define FORETELL_DATA_REPORT_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"

FT_C_BEGIN

/* Summary by device, family and metric, with minimum, median and maximum. `name` is the title of the data set in the
 * report. */
FT_API ft_status ft_report_dataset(FILE *stream, const ft_style *style, const char *name, const ft_dataset *data,
                                   ft_error *error);

/* Selects records; NULL and 0 select all. */
typedef struct ft_record_filter {
    const char *device, *family, *graph; /* canonical name, name, id */
    uint32_t limit;
} ft_record_filter;

/* Writes the selected records with their metrics. */
FT_API ft_status ft_report_records(FILE *stream, const ft_style *style, const ft_dataset *data,
                                   const ft_record_filter *filter, ft_error *error);
/* Writes the selected records as CSV or JSON, with the cost of each graph at the batch, dtype and mode of the
 * record. */
FT_API ft_status ft_report_record_costs(FILE *stream, const ft_style *style, const ft_dataset *data,
                                        const ft_record_filter *filter, ft_progress *progress, void *user,
                                        ft_error *error);

FT_C_END

#endif
