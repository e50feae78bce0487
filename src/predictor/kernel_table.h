/* kernel_table.h - the kernels of a data set under one runtime, each distinct one once, and which models launch them.
 *
 * Models share most of their kernels: the two million launches of 23,000 networks are 150,000 distinct kernels. What is
 * computed per kernel is computed once per distinct one. */
#ifndef PREDICTOR_KERNEL_TABLE_H
#define PREDICTOR_KERNEL_TABLE_H

#include "predictor/kernel_rows.h"

typedef struct kernel_table {
    kernel_row *rows;
    uint32_t count, capacity;
    uint32_t *slots; /* row + 1, by hash; 0 = free */
    uint32_t slot_count;
} kernel_table;

/* The row's number, which is new when no equal row was there. */
ft_status kernel_table_add(kernel_table *table, const kernel_row *row, uint32_t *number, ft_error *error);
void kernel_table_free(kernel_table *table);

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
