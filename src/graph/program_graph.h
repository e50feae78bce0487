/* program_graph.h - a tensor program as a graph: one operator without inputs, which holds the program's text.
 *
 * So a program is stored, split, trained on and asked about like any other model; whoever knows programs asks for the
 * text, and to everybody else it is an operator that they do not know. */
#ifndef GRAPH_PROGRAM_GRAPH_H
#define GRAPH_PROGRAM_GRAPH_H

#include "graph/graph.h"

ft_status program_graph_new(const char *text, ft_graph **graph, ft_error *error);
/* NULL: it is no program. */
const char *program_graph_text(const ft_graph *graph);

#endif
