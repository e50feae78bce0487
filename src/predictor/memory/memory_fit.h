/* memory_fit.h - learning by how much the replay of a step is wrong. */
#ifndef PREDICTOR_MEMORY_FIT_H
#define PREDICTOR_MEMORY_FIT_H

#include "nn/tree/trees.h"
#include "predictor/core/family.h"
#include "predictor/memory/memory_row.h"

typedef struct memory_model {
    uint32_t device_count;
    float *contexts;    /* per device: what a process takes before its first tensor, in MiB */
    forest *correction; /* log(measured / (context + replay)) */
    forest *spread;     /* log of how far off that is, */
    float widening;     /* and what to multiply it with, so that nine of ten are inside */
} memory_model;

enum { MEMORY_SETTING_COUNT = 7 };
extern const ft_setting memory_settings[MEMORY_SETTING_COUNT], memory_plan_setting;

memory_model *memory_model_new(uint32_t device_count); /* NULL when out of memory */
void memory_model_free(memory_model *m);

ft_status memory_fit(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error);
/* The timeline and a context, without allocator and trees: what the above has to beat. */
ft_status memory_fit_plan(const fit_set *set, const fit_context *context, memory_model *m, ft_error *error);

/* Bytes that a device has, less the context; more than there are when nobody knows. */
uint64_t memory_limit(const ft_device *sheet, double context_bytes);

#endif
