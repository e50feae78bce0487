/* arguments.h - checks of what callers of the public functions pass. They fail with FT_ERR_USAGE. */
#ifndef GRAPH_ARGUMENTS_H
#define GRAPH_ARGUMENTS_H

#include "graph/graph.h"

/* `what` opens the remedy: "costs need". */
ft_status graph_check_bound(const ft_graph *graph, const char *what, ft_error *error);
/* `what` names the field: "request: dtype". */
ft_status dtype_check(ft_dtype dtype, const char *what, ft_error *error);
/* Sizes, ranks and pointers of a binding, which is not NULL. */
ft_status binding_check(const ft_binding *binding, ft_error *error);

#endif
