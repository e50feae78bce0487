/* training.h - the graph that a training step runs.
 *
 *   adapters.c  a bound graph with adapters beside frozen weights, without the caches of inference
 *   loss.c      the graph of a rank with its loss */
#ifndef TRAINING_TRAINING_H
#define TRAINING_TRAINING_H

#include "foretell/training.h"
#include "graph/graph.h"

/* FT_ERR_USAGE when a target matches no product: the message lists those that there are. `bound` must outlive the
 * result. */
ft_status training_graph_make(const ft_graph *bound, const ft_training *training, ft_graph **graph, ft_error *error);

/* Cross-entropy behind the logits, in float32; a graph without logits is copied as it is. Activations are in `dtype`,
 * or as they are in the graph where that is FT_DTYPE_UNKNOWN. `rank` must outlive the result. */
ft_status training_loss_add(const ft_graph *rank, ft_dtype dtype, ft_graph **graph, ft_error *error);

/* --- Copying graphs (copy.c) ------------------------------------------------------------------------------------- */

/* A new graph with the tensors of another, under the same indexes. */
ft_status training_copy_tensors(const ft_graph *from, ft_graph **to, ft_error *error);
/* Inputs and outputs that still have readers or makers, metadata; then the graph is finished and bound. */
ft_status training_copy_end(const ft_graph *from, ft_graph *to, ft_error *error);
/* A new tensor of the type and shape of another. */
ft_status training_like(ft_graph *graph, uint32_t tensor, const char *suffix, uint32_t *made, ft_error *error);
/* An operator without attributes. */
ft_status training_op(ft_graph *graph, const char *type, const char *name, const uint32_t *inputs, uint32_t count,
                      uint32_t output, ft_error *error);

#endif
