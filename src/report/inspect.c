/* inspect.c - the facts of one model: binds it and computes work and memory with cost/. Its lists are in
 * inspect_lists.c, open dimensions in inspect_open.c.
 *
 * Every number is computed by cost/; this file sums, names and sorts them. Costs are computed for inference and for
 * training: "forward" figures are those of inference. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "report/facts.h"

ft_inspect_options ft_inspect_options_default(void) {
    return (ft_inspect_options){
        .style = ft_style_default(),
        .cost = ft_cost_options_default(),
        .sort = FT_SORT_AUTO,
    };
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
    s->tied_params = infer->tied_params;
    s->buffer_elems = infer->buffers;
    s->stored_bytes = infer->stored_bytes;
    s->weight_bytes = infer->weight_bytes;
    s->macs = forward->macs;
    s->flops = forward->flops;
    s->read_bytes = forward->read_bytes;
    s->write_bytes = forward->write_bytes;
    s->moved_bytes = facts_moved(forward);
    s->flops_per_byte = ft_work_intensity(forward);
    s->activation_elems = infer->total.activation_elems;
    s->conv_matmul_elems = infer->conv_matmul_outputs;
    s->backward_macs = num_add_sat(data->macs, weights->macs);
    s->backward_flops = num_add_sat(data->flops, weights->flops);
    s->optimizer_flops = train->optimizer.flops;
    s->train_macs = num_add_sat(train->total.forward.macs, s->backward_macs);
    s->train_flops = num_add_sat(num_add_sat(train->total.forward.flops, s->backward_flops), s->optimizer_flops);
    s->train_moved_bytes = num_add_sat(num_add_sat(facts_moved(&train->total.forward), facts_moved(data)),
                                       num_add_sat(facts_moved(weights), facts_moved(&train->optimizer)));
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
        const ft_op *op = &ft_graph_ops(f->graph)[i];
        if (op->is_unused)
            s->unused_op_count++;
        else if (op->is_folded)
            s->folded_op_count++;
        else
            s->op_count++;
    }
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
        const ft_tensor *given = &f->tensors[tensor];
        for (int32_t d = 0; d < open->rank && d < given->rank; d++) {
            const char *name = ft_dim_symbol(unbound, open->dims[d]);
            if (name != NULL && count < SYMBOLS_MAX && !has_symbol(list, count, name))
                list[count++] = (symbol_facts){name, given->dims[d] >= 0 ? given->dims[d] : -1};
        }
    }
    f->symbols = list;
    f->symbol_count = count;
    return FT_OK;
}

/* --- Gathering ----------------------------------------------------------------------------------------------- */

ft_status facts_compute_costs(const ft_graph *graph, const ft_inspect_options *options, ft_cost *infer, ft_cost *train,
                              ft_memory *infer_memory, ft_memory *train_memory, ft_error *error) {
    ft_cost_options infer_options = options->cost, train_options = options->cost;
    infer_options.mode = FT_INFER;
    train_options.mode = FT_TRAIN;
    FT_TRY(ft_cost_compute(graph, &infer_options, infer, error));
    FT_TRY(ft_cost_compute(graph, &train_options, train, error));
    FT_TRY(ft_memory_plan(graph, &infer_options, infer_memory, NULL, NULL, error));
    return ft_memory_plan(graph, &train_options, train_memory, NULL, NULL, error);
}

/* Binds the graph and computes its costs, as far as they do not depend on open dimensions. */
static ft_status bind_and_count(facts *f, const ft_graph *graph, const ft_inspect_options *options, ft_error *error) {
    ft_memory infer, train;
    ft_status status = ft_graph_bind(graph, &options->binding, &f->graph, error);
    if (status == FT_OK) {
        f->tensors = ft_graph_tensors(f->graph);
        status = facts_compute_costs(f->graph, options, &f->infer, &f->train, &infer, &train, error);
    } else if (status == FT_ERR_UNBOUND) {
        status = facts_bind_open(f, graph, options, &infer, &train, error);
    }
    if (status != FT_OK) return status;
    assert(f->infer.op_count == ft_graph_op_count(f->graph) && f->train.op_count == f->infer.op_count);
    summarise_work(&f->summary, &f->infer, &f->train);
    summarise_memory(&f->summary, f->graph, &infer, &train);
    return FT_OK;
}

