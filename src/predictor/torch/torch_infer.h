/* torch_infer.h - what a network of the torch-sum predictor says of labels while it is trained, many at a time. */
#ifndef PREDICTOR_TORCH_INFER_H
#define PREDICTOR_TORCH_INFER_H

#include "predictor/torch/torch_shard.h"

typedef struct torch_infer torch_infer;

/* `inputs` has those of every kernel of the data. They, the data and the network are borrowed. `threads` may be NULL.
 */
ft_status torch_infer_new(const torch_data *data, const float *inputs, const torch_net *net, pool *threads,
                          torch_infer **out, ft_error *error);
void torch_infer_free(torch_infer *a);

/* Logarithms of what labels take, by the network as it is. `order` picks labels, NULL: from the first on. */
ft_status torch_infer_labels(torch_infer *a, const torch_label *labels, const uint32_t *order, uint32_t count,
                             float *logs, ft_error *error);

#endif
