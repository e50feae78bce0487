/* npu_look.h - a subject as an accelerator runs it, worked out once for all metrics, and once per accelerator. */
#ifndef PREDICTOR_NPU_LOOK_H
#define PREDICTOR_NPU_LOOK_H

#include "npu/estimate.h"
#include "predictor/core/model_view.h"

/* Numbers of one network on one accelerator, for one sample. */
typedef struct npu_numbers {
    double total_cycles, npu_cycles;
    double sram_bytes, arena_bytes; /* arena: of feature maps in slow memory */
    double weight_bytes, scale_bytes, constant_bytes, slices, elementwise_passes;
} npu_numbers;

typedef struct npu_look {
    npu_numbers usual; /* with weights as the prices say, */
    npu_numbers large; /* and a tenth larger: what is not sure of them */
    const double *pass_cycles;
} npu_look;

/* The network of a subject; lives as long as that. FT_ERR_UNSUPPORTED when nothing of it runs on the accelerator. */
ft_status npu_look_net(model_view *s, const npu_net **net, ft_error *error);
ft_status npu_look_at(model_view *s, const npu_arch *arch, const npu_compression *codes, const npu_look **found,
                      ft_error *error);
/* The share of the work that runs on the accelerator. */
ft_status npu_look_coverage(model_view *s, double *ratio, ft_error *error);

#endif
