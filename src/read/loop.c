/* loop.c - see loop.h. */
#include "read/loop.h"

#include <assert.h>

#include "graph/opdef.h"

/* The operator, of those added since `begin`, that computes a tensor; NULL when none does. */
static const ft_op *find_producer(const ft_graph *graph, uint32_t begin, uint32_t tensor) {
    assert(begin <= graph->op_count);
    for (uint32_t i = graph->op_count; i > begin; i--) {
        const ft_op *op = &graph->ops[i - 1];
        if (op->output_count > 0 && op->outputs[0] == tensor) return op;
    }
    return NULL;
}

static bool is_op(const ft_op *op, const char *name, uint32_t inputs) {
    if (op == NULL || !op_is(op, name) || op->input_count != inputs) return false;
    for (uint32_t i = 0; i < inputs; i++) {
        if (op->inputs[i] == FT_NONE) return false;
    }
    return true;
}

static bool is_stored(const ft_graph *graph, uint32_t tensor, int64_t value) {
    const ft_value *stored = graph->tensors[tensor].value;
    return stored != NULL && stored->count == 1 && stored->ints != NULL && stored->ints[0] == value;
}

/* The limit of a counting loop whose condition is `tensor`, or FT_NONE. */
static uint32_t limit_of(const ft_graph *graph, uint32_t begin, uint32_t tensor, const loop_variables *all) {
    const ft_op *compare = find_producer(graph, begin, tensor);
    bool is_less = is_op(compare, "Less", 2);
    if (!is_less && !is_op(compare, "Greater", 2)) return FT_NONE;
    uint32_t counter = compare->inputs[is_less ? 0 : 1], limit = compare->inputs[is_less ? 1 : 0];
    const ft_op *entry = find_producer(graph, begin, counter);
    if (!is_op(entry, "LoopCarry", 1) || !is_stored(graph, entry->inputs[0], 0)) return FT_NONE;
    if (is_op(find_producer(graph, begin, limit), "LoopCarry", 1)) return FT_NONE;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->variables[i] != counter) continue;
        const ft_op *step = find_producer(graph, begin, all->results[i]);
        if (!is_op(step, "Add", 2)) return FT_NONE;
        uint32_t other = step->inputs[0] == counter ? step->inputs[1] : step->inputs[0];
        bool adds_one = (step->inputs[0] == counter || step->inputs[1] == counter) && is_stored(graph, other, 1);
        return adds_one ? limit : FT_NONE;
    }
    return FT_NONE;
}

uint32_t loop_find_limit(const ft_graph *graph, uint32_t begin, uint32_t condition, const loop_variables *all) {
    const ft_op *both = find_producer(graph, begin, condition);
    if (!is_op(both, "And", 2)) return limit_of(graph, begin, condition, all);
    uint32_t limit = limit_of(graph, begin, both->inputs[0], all);
    return limit != FT_NONE ? limit : limit_of(graph, begin, both->inputs[1], all);
}
