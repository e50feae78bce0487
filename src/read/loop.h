/* loop.h - trip counts of counting loops, as converted recurrent layers are.
 *
 * The trip count is known when the condition (or one side of an And in it) is "counter < limit", the counter starts at
 * 0, the body adds 1, and the limit does not change. Binding then reads it from the limit. Variables that the body
 * changes are computed by LoopCarry operators. */
#ifndef READ_LOOP_H
#define READ_LOOP_H

#include "graph/graph.h"

typedef struct loop_variables {
    const uint32_t *variables, *results; /* tensors at the begin and at the end of the body */
    uint32_t count;
} loop_variables;

/* The limit of the loop whose operators were added since operator `begin`; FT_NONE for any other loop. */
uint32_t loop_find_limit(const ft_graph *graph, uint32_t begin, uint32_t condition, const loop_variables *all);

#endif
