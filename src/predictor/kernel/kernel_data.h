/* kernel_data.h - training data of the kernel-sum predictor: for each runtime its devices, its distinct kernels, and
 * the models that launch them.
 *
 * Models share most of their kernels: the two million launches of 23,000 networks are 150,000 distinct kernels, so
 * everything per kernel is computed once per distinct one. */
#ifndef PREDICTOR_KERNEL_DATA_H
#define PREDICTOR_KERNEL_DATA_H

#include "predictor/core/family.h"
#include "predictor/core/kernel_rows.h"
#include "predictor/core/runtimes.h"
#include "predictor/core/scan.h"

/* Rows of a table of kernels. */
static inline const kernel_row *kernel_table_rows(const row_table *table) {
    return (const kernel_row *)(const void *)table->rows;
}

/* Models with labels: model i launches kernels index[start[i]] .. index[start[i + 1] - 1]; its time on device d is
 * labels[i * devices + d], NaN if not measured. */
typedef struct kernel_models {
    uint32_t devices;
    uint32_t count, capacity;
    uint32_t *start; /* count + 1 */
    uint32_t *index;
    uint32_t index_capacity;
    double *labels;
    uint32_t *repeats; /* times each model is used in an epoch */
} kernel_models;

/* Adds a model without kernels, used once per epoch; launches are added to the last model. */
ft_status kernel_models_open(kernel_models *models, const double *labels, ft_error *error);
ft_status kernel_models_launch(kernel_models *models, uint32_t kernel, ft_error *error);
void kernel_models_free(kernel_models *models);

enum { KERNEL_MAX_DEVICES = 64 }; /* of one predictor */

/* A side: the devices of one runtime. The first `trained` kernels of the table are those of the training part. */
typedef struct kernel_side {
    uint32_t device_count;
    uint32_t *devices; /* of the fit set */
    row_table kernels;
    uint32_t trained;
    kernel_models train, valid;
} kernel_side;

typedef struct kernel_data {
    uint32_t side_count;
    kernel_side sides[MAX_RUNTIMES]; /* in the order of the runtimes */
    uint32_t device_count;
    uint32_t *column; /* per device of the fit set: its index among the devices of its side */
} kernel_data;

/* Unpacks, binds and fuses every graph of the set, which dominates the time before training. `has_array`: as in
 * kernel_rows_extract_as. */
ft_status kernel_data_gather(const fit_set *set, const fit_context *context, const runtimes *r, bool has_array,
                             kernel_data *data, ft_error *error);
void kernel_data_free(kernel_data *data);

#endif
