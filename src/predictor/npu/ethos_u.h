/* ethos_u.h - the family "ethos-u": Arm's accelerators as their compiler sees them, with learned prices of weights.
 *
 * What the accelerator does is computed (src/npu). Two things are learned: how many bytes weights take, which decides
 * how long they are waited for and what their buffers take; and for memory that is stored, what commands and constants
 * add to that. docs/ethos-u.md tells more. */
#ifndef PREDICTOR_ETHOS_U_H
#define PREDICTOR_ETHOS_U_H

#include "predictor/core/family.h"
#include "predictor/npu/npu_look.h"

typedef enum ethos_metric { ETHOS_TIME, ETHOS_CYCLES, ETHOS_ENGINE, ETHOS_SRAM, ETHOS_DRAM, ETHOS_FLASH } ethos_metric;

/* What is stored beside weights and feature maps: for each network, pass, byte of other constants, of constants of the
 * CPU and of scales, slice of weights, and elementwise pass. */
enum { STORE_PRICES = 7 };

typedef struct ethos_model {
    ethos_metric metric;
    uint32_t device_count;
    const npu_arch *archs[NPU_ARCHS];
    npu_compression codes;
    double stores[NPU_ARCHS][STORE_PRICES];
} ethos_model;

/* False when the family does not know it. */
bool ethos_metric_find(const char *name, ethos_metric *metric);
void ethos_store_amounts(const npu_net *net, const npu_numbers *n, double amounts[static STORE_PRICES]);
/* The accelerators of devices; an error names one that is none. */
ft_status ethos_take_devices(ethos_model *m, const char *const *devices, uint32_t count, ft_error *error);

/* ethos_u_fit.c */
extern const ft_setting ethos_setting;
ft_status ethos_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);

#endif
