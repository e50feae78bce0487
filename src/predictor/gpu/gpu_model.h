/* gpu_model.h - a trained "gpu-kernels" predictor.
 *
 * Each class of kernels has a forest for the logarithm of measured over anchor, which all devices share, and one more
 * per device and kind that corrects it where that device was measured. */
#ifndef PREDICTOR_GPU_MODEL_H
#define PREDICTOR_GPU_MODEL_H

#include "nn/tree/trees.h"
#include "predictor/core/family.h"
#include "predictor/gpu/gpu_rows.h"

/* Half of the 90 % interval, as a logarithm, and types that were measured. Floats, since predictor files store them. */
enum {
    GPU_WIDTH,        /* of a kernel: unseen shapes of a measured device, or another device */
    GPU_BIAS_WIDTH,   /* of the mean over many kernels of a model */
    GPU_TYPES,        /* bits of ft_dtype */
    GPU_SHARE_COLUMNS /* of a kind on a device, or of a kind alone */
};

typedef struct gpu_share {
    float columns[GPU_SHARE_COLUMNS];
} gpu_share;

typedef struct gpu_model {
    uint32_t device_count;
    gpu_sheet *sheets; /* per device */
    gpu_share *shares; /* per class, followed by those per device and class */
    forest **forests;  /* in the same order; NULL: not measured */
    ft_rules *eager, *compiled;
    char view_keys[4]; /* whose addresses are keys of cached works */
} gpu_model;

/* Kinds in float32 and in narrower types are classes of their own: other units compute them. */
enum { GPU_CLASSES = 2 * GPU_KINDS };

static inline uint32_t gpu_class(gpu_kind kind, ft_dtype dtype) {
    return (uint32_t)kind + (ft_dtype_bits(dtype) < 32 ? GPU_KINDS : 0);
}

/* The index of a class that all devices share (device FT_NONE), or of a device. */
static inline uint32_t gpu_slot(uint32_t device, uint32_t kind_class) {
    return (device == FT_NONE ? 0 : device + 1) * GPU_CLASSES + kind_class;
}
static inline uint32_t gpu_slots(uint32_t device_count) {
    return (device_count + 1) * GPU_CLASSES;
}

/* Settings of a fit. */
enum { GPU_ROUNDS, GPU_DEPTH, GPU_ETA, GPU_DEVICE_ROUNDS, GPU_DEVICE_DEPTH, GPU_MAX_ROWS, GPU_FOLDS, GPU_SETTINGS };
extern const ft_setting gpu_settings[GPU_SETTINGS];

ft_status gpu_model_new(uint32_t device_count, gpu_model **out, ft_error *error);
void gpu_model_free(void *model);
ft_status gpu_model_save(const void *model, json_t **params, float_block *block, ft_error *error);
ft_status gpu_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                         uint32_t device_count, void **out, ft_error *error);
ft_status gpu_model_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);
ft_status gpu_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error);

/* What the trees that all devices share make of a row: the logarithm of measured over anchor. */
float gpu_shared_log(const forest *trees, const float features[static GPU_FEATURES]);

/* The time of a launch, and whether its kind and type were measured on the device. */
typedef struct gpu_time {
    double us;
    double width, bias_width; /* half of intervals, as logarithms */
    bool is_known_kind, is_known_device;
} gpu_time;

gpu_time gpu_model_time(const gpu_model *m, uint32_t device, const gpu_work *work, const gpu_row *row, ft_dtype dtype);

#endif
