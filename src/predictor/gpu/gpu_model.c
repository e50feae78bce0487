/* gpu_model.c - storing and using a "gpu-kernels" predictor; gpu_fit.c trains it. */
#include "predictor/gpu/gpu_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/core/family_common.h"

/* A logarithm that no measured time is from its anchor. */
static const double MAX_LOG = 12;

void gpu_model_free(void *model) {
    gpu_model *m = model;
    if (m == NULL) return;
    for (uint32_t i = 0; m->forests != NULL && i < gpu_slots(m->device_count); i++) forest_free(m->forests[i]);
    ft_rules_free(m->eager);
    ft_rules_free(m->compiled);
    free(m->forests);
    free(m->shares);
    free(m->sheets);
    free(m);
}

ft_status gpu_model_new(uint32_t device_count, gpu_model **out, ft_error *error) {
    gpu_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->device_count = device_count;
    m->sheets = calloc((size_t)device_count + 1, sizeof *m->sheets);
    m->shares = calloc(gpu_slots(device_count), sizeof *m->shares);
    m->forests = calloc(gpu_slots(device_count), sizeof(forest *));
    bool is_made = m->sheets != NULL && m->shares != NULL && m->forests != NULL;
    ft_status status = is_made ? ft_rules_open("torch-eager", &m->eager, error) : FT_NOMEM(error);
    if (status == FT_OK) status = ft_rules_open("torch-compile", &m->compiled, error);
    if (status == FT_OK)
        *out = m;
    else
        gpu_model_free(m);
    return status;
}

/* --- Files --------------------------------------------------------------------------------------------------- */

/* Rates, then shares, then for each slot whether it has a forest, then the forests. */
ft_status gpu_model_save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const gpu_model *m = model;
    uint32_t slots = gpu_slots(m->device_count);
    bool is_added = float_block_add(block, (const float *)m->sheets, (size_t)m->device_count * GPU_RATES) &&
                    float_block_add(block, (const float *)m->shares, (size_t)slots * GPU_SHARE_COLUMNS);
    for (uint32_t i = 0; is_added && i < slots; i++) {
        float has = m->forests[i] != NULL;
        is_added = float_block_add(block, &has, 1);
    }
    for (uint32_t i = 0; is_added && i < slots; i++)
        if (m->forests[i] != NULL) is_added = float_block_add_forest(block, m->forests[i]);
    *params = json_object();
    return is_added && *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status check_numbers(const gpu_model *m, ft_error *error) {
    size_t rates = (size_t)m->device_count * GPU_RATES, shares = (size_t)gpu_slots(m->device_count);
    FT_TRY(block_check((const float *)m->sheets, rates, 0, 1e18, "a rate of a data sheet", error));
    FT_TRY(block_check((const float *)m->shares, shares * GPU_SHARE_COLUMNS, 0, (double)UINT32_MAX, "a width", error));
    for (uint32_t i = 0; i < m->device_count; i++)
        for (int j = 0; j <= GPU_CACHE_BYTES; j++) /* those that are divided by */
            if (!(m->sheets[i].rates[j] >= 1))
                return ft_fail(error, FT_ERR_DAMAGED, "gpu-kernels: a rate of a data sheet is below 1");
    return FT_OK;
}

static ft_status read_block(gpu_model *m, const float *block, size_t left, ft_error *error) {
    uint32_t slots = gpu_slots(m->device_count);
    size_t rates = (size_t)m->device_count * GPU_RATES, shares = (size_t)slots * GPU_SHARE_COLUMNS;
    if (left < rates + shares + slots)
        return ft_fail(error, FT_ERR_DAMAGED, "gpu-kernels: has %zu floats, too few for %u devices", left,
                       m->device_count);
    memcpy(m->sheets, block, rates * sizeof *block);
    memcpy(m->shares, block + rates, shares * sizeof *block);
    const float *has = block + rates + shares;
    block = has + slots;
    left -= rates + shares + slots;
    FT_TRY(check_numbers(m, error));
    for (uint32_t i = 0; i < slots; i++)
        if (has[i] != 0) FT_TRY(block_map_forest(&block, &left, GPU_FEATURES, &m->forests[i], error));
    if (left != 0) return ft_fail(error, FT_ERR_DAMAGED, "gpu-kernels: has %zu floats too many", left);
    return FT_OK;
}

ft_status gpu_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                         uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    gpu_model *m;
    FT_TRY(params_check_empty(params, error));
    FT_TRY(gpu_model_new(device_count, &m, error));
    ft_status status = read_block(m, block, count, error);
    if (status == FT_OK)
        *out = m;
    else
        gpu_model_free(m);
    return status;
}

/* --- Times --------------------------------------------------------------------------------------------------- */

static bool has_type(const gpu_share *share, ft_dtype dtype) {
    return ((uint32_t)share->columns[GPU_TYPES] & 1U << dtype) != 0;
}

float gpu_shared_log(const forest *trees, const float features[static GPU_FEATURES]) {
    float own[GPU_FEATURES];
    memcpy(own, features, sizeof own);
    own[GPU_KERNEL_FEATURE] = NAN;
    return forest_predict_row(trees, own);
}

gpu_time gpu_model_time(const gpu_model *m, uint32_t device, const gpu_work *work, const gpu_row *row, ft_dtype dtype) {
    static const double UNKNOWN_WIDTH = 1.2;
    uint32_t kind = gpu_class(work->kind, dtype), slot = gpu_slot(FT_NONE, kind);
    gpu_time t = {.width = UNKNOWN_WIDTH, .bias_width = UNKNOWN_WIDTH};
    double log_ratio = 0;
    if (m->forests[slot] != NULL) {
        t.is_known_kind = true;
        t.width = (double)m->shares[slot].columns[GPU_WIDTH];
        t.bias_width = (double)m->shares[slot].columns[GPU_BIAS_WIDTH];
        log_ratio += (double)gpu_shared_log(m->forests[slot], row->features);
    }
    uint32_t own = device != FT_NONE ? gpu_slot(device, kind) : slot;
    if (own != slot && m->forests[own] != NULL && has_type(&m->shares[own], dtype)) {
        t.is_known_device = true;
        t.width = (double)m->shares[own].columns[GPU_WIDTH];
        t.bias_width = (double)m->shares[own].columns[GPU_BIAS_WIDTH];
        log_ratio += (double)forest_predict_row(m->forests[own], row->features);
    }
    t.us = row->anchor_us * exp(fmin(fmax(log_ratio, -MAX_LOG), MAX_LOG));
    return t;
}
