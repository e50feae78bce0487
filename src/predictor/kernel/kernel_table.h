/* kernel_table.h - the kernels of a data set under one runtime, each distinct one once, and which models launch them.
 *
 * Models share most of their kernels: the two million launches of 23,000 networks are 150,000 distinct kernels. What is
 * computed per kernel is computed once per distinct one. */
#ifndef PREDICTOR_KERNEL_TABLE_H
#define PREDICTOR_KERNEL_TABLE_H

#include "predictor/core/kernel_rows.h"
#include "predictor/core/row_table.h"

/* The rows of a table of kernels. */
static inline const kernel_row *kernel_table_rows(const row_table *table) {
    return (const kernel_row *)(const void *)table->rows;
}

/* Models with labels: model i launches the kernels index[start[i]] .. index[start[i+1]-1], and took labels[i * devices
 * + d] on device d; NaN where it was not measured. */
typedef struct kernel_models {
    uint32_t devices;
    uint32_t count, capacity;
    uint32_t *start; /* count + 1 */
    uint32_t *index;
    uint32_t index_capacity;
    double *labels;
    uint32_t *repeats; /* how often each model is looked at in an epoch */
} kernel_models;

/* Opens a model without kernels, looked at once; kernels are added to the last one. */
ft_status kernel_models_open(kernel_models *models, const double *labels, ft_error *error);
ft_status kernel_models_launch(kernel_models *models, uint32_t kernel, ft_error *error);
void kernel_models_free(kernel_models *models);

#endif
