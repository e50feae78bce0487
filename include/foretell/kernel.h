/* kernel.h - kernels: operators fused by the rules of a runtime into the units that a device launches.
 *
 * Rules are data: a small JSON file per runtime (rules/, docs/fusion.md). The bundled rule sets are compiled in;
 * ft_rules_open also accepts the path of a rule file. */
#ifndef FORETELL_KERNEL_H
#define FORETELL_KERNEL_H

#include "foretell/graph.h"

FT_C_BEGIN

typedef struct ft_rules ft_rules;

/* `name`: "tflite-cpu", "tflite-gpu", "openvino-vpu", "torch-eager", "torch-compile", or a path with a '/' or ".json".
 */
FT_API ft_status ft_rules_open(const char *name, ft_rules **rules, ft_error *error);
FT_API const char *ft_rules_name(const ft_rules *rules);
FT_API void ft_rules_free(ft_rules *rules);
/* The bundled rule sets: count, name and one line of description. */
FT_API uint32_t ft_rules_count(void);
FT_API const char *ft_rules_name_at(uint32_t index);
FT_API const char *ft_rules_text_at(uint32_t index);

typedef struct ft_kernel {
    const char *type;    /* "conv-bn-relu", "hswish", "dwconv-bn" */
    const uint32_t *ops; /* operators of the graph, ascending */
    uint32_t op_count;
    uint32_t root; /* main operator, whose shape is that of the kernel: the one that the others were fused with */
} ft_kernel;

typedef struct ft_kernels {
    const ft_kernel *items; /* in a valid launch order */
    uint32_t count;
    const uint32_t *kernel_of_op; /* per operator of the graph; FT_NONE for folded operators */
    const bool *is_free; /* per operator: launches no kernel with these rules, so it moves no bytes; may be NULL */
    void *owner;
} ft_kernels;

/* Every operator that is not folded is in exactly one kernel. */
FT_API ft_status ft_graph_fuse(const ft_graph *bound, const ft_rules *rules, ft_kernels *kernels, ft_error *error);
FT_API void ft_kernels_free(ft_kernels *kernels);

FT_C_END

#endif
