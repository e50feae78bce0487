/* gpu_kernels.c - the family "gpu-kernels": times of single kernels on any GPU, and of models as their sum. gpu_work.h
 * has the launches of a model, gpu_rows.h their anchors and features, gpu_model.h the trees, gpu_fit.c their
 * training. */
#include "predictor/core/families.h"
#include "predictor/gpu/gpu_model.h"

const family family_gpu_kernels = {
    .name = "gpu-kernels",
    .text = "the sum over the kernels of a GPU of their analytic times, corrected by trees trained on measured kernels",
    .schema = GPU_ROWS_SCHEMA,
    .settings = gpu_settings,
    .setting_count = GPU_SETTINGS,
    .setting_keys = "attention compile framework kernel library tf32 torch type",
    .capabilities = FAMILY_ANY_DEVICE | FAMILY_ANY_MODE | FAMILY_OWN_INTERVALS | FAMILY_KERNELS,
    .fit = gpu_model_fit,
    .save = gpu_model_save,
    .load = gpu_model_load,
    .predict = gpu_model_predict,
    .free = gpu_model_free,
};
