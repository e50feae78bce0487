/* linear.h - time as a sum of a few totals of the graph, each times a constant of the device that is not negative. */
#ifndef PREDICTOR_LINEAR_H
#define PREDICTOR_LINEAR_H

#include "predictor/core/family.h"

enum { LINEAR_MAX_COLUMNS = 3 };

typedef struct linear_model {
    uint32_t columns; /* 2: 1 and FLOPs; 3: bytes too */
    uint32_t device_count;
    float *weights; /* device after device, a weight per column */
} linear_model;

linear_model *linear_new(uint32_t columns, uint32_t device_count); /* NULL when out of memory */
void linear_free(void *model);
ft_status linear_fit(uint32_t columns, const fit_set *set, const fit_context *context, void **out, ft_error *error);
void linear_row(const ft_cost *cost, double row[LINEAR_MAX_COLUMNS]);

#endif
