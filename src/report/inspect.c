/* inspect.c - gathers the facts of one model: binds it, asks cost/ for work and memory, and sums by type.
 *
 * Every number comes from cost/; here they are only added up, named and put in order. Inference and training are
 * computed side by side: "forward" figures are those of inference. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/num.h"
#include "report/facts.h"

ft_inspect_options ft_inspect_options_default(void) {
    return (ft_inspect_options){
        .style = ft_style_default(),
        .cost = ft_cost_options_default(),
        .sort = FT_SORT_AUTO,
    };
}

static uint64_t moved_bytes(const ft_work *work) {
    return num_add_sat(work->read_bytes, work->write_bytes);
}

const char *facts_op_name(const ft_graph *graph, const ft_op *op) {
    if (op->name[0] != '\0') return op->name;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i] != FT_NONE) return ft_graph_tensors(graph)[op->outputs[i]].name;
    return "";
}

/* --- Summary ------------------------------------------------------------------------------------------------- */

static void summarise_work(summary_facts *s, const ft_cost *infer, const ft_cost *train) {
    const ft_work *forward = &infer->total.forward;
    const ft_work *data = &train->total.backward_data, *weights = &train->total.backward_weights;
    s->params = infer->total.params;
    s->buffer_elems = infer->buffers;
    s->stored_bytes = infer->stored_bytes;
    s->weight_bytes = infer->weight_bytes;
    s->macs = forward->macs;
    s->flops = forward->flops;
    s->read_bytes = forward->read_bytes;
    s->write_bytes = forward->write_bytes;
    s->moved_bytes = moved_bytes(forward);
    s->flops_per_byte = ft_work_intensity(forward);
    s->activation_elems = infer->total.activation_elems;
    s->conv_matmul_elems = infer->conv_matmul_outputs;
    s->backward_macs = num_add_sat(data->macs, weights->macs);
    s->backward_flops = num_add_sat(data->flops, weights->flops);
    s->optimizer_flops = train->optimizer.flops;
    s->train_macs = num_add_sat(train->total.forward.macs, s->backward_macs);
    s->train_flops = num_add_sat(num_add_sat(train->total.forward.flops, s->backward_flops), s->optimizer_flops);
    s->train_moved_bytes = num_add_sat(num_add_sat(moved_bytes(&train->total.forward), moved_bytes(data)),
                                       num_add_sat(moved_bytes(weights), moved_bytes(&train->optimizer)));
    s->coverage_ratio = infer->coverage_ratio;
    s->coverage_ops_ratio = infer->coverage_ops_ratio;
    s->estimated_op_count = infer->estimated_ops;
}

static const char *phase_name(ft_phase phase) {
    switch (phase) {
    case FT_PHASE_FORWARD:
        return "forward";
    case FT_PHASE_BACKWARD:
        return "backward";
    case FT_PHASE_OPTIMIZER:
        return "optimizer";
    }
    return "unknown";
}

static void name_peak(const ft_graph *graph, uint32_t op, const char **name, const char **type, uint32_t *index) {
    *index = op;
    if (op == FT_NONE) return;
    *name = facts_op_name(graph, &ft_graph_ops(graph)[op]);
    *type = ft_graph_ops(graph)[op].type;
}

static void summarise_memory(summary_facts *s, const ft_graph *graph, const ft_memory *infer, const ft_memory *train) {
    s->peak_infer_bytes = infer->peak_bytes;
    s->peak_infer_weight_bytes = infer->weight_bytes;
    s->peak_infer_activation_bytes = infer->activation_bytes;
    s->peak_infer_workspace_bytes = infer->workspace_bytes;
    name_peak(graph, infer->peak_op, &s->peak_infer_op, &s->peak_infer_op_type, &s->peak_infer_op_index);
    s->peak_train_bytes = train->peak_bytes;
    s->peak_train_weight_bytes = train->weight_bytes;
    s->peak_train_gradient_bytes = train->gradient_bytes;
    s->peak_train_optimizer_bytes = train->optimizer_bytes;
    s->peak_train_activation_bytes = train->activation_bytes;
    s->peak_train_workspace_bytes = train->workspace_bytes;
    name_peak(graph, train->peak_op, &s->peak_train_op, &s->peak_train_op_type, &s->peak_train_op_index);
    s->peak_train_phase = train->peak_op == FT_NONE ? NULL : phase_name(train->peak_phase);
    s->train_saved_bytes = train->saved_bytes;
}

