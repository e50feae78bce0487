/* families.h - all predictor families; families.c lists them in the order in which they are presented. */
#ifndef PREDICTOR_FAMILIES_H
#define PREDICTOR_FAMILIES_H

#include "predictor/core/family.h"

/* Times of models: sums of learned kernel times */
extern const family family_kernel_sum, family_kernel_sum_wide; /* kernel/: on runtimes with fusion rules */
extern const family family_torch_sum;                          /* torch/: steps under PyTorch, also from data sheets */
extern const family family_ethos_u;                            /* npu/: Arm Ethos-U, as its compiler schedules it */

/* Memory of GPUs */
extern const family family_memory_replay; /* memory/: the step replayed through the caching allocator */
extern const family family_memory_plan;   /* memory/: its timeline and a constant, for comparison */

/* Graph networks of the literature (peers/) */
extern const family family_digraph, family_perfsage, family_seernet, family_seernet_multi;

/* Tensor programs (program/) */
extern const family family_leaf_sequence, family_step_sequence, family_leaf_gbt, family_nest_gbt, family_task_median;

/* Baselines that the other families are compared with (baseline/) */
extern const family family_flops;       /* a + b * FLOPs */
extern const family family_flops_mem;   /* a + b * FLOPs + c * bytes */
extern const family family_roofline;    /* the sum over kernels of max(FLOPs / peak, bytes / bandwidth) */
extern const family family_totals_gbt;  /* boosted trees on totals of the graph */
extern const family family_kernel_nnls; /* non-negative unit costs of each type of kernel */

#endif
