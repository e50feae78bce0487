/* flow_table.c - flows of tables: kernels listed by the operators they fuse, or by the kernels they come after. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "replay/flow.h"
#include "replay/times.h"
#include "report/facts.h"

static ft_status line_fail(const ft_times *t, const times_row *row, ft_error *error, const char *what,
                           const char *name) {
    return ft_fail(error, FT_ERR_GRAPH, "%s: line %llu: %s '%.80s'", t->path, (unsigned long long)row->line, what,
                   name);
}

/* --- Kernels of a model ---------------------------------------------------------------------------------------- */

typedef struct table_parts {
    const ft_times *times;
    const ft_graph *model;
    map op_of; /* by name */
    ft_part *parts;
    uint32_t *ops;    /* of all parts */
    uint32_t *row_of; /* per operator: its row plus one, or 0 */
    uint32_t op_count;
} table_parts;

static ft_status add_row_part(table_parts *p, uint32_t row_index, ft_error *error) {
    const times_row *row = &p->times->rows[row_index];
    ft_part *part = &p->parts[row_index];
    *part = (ft_part){.type = row->type != NULL ? row->type : "kernel",
                      .ops = p->ops + p->op_count,
                      .op_count = row->operators.count,
                      .value = row->time_us};
    for (uint32_t i = 0; i < row->operators.count; i++) {
        const char *name = row->operators.items[i];
        uint32_t op;
        if (!map_get(&p->op_of, name, &op)) return line_fail(p->times, row, error, "the model has no operator", name);
        if (p->row_of[op] != 0)
            return ft_fail(error, FT_ERR_GRAPH,
                           "%s: line %llu: operator '%.80s' is already in line %llu; a table of one model, device and "
                           "batch is needed",
                           p->times->path, (unsigned long long)row->line, name,
                           (unsigned long long)p->times->rows[p->row_of[op] - 1].line);
        assert(p->op_count < ft_graph_op_count(p->model)); /* each operator is in one row */
        p->row_of[op] = row_index + 1;
        p->ops[p->op_count++] = op;
    }
    return FT_OK;
}

static ft_status gather_parts(table_parts *p, arena *memory, ft_error *error) {
    uint32_t count = ft_graph_op_count(p->model);
    map_init(&p->op_of, memory);
    p->parts = ARENA_ARRAY(memory, ft_part, (size_t)p->times->count + 1);
    p->ops = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    p->row_of = ARENA_ARRAY(memory, uint32_t, (size_t)count + 1);
    if (p->parts == NULL || p->ops == NULL || p->row_of == NULL || !map_reserve(&p->op_of, count))
        return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++)
        if (!map_set(&p->op_of, facts_op_name(p->model, &ft_graph_ops(p->model)[i]), i)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < p->times->count; i++) FT_TRY(add_row_part(p, i, error));
    return FT_OK;
}

static uint32_t last_op(const ft_part *part) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < part->op_count; i++)
        if (part->ops[i] > last) last = part->ops[i];
    return last;
}

static int by_last_op(const void *left, const void *right) {
    uint32_t a = last_op(left), b = last_op(right);
    return (a > b) - (a < b);
}

/* Rows are in launch order; a table in another order (the longest first) would lose dependencies, so the order of the
 * model is tried as well. */
static ft_status flow_from_rows_with_operators(const flow_source *source, table_parts *p, ft_flow **flow,
                                               ft_error *error) {
    ft_flow *listed, *sorted;
    FT_TRY(flow_from_parts(source, p->parts, p->times->count, &listed, error));
    *flow = listed;
    if (listed->dropped_links == 0) return FT_OK;
    qsort(p->parts, p->times->count, sizeof *p->parts, by_last_op);
    ft_status status = flow_from_parts(source, p->parts, p->times->count, &sorted, error);
    bool is_better = status == FT_OK && sorted->dropped_links < listed->dropped_links;
    *flow = status != FT_OK ? NULL : is_better ? sorted : listed;
    if (status == FT_OK) ft_flow_free(is_better ? listed : sorted);
    if (status != FT_OK) ft_flow_free(listed);
    return status;
}