static void summarise_setting(facts *f, const ft_inspect_options *options) {
    summary_facts *s = &f->summary;
    s->batch = (uint64_t)ft_graph_batch(f->graph);
    s->exported_batch = (uint64_t)ft_graph_exported_batch(f->graph);
    s->is_scaled = ft_graph_is_scaled(f->graph);
    s->dtype = options->cost.dtype == FT_DTYPE_UNKNOWN ? NULL : ft_dtype_name(options->cost.dtype);
    s->optimizer = ft_optimizer_name(options->cost.optimizer);
    s->is_mixed = options->cost.is_mixed;
    s->runtime = options->rules == NULL ? NULL : ft_rules_name(options->rules);
    s->kernel_count = f->kernels.count;
    for (uint32_t i = 0; i < ft_graph_op_count(f->graph); i++) {
        if (ft_graph_ops(f->graph)[i].is_folded)
            s->folded_op_count++;
        else
            s->op_count++;
    }
}

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
        return moved_bytes(work);
    case FT_SORT_COUNT:
        return count;
    case FT_SORT_AUTO:
    case FT_SORT_GRAPH:
        break;
    }
    return 0; /* equal keys keep the order of the graph */
}

/* What "auto" means for lists of operators and kernels. */
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

static ft_status order_nodes(facts *f, const ft_inspect_options *options, ft_error *error) {
    keyed *keys = ARENA_ARRAY(&f->memory, keyed, f->infer.op_count);
    if (keys == NULL) return FT_NOMEM(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->infer.op_count; i++) {
        const ft_op *op = &ft_graph_ops(f->graph)[i];
        const ft_op_cost *cost = &f->infer.ops[i];
        if (!op->is_folded)
            keys[count++] = (keyed){sort_key(list_sort(options), &cost->forward, cost->params, op->repeats), i};
    }
    f->node_count = count;
    f->node_shown = shown_of(count, options->top);
    return sorted_indices(f, keys, count, &f->node_order, error);
}

static ft_status order_kernels(facts *f, const ft_inspect_options *options, ft_error *error) {
    FT_TRY(ft_graph_fuse(f->graph, options->rules, &f->kernels, error));
    keyed *keys = ARENA_ARRAY(&f->memory, keyed, f->kernels.count);
    if (keys == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < f->kernels.count; i++) {
        ft_op_cost cost = ft_cost_kernel(f->graph, &f->infer, &f->kernels, i);
        uint64_t op_count = f->kernels.items[i].op_count;
        uint64_t *moved = &f->summary.kernel_moved_bytes;
        *moved = num_add_sat(*moved, moved_bytes(&cost.forward));
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

static ft_status sum_types(facts *f, const ft_inspect_options *options, ft_error *error) {
    type_list list = {0};
    map_init(&list.places, &f->memory);
    for (uint32_t i = 0; i < f->infer.op_count; i++) {
        const ft_op *op = &ft_graph_ops(f->graph)[i];
        if (op->is_folded) continue;
        type_facts *type = find_type(&list, op->type);
        if (type == NULL) return FT_NOMEM(error);
        add_to_type(type, op, &f->infer.ops[i]);
    }
    FT_TRY(rank_types(f, list.items, list.count, options->sort, error));
    f->type_shown = shown_of(list.count, options->top);
    return FT_OK;
}

/* Operators that nobody knows come first, then those that only lack a shape. */
static ft_status list_estimates(facts *f, ft_error *error) {
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
    f->estimates = list;
    f->estimate_count = count;
    return FT_OK;
}

/* --- Symbols ------------------------------------------------------------------------------------------------- */

static bool has_symbol(const symbol_facts *list, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

/* The open dimensions of the inputs are all that binding can choose; the others follow from them. */
static ft_status list_symbols(facts *f, const ft_graph *unbound, ft_error *error) {
    enum { SYMBOLS_MAX = 256 };
    symbol_facts *list = ARENA_ARRAY(&f->memory, symbol_facts, SYMBOLS_MAX);
    if (list == NULL) return FT_NOMEM(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ft_graph_input_count(unbound); i++) {
        uint32_t tensor = ft_graph_inputs(unbound)[i];
        const ft_tensor *open = &ft_graph_tensors(unbound)[tensor];
        const ft_tensor *given = &ft_graph_tensors(f->graph)[tensor];
        for (int32_t d = 0; d < open->rank && d < given->rank; d++) {
            const char *name = ft_dim_symbol(unbound, open->dims[d]);
            if (name != NULL && count < SYMBOLS_MAX && !has_symbol(list, count, name))
                list[count++] = (symbol_facts){name, given->dims[d]};
        }
    }
    f->symbols = list;
    f->symbol_count = count;
    return FT_OK;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

static ft_status compute_costs(facts *f, const ft_inspect_options *options, ft_error *error) {
    ft_cost_options infer = options->cost, train = options->cost;
    ft_memory infer_memory, train_memory;
    infer.mode = FT_INFER;
    train.mode = FT_TRAIN;
    FT_TRY(ft_cost_compute(f->graph, &infer, &f->infer, error));
    FT_TRY(ft_cost_compute(f->graph, &train, &f->train, error));
    FT_TRY(ft_memory_plan(f->graph, &infer, &infer_memory, NULL, NULL, error));
    FT_TRY(ft_memory_plan(f->graph, &train, &train_memory, NULL, NULL, error));
    summarise_work(&f->summary, &f->infer, &f->train);
    summarise_memory(&f->summary, f->graph, &infer_memory, &train_memory);
    return FT_OK;
}

static ft_status gather(facts *f, const ft_graph *graph, const ft_inspect_options *options, ft_error *error) {
    FT_TRY(ft_graph_bind(graph, &options->binding, &f->graph, error));
    f->name = ft_graph_name(f->graph);
    f->format = ft_format_name(ft_graph_format(f->graph));
    FT_TRY(compute_costs(f, options, error));
    FT_TRY(sum_types(f, options, error));
    FT_TRY(list_estimates(f, error));
    FT_TRY(list_symbols(f, graph, error));
    if (options->has_nodes) FT_TRY(order_nodes(f, options, error));
    if (options->rules != NULL) FT_TRY(order_kernels(f, options, error));
    summarise_setting(f, options);
    return FT_OK;
}

ft_status facts_gather(const char *file, const ft_graph *graph, const ft_inspect_options *options, facts *f,
                       ft_error *error) {
    *f = (facts){.file = file};
    arena_init(&f->memory, FT_MAX_GRAPH_BYTES);
    ft_status status = gather(f, graph, options, error);
    if (status != FT_OK) facts_free(f);
    return status;
}

void facts_free(facts *f) {
    ft_kernels_free(&f->kernels);
    ft_cost_free(&f->train);
    ft_cost_free(&f->infer);
    ft_graph_free(f->graph);
    arena_free(&f->memory);
    *f = (facts){0};
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

static const ft_tensor *first_output(const ft_graph *graph, const ft_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i] != FT_NONE) return &ft_graph_tensors(graph)[op->outputs[i]];
    return NULL;
}

static const ft_tensor *first_data_input(const ft_graph *graph, const ft_op *op) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE) continue;
        const ft_tensor *tensor = &ft_graph_tensors(graph)[op->inputs[i]];
        if (tensor->role != FT_CONSTANT) return tensor;
    }
    return NULL;
}

