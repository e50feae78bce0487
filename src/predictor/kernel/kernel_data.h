/* kernel_data.h - a fit set as kernels: for each runtime its devices, its distinct kernels, and the models that launch
 * them. */
#ifndef PREDICTOR_KERNEL_DATA_H
#define PREDICTOR_KERNEL_DATA_H

#include "predictor/core/family.h"
#include "predictor/core/runtimes.h"
#include "predictor/kernel/kernel_table.h"

enum { KERNEL_MAX_DEVICES = 64 }; /* that one predictor knows */

/* One runtime. Kernels of the training part come first in the table: there are `trained` of them. */
typedef struct kernel_side {
    uint32_t device_count;
    uint32_t *devices; /* of the fit set */
    row_table kernels;
    uint32_t trained;
    kernel_models train, valid;
} kernel_side;

typedef struct kernel_data {
    uint32_t side_count;
    kernel_side sides[RUNTIMES_MAX]; /* in the order of the runtimes */
    uint32_t device_count;
    uint32_t *column; /* per device of the fit set: its place among the devices of its side */
} kernel_data;

/* Unpacks, binds and fuses every graph of the set: what takes long before training begins. `has_array`: as
 * in kernel_rows_seen. */
ft_status kernel_data_gather(const fit_set *set, const fit_context *context, const runtimes *r, bool has_array,
                             kernel_data *data, ft_error *error);
void kernel_data_free(kernel_data *data);

#endif
