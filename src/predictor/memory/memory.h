/* memory.h - the families "memory-replay" and "memory-plan": peak memory of GPUs under PyTorch.
 *
 * A step is replayed through the caching allocator (cost/allocator.h), the context of a process is added, and trees
 * correct what the replay gets wrong. Their features are one row of numbers: sizes are relative to what replay and a
 * typical context take together, so that trees learn relative errors and not how large models are. */
#ifndef PREDICTOR_MEMORY_MEMORY_H
#define PREDICTOR_MEMORY_MEMORY_H

#include "cost/allocator.h"
#include "nn/tree/trees.h"
#include "predictor/core/family.h"

/* --- Features (memory_row.c) --------------------------------------------------------------------------------- */

#define MEMORY_SCHEMA "memory/2" /* changes with the meaning of any feature */

enum {
    MEMORY_SIZES = 21,
    MEMORY_CLASSES = 9,
    MEMORY_OTHERS = 13,
    MEMORY_FEATURES = MEMORY_SIZES + MEMORY_CLASSES + MEMORY_OTHERS
};

typedef struct memory_row {
    allocator_replay replayed;
    double coverage_ratio; /* of the operators */
    float items[MEMORY_FEATURES];
} memory_row;

/* `limit`: bytes that the device has. "optimizer=NAME" in the setting overrides the optimiser of the request. */
ft_status memory_row_make(model_view *s, uint64_t limit, memory_row *row, ft_error *error);

/* --- The model (memory_fit.c) -------------------------------------------------------------------------------- */

typedef struct memory_model {
    uint32_t device_count;
    float *contexts;    /* per device: MiB that a process takes before its first tensor */
    forest *correction; /* log(measured / (context + replay)) */
    forest *spread;     /* log of the error of that, */
    float widening;     /* and the factor for which nine of ten errors are inside */
} memory_model;

enum { MEMORY_SETTING_COUNT = 7 };
extern const ft_setting memory_settings[MEMORY_SETTING_COUNT], memory_plan_setting;

memory_model *memory_model_new(uint32_t device_count); /* NULL when out of memory */
void memory_model_free(memory_model *m);

ft_status memory_fit(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error);
/* The baseline: the timeline's peak and a context, without allocator and trees. */
ft_status memory_fit_plan(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error);

/* Bytes of the device less the context; practically unlimited when the data sheet does not have them. */
uint64_t memory_limit(const ft_device *sheet, double context_bytes);

#endif
