/* gpu_data.h - the measured launches of a fit set: features, anchors and labels. */
#ifndef PREDICTOR_GPU_DATA_H
#define PREDICTOR_GPU_DATA_H

#include "predictor/gpu/gpu_model.h"

typedef struct gpu_label {
    float features[GPU_FEATURES];
    float log_ratio; /* of measured over anchor */
    uint32_t device; /* of the fit set */
    uint32_t kind;   /* its class */
    ft_dtype dtype;
} gpu_label;

typedef struct gpu_labels {
    gpu_label *items;
    uint32_t count, capacity;
} gpu_labels;

typedef struct gpu_data {
    gpu_labels train, valid;
    uint32_t *group_of; /* per device: devices of one architecture are a group */
    uint32_t group_count;
} gpu_data;

/* Collects at most about `max_rows` rows of each device and name; rows of models with several launches are left out.
 * Fills m->sheets. */
ft_status gpu_data_gather(const fit_set *set, const fit_context *context, gpu_model *m, double max_rows, gpu_data *data,
                          ft_error *error);
void gpu_data_free(gpu_data *data);

#endif
