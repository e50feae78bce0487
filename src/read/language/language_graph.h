/* language_graph.h - the graph of a language model: names and operators as the exporter of ONNX Runtime GenAI has them.
 *
 * Dimensions are the symbols batch, sequence (tokens of this run), past (tokens in the caches before it) and logits
 * (positions whose logits are computed: 1 unless it is bound, as for the next token; a training step has all of them).
 * A model with experts has one operator for those of a layer. */
#ifndef READ_LANGUAGE_LANGUAGE_GRAPH_H
#define READ_LANGUAGE_LANGUAGE_GRAPH_H

#include "base/error.h"
#include "read/language/language_model.h"

/* A finished graph. `model` must have passed language_check. */
ft_status language_graph_make(const language_model *model, ft_format format, ft_graph **graph, ft_error *error);

#endif
