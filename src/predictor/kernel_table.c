/* kernel_table.c - see kernel_table.h. */
#include "predictor/kernel_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/num.h"

/* Makes room for one more item of `size` bytes. */
static ft_status grow(void **items, uint32_t count, uint32_t *capacity, size_t size, ft_error *error) {
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

/* --- Distinct kernels ---------------------------------------------------------------------------------------- */

/* Equal to the bit, as their hashes are; structs of floats have no holes. */
static bool is_same(const kernel_row *a, const kernel_row *b) {
    return memcmp((const void *)a, (const void *)b, sizeof *a) == 0;
}

/* The slot of an equal row, or the free one where it belongs. */
static uint32_t find_slot(const kernel_table *table, const kernel_row *row) {
    uint32_t mask = table->slot_count - 1, slot = (uint32_t)hash_bytes(row, sizeof *row).low & mask;
    while (table->slots[slot] != 0 && !is_same(&table->rows[table->slots[slot] - 1], row)) slot = (slot + 1) & mask;
    return slot;
}

static ft_status widen_slots(kernel_table *table, ft_error *error) {
    uint32_t wanted = table->slot_count > 0 ? table->slot_count * 2 : 1024;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return FT_NOMEM(error);
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (uint32_t i = 0; i < table->count; i++) slots[find_slot(table, &table->rows[i])] = i + 1;
    return FT_OK;
}

ft_status kernel_table_add(kernel_table *table, const kernel_row *row, uint32_t *number, ft_error *error) {
    if (table->count >= table->slot_count / 2) FT_TRY(widen_slots(table, error));
    uint32_t slot = find_slot(table, row);
    if (table->slots[slot] == 0) {
        FT_TRY(grow((void **)&table->rows, table->count, &table->capacity, sizeof *row, error));
        table->rows[table->count++] = *row;
        table->slots[slot] = table->count;
    }
    *number = table->slots[slot] - 1;
    return FT_OK;
}

void kernel_table_free(kernel_table *table) {
    free(table->rows);
    free(table->slots);
    *table = (kernel_table){0};
}

/* --- Models -------------------------------------------------------------------------------------------------- */

ft_status kernel_models_open(kernel_models *models, const double *labels, ft_error *error) {
    if (models->count >= models->capacity) {
        uint32_t capacity = models->capacity;
        FT_TRY(grow((void **)&models->labels, models->count, &capacity, models->devices * sizeof(double), error));
        uint32_t *start = realloc(models->start, ((size_t)capacity + 1) * sizeof *start);
        if (start != NULL) models->start = start;
        uint32_t *repeats = realloc(models->repeats, capacity * sizeof *repeats);
        if (repeats != NULL) models->repeats = repeats;
        if (start == NULL || repeats == NULL) return FT_NOMEM(error);
        models->capacity = capacity;
        if (models->count == 0) start[0] = 0;
    }
    memcpy(&models->labels[(size_t)models->count * models->devices], labels, models->devices * sizeof *labels);
    models->repeats[models->count] = 1;
    models->count++;
    models->start[models->count] = models->start[models->count - 1];
    return FT_OK;
}

ft_status kernel_models_launch(kernel_models *models, uint32_t kernel, ft_error *error) {
    uint32_t *end = &models->start[models->count];
    FT_TRY(grow((void **)&models->index, *end, &models->index_capacity, sizeof *models->index, error));
    models->index[(*end)++] = kernel;
    return FT_OK;
}

void kernel_models_free(kernel_models *models) {
    free(models->start);
    free(models->index);
    free(models->labels);
    free(models->repeats);
    *models = (kernel_models){0};
}
