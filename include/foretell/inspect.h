/* inspect.h - the whole of what foretell can say of a model without a device, as text for people and programs. */
#ifndef FORETELL_INSPECT_H
#define FORETELL_INSPECT_H

#include <stdio.h>

#include "foretell/cost.h"

typedef enum ft_sort {
    FT_SORT_GRAPH,
    FT_SORT_MACS,
    FT_SORT_FLOPS,
    FT_SORT_PARAMS,
    FT_SORT_BYTES,
    FT_SORT_COUNT
} ft_sort;
FT_API bool ft_sort_parse(const char *text, ft_sort *sort);

typedef enum ft_output { FT_TABLE, FT_JSON, FT_CSV } ft_output;
FT_API bool ft_output_parse(const char *text, ft_output *output);

typedef struct ft_inspect_options {
    ft_binding binding;
    ft_cost_options cost;  /* mode is ignored: both inference and training are told */
    const ft_rules *rules; /* list kernels; NULL: do not */
    bool has_nodes;        /* list operators */
    uint32_t top;          /* the longest lists may be, 0 = all */
    ft_sort sort;
    ft_output output;
    uint32_t width; /* of tables, in columns */
    bool has_color;
} ft_inspect_options;

FT_API ft_inspect_options ft_inspect_options_default(void);

/* Several models make one document: begin, any number of models, end. */
typedef struct ft_report ft_report;
FT_API ft_status ft_report_begin(FILE *stream, const ft_inspect_options *options, ft_report **report, ft_error *error);
/* `file` is what the report calls the model. Writes nothing when it fails. */
FT_API ft_status ft_report_model(ft_report *report, const char *file, const ft_graph *graph, ft_error *error);
/* Writes what is still missing, and says whether everything reached the stream. Frees the report. */
FT_API ft_status ft_report_end(ft_report *report, ft_error *error);

#endif
