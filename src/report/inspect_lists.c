/* inspect_lists.c - operators and kernels of a model in order, summed by type, and which of them are only estimated. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/num.h"
#include "report/facts.h"

/* --- Sorting ------------------------------------------------------------------------------------------------- */

typedef struct keyed {
    uint64_t key;
    uint32_t index;
} keyed;

static int by_key_falling(const void *left, const void *right) {
    const keyed *a = left, *b = right;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint64_t sort_key(ft_sort sort, const ft_work *work, uint64_t params, uint64_t count) {
    switch (sort) {
    case FT_SORT_MACS:
        return work->macs;
    case FT_SORT_FLOPS:
        return work->flops;
    case FT_SORT_PARAMS:
        return params;
    case FT_SORT_BYTES:
        return facts_moved(work);
    case FT_SORT_COUNT:
        return count;
    case FT_SORT_AUTO:
    case FT_SORT_GRAPH:
        break;
    }
    return 0; /* equal keys keep the order of the graph */
}

/* The order of lists of operators and kernels, with "auto" resolved. */
static ft_sort list_sort(const ft_inspect_options *options) {
    if (options->sort != FT_SORT_AUTO) return options->sort;
    return options->top > 0 ? FT_SORT_FLOPS : FT_SORT_GRAPH;
}

static uint32_t shown_of(uint32_t count, uint32_t top) {
    return top > 0 && top < count ? top : count;
}

static ft_status sorted_indices(facts *f, keyed *keys, uint32_t count, const uint32_t **order, ft_error *error) {
    uint32_t *indices = ARENA_ARRAY(&f->memory, uint32_t, count);
    if (indices == NULL) return FT_NOMEM(error);
    if (count > 0) qsort(keys, count, sizeof *keys, by_key_falling);
    for (uint32_t i = 0; i < count; i++) indices[i] = keys[i].index;
    *order = indices;
    return FT_OK;
}

ft_status facts_order_nodes(facts *f, const ft_inspect_options *options, ft_error *error) {
    keyed *keys = ARENA_ARRAY(&f->memory, keyed, f->infer.op_count);
    if (keys == NULL) return FT_NOMEM(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->infer.op_count; i++) {
        const ft_op *op = &ft_graph_ops(f->graph)[i];
        const ft_op_cost *cost = &f->infer.ops[i];
        if (!op->is_folded)
            keys[count++] = (keyed){sort_key(list_sort(options), &cost->forward, cost->params, op->repeats), i};
    }
    assert(count <= f->infer.op_count);
    f->node_count = count;
    f->node_shown = shown_of(count, options->top);
    return sorted_indices(f, keys, count, &f->node_order, error);
}

ft_status facts_order_kernels(facts *f, const ft_inspect_options *options, ft_error *error) {
    FT_TRY(ft_graph_fuse(f->graph, options->rules, &f->kernels, error));
    keyed *keys = ARENA_ARRAY(&f->memory, keyed, f->kernels.count);
    if (keys == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < f->kernels.count; i++) {
        ft_op_cost cost = ft_cost_kernel(f->graph, &f->infer, &f->kernels, i);
        uint64_t op_count = f->kernels.items[i].op_count;
        uint64_t *moved = &f->summary.kernel_moved_bytes;
        if (facts_is_open_kernel(f, &f->kernels.items[i]))
            cost.forward = (ft_work){0};
        else
            *moved = num_add_sat(*moved, facts_moved(&cost.forward));
        keys[i] = (keyed){sort_key(list_sort(options), &cost.forward, cost.params, op_count), i};
    }
    f->kernel_count = f->kernels.count;
    f->kernel_shown = shown_of(f->kernels.count, options->top);
    return sorted_indices(f, keys, f->kernels.count, &f->kernel_order, error);
}

/* --- By type ------------------------------------------------------------------------------------------------- */

static void add_to_type(type_facts *type, const ft_op *op, const ft_op_cost *cost) {
    type->type = op->type;
    type->op_class = ft_op_class_name(ft_opdef_class(op->def));
    type->is_known = ft_opdef_is_known(op->def);
    type->count++;
    type->params = num_add_sat(type->params, cost->params);
    type->macs = num_add_sat(type->macs, cost->forward.macs);
    type->flops = num_add_sat(type->flops, cost->forward.flops);
    type->read_bytes = num_add_sat(type->read_bytes, cost->forward.read_bytes);
    type->write_bytes = num_add_sat(type->write_bytes, cost->forward.write_bytes);
    type->moved_bytes = num_add_sat(type->read_bytes, type->write_bytes);
    type->activation_elems = num_add_sat(type->activation_elems, cost->activation_elems);
    type->estimated_count += cost->is_estimated;
}

static uint64_t type_key(ft_sort sort, const type_facts *type) {
    ft_work work = {type->macs, type->flops, type->read_bytes, type->write_bytes};
    return sort_key(sort, &work, type->params, type->count);
}

/* Puts the types in order and gives each its share of the whole. In the order of the graph, shares are of FLOPs. */
static ft_status rank_types(facts *f, type_facts *types, uint32_t count, ft_sort sort, ft_error *error) {
    if (sort == FT_SORT_AUTO) sort = FT_SORT_FLOPS;
    ft_sort share = sort == FT_SORT_GRAPH ? FT_SORT_FLOPS : sort;
    keyed *keys = ARENA_ARRAY(&f->memory, keyed, count);
    type_facts *ranked = ARENA_ARRAY(&f->memory, type_facts, count);
    const uint32_t *order;
    if (keys == NULL || ranked == NULL) return FT_NOMEM(error);
    double whole = 0, so_far = 0;
    for (uint32_t i = 0; i < count; i++) keys[i] = (keyed){type_key(sort, &types[i]), i};
    FT_TRY(sorted_indices(f, keys, count, &order, error));
    /* Both sums go in the same order, so that the last type ends at exactly 1. */
    for (uint32_t i = 0; i < count; i++) whole += (double)type_key(share, &types[order[i]]);
    for (uint32_t i = 0; i < count; i++) {
        ranked[i] = types[order[i]];
        double part = (double)type_key(share, &ranked[i]);
        so_far += part;
        ranked[i].share_ratio = whole > 0 ? part / whole : 0;
        ranked[i].cumulative_ratio = whole > 0 ? so_far / whole : 0;
    }
    f->types = ranked;
    f->type_count = count;
    f->share_of = ft_sort_name(share);
    f->summary.op_type_count = count;
    return FT_OK;
}

typedef struct type_list {
    type_facts *items;
    uint32_t count, capacity;
    map places; /* from the name of a type to its place in the list */
} type_list;

/* The entry of a type, a new one when it was not met before; NULL when out of memory. */
static type_facts *find_type(type_list *list, const char *type) {
    uint32_t place;
    if (map_get(&list->places, type, &place)) return &list->items[place];
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        type_facts *larger = ARENA_ARRAY(list->places.memory, type_facts, capacity);
        if (larger == NULL) return NULL;
        if (list->count > 0) memcpy(larger, list->items, list->count * sizeof *larger);
        list->items = larger;
        list->capacity = capacity;
    }
    return map_set(&list->places, type, list->count) ? &list->items[list->count++] : NULL;
}

