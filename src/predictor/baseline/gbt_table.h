/* gbt_table.h - the labelled rows of a part as rows of numbers and logarithms of labels, ordered by device. */
#ifndef PREDICTOR_GBT_TABLE_H
#define PREDICTOR_GBT_TABLE_H

#include "nn/tree/boost.h"
#include "predictor/baseline/gbt.h"

typedef struct table {
    const gbt_rows *kind;
    void *extractor;
    const fit_rows *rows;
    size_t *first; /* per device, and the end */
    size_t *place; /* per row of the part */
    float *items, *labels;
} table;

/* Lays the table out; table_free() frees it whatever this returns. */
ft_status table_open(const gbt_rows *kind, void *extractor, const fit_rows *rows, uint32_t device_count, table *t,
                     ft_error *error);
/* Reads the models. `from` and `to` are where that begins and ends in the progress of the fit. */
ft_status table_fill(const fit_set *set, const fit_context *context, double from, double to, table *t, ft_error *error);
void table_free(table *t);

/* The rows of one device. */
boost_rows table_rows(const table *t, uint32_t device);

#endif