void facts_node(const facts *f, uint32_t place, node_facts *row) {
    uint32_t index = f->node_order[place];
    const ft_op *op = &ft_graph_ops(f->graph)[index];
    const ft_op_cost *cost = &f->infer.ops[index], *train = &f->train.ops[index];
    const ft_tensor *output = first_output(f->graph, op);
    *row = (node_facts){
        .index = index,
        .name = facts_op_name(f->graph, op),
        .type = op->type,
        .op_class = ft_op_class_name(ft_opdef_class(op->def)),
        .output = output,
        .dtype = output == NULL ? NULL : ft_dtype_name(output->dtype),
        .params = cost->params,
        .macs = cost->forward.macs,
        .flops = cost->forward.flops,
        .read_bytes = cost->forward.read_bytes,
        .write_bytes = cost->forward.write_bytes,
        .moved_bytes = moved_bytes(&cost->forward),
        .flops_per_byte = ft_work_intensity(&cost->forward),
        .activation_elems = cost->activation_elems,
        .backward_flops = num_add_sat(train->backward_data.flops, train->backward_weights.flops),
        .repeats = op->repeats,
        .is_estimated = cost->is_estimated,
    };
}

void facts_kernel(const facts *f, uint32_t place, kernel_facts *row) {
    uint32_t index = f->kernel_order[place];
    const ft_kernel *kernel = &f->kernels.items[index];
    const ft_op *ops = ft_graph_ops(f->graph);
    const ft_op *first = &ops[kernel->ops[0]], *last = &ops[kernel->ops[kernel->op_count - 1]];
    ft_op_cost cost = ft_cost_kernel(f->graph, &f->infer, &f->kernels, index);
    *row = (kernel_facts){
        .index = index,
        .type = kernel->type,
        .kernel = kernel,
        .op_count = kernel->op_count,
        .name = facts_op_name(f->graph, first),
        .input = first_data_input(f->graph, first),
        .output = first_output(f->graph, last),
        .params = cost.params,
        .macs = cost.forward.macs,
        .flops = cost.forward.flops,
        .read_bytes = cost.forward.read_bytes,
        .write_bytes = cost.forward.write_bytes,
        .moved_bytes = moved_bytes(&cost.forward),
        .flops_per_byte = ft_work_intensity(&cost.forward),
        .is_estimated = cost.is_estimated,
    };
}
