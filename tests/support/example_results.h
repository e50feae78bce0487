/* example_results.h - results written by hand, for the tests of reports.
 *
 * The model is that of report_model.h. The first result has everything: three kernels of 10, 60 and 30 us and a
 * correction of -4, parts of memory of which two share a name, two other metrics, a note. The second has no time; the
 * third is the first with another batch, in training. */
#ifndef TESTS_EXAMPLE_RESULTS_H
#define TESTS_EXAMPLE_RESULTS_H

#include "foretell/forecast_report.h"
#include "support/report_model.h"

enum { EXAMPLE_RESULTS = 3, EXAMPLE_KERNELS = 4, EXAMPLE_TIME = 0, EXAMPLE_MEMORY, EXAMPLE_UTIL, EXAMPLE_METRICS = 5 };

typedef struct example_results {
    ft_graph *model;
    ft_result items[EXAMPLE_RESULTS];
    ft_metric_result metrics[EXAMPLE_RESULTS][EXAMPLE_METRICS]; /* of each: time, memory, utilisation, two others */
    ft_results results;
    ft_model_results entry;
} example_results;

void example_results_init(example_results *example);
void example_results_free(example_results *example);
/* The text of a report with this model `count` times; the caller frees it. */
char *example_report(const example_results *example, const ft_result_style *style, int count);

#endif
