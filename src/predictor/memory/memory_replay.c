/* memory_replay.c - the families "memory-replay" and "memory-plan": the peak memory of a step as nvidia-smi reports it.
 *
 * Measurements cover training in float32 on the devices of the data set. For everything else (inference, other types,
 * other GPUs) the prediction is the replay with a context, and the interval is wider. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/memory/memory.h"

#define MIB (1024.0 * 1024)

/* Factors for the width of intervals where nothing was measured: on this device, or of this mode and type. */
static const double OTHER_DEVICE = 1.5, OTHER_MODE = 2.5;
/* Bounds of what trees may predict, as logarithms; no trained model reaches them. */
static const double MAX_CORRECTION = 1, MIN_SPREAD = -7, MAX_SPREAD = 2;

static void free_model(void *model) {
    memory_model *m = model;
    memory_model_free((memory_model *)(void *)m);
}

typedef ft_status fit_function(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error);

static ft_status fit_with(fit_function *function, const fit_set *set, const fit_context *context, void **out,
                          ft_error *error) {
    memory_model *m = memory_model_new(set->device_count);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = function(set, context, m, error);
    if (status != FT_OK) {
        memory_model_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit_with(memory_fit, set, context, out, error);
}

static ft_status fit_plan(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit_with(memory_fit_plan, set, context, out, error);
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const memory_model *m = model;
    if (!float_block_add(block, m->contexts, m->device_count) || !float_block_add(block, &m->widening, 1) ||
        !float_block_add_forest(block, m->correction) || !float_block_add_forest(block, m->spread))
        return FT_NOMEM(error);
    *params = json_object();
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status read_block(const float *block, size_t count, memory_model *m, ft_error *error) {
    size_t at = m->device_count;
    if (count < at + 1) return ft_fail(error, FT_ERR_DAMAGED, "has fewer numbers than devices");
    for (uint32_t i = 0; i < m->device_count; i++) {
        if (!(block[i] >= 0 && block[i] <= 1e6F))
            return ft_fail(error, FT_ERR_DAMAGED, "device %u: a context of %g MiB is not possible", i,
                           (double)block[i]);
        m->contexts[i] = block[i];
    }
    m->widening = block[at++];
    if (!(m->widening > 0 && m->widening <= 1e6F))
        return ft_fail(error, FT_ERR_DAMAGED, "the factor of spreads is %g, which is not possible",
                       (double)m->widening);
    const float *trees = block + at;
    size_t left = count - at;
    FT_TRY(block_map_forest(&trees, &left, MEMORY_FEATURES, &m->correction, error));
    FT_TRY(block_map_forest(&trees, &left, MEMORY_FEATURES, &m->spread, error));
    if (left != 0) return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers after its last tree", left);
    return FT_OK;
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    FT_TRY(params_check_empty(params, error));
    memory_model *m = memory_model_new(device_count);
    if (m == NULL) return FT_NOMEM(error);
    ft_status status = read_block(block, count, m, error);
    if (status != FT_OK) {
        memory_model_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

/* The mean of the other devices for one that was not measured. */
static double context_of(const memory_model *m, uint32_t device) {
    if (device != FT_NONE) return (double)m->contexts[device] * MIB;
    double sum = 0;
    for (uint32_t i = 0; i < m->device_count; i++) sum += (double)m->contexts[i] * MIB;
    return m->device_count > 0 ? sum / m->device_count : 0;
}

/* The replayed allocator is that of PyTorch on GPUs. */
static ft_status check_target(const target_device *target, ft_error *error) {
    if (target->index != FT_NONE || target->sheet == NULL) return FT_OK;
    bool is_gpu = strcmp(ft_device_kind(target->sheet), "gpu") == 0;
    if (is_gpu && strncmp(ft_device_runtime(target->sheet), "torch", 5) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "the predictor covers the memory of GPUs under PyTorch, and '%s' is not one",
                   ft_device_name(target->sheet));
}

/* Rows are the same for all devices, except one whose memory is too small for the step. */
static ft_status row_of(model_view *s, uint64_t limit, memory_row *row, ft_error *error) {
    static const char key;
    memory_row *cached = model_view_cached(s, &key);
    if (cached == NULL) {
        cached = ARENA_NEW(&s->memory, memory_row);
        if (cached == NULL) return FT_NOMEM(error);
        FT_TRY(memory_row_make(s, memory_limit(NULL, 0), cached, error));
        model_view_cache(s, &key, cached);
    }
    if (cached->replayed.reserved_bytes > limit) return memory_row_make(s, limit, row, error);
    *row = *cached;
    return FT_OK;
}

static bool is_measured(const model_view *s) {
    bool is_plain = s->request.setting == NULL || strstr(s->request.setting, "compile=yes") == NULL;
    return s->request.mode == FT_TRAIN && is_plain &&
           (s->request.dtype == FT_FLOAT32 || s->request.dtype == FT_DTYPE_UNKNOWN);
}

/* Parts that add up to the value: tensors alive at the peak of the timeline, the context, and what the allocator holds
 * beyond. */
static ft_status make_parts(const memory_row *row, double context, double value, arena *memory, model_output *out,
                            ft_error *error) {
    enum { WEIGHTS, GRADIENTS, OPTIMIZER, ACTIVATIONS, ALLOCATOR, CONTEXT, COUNT };
    static const char *const names[COUNT] = {"weights",     "gradients", "optimizer",
                                             "activations", "allocator", "context"};
    const ft_memory *m = &row->replayed.plan;
    double bytes[COUNT] = {[WEIGHTS] = (double)m->weight_bytes,
                           [GRADIENTS] = (double)m->gradient_bytes,
                           [OPTIMIZER] = (double)m->optimizer_bytes,
                           [ACTIVATIONS] = (double)(m->activation_bytes + m->workspace_bytes),
                           [CONTEXT] = context};
    double left = value;
    for (int i = 0; i < COUNT; i++) left -= bytes[i];
    bytes[ALLOCATOR] = fmax(left, 0);
    /* Trees may predict less than timeline and context together: up to half of the context is reduced first. */
    static const int order[] = {ACTIVATIONS, OPTIMIZER, GRADIENTS, WEIGHTS, CONTEXT};
    double reduced = fmin(context / 2, fmax(-left, 0));
    bytes[CONTEXT] -= reduced;
    left += reduced;
    for (size_t i = 0; left < 0 && i < sizeof order / sizeof order[0]; i++) {
        double taken = fmin(bytes[order[i]], -left);
        bytes[order[i]] -= taken;
        left += taken;
    }
    out->parts = ARENA_ARRAY(memory, ft_part, COUNT);
    if (out->parts == NULL) return FT_NOMEM(error);
    for (int i = 0; i < COUNT; i++) {
        if (bytes[i] > 0) out->parts[out->part_count++] = (ft_part){.type = names[i], .value = bytes[i]};
    }
    return FT_OK;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const memory_model *m = model;
    memory_row row;
    assert(in->target->index == FT_NONE || in->target->index < m->device_count);
    double context = context_of(m, in->target->index), correction = 0;
    bool is_known = in->target->index != FT_NONE, has_label = is_measured(in->view);
    FT_TRY(check_target(in->target, error));
    FT_TRY(row_of(in->view, memory_limit(in->target->sheet, 0), &row, error));
    if (in->view->request.mode == FT_TRAIN) correction = (double)forest_predict_row(m->correction, row.items);
    double spread = (double)forest_predict_row(m->spread, row.items);
    correction = fmin(fmax(correction, -MAX_CORRECTION), MAX_CORRECTION);
    spread = exp(fmin(fmax(spread, MIN_SPREAD), MAX_SPREAD)) * (double)m->widening;
    *out = (model_output){.value = ((double)row.replayed.reserved_bytes + context) * exp(correction),
                          .spread = spread * (!has_label ? OTHER_MODE
                                              : is_known ? 1
                                                         : OTHER_DEVICE),
                          .provenance = has_label && is_known ? FT_LEARNED : FT_EXTRAPOLATED,
                          .coverage_ratio = row.coverage_ratio};
    return in->has_parts ? make_parts(&row, context, out->value, in->memory, out, error) : FT_OK;
}

static ft_status predict_plan(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const memory_model *m = model;
    memory_row row;
    double context = context_of(m, in->target->index);
    FT_TRY(check_target(in->target, error));
    FT_TRY(row_of(in->view, memory_limit(NULL, 0), &row, error));
    *out = (model_output){.value = (double)row.replayed.plan.peak_bytes + context,
                          .spread = 1,
                          .provenance = FT_EXTRAPOLATED,
                          .coverage_ratio = row.coverage_ratio};
    return in->has_parts ? make_parts(&row, context, out->value, in->memory, out, error) : FT_OK;
}

const family family_memory_plan = {
    .name = "memory-plan",
    .text = "memory by the timeline of the graph and a learned constant (metric peak_bytes)",
    .schema = MEMORY_SCHEMA,
    .metric = "peak_bytes",
    .capabilities = FAMILY_ANY_DEVICE | FAMILY_ANY_MODE,
    .settings = &memory_plan_setting,
    .setting_count = 1,
    .fit = fit_plan,
    .save = save,
    .load = load,
    .predict = predict_plan,
    .free = free_model,
};

const family family_memory_replay = {
    .name = "memory-replay",
    .text = "memory of a GPU: a step played through the allocator, corrected by trees (metric peak_bytes)",
    .schema = MEMORY_SCHEMA,
    .metric = "peak_bytes",
    .capabilities = FAMILY_ANY_DEVICE | FAMILY_ANY_MODE | FAMILY_OWN_INTERVALS,
    .settings = memory_settings,
    .setting_count = MEMORY_SETTING_COUNT,
    .fit = fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = free_model,
};
