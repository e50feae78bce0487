/* naming.h - what the name of a stored tensor tells about it.
 *
 * Names are for people, with one exception: exporters of ONNX name what a module holds after the module and what they
 * computed after the operator, and no field of the file says it otherwise. Whoever drops names (data sets do) keeps
 * this. */
#ifndef GRAPH_NAMING_H
#define GRAPH_NAMING_H

#include "graph/graph.h"

typedef enum name_kind {
    NAME_PLAIN,
    NAME_MEMBER,   /* "stages.0.act.scale", as PyTorch names what a module holds */
    NAME_COMPUTED, /* "/attn/Transpose_output_0": the exporter's own work */
    NAME_LITERAL,  /* "/attn/Constant_output_0": a number in the program */
} name_kind;

name_kind tensor_name_kind(const ft_graph *graph, const ft_tensor *tensor);
/* A name that is of this kind. */
const char *name_kind_example(name_kind kind);

#endif
