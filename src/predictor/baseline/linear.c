/* linear.c - the families "flops" and "flops-mem". linear_fit.c fits them. */
#include "predictor/baseline/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "predictor/core/family_common.h"
#include "predictor/core/families.h"

void linear_row(const ft_cost *cost, double row[LINEAR_MAX_COLUMNS]) {
    total_work work = total_work_of(cost);
    row[0] = 1;
    row[1] = work.flops;
    row[2] = work.bytes;
}

linear_model *linear_new(uint32_t columns, uint32_t device_count) {
    linear_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->columns = columns;
    m->device_count = device_count;
    m->weights = calloc((size_t)columns * device_count, sizeof *m->weights);
    if (m->weights != NULL) return m;
    free(m);
    return NULL;
}

void linear_free(void *model) {
    linear_model *m = model;
    if (m == NULL) return;
    free(m->weights);
    free(m);
}

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const linear_model *m = model;
    if (!float_block_add(block, m->weights, (size_t)m->columns * m->device_count)) return FT_NOMEM(error);
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status load(uint32_t columns, const json_t *params, const float *block, size_t count, uint32_t device_count,
                      void **out, ft_error *error) {
    FT_TRY(params_check_empty(params, error));
    if (count != (size_t)columns * device_count)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers; %u for each of %u devices are needed", count, columns,
                       device_count);
    FT_TRY(block_check_nonnegative(block, count, error));
    linear_model *m = linear_new(columns, device_count);
    if (m == NULL) return FT_NOMEM(error);
    memcpy(m->weights, block, count * sizeof *block);
    *out = m;
    return FT_OK;
}

static ft_status fit_flops(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return linear_fit(2, set, context, out, error);
}

static ft_status fit_flops_mem(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return linear_fit(3, set, context, out, error);
}

static ft_status load_flops(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    return load(2, params, block, count, device_count, out, error);
}

static ft_status load_flops_mem(const json_t *params, const float *block, size_t count, const char *const *devices,
                                uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    return load(3, params, block, count, device_count, out, error);
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const linear_model *m = model;
    uint32_t device = in->target->index;
    const float *weights = m->weights + (size_t)device * m->columns;
    const ft_cost *cost;
    FT_TRY(model_view_cost(in->view, &cost, error));
    double row[LINEAR_MAX_COLUMNS], value = 0;
    linear_row(cost, row);
    for (uint32_t i = 0; i < m->columns && i < LINEAR_MAX_COLUMNS; i++) value += (double)weights[i] * row[i];
    *out = (model_output){.value = fmax(value, MIN_PREDICTED_VALUE), .spread = 1, .provenance = FT_LEARNED};
    out->coverage_ratio = cost->coverage_ratio;
    return FT_OK;
}

const family family_flops = {
    .name = "flops",
    .text = "time as a line over FLOPs, a slope and a start per device",
    .schema = "flops/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .fit = fit_flops,
    .save = save,
    .load = load_flops,
    .predict = predict,
    .free = linear_free,
};

const family family_flops_mem = {
    .name = "flops-mem",
    .text = "time as a sum of FLOPs and bytes moved, a price of each and a start per device",
    .schema = "flops-mem/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .fit = fit_flops_mem,
    .save = save,
    .load = load_flops_mem,
    .predict = predict,
    .free = linear_free,
};
