/* kernel_nnls.c - the family "kernel-nnls": kinds of kernels, predicting, saving, loading; kernel_nnls_fit.c fits it.
 */
#include "predictor/baseline/kernel_nnls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/geometry.h"

/* --- The model ----------------------------------------------------------------------------------------------- */

nnls_model *nnls_new(uint32_t device_count) {
    nnls_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    arena_init(&m->memory, UINT64_MAX);
    map_init(&m->index, &m->memory);
    m->device_count = device_count;
    return m;
}

void nnls_free(void *model) {
    nnls_model *m = model;
    if (m == NULL) return;
    runtimes_free(&m->runtimes);
    arena_free(&m->memory);
    free(m->weights);
    free(m);
}

ft_status nnls_set_kinds(nnls_model *m, const char *const *kinds, uint32_t count, ft_error *error) {
    m->kinds = ARENA_ARRAY(&m->memory, const char *, (size_t)count + 1);
    if (m->kinds == NULL || !map_reserve(&m->index, count)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found;
        m->kinds[i] = arena_string(&m->memory, kinds[i], strlen(kinds[i]));
        if (m->kinds[i] == NULL || !map_add(&m->index, m->kinds[i], i, &found)) return FT_NOMEM(error);
        if (found != i) return ft_fail(error, FT_ERR_DAMAGED, "'kinds': has '%s' twice", kinds[i]);
    }
    m->kind_count = count;
    m->weights = calloc(nnls_stride(m) * m->device_count + 1, sizeof *m->weights);
    return m->weights != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Kernels as rows ----------------------------------------------------------------------------------------- */

/* The window of a convolution or a pool. A pool over the whole map has none: its size is in the bytes already. */
static int64_t window_of(const ft_graph *graph, const ft_op *op) {
    conv_geometry conv;
    pool_geometry pool;
    if (conv_geometry_of(graph, op, &conv)) return conv.kernel[0];
    if (!pool_geometry_of(graph, op, &pool) || pool.kernel[0] >= pool.in[0]) return 0;
    return pool.kernel[0];
}

void kind_row_of(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels, uint32_t kernel,
                 kind_row *row) {
    const ft_kernel *k = &kernels->items[kernel];
    int64_t window = window_of(bound, &ft_graph_ops(bound)[k->root]);
    memset(row, 0, sizeof *row);
    if (window > 0)
        snprintf(row->kind, sizeof row->kind, "%.72s:%lld", k->type, (long long)window);
    else
        snprintf(row->kind, sizeof row->kind, "%.72s", k->type);
    ft_op_cost of_kernel = ft_cost_kernel(bound, cost, kernels, kernel);
    total_work work = op_work_of(&of_kernel);
    row->amounts[0] = (double)ft_graph_ops(bound)[k->root].repeats;
    row->amounts[1] = work.flops;
    row->amounts[2] = work.bytes;
    row->amounts[3] = (double)of_kernel.params;
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* The unit costs of a kind on a device; those of all kernels when it was not in training there. */
static const float *unit_costs_of(const nnls_model *m, uint32_t device, const char *kind, bool *is_known) {
    const float *weights = m->weights + device * nnls_stride(m), *all = weights + (size_t)m->kind_count * KIND_FLOATS;
    uint32_t index;
    *is_known = map_get(&m->index, kind, &index) && weights[(size_t)index * KIND_FLOATS + KIND_COSTS] > 0;
    return *is_known ? weights + (size_t)index * KIND_FLOATS : all;
}

/* How much wider the interval is where no kernel is like those of training: of families of networks that were held out,
 * with kernels of which half or more were new, 9 in 10 fall into intervals of this width. */
static const double NEW_KERNELS = 25;

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const nnls_model *m = model;
    uint32_t device = in->target->index;
    assert(device < m->device_count);
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(model_view_cost(in->view, &cost, error));
    FT_TRY(model_view_kernels(in->view, runtimes_rules(&m->runtimes, device), &kernels, error));
    part_sum parts;
    FT_TRY(part_sum_begin(&parts, kernels, in->has_parts, in->memory, error));
    double known = 0, start = (double)m->weights[(device + 1) * nnls_stride(m) - 1];
    for (uint32_t i = 0; i < kernels->count; i++) {
        kind_row row;
        bool is_known;
        kind_row_of(in->view->bound, cost, kernels, i, &row);
        const float *unit_costs = unit_costs_of(m, device, row.kind, &is_known);
        double value = 0;
        for (size_t p = 0; p < KIND_COSTS; p++) value += (double)unit_costs[p] * row.amounts[p];
        part_sum_add(&parts, i, value);
        if (is_known) known += value;
    }
    part_sum_end(&parts, start, out);
    out->coverage_ratio = parts.sum > 0 ? known / parts.sum : 1;
    out->spread = 1 + NEW_KERNELS * (1 - out->coverage_ratio);
    return FT_OK;
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

static json_t *save_kinds(const nnls_model *m) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->kind_count; i++) list = json_list_with(list, json_string(m->kinds[i]));
    return list;
}

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const nnls_model *m = model;
    if (!float_block_add(block, m->weights, nnls_stride(m) * m->device_count)) return FT_NOMEM(error);
    *params = json_with(json_object(), "runtimes", runtimes_save(&m->runtimes));
    *params = json_with(*params, "kinds", save_kinds(m));
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load_kinds(nnls_model *m, const json_t *list, ft_error *error) {
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > MAX_KINDS)
        return ft_fail(error, FT_ERR_DAMAGED, "'kinds': must be a list of at most %d names", MAX_KINDS);
    const char *kinds[MAX_KINDS];
    for (size_t i = 0; i < count; i++) {
        ft_status status = json_read_string(json_array_get(list, i), &kinds[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'kinds': item %zu", i + 1);
    }
    return nnls_set_kinds(m, kinds, (uint32_t)count, error);
}

static ft_status load_all(nnls_model *m, const json_t *params, const float *block, size_t count, ft_error *error) {
    if (json_object_size(params) != 2)
        return ft_fail(error, FT_ERR_DAMAGED, "must have the parameters 'runtimes' and 'kinds' and no others");
    ft_status status = runtimes_load(json_object_get(params, "runtimes"), m->device_count, &m->runtimes, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'runtimes'");
    FT_TRY(load_kinds(m, json_object_get(params, "kinds"), error));
    if (count != nnls_stride(m) * m->device_count)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers; %zu for each of %u devices are needed", count,
                       nnls_stride(m), m->device_count);
    FT_TRY(block_check_unit_costs(block, count, error));
    memcpy(m->weights, block, count * sizeof *block);
    return FT_OK;
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    nnls_model *m = nnls_new(device_count);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = load_all(m, params, block, count, error);
    if (status != FT_OK) {
        nnls_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

const family family_kernel_nnls = {
    .name = "kernel-nnls",
    .text = "a non-negative unit cost per launch, FLOP, byte and parameter of each type of kernel",
    .schema = "kernel-nnls/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .settings = &nnls_setting,
    .setting_count = 1,
    .fit = nnls_fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = nnls_free,
};