ft_status facts_sum_types(facts *f, const ft_inspect_options *options, ft_error *error) {
    type_list list = {0};
    map_init(&list.places, &f->memory);
    for (uint32_t i = 0; i < f->infer.op_count; i++) {
        const ft_op *op = &ft_graph_ops(f->graph)[i];
        if (op->is_folded) continue;
        type_facts *type = find_type(&list, op->type);
        if (type == NULL) return FT_NOMEM(error);
        add_to_type(type, op, &f->infer.ops[i]);
        if (!facts_is_open(f, i)) continue;
        type->open_count++;
        type->open |= f->op_open[i];
    }
    FT_TRY(rank_types(f, list.items, list.count, options->sort, error));
    f->type_shown = shown_of(list.count, options->top);
    return FT_OK;
}

ft_status facts_list_estimates(facts *f, ft_error *error) {
    estimate_facts *list = ARENA_ARRAY(&f->memory, estimate_facts, f->type_count);
    if (list == NULL) return FT_NOMEM(error);
    uint32_t count = 0;
    for (int is_known = 0; is_known < 2; is_known++) {
        for (uint32_t i = 0; i < f->type_count; i++) {
            const type_facts *type = &f->types[i];
            if (type->estimated_count == 0 || type->is_known != (bool)is_known) continue;
            list[count] = (estimate_facts){.type = type->type,
                                           .count = type->estimated_count,
                                           .reason = type->is_known ? "unknown shape" : "unknown operator",
                                           .rule = "cost from bytes"};
            count++;
        }
    }
    assert(count <= f->type_count);
    f->estimates = list;
    f->estimate_count = count;
    return FT_OK;
}
