/* data_report.h - what is in a data set, as table, JSON and CSV. docs/data.md explains every column. */
#ifndef FORETELL_DATA_REPORT_H
#define FORETELL_DATA_REPORT_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"

FT_C_BEGIN

/* How much there is: by device, family and metric, with the smallest, the median and the largest value. `name` is what
 * the report calls the data set. */
FT_API ft_status ft_report_dataset(FILE *stream, const ft_style *style, const char *name, const ft_dataset *data,
                                   ft_error *error);

/* Which records: NULL and 0 do not choose. */
typedef struct ft_record_filter {
    const char *device, *family, *graph; /* canonical name, name, id */
    uint32_t limit;
} ft_record_filter;

/* The records that the filter chooses, with their metrics. */
FT_API ft_status ft_report_records(FILE *stream, const ft_style *style, const ft_dataset *data,
                                   const ft_record_filter *filter, ft_error *error);
/* The same as CSV or JSON, with what each graph costs at the batch, type and mode of the record beside it. */
FT_API ft_status ft_report_record_costs(FILE *stream, const ft_style *style, const ft_dataset *data,
                                        const ft_record_filter *filter, ft_progress *progress, void *user,
                                        ft_error *error);

FT_C_END

#endif
