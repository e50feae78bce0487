/* torch_scalar.h - what torch.compile leaves to be taken one element after the other on a processor.
 *
 * Its loops take a vector of elements at once, and share the work among the cores, so that hardly any of them matters
 * beside a convolution. A few they cannot: those are slower by two orders of magnitude, and decide how long a model
 * takes. */
#ifndef PREDICTOR_TORCH_SCALAR_H
#define PREDICTOR_TORCH_SCALAR_H

#include "graph/fuse.h"
#include "predictor/torch/torch_kernel.h"

/* Elements that the core which has most of them takes one by one, of the whole batch; `k` tells the kind and the
 * scores of attention. */
double torch_scalar_elems(const ft_graph *graph, const ft_kernel *kernel, const torch_kernel *k);

#endif