ft_status ft_flow_from_table(const ft_graph *model, const ft_binding *binding, const ft_times *times,
                             const ft_cost_options *options, ft_flow **flow, ft_error *error) {
    FT_REQUIRE(error, model, times, options, flow);
    flow_source source;
    arena memory;
    table_parts p = {.times = times, .model = model};
    ft_cost_options table_options = *options;
    ft_flow *made = NULL;
    if (times->is_training && options->mode != FT_TRAIN)
        return ft_fail(error, FT_ERR_USAGE, "%s: has times of training, but the mode of the replay is inference",
                       times->path);
    if (!times->is_training) table_options.mode = FT_INFER;
    FT_TRY(flow_source_open(times->path, model, binding, &table_options, &source, error));
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = gather_parts(&p, &memory, error);
    if (status == FT_OK) status = flow_from_rows_with_operators(&source, &p, &made, error);
    arena_free(&memory);
    flow_source_close(&source);
    if (status == FT_OK) status = flow_fill_missing_times(made, times, times->is_strict, error);
    if (status == FT_OK && table_options.mode != options->mode)
        status = ft_flow_derive_training(made, binding, options, error);
    if (status == FT_OK)
        *flow = made;
    else
        ft_flow_free(made);
    return status;
}

/* --- Kernels of a column "after" -------------------------------------------------------------------------------- */

static ft_status add_row(ft_flow *flow, const times_row *row, ft_error *error) {
    arena *memory = &flow->memory;
    const char *type = row->type != NULL ? row->type : row->name;
    uint32_t index;
    ft_flow_kernel kernel = {.name = arena_string(memory, row->name, strlen(row->name)),
                             .type = arena_string(memory, type, strlen(type)),
                             .phase = row->phase,
                             .priority = row->priority,
                             .time_us = row->time_us,
                             .gradient_bytes = row->gradient_bytes};
    if (row->engine != NULL) kernel.engine = arena_string(memory, row->engine, strlen(row->engine));
    if (kernel.name == NULL || kernel.type == NULL || (row->engine != NULL && kernel.engine == NULL))
        return FT_NOMEM(error);
    flow_kernel_info info = {.line = row->line, .backward_ratio = FLOW_ASSUMED_BACKWARD_RATIO};
    kernel.backward_us = kernel.time_us * info.backward_ratio;
    return flow_add(flow, &kernel, &info, &index, error);
}

static ft_status fill_from_rows(ft_flow *flow, const ft_times *times, ft_error *error) {
    flow->has_own_backward = times->has_phases;
    flow->is_backward_assumed = true;
    for (uint32_t i = 0; i < times->count; i++) {
        if (times->rows[i].name == NULL) return line_fail(times, &times->rows[i], error, "the row has no", "name");
        FT_TRY(add_row(flow, &times->rows[i], error));
    }
    for (uint32_t i = 0; i < times->count; i++) {
        const times_row *row = &times->rows[i];
        for (uint32_t j = 0; j < row->after.count; j++) {
            uint32_t before;
            if (!map_get(&times->by_name, row->after.items[j], &before))
                return line_fail(times, row, error, "comes after a kernel that does not exist:", row->after.items[j]);
            FT_TRY(flow_add_dependency(flow, before, i, error));
        }
    }
    return flow_finish(flow, error);
}

ft_status flow_from_rows(const ft_times *times, ft_flow **flow, ft_error *error) {
    ft_flow *made;
    FT_TRY(flow_new(times->path, &made, error));
    ft_status status = fill_from_rows(made, times, error);
    if (status == FT_OK) status = flow_fill_missing_times(made, times, false, error);
    if (status == FT_OK)
        *flow = made;
    else
        ft_flow_free(made);
    return status;
}
