/* kernel_nnls.h - each type of kernel has prices: per launch, per FLOP, per byte, per parameter; a model is their sum.
 *
 * A kind is a kernel's type with the size of its window ("conv-bn-relu:3"). Kinds that a device was not trained on have
 * the prices of all kernels together. */
#ifndef PREDICTOR_KERNEL_NNLS_H
#define PREDICTOR_KERNEL_NNLS_H

#include "base/map.h"
#include "predictor/core/family_common.h"
#include "predictor/core/runtimes.h"
#include "predictor/core/families.h"

enum {
    KIND_BYTES = 96,  /* of the name of a kind, with its end; longer ones are cut */
    KIND_PRICES = 4,  /* launch, FLOP, byte, parameter */
    KIND_FLOATS = 5,  /* the prices, and whether it was in training */
    KINDS_MAX = 2000, /* columns of least squares are limited */
};

typedef struct nnls_model {
    arena memory; /* of the names and the map */
    runtimes runtimes;
    uint32_t device_count, kind_count;
    const char **kinds;
    map index;      /* from a kind to its number */
    float *weights; /* per device: KIND_FLOATS per kind, KIND_PRICES of all kernels together, the start */
} nnls_model;

static inline size_t nnls_stride(const nnls_model *m) {
    return (size_t)m->kind_count * KIND_FLOATS + KIND_PRICES + 1;
}

nnls_model *nnls_new(uint32_t device_count); /* NULL when out of memory */
void nnls_free(void *model);
/* Copies the names and makes room for the weights. */
ft_status nnls_set_kinds(nnls_model *m, const char *const *kinds, uint32_t count, ft_error *error);
extern const ft_setting nnls_setting;
ft_status nnls_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);

/* What a kernel is priced by: 1, FLOPs, bytes, parameters. */
typedef struct kind_row {
    char kind[KIND_BYTES];
    double amounts[KIND_PRICES];
} kind_row;

void kind_row_of(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels, uint32_t kernel, kind_row *row);

#endif
