/* torch_walk.h - what PyTorch makes of a graph between its kernels: which operators are views, what type autocast gives
 * each tensor, and so the bytes that a kernel reads, writes and casts. */
#ifndef PREDICTOR_TORCH_WALK_H
#define PREDICTOR_TORCH_WALK_H

#include "predictor/torch/torch_kernel.h"

typedef struct torch_walk {
    const ft_graph *graph;
    const ft_kernels *kernels;
    uint8_t *rules; /* per operator: how autocast treats it */
    bool *is_wide;  /* per tensor: autocast makes it float32 */
    bool *is_view;  /* per operator: the rules take it for a copy, but it needs none */
} torch_walk;

ft_status torch_walk_begin(const ft_graph *graph, const ft_kernels *kernels, arena *memory, torch_walk *w,
                           ft_error *error);
/* Whether an operator launches nothing. */
bool torch_walk_is_free(const torch_walk *w, uint32_t op);
/* Adds what a kernel reads, writes and casts, and how many tensors it reads. */
void torch_walk_add_bytes(const torch_walk *w, uint32_t number, torch_kernel *k);

#endif
