/* flow_times.c - setting the times of kernels from a table, by name; missing ones get the median. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "replay/flow.h"
#include "replay/times.h"
#include "report/facts.h"

typedef struct time_lookup {
    ft_flow *flow;
    const ft_times *times;
    bool *is_used; /* per row */
} time_lookup;

static void set_time(ft_flow *flow, uint32_t kernel, double time_us) {
    ft_flow_kernel *k = &flow->kernels[kernel];
    assert(kernel < flow->count);
    k->time_us = time_us;
    k->backward_us = time_us * flow->infos[kernel].backward_ratio;
    k->update_us = time_us * flow->infos[kernel].update_ratio;
}

/* --- By name ---------------------------------------------------------------------------------------------------- */

static double time_of_name(time_lookup *t, const char *name) {
    uint32_t row;
    if (name == NULL || name[0] == '\0' || !map_get(&t->times->by_name, name, &row)) return NAN;
    t->is_used[row] = true;
    return t->times->rows[row].time_us;
}

/* The sum over the operators in the table. */
static double time_of_ops(time_lookup *t, uint32_t kernel) {
    const flow_kernel_info *info = &t->flow->infos[kernel];
    const ft_graph *model = t->flow->model;
    double sum = NAN;
    for (uint32_t i = 0; model != NULL && i < info->op_count; i++) {
        double time = time_of_name(t, facts_op_name(model, &ft_graph_ops(model)[info->ops[i]]));
        if (!isnan(time)) sum = isnan(sum) ? time : sum + time;
    }
    return sum;
}

static double time_of(time_lookup *t, uint32_t kernel) {
    const ft_flow_kernel *k = &t->flow->kernels[kernel];
    double time = time_of_ops(t, kernel);
    if (isnan(time)) time = time_of_name(t, k->name);
    if (isnan(time)) time = time_of_name(t, t->flow->infos[kernel].other_name);
    return isnan(time) ? time_of_name(t, k->type) : time;
}

/* --- Missing times ---------------------------------------------------------------------------------------------- */

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* NaN when no kernel has a time or, with *is_full set, when out of memory. */
static double median_of(const ft_flow *flow, bool *is_full) {
    uint32_t count = 0;
    double *known = malloc(((size_t)flow->count + 1) * sizeof *known);
    *is_full = known == NULL;
    if (known == NULL) return NAN;
    for (uint32_t i = 0; i < flow->count; i++)
        if (!flow->infos[i].is_free && !isnan(flow->kernels[i].time_us)) known[count++] = flow->kernels[i].time_us;
    qsort(known, count, sizeof *known, ascending);
    double median = count > 0 ? known[count / 2] : NAN;
    free(known);
    return median;
}

/* "conv1, conv2 and 5 others" */
static uint32_t name_missing(const ft_flow *flow, buf *text) {
    enum { MAX_NAMES = 4 };
    uint32_t missing = 0;
    for (uint32_t i = 0; i < flow->count; i++) {
        if (!isnan(flow->kernels[i].time_us)) continue;
        if (missing++ < MAX_NAMES) buf_format(text, "%s%.60s", missing > 1 ? ", " : "", flow->kernels[i].name);
    }
    if (missing > MAX_NAMES) buf_format(text, " and %u others", missing - MAX_NAMES);
    return missing;
}

static ft_status fill_missing(ft_flow *flow, const ft_times *times, uint32_t missing, const char *names, bool is_strict,
                              ft_error *error) {
    bool is_full;
    double median = median_of(flow, &is_full);
    if (is_full) return FT_NOMEM(error);
    if (is_strict || isnan(median))
        return ft_fail(error, FT_ERR_USAGE, "%s: no time for %u of %u kernels: %s", times->path, missing, flow->count,
                       names);
    for (uint32_t i = 0; i < flow->count; i++)
        if (isnan(flow->kernels[i].time_us)) set_time(flow, i, median);
    return flow_note(flow, error,
                     "no time for %u of %u kernels (%s): each is assumed to take the median of the others, %.4g us",
                     missing, flow->count, names, median);
}

ft_status flow_fill_missing_times(ft_flow *flow, const ft_times *times, bool is_strict, ft_error *error) {
    buf names = {0};
    uint32_t missing = name_missing(flow, &names);
    ft_status status = names.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && missing > 0) status = fill_missing(flow, times, missing, names.data, is_strict, error);
    buf_free(&names);
    if (status == FT_OK && times->bad_count > 0)
        status = flow_note(flow, error, "%u rows of %s have no usable time (%s)", times->bad_count, times->path,
                           times->first_bad);
    return status;
}

/* --- Setting times ----------------------------------------------------------------------------------------------- */

static ft_status note_unused(time_lookup *t, ft_error *error) {
    uint32_t unused = 0, first = 0;
    for (uint32_t i = t->times->count; i-- > 0;) {
        if (t->is_used[i]) continue;
        unused++;
        first = i;
    }
    if (unused == 0) return FT_OK;
    const times_row *row = &t->times->rows[first];
    return flow_note(t->flow, error, "%u of %u rows of %s match no kernel, first '%.60s' (line %llu)", unused,
                     t->times->count, t->times->path, row->name != NULL ? row->name : "",
                     (unsigned long long)row->line);
}

ft_status ft_flow_set_times(ft_flow *flow, const ft_times *times, bool is_strict, ft_error *error) {
    FT_REQUIRE(error, flow, times);
    time_lookup t = {.flow = flow, .times = times, .is_used = calloc((size_t)times->count + 1, sizeof *t.is_used)};
    if (t.is_used == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < flow->count; i++)
        if (!flow->infos[i].is_free) set_time(flow, i, time_of(&t, i));
    ft_status status = flow_fill_missing_times(flow, times, is_strict, error);
    if (status == FT_OK) status = note_unused(&t, error);
    free(t.is_used);
    return status;
}
