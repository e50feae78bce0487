/* report.c - a document about several models: begin, model after model, end. The renderings are in table.c, json.c
 * and csv.c. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/write.h"

struct ft_report {
    writer writer;
    ft_inspect_options options;
};

const char *ft_sort_name(ft_sort sort) {
    switch (sort) {
#define NAME(id, text)                                                                                                 \
    case id:                                                                                                           \
        return text;
        FT_SORT_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

bool ft_sort_parse(const char *text, ft_sort *sort) {
    for (ft_sort s = FT_SORT_AUTO; s <= FT_SORT_COUNT; s++) {
        if (strcmp(text, ft_sort_name(s)) != 0) continue;
        *sort = s;
        return true;
    }
    return false;
}

const char *ft_output_name(ft_output output) {
    switch (output) {
#define NAME(id, text)                                                                                                 \
    case id:                                                                                                           \
        return text;
        FT_OUTPUT_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

bool ft_output_parse(const char *text, ft_output *output) {
    for (ft_output o = FT_TABLE; o <= FT_CSV; o++) {
        if (strcmp(text, ft_output_name(o)) != 0) continue;
        *output = o;
        return true;
    }
    return false;
}

ft_style ft_style_default(void) {
    return (ft_style){.output = FT_TABLE, .width = 80};
}

ft_status ft_report_begin(FILE *stream, const ft_inspect_options *options, ft_report **report, ft_error *error) {
    if (options->style.output == FT_CSV && options->has_nodes && options->rules != NULL)
        return ft_fail(error, FT_ERR_USAGE, "a CSV holds one kind of row: ask for nodes or for kernels, not for both");
    ft_report *r = calloc(1, sizeof *r);
    if (r == NULL) return FT_NOMEM(error);
    r->options = *options;
    r->writer.options = &r->options;
    r->writer.out.stream = stream;
    if (options->style.output == FT_JSON) report_json_begin(&r->writer);
    if (options->style.output == FT_CSV) report_csv_begin(&r->writer);
    *report = r;
    return FT_OK;
}

void ft_report_bind(ft_report *report, const ft_binding *binding) {
    report->options.binding = *binding;
}

static ft_status add_facts(ft_report *report, const facts *f, ft_error *error) {
    writer *w = &report->writer;
    switch (report->options.style.output) {
    case FT_TABLE:
        report_table_model(w, f);
        break;
    case FT_JSON:
        report_json_model(w, f);
        break;
    case FT_CSV:
        report_csv_model(w, f);
        break;
    }
    w->model_count++;
    return sink_flush(&w->out, error);
}

ft_status ft_report_model(ft_report *report, const char *file, const ft_graph *graph, ft_error *error) {
    facts f;
    FT_TRY(facts_gather(file, graph, &report->options, &f, error));
    ft_status status = add_facts(report, &f, error);
    facts_free(&f);
    return status;
}

/* --- In two steps -------------------------------------------------------------------------------------------- */

struct ft_inspection {
    facts facts;
};

ft_status ft_inspect(const ft_inspect_options *options, const char *file, const ft_graph *graph,
                     ft_inspection **inspection, ft_error *error) {
    ft_inspection *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    ft_status status = facts_gather(file, graph, options, &made->facts, error);
    if (status == FT_OK)
        *inspection = made;
    else
        free(made);
    return status;
}

void ft_inspection_free(ft_inspection *inspection) {
    if (inspection == NULL) return;
    facts_free(&inspection->facts);
    free(inspection);
}

ft_status ft_report_add(ft_report *report, const ft_inspection *inspection, ft_error *error) {
    return add_facts(report, &inspection->facts, error);
}

/* --- The end ------------------------------------------------------------------------------------------------- */

ft_status ft_report_end(ft_report *report, ft_error *error) {
    if (report == NULL) return FT_OK;
    if (report->options.style.output == FT_JSON) report_json_end(&report->writer);
    ft_status status = sink_flush(&report->writer.out, error);
    sink_free(&report->writer.out);
    free(report);
    return status;
}
