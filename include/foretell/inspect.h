/* inspect.h - reports on models without a device: operators, costs and memory, as table, JSON or CSV.
 *
 * A report is one document about any number of models. Each model is written when it is added and then forgotten,
 * so a report over thousands of files needs the memory of one. Tables are rounded and fitted to a width; JSON and CSV
 * hold exact values. All three are made from the same facts. docs/inspect.md explains every field. */
#ifndef FORETELL_INSPECT_H
#define FORETELL_INSPECT_H

#include <stdio.h>

#include "foretell/cost.h"

FT_C_BEGIN

/* name, text */
#define FT_SORT_LIST(X)                                                                                                \
    X(FT_SORT_AUTO, "auto") /* types by FLOPs; operators and kernels by FLOPs when cut to the top, else as they run */ \
    X(FT_SORT_GRAPH, "graph")                                                                                          \
    X(FT_SORT_MACS, "macs")                                                                                            \
    X(FT_SORT_FLOPS, "flops")                                                                                          \
    X(FT_SORT_PARAMS, "params")                                                                                        \
    X(FT_SORT_BYTES, "bytes")                                                                                          \
    X(FT_SORT_COUNT, "count") /* of operators in a type or kernel; how often an operator runs */

typedef enum ft_sort {
#define FT_SORT_ENUM(name, text) name,
    FT_SORT_LIST(FT_SORT_ENUM)
#undef FT_SORT_ENUM
} ft_sort;

/* As spelled above, and back; false when the text is none of them. */
FT_API const char *ft_sort_name(ft_sort sort);
FT_API bool ft_sort_parse(const char *text, ft_sort *sort);

/* name, text */
#define FT_OUTPUT_LIST(X)                                                                                              \
    X(FT_TABLE, "table")                                                                                               \
    X(FT_JSON, "json")                                                                                                 \
    X(FT_CSV, "csv")

typedef enum ft_output {
#define FT_OUTPUT_ENUM(name, text) name,
    FT_OUTPUT_LIST(FT_OUTPUT_ENUM)
#undef FT_OUTPUT_ENUM
} ft_output;

/* As spelled above, and back; false when the text is none of them. */
FT_API const char *ft_output_name(ft_output output);
FT_API bool ft_output_parse(const char *text, ft_output *output);

/* Format and look of a document. */
typedef struct ft_style {
    ft_output output;
    uint32_t width; /* of tables, in columns */
    bool has_color; /* tables may use ANSI colours */
    bool has_utf8;  /* tables may use characters beyond ASCII */
} ft_style;

/* Table, 80 columns, plain ASCII. */
FT_API ft_style ft_style_default(void);

typedef struct ft_inspect_options {
    ft_style style;
    ft_binding binding;
    ft_cost_options cost;  /* mode is ignored: inference and training are both reported */
    const ft_rules *rules; /* list kernels; NULL: do not */
    bool has_nodes;        /* list operators */
    bool is_list;          /* tables: one line a model instead of the full report */
    uint32_t top;          /* maximum length of the lists of a model; 0: all */
    ft_sort sort;
} ft_inspect_options;

/* The default style, costs and order; as exported, no list of operators or kernels. */
FT_API ft_inspect_options ft_inspect_options_default(void);

/* Several models make one document: begin, any number of models, end. What `options` points to must outlive the
 * report. */
typedef struct ft_report ft_report;
FT_API ft_status ft_report_begin(FILE *stream, const ft_inspect_options *options, ft_report **report, ft_error *error);
/* The binding of the models to come, instead of the one in the options. What it points to must outlive them. */
FT_API void ft_report_bind(ft_report *report, const ft_binding *binding);
/* `file` is what the report calls the model; `graph` is as read, not bound. Writes nothing of a model that fails,
 * unless it is the stream (FT_ERR_IO) or memory (FT_ERR_NOMEM) that does. */
FT_API ft_status ft_report_model(ft_report *report, const char *file, const ft_graph *graph, ft_error *error);
/* ft_report_model in two steps: the costs of a model, which threads may compute for several models at once, and its
 * rows. `file` and `graph` must outlive the inspection. */
typedef struct ft_inspection ft_inspection;
FT_API ft_status ft_inspect(const ft_inspect_options *options, const char *file, const ft_graph *graph,
                            ft_inspection **inspection, ft_error *error);
FT_API void ft_inspection_free(ft_inspection *inspection);
FT_API ft_status ft_report_add(ft_report *report, const ft_inspection *inspection, ft_error *error);
/* Ends the document, flushes it, and returns the first error of the stream. Frees the report; NULL is fine. */
FT_API ft_status ft_report_end(ft_report *report, ft_error *error);

/* Lists of what foretell supports, as table, JSON or CSV. */
FT_API ft_status ft_report_formats(FILE *stream, const ft_style *style, ft_error *error);
/* `format`: only operators that it has, spelled its way; FT_FORMAT_UNKNOWN: the whole table. */
FT_API ft_status ft_report_ops(FILE *stream, const ft_style *style, ft_format format, ft_error *error);
FT_API ft_status ft_report_runtimes(FILE *stream, const ft_style *style, ft_error *error);
FT_API ft_status ft_report_families(FILE *stream, const ft_style *style, ft_error *error);

FT_C_END

#endif
