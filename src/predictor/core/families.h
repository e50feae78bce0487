/* families.h - the list of predictor families, in the order in which they are presented; the first is the default.
 *
 * X(name): `const family family_<name>`, defined in one file of a sub-folder. A new family is that file and a line
 * here. */
#ifndef PREDICTOR_CORE_FAMILIES_H
#define PREDICTOR_CORE_FAMILIES_H

#include "predictor/core/family.h"

/* clang-format off */
#define FAMILY_LIST(X)                                                                                                 \
    /* times of models: sums of learned kernel times */                                                                \
    X(kernel_sum)      /* kernel/: on runtimes with fusion rules */                                                    \
    X(kernel_sum_wide) /* kernel/: the same with a larger network */                                                   \
    X(torch_sum)       /* torch/: steps under PyTorch, also from data sheets */                                        \
    X(gpu_kernels)     /* gpu/: kernels of GPUs, also from data sheets */                                             \
    X(ethos_u)         /* npu/: Arm Ethos-U, as its compiler schedules it */                                           \
    /* baselines that the other families are compared with */                                                          \
    X(kernel_nnls)     /* baseline/: non-negative unit costs of each type of kernel */                                 \
    X(totals_gbt)      /* baseline/: boosted trees on totals of the graph */                                           \
    X(roofline)        /* baseline/: the sum over kernels of max(FLOPs / peak, bytes / bandwidth) */                   \
    X(flops_mem)       /* baseline/: a + b * FLOPs + c * bytes */                                                      \
    X(flops)           /* baseline/: a + b * FLOPs */                                                                  \
    /* memory of GPUs */                                                                                               \
    X(memory_replay)   /* memory/: the step replayed through the caching allocator */                                  \
    X(memory_plan)     /* memory/: its timeline and a constant, for comparison */                                      \
    /* utilisation of GPUs */                                                                                          \
    X(gpu_util)        /* utilisation/: kernels over the time of the step */                                           \
    X(gpu_power)       /* utilisation/: power of the kernels of a step */                                              \
    /* graph networks of the literature */                                                                             \
    X(digraph)         /* peers/: GIN, GCN, GAT or SAGE over kernels */                                                \
    X(perfsage)        /* peers/: PerfSAGE */                                                                          \
    X(seernet)         /* peers/: PerfSeer's SeerNet */                                                                \
    X(seernet_multi)   /* peers/: SeerNet with several metrics */                                                      \
    /* tensor programs */                                                                                              \
    X(leaf_sequence)   /* program/: a transformer over the leaves of a loop nest */                                    \
    X(step_sequence)   /* program/: the same over schedule steps */                                                    \
    X(leaf_gbt)        /* program/: boosted trees over the features of leaves */                                       \
    X(nest_gbt)        /* program/: boosted trees over the features of the loop nest */                                \
    X(task_median)     /* program/: the median time of a task */
/* clang-format on */

#define FAMILY_DECLARE(name) extern const family family_##name;
FAMILY_LIST(FAMILY_DECLARE)
#undef FAMILY_DECLARE

#endif
