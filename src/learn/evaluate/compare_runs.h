/* compare_runs.h - the inside of ft_compare_runs: a metrics.json is bytes that anyone may have written. */
#ifndef LEARN_COMPARE_RUNS_H
#define LEARN_COMPARE_RUNS_H

#include <stdio.h>

#include "base/json.h"
#include "foretell/learn.h"

/* The list of results of the run `name`; the caller drops the reference. */
ft_status run_results_parse(const char *name, const void *bytes, size_t size, json_t **results, ft_error *error);

ft_status run_results_compare(const char *const *names, json_t *const *results, uint32_t count, bool has_families,
                              const ft_style *style, FILE *stream, ft_error *error);

#endif
