/* report.c - a document about several models: begin, model after model, end. The renderings are in table.c, json.c
 * and csv.c. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/options.h"
#include "graph/arguments.h"
#include "report/style.h"
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
    if (text == NULL || sort == NULL) return false;
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
    if (text == NULL || output == NULL) return false;
    for (ft_output o = FT_TABLE; o <= FT_CSV; o++) {
        if (strcmp(text, ft_output_name(o)) != 0) continue;
        *output = o;
        return true;
    }
    return false;
}

ft_status style_check(const ft_style *style, ft_error *error) {
    return (unsigned)style->output <= FT_CSV ? FT_OK
                                             : FT_OUT_OF_RANGE(error, "style: output", style->output, "ft_output");
}

static ft_status check_options(const ft_inspect_options *options, ft_error *error) {
    FT_TRY(style_check(&options->style, error));
    FT_TRY(cost_options_check(&options->cost, error));
    FT_TRY(binding_check(&options->binding, error));
    bool is_known = (unsigned)options->sort <= FT_SORT_COUNT;
    return is_known ? FT_OK : FT_OUT_OF_RANGE(error, "inspect options: sort", options->sort, "ft_sort");
}

ft_style ft_style_default(void) {
    return (ft_style){.output = FT_TABLE, .width = 80};
}

ft_status ft_report_begin(FILE *stream, const ft_inspect_options *options, ft_report **report, ft_error *error) {
    FT_REQUIRE(error, stream, options, report);
    FT_TRY(check_options(options, error));
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
    if (report == NULL || binding == NULL) return;
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
    FT_REQUIRE(error, report, file, graph);
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
    FT_REQUIRE(error, options, file, graph, inspection);
    FT_TRY(check_options(options, error));
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
    FT_REQUIRE(error, report, inspection);
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
