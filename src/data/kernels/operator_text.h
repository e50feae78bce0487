/* operator_text.h - an operator written as text: its name, the shapes of its inputs, its attributes
 * (docs/formats/kernels.md). Measurements of single operators and kernels are stored as graphs of one operator, so that
 * everything that works on data sets of models works on them, too. */
#ifndef DATA_OPERATOR_TEXT_H
#define DATA_OPERATOR_TEXT_H

#include "foretell/graph.h"

typedef struct operator_text {
    const char *op;         /* as ONNX spells it: "Conv", "MatMul" */
    const char *inputs;     /* "Nx64x56x56;64x64x3x3:weight": N is the batch */
    const char *attributes; /* "strides=2x2;group=1"; may be "" */
} operator_text;

enum { OPERATOR_MAX_INPUTS = 32, OPERATOR_MAX_ATTRIBUTES = 32 };

/* Makes a graph of one operator, whose result has a known shape once the graph is bound. */
ft_status operator_text_graph(const operator_text *text, ft_graph **graph, ft_error *error);

/* A graph of several operators in the order in which they ran, each with inputs of its own: their work without the
 * connections between them. */
ft_status operator_texts_graph(const operator_text *texts, uint32_t count, ft_graph **graph, ft_error *error);

#endif