static ft_status gather(facts *f, const ft_graph *graph, const ft_inspect_options *options, ft_error *error) {
    FT_TRY(bind_and_count(f, graph, options, error));
    FT_TRY(ft_language_of(graph, &options->binding, &f->language.of, error));
    f->language.run = ft_language_run_name(f->language.of.run);
    f->name = ft_graph_name(f->graph);
    f->format = ft_format_name(ft_graph_format(f->graph));
    FT_TRY(facts_sum_types(f, options, error));
    FT_TRY(facts_list_estimates(f, error));
    FT_TRY(list_symbols(f, graph, error));
    if (options->has_nodes) FT_TRY(facts_order_nodes(f, options, error));
    if (options->rules != NULL) FT_TRY(facts_order_kernels(f, options, error));
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

static const ft_tensor *first_output(const facts *f, const ft_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++)
        if (op->outputs[i] != FT_NONE) return &f->tensors[op->outputs[i]];
    return NULL;
}

static const ft_tensor *first_data_input(const facts *f, const ft_op *op) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE) continue;
        const ft_tensor *tensor = &f->tensors[op->inputs[i]];
        if (tensor->role != FT_CONSTANT) return tensor;
    }
    return NULL;
}

void facts_node(const facts *f, uint32_t position, node_facts *row) {
    assert(position < f->node_shown);
    uint32_t index = f->node_order[position];
    const ft_op *op = &ft_graph_ops(f->graph)[index];
    const ft_op_cost *cost = &f->infer.ops[index], *train = &f->train.ops[index];
    const ft_tensor *output = first_output(f, op);
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
        .moved_bytes = facts_moved(&cost->forward),
        .flops_per_byte = ft_work_intensity(&cost->forward),
        .activation_elems = cost->activation_elems,
        .backward_flops = num_add_sat(train->backward_data.flops, train->backward_weights.flops),
        .repeats = op->repeats,
        .is_estimated = cost->is_estimated,
        .is_open = facts_is_open(f, index),
    };
    row->macs = facts_known(f, index, OPEN_MACS, row->macs);
    row->flops = facts_known(f, index, OPEN_FLOPS, row->flops);
    row->read_bytes = facts_known(f, index, OPEN_BYTES, row->read_bytes);
    row->write_bytes = facts_known(f, index, OPEN_BYTES, row->write_bytes);
    row->moved_bytes = facts_known(f, index, OPEN_BYTES, row->moved_bytes);
    row->activation_elems = facts_known(f, index, OPEN_OTHER, row->activation_elems);
    row->backward_flops = facts_known(f, index, OPEN_OTHER, row->backward_flops);
    if (row->is_open) row->flops_per_byte = NAN;
}

bool facts_is_open_kernel(const facts *f, const ft_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->op_count; i++)
        if (facts_is_open(f, kernel->ops[i])) return true;
    return false;
}

void facts_kernel(const facts *f, uint32_t position, kernel_facts *row) {
    assert(position < f->kernel_shown);
    uint32_t index = f->kernel_order[position];
    const ft_kernel *kernel = &f->kernels.items[index];
    assert(kernel->op_count > 0);
    const ft_op *ops = ft_graph_ops(f->graph);
    const ft_op *first = &ops[kernel->ops[0]], *last = &ops[kernel->ops[kernel->op_count - 1]];
    ft_op_cost cost = ft_cost_kernel(f->graph, &f->infer, &f->kernels, index);
    *row = (kernel_facts){
        .index = index,
        .type = kernel->type,
        .kernel = kernel,
        .op_count = kernel->op_count,
        .name = facts_op_name(f->graph, first),
        .input = first_data_input(f, first),
        .output = first_output(f, last),
        .params = cost.params,
        .macs = cost.forward.macs,
        .flops = cost.forward.flops,
        .read_bytes = cost.forward.read_bytes,
        .write_bytes = cost.forward.write_bytes,
        .moved_bytes = facts_moved(&cost.forward),
        .flops_per_byte = ft_work_intensity(&cost.forward),
        .is_estimated = cost.is_estimated,
        .is_open = facts_is_open_kernel(f, kernel),
    };
    if (!row->is_open) return;
    row->macs = row->flops = row->read_bytes = row->write_bytes = row->moved_bytes = FACT_UNKNOWN;
    row->flops_per_byte = NAN;
}
