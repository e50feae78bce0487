/* layer.h - layers: the parameters an operation needs, named and registered together.
 *
 * layer_x_add registers (before params_finish), layer_x does the forward pass on a tape. Weights are in x out, so that
 * rows are multiplied from the left: x w. Layers are plain structs; copying them is fine. */
#ifndef NN_LAYER_H
#define NN_LAYER_H

#include "nn/ops.h"

/* act(x w + b) */
typedef struct layer_linear {
    param_id weight, bias;
    bool has_bias;
} layer_linear;

layer_linear layer_linear_add(params *p, const char *name, uint32_t in, uint32_t out, bool has_bias);
tensor *layer_linear_apply(tape *t, const layer_linear *l, tensor *x, activation act);

/* GraphSAGE: act(x w + mean of the neighbours' x v + b) */
typedef struct layer_sage {
    param_id own, heard, bias;
} layer_sage;

layer_sage layer_sage_add(params *p, const char *name, uint32_t in, uint32_t out);
tensor *layer_sage_apply(tape *t, const layer_sage *l, tensor *x, neighbours edges, activation act);

#endif
