/* graph_finish.c - the last step of construction: producers and readers of each tensor, topological order of the
 * operators, and the errors of invalid graphs. */
#include <assert.h>

#include "graph/graph.h"

static ft_status find_producers(ft_graph *graph, ft_error *error) {
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->output_count; k++) {
            if (op->outputs[k] == FT_NONE) continue;
            assert(graph->tensors != NULL);
            ft_tensor *t = &graph->tensors[op->outputs[k]];
            if (t->producer != FT_NONE)
                return ft_fail(error, FT_ERR_GRAPH, "tensor '%s' has two producers, '%s' and '%s' (%s)", t->name,
                               graph->ops[t->producer].name, op->name, op->type);
            if (t->role == FT_INPUT || t->role == FT_CONSTANT)
                return ft_fail(error, FT_ERR_GRAPH, "operator '%s' (%s) writes tensor '%s', which is %s", op->name,
                               op->type, t->name, t->role == FT_INPUT ? "a graph input" : "a stored constant");
            t->producer = i;
        }
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            const ft_tensor *t = op_input(graph, op, k);
            if (t != NULL && t->role == FT_ACTIVATION && t->producer == FT_NONE)
                return ft_fail(error, FT_ERR_GRAPH,
                               "operator '%s' (%s) reads tensor '%s', which is neither computed nor stored", op->name,
                               op->type, t->name);
        }
    }
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        assert(graph->tensors != NULL);
        const ft_tensor *t = &graph->tensors[graph->outputs.items[i]];
        if (t->role == FT_ACTIVATION && t->producer == FT_NONE)
            return ft_fail(error, FT_ERR_GRAPH, "graph output '%s' is not computed by any operator", t->name);
    }
    return FT_OK;
}

/* The readers of all tensors, as one array with a range per tensor. */
static ft_status find_uses(ft_graph *graph, ft_error *error) {
    size_t total = 0;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            if (op->inputs[k] == FT_NONE) continue;
            graph->tensors[op->inputs[k]].use_count++;
            total++;
        }
    }
    uint32_t *uses = ARENA_ARRAY(&graph->memory, uint32_t, total);
    if (uses == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        graph->tensors[i].uses = uses;
        uses += graph->tensors[i].use_count;
        graph->tensors[i].use_count = 0;
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            if (op->inputs[k] == FT_NONE) continue;
            ft_tensor *t = &graph->tensors[op->inputs[k]];
            ((uint32_t *)(uintptr_t)t->uses)[t->use_count++] = i;
        }
    }
    return FT_OK;
}

static bool is_sorted(const ft_graph *graph) {
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            const ft_tensor *t = op_input(graph, op, k);
            if (t != NULL && t->producer != FT_NONE && t->producer >= i) return false;
        }
    }
    return true;
}

typedef struct op_heap {
    uint32_t *items;
    uint32_t count;
} op_heap;

static void heap_push(op_heap *heap, uint32_t item) {
    uint32_t i = heap->count++;
    for (; i > 0 && heap->items[(i - 1) / 2] > item; i = (i - 1) / 2) heap->items[i] = heap->items[(i - 1) / 2];
    heap->items[i] = item;
}

static uint32_t heap_pop(op_heap *heap) {
    assert(heap->count > 0);
    uint32_t top = heap->items[0], last = heap->items[--heap->count], i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) child++;
        if (heap->items[child] >= last) break;
        heap->items[i] = heap->items[child];
        i = child;
    }
    heap->items[i] = last;
    return top;
}

/* Kahn's algorithm; among the operators that are ready, the first in the file goes first. */
static ft_status sort_ops(ft_graph *graph, ft_error *error) {
    if (is_sorted(graph)) return FT_OK;
    uint32_t count = graph->op_count;
    uint32_t *waiting = ARENA_ARRAY(&graph->memory, uint32_t, count);
    op_heap ready = {.items = ARENA_ARRAY(&graph->memory, uint32_t, count)};
    ft_op *sorted = ARENA_ARRAY(&graph->memory, ft_op, count);
    if (waiting == NULL || ready.items == NULL || sorted == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        const ft_op *op = &graph->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            const ft_tensor *t = op_input(graph, op, k);
            if (t != NULL && t->producer != FT_NONE) waiting[i]++;
        }
        if (waiting[i] == 0) heap_push(&ready, i);
    }
    uint32_t done = 0;
    while (ready.count > 0) {
        uint32_t i = heap_pop(&ready);
        const ft_op *op = &graph->ops[i];
        sorted[done++] = *op;
        for (uint32_t k = 0; k < op->output_count; k++) {
            const ft_tensor *t = op_output(graph, op, k);
            for (uint32_t u = 0; t != NULL && u < t->use_count; u++) {
                if (--waiting[t->uses[u]] == 0) heap_push(&ready, t->uses[u]);
            }
        }
    }
    for (uint32_t i = 0; i < count && done < count; i++) {
        if (waiting[i] > 0)
            return ft_fail(error, FT_ERR_GRAPH, "the graph has a cycle through operator '%s' (%s)", graph->ops[i].name,
                           graph->ops[i].type);
    }
    assert(done == count);
    graph->ops = sorted;
    graph->op_capacity = count;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        assert(graph->tensors != NULL);
        graph->tensors[i].producer = FT_NONE;
        graph->tensors[i].use_count = 0;
    }
    FT_TRY(find_producers(graph, error));
    return find_uses(graph, error);
}

ft_status graph_finish(ft_graph *graph, ft_error *error) {
    FT_TRY(find_producers(graph, error));
    FT_TRY(find_uses(graph, error));
    FT_TRY(sort_ops(graph, error));
    assert(is_sorted(graph));
    return FT_OK;
}
