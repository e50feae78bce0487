/* ethos_u.h - the family "ethos-u": networks on Arm's accelerators as their compiler Vela schedules them.
 *
 * The work of the accelerator is computed (src/npu). Two things are learned: the bytes of compressed weights, which
 * decide the time spent waiting for them and the size of their buffers; and, for stored memory, the bytes that commands
 * and constants add to that. docs/ethos-u.md explains both. */
#ifndef PREDICTOR_NPU_ETHOS_U_H
#define PREDICTOR_NPU_ETHOS_U_H

#include "npu/estimate.h"
#include "predictor/core/family.h"

typedef enum ethos_metric { ETHOS_TIME, ETHOS_CYCLES, ETHOS_ENGINE, ETHOS_SRAM, ETHOS_DRAM, ETHOS_FLASH } ethos_metric;

/* Unit costs of stored memory besides weights and feature maps, in bytes: for each network, pass, byte of other
 * constants, byte of constants of the CPU, byte of scales, slice of weights, and elementwise pass. */
enum { STORE_TERMS = 7 };

typedef struct ethos_model {
    ethos_metric metric;
    uint32_t device_count;
    const npu_arch *archs[NPU_ARCHS];
    npu_compression codes;
    double stores[NPU_ARCHS][STORE_TERMS];
} ethos_model;

/* --- A model view on an accelerator (npu_view.c) ------------------------------------------------------------- */

/* Totals of one network on one accelerator, for one sample. */
typedef struct npu_totals {
    double total_cycles, npu_cycles;
    double sram_bytes, arena_bytes; /* arena: of feature maps in slow memory */
    double weight_bytes, scale_bytes, constant_bytes, slices, elementwise_passes;
} npu_totals;

typedef struct npu_result {
    npu_totals expected; /* with the learned bytes per weight */
    npu_totals large;    /* with a tenth more, to see how uncertain weights move the result */
    const double *pass_cycles;
} npu_result;

/* The passes of a model, computed once per view and valid as long as it. FT_ERR_UNSUPPORTED when no operator runs on
 * the accelerator. */
ft_status npu_view_net(model_view *s, const npu_net **net, ft_error *error);
/* The result on an accelerator, computed once for all metrics. */
ft_status npu_view_result(model_view *s, const npu_arch *arch, const npu_compression *codes, const npu_result **found,
                          ft_error *error);
/* The share of the work that runs on the accelerator. */
ft_status npu_view_coverage(model_view *s, double *ratio, ft_error *error);

/* --- The family (ethos_u.c, ethos_u_fit.c) ------------------------------------------------------------------- */

/* False when the family does not predict it. */
bool ethos_metric_find(const char *name, ethos_metric *metric);
/* The amounts that the unit costs of stored memory are multiplied with. */
void ethos_store_amounts(const npu_net *net, const npu_totals *n, double amounts[static STORE_TERMS]);
/* Sets the accelerators of the devices; an error names a device that is none. */
ft_status ethos_set_devices(ethos_model *m, const char *const *devices, uint32_t count, ft_error *error);

extern const ft_setting ethos_setting;
ft_status ethos_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);

#endif
