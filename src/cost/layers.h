/* layers.h - layers of a model: which of its repeated blocks an operator belongs to.
 *
 * No format marks them, but exporters name weights and operators after the module that owns them: "model.layers.12.".
 */
#ifndef COST_LAYERS_H
#define COST_LAYERS_H

#include "base/arena.h"
#include "graph/graph.h"

typedef struct model_layers {
    uint32_t count;  /* 0: no names with numbers */
    uint32_t *of_op; /* per operator: 0 before the first layer, 1 to `count`, `count` + 1 behind the last */
} model_layers;

/* False when out of memory. */
bool layers_find(const ft_graph *graph, arena *memory, model_layers *layers);

#endif
