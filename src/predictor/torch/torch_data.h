/* torch_data.h - training data of the torch-sum predictor: distinct kernels, programs that launch them, measured
 * settings, and labels (the time of a program in a setting). */
#ifndef PREDICTOR_TORCH_DATA_H
#define PREDICTOR_TORCH_DATA_H

#include "predictor/core/family.h"
#include "predictor/core/scan.h"
#include "predictor/torch/torch_setting.h"

/* The kernels of a graph. They depend on whether it is compiled, their bytes on the precision; the batch is a factor.
 */
typedef struct torch_program {
    uint32_t graph; /* of the data set */
    bool is_compiled;
    torch_precision precision;
    uint32_t start, count; /* of the launches */
} torch_program;

/* Number of different programs of a graph, and the index of each. */
enum { TORCH_PROGRAM_CODES = 6 };

static inline uint32_t torch_program_code(bool is_compiled, torch_precision precision) {
    return (is_compiled ? 3U : 0U) + (precision.is_mixed ? 0 : precision.bytes == 2 ? 1 : 2);
}

typedef struct torch_launch {
    uint32_t row;
    float times; /* number of launches */
} torch_launch;

typedef struct torch_label {
    uint32_t program, setting;
    float batch;
    float log_us;
    uint32_t family; /* hash of the name of the family of architectures */
} torch_label;

typedef struct torch_labels {
    torch_label *items; /* in the order of their records */
    uint32_t count;
} torch_labels;

typedef struct torch_data {
    row_table kernels; /* of torch_row */
    torch_program *programs;
    uint32_t program_count;
    torch_launch *launches;
    uint32_t launch_count, launch_capacity;
    torch_setting settings[TORCH_MAX_SETTINGS];
    uint32_t setting_count;
    uint32_t groups[TORCH_MAX_SETTINGS]; /* per setting */
    uint32_t group_count;
    torch_sheet *sheets; /* per device of the set */
    torch_labels train, valid;
    arena memory;
} torch_data;

static inline const torch_row *torch_data_rows(const torch_data *data) {
    return (const torch_row *)(const void *)data->kernels.rows;
}

static inline torch_side torch_label_side(const torch_data *data, const torch_label *label) {
    return torch_sheet_side(&data->sheets[data->settings[label->setting].device]);
}

/* Fusion rules: of PyTorch, eager and compiled, and of the runtimes that run its models from a file. */
typedef struct torch_rules {
    ft_rules *eager, *compiled, *tensorrt, *onnxruntime;
} torch_rules;

ft_status torch_rules_open(torch_rules *rules, ft_error *error);
void torch_rules_free(torch_rules *rules);

/* Unpacks, binds and fuses every graph of the set, which dominates the time before training. */
ft_status torch_data_gather(const fit_set *set, const fit_context *context, const torch_rules *rules, torch_data *data,
                            ft_error *error);
void torch_data_free(torch_data *data);

#endif
