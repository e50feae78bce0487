/* kernel_table.c - see kernel_table.h. */
#include "predictor/kernel/kernel_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ft_status kernel_models_open(kernel_models *models, const double *labels, ft_error *error) {
    if (models->count >= models->capacity) {
        uint32_t capacity = models->capacity;
        FT_TRY(row_grow((void **)&models->labels, models->count, &capacity, models->devices * sizeof(double), error));
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
    FT_TRY(row_grow((void **)&models->index, *end, &models->index_capacity, sizeof *models->index, error));
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
