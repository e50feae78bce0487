/* row_table.c - see row_table.h. */
#include "predictor/core/row_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/num.h"

ft_status row_grow(void **items, uint32_t count, uint32_t *capacity, size_t size, ft_error *error) {
    if (count < *capacity) return FT_OK;
    size_t wanted = *capacity > 0 ? (size_t)*capacity * 2 : 256, bytes;
    if (wanted > UINT32_MAX / 2 || !num_mul_size(wanted, size, &bytes))
        return ft_fail(error, FT_ERR_LIMIT, "the data set launches too many kernels");
    void *moved = realloc(*items, bytes);
    if (moved == NULL) return FT_NOMEM(error);
    *items = moved;
    *capacity = (uint32_t)wanted;
    return FT_OK;
}

static const char *row_at(const row_table *table, uint32_t number) {
    return table->rows + (size_t)number * table->size;
}

/* The slot of an equal row, or the free one where it belongs. */
static uint32_t find_slot(const row_table *table, const void *row) {
    uint32_t mask = table->slot_count - 1, slot = (uint32_t)hash_bytes(row, table->size).low & mask;
    while (table->slots[slot] != 0 && memcmp(row_at(table, table->slots[slot] - 1), row, table->size) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static ft_status widen_slots(row_table *table, ft_error *error) {
    uint32_t wanted = table->slot_count > 0 ? table->slot_count * 2 : 1024;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return FT_NOMEM(error);
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (uint32_t i = 0; i < table->count; i++) slots[find_slot(table, row_at(table, i))] = i + 1;
    return FT_OK;
}

ft_status row_table_add(row_table *table, const void *row, uint32_t *number, ft_error *error) {
    if (table->count >= table->slot_count / 2) FT_TRY(widen_slots(table, error));
    uint32_t slot = find_slot(table, row);
    if (table->slots[slot] == 0) {
        FT_TRY(row_grow((void **)&table->rows, table->count, &table->capacity, table->size, error));
        memcpy(table->rows + (size_t)table->count * table->size, row, table->size);
        table->count++;
        table->slots[slot] = table->count;
    }
    *number = table->slots[slot] - 1;
    return FT_OK;
}

void row_table_free(row_table *table) {
    free(table->rows);
    free(table->slots);
    *table = (row_table){.size = table->size};
}
