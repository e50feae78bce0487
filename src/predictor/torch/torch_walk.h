/* torch_walk.h - a pass over a graph as PyTorch runs it: operators that are views, the type of each tensor under
 * autocast, and from these the bytes that a kernel reads, writes and casts. */
#ifndef PREDICTOR_TORCH_WALK_H
#define PREDICTOR_TORCH_WALK_H

#include "predictor/torch/torch_kernel.h"

typedef struct torch_walk {
    const ft_graph *graph;
    const ft_kernels *kernels;
    uint8_t *rules;       /* per operator: its cast_rule under autocast */
    bool *is_wide;        /* per tensor: float32 under autocast */
    bool *is_view;        /* per operator: a copy by the fusion rules, but a view in PyTorch */
    uint32_t *read_stamp; /* per tensor: the call of torch_walk_add_bytes that last counted it */
    uint32_t stamp;       /* of the call at hand */
} torch_walk;

ft_status torch_walk_begin(const ft_graph *graph, const ft_kernels *kernels, arena *memory, torch_walk *w,
                           ft_error *error);
/* Whether an operator launches nothing. */
bool torch_walk_is_free(const torch_walk *w, uint32_t op);
/* Adds the elements that kernel `number` reads, writes and casts, and the number of tensors it reads. */
void torch_walk_add_bytes(torch_walk *w, uint32_t number, torch_kernel *k);

#endif
