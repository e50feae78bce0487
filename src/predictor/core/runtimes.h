/* runtimes.h - the fusion rules of several devices, each set opened once: model views find kernels by the address of
 * the rules, so devices with the same runtime must share theirs.
 *
 * A predictor stores the names of the rules that it was trained with, so that it depends neither on later data sheets
 * nor on files of the trainer. So these are bundled rules. */
#ifndef PREDICTOR_CORE_RUNTIMES_H
#define PREDICTOR_CORE_RUNTIMES_H

#include "base/json.h"
#include "foretell/dataset.h"
#include "foretell/kernel.h"

#define RUNTIME_UNKNOWN "torch-eager"

enum { MAX_RUNTIMES = 8 };

typedef struct runtimes {
    ft_rules *rules[MAX_RUNTIMES]; /* distinct */
    char *names[MAX_RUNTIMES];
    uint32_t count;
    uint32_t *of_device; /* per device: index of rules */
    uint32_t device_count;
} runtimes;

/* The rules of devices that a data set describes or that are bundled; those of RUNTIME_UNKNOWN for any other. `data`
 * may be NULL. */
ft_status runtimes_open(const ft_dataset *data, const char *const *devices, uint32_t device_count, runtimes *r,
                        ft_error *error);
void runtimes_free(runtimes *r);
const ft_rules *runtimes_rules(const runtimes *r, uint32_t device);

/* As a list of names, one per device; NULL when out of memory. */
json_t *runtimes_save(const runtimes *r);
ft_status runtimes_load(const json_t *names, uint32_t device_count, runtimes *r, ft_error *error);
/* The same as the only parameter of a family, {"runtimes": [...]}. */
ft_status runtimes_params(const runtimes *r, json_t **params, ft_error *error);
ft_status runtimes_from_params(const json_t *params, uint32_t device_count, runtimes *r, ft_error *error);

#endif
