/* roofline.c - the family "roofline": predicting, saving, loading; roofline_fit.c fits its constants. */
#include "predictor/baseline/roofline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

roofline_model *roofline_new(uint32_t device_count) {
    roofline_model *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->device_count = device_count;
    m->constants = calloc((size_t)device_count * ROOF_CONSTANTS + 1, sizeof *m->constants);
    if (m->constants != NULL) return m;
    free(m);
    return NULL;
}

void roofline_free(void *model) {
    roofline_model *m = model;
    if (m == NULL) return;
    runtimes_free(&m->runtimes);
    free(m->constants);
    free(m);
}

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const roofline_model *m = model;
    if (!float_block_add(block, m->constants, (size_t)m->device_count * ROOF_CONSTANTS)) return FT_NOMEM(error);
    return runtimes_params(&m->runtimes, params, error);
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    if (count != (size_t)device_count * ROOF_CONSTANTS)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers; %d for each of %u devices are needed", count,
                       ROOF_CONSTANTS, device_count);
    FT_TRY(block_check_unit_costs(block, count, error));
    roofline_model *m = roofline_new(device_count);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = runtimes_from_params(params, device_count, &m->runtimes, error);
    if (status != FT_OK) {
        roofline_free(m);
        return status;
    }
    memcpy(m->constants, block, count * sizeof *block);
    *out = m;
    return FT_OK;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const roofline_model *m = model;
    uint32_t device = in->target->index;
    assert(device < m->device_count);
    double constants[ROOF_CONSTANTS];
    for (size_t i = 0; i < ROOF_CONSTANTS; i++)
        constants[i] = (double)m->constants[(size_t)device * ROOF_CONSTANTS + i];
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(model_view_cost(in->view, &cost, error));
    FT_TRY(model_view_kernels(in->view, runtimes_rules(&m->runtimes, device), &kernels, error));
    part_sum parts;
    FT_TRY(part_sum_begin(&parts, kernels, in->has_parts, in->memory, error));
    for (uint32_t i = 0; i < kernels->count; i++) {
        ft_op_cost of_kernel = ft_cost_kernel(in->view->bound, cost, kernels, i);
        total_work work = op_work_of(&of_kernel);
        part_sum_add(&parts, i, roofline_kernel(constants, work.flops, work.bytes));
    }
    part_sum_end(&parts, constants[ROOF_START], out);
    out->coverage_ratio = cost->coverage_ratio;
    return FT_OK;
}

const family family_roofline = {
    .name = "roofline",
    .text = "the larger of arithmetic and traffic of each kernel, four constants per device",
    .schema = "roofline/1",
    .capabilities = FAMILY_TYPES_AS_SIZES,
    .setting_keys = "",
    .settings = &roofline_setting,
    .setting_count = 1,
    .fit = roofline_fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = roofline_free,
};
