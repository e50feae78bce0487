/* kernel_nnls.h - the baseline "kernel-nnls": each kind of kernel has non-negative unit costs, per launch, FLOP, byte
 * and parameter; the time of a model is the sum over its kernels.
 *
 * A kind is a kernel's type with the size of its window ("conv-bn-relu:3"). Kinds that were not in training on a device
 * have the unit costs of all kernels together. */
#ifndef PREDICTOR_BASELINE_KERNEL_NNLS_H
#define PREDICTOR_BASELINE_KERNEL_NNLS_H

#include "base/map.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/runtimes.h"

enum {
    KIND_BYTES = 96,  /* of the name of a kind, with its end; longer ones are cut */
    KIND_COSTS = 4,   /* launch, FLOP, byte, parameter */
    KIND_FLOATS = 5,  /* the unit costs, and whether it was in training */
    MAX_KINDS = 2000, /* columns of least squares are limited */
};

typedef struct nnls_model {
    arena memory; /* of the names and the map */
    runtimes runtimes;
    uint32_t device_count, kind_count;
    const char **kinds;
    map index;      /* from a kind to its index */
    float *weights; /* per device: KIND_FLOATS per kind, KIND_COSTS of all kernels together, the start */
} nnls_model;

static inline size_t nnls_stride(const nnls_model *m) {
    return (size_t)m->kind_count * KIND_FLOATS + KIND_COSTS + 1;
}

nnls_model *nnls_new(uint32_t device_count); /* NULL when out of memory */
void nnls_free(void *model);
/* Copies the names and allocates the weights. */
ft_status nnls_set_kinds(nnls_model *m, const char *const *kinds, uint32_t count, ft_error *error);
extern const ft_setting nnls_setting;
ft_status nnls_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);

/* The amounts that the unit costs of a kernel apply to: 1, FLOPs, bytes, parameters. */
typedef struct kind_row {
    char kind[KIND_BYTES];
    double amounts[KIND_COSTS];
} kind_row;

void kind_row_of(const ft_graph *bound, const ft_cost *cost, const ft_kernels *kernels, uint32_t kernel, kind_row *row);

#endif
