/* row_table.h - distinct rows of bytes, each once: models share most of their kernels, and what is computed per kernel
 * is computed once per distinct one. */
#ifndef PREDICTOR_ROW_TABLE_H
#define PREDICTOR_ROW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct row_table {
    size_t size; /* of a row */
    char *rows;
    uint32_t count, capacity;
    uint32_t *slots; /* row + 1, by hash; 0 = free */
    uint32_t slot_count;
} row_table;

/* The row's number, which is new when no equal row was there. */
ft_status row_table_add(row_table *table, const void *row, uint32_t *number, ft_error *error);
void row_table_free(row_table *table);

/* Makes room for one more item of `size` bytes in an array of the caller's. */
ft_status row_grow(void **items, uint32_t count, uint32_t *capacity, size_t size, ft_error *error);

#endif
