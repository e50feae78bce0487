/* lower.c - lowers the operators of a graph to passes, in the order of the graph. */
#include "npu/lower.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/opdef.h"
#include "npu/block.h"

/* --- Tensors ------------------------------------------------------------------------------------------------- */

/* Constant-folded operators cost nothing, except concatenations of quantised constants, which Vela does not fold. */
static bool is_removed(const ft_graph *graph, const ft_op *op, const npu_rule *rule) {
    const ft_tensor *y = op_output(graph, op, 0);
    bool is_constant_join = rule != NULL && rule->id == NPU_OP_CONCAT && y != NULL && ft_dtype_bits(y->dtype) == 8;
    return op->is_folded && !is_constant_join;
}

bool npu_is_const(const npu_lowering *l, const ft_tensor *t) {
    if (t->role == FT_CONSTANT || t->value != NULL) return true;
    return t->producer != FT_NONE && is_removed(l->graph, &l->graph->ops[t->producer], l->rules[t->producer]);
}

int32_t npu_bytes_of(const npu_lowering *l, const ft_tensor *t) {
    if (l->is_float && ft_dtype_is_float(t->dtype)) return 1;
    unsigned bits = ft_dtype_bits(t->dtype);
    return bits <= 8 ? 1 : (int32_t)(bits / 8);
}

int64_t npu_axis_index(const npu_lowering *l, const ft_tensor *t, int64_t axis) {
    if (axis < 0) axis += t->rank;
    if (!npu_has_channels_second(l, t)) return axis + 4 - t->rank;
    return axis == 0 ? 0 : axis == 1 ? 3 : axis + 3 - t->rank;
}

npu_shape npu_shape_of(const npu_lowering *l, const ft_tensor *t) {
    int64_t d[4] = {1, 1, 1, 1}, dims[FT_MAX_RANK];
    int32_t rank = t->rank > 0 && shape_elems(t->dims, t->rank) > 0 ? t->rank : 0; /* an unknown size counts as 1 */
    for (int32_t i = 0; i < rank; i++) dims[i] = t->dims[i] > 0 ? t->dims[i] : 1;
    if (l->batch > 1 && t->is_batched && rank > 0 && dims[0] % l->batch == 0) dims[0] /= l->batch;
    if (rank > 2 && npu_has_channels_second(l, t))
        return (npu_shape){dims[0], rank == 4 ? dims[2] : 1, dims[rank - 1], dims[1]};
    for (int32_t i = 0; i < rank; i++) {
        int32_t at = 4 - rank + i;
        d[at > 0 ? at : 0] *= dims[i];
    }
    return (npu_shape){d[0], d[1], d[2], d[3]};
}

uint32_t npu_add_tensor(npu_lowering *l, npu_shape shape, int32_t bytes) {
    npu_net *net = l->net;
    if (net->tensor_count + 1 >= net->tensor_capacity) {
        uint32_t larger = net->tensor_capacity * 2 + 64;
        npu_tensor *tensors = ARENA_ARRAY(net->memory, npu_tensor, larger);
        uint32_t *producer = ARENA_ARRAY(net->memory, uint32_t, larger);
        if (tensors == NULL || producer == NULL) {
            l->has_failed = true;
            return 0;
        }
        if (net->tensor_count > 0) {
            assert(net->tensors != NULL && l->producer != NULL);
            memcpy(tensors, net->tensors, net->tensor_count * sizeof *tensors);
            memcpy(producer, l->producer, net->tensor_count * sizeof *producer);
        }
        net->tensors = tensors;
        l->producer = producer;
        net->tensor_capacity = l->producer_capacity = larger;
    }
    assert(net->tensors != NULL && l->producer != NULL);
    l->producer[net->tensor_count] = FT_NONE;
    net->tensors[net->tensor_count] = (npu_tensor){.shape = shape, .bytes = bytes, .is_linear = true};
    return net->tensor_count++;
}

uint32_t npu_add_scalar(npu_lowering *l, int32_t bytes, bool is_shapeless) {
    uint32_t made = npu_add_tensor(l, (npu_shape){1, 1, 1, 1}, bytes);
    if (l->has_failed) return 0;
    l->net->tensors[made].is_const = true;
    l->net->tensors[made].is_scalar = is_shapeless;
    return made;
}

npu_view npu_view_of(const npu_lowering *l, uint32_t tensor) {
    assert(tensor < l->net->tensor_count);
    return (npu_view){.tensor = tensor, .shape = l->net->tensors[tensor].shape};
}

/* The view of a tensor of the graph, added on first use. */
static npu_view *view(npu_lowering *l, uint32_t graph_tensor) {
    npu_view *v = &l->views[graph_tensor];
    if (v->tensor != FT_NONE) return v;
    const ft_tensor *t = &l->graph->tensors[graph_tensor];
    v->shape = npu_shape_of(l, t);
    v->tensor = npu_add_tensor(l, v->shape, npu_bytes_of(l, t));
    if (l->has_failed) return v;
    npu_tensor *made = &l->net->tensors[v->tensor];
    made->is_const = npu_is_const(l, t);
    made->is_scalar = t->rank == 0;
    made->is_external = !made->is_const && t->producer == FT_NONE;
    l->net->tensor_of[graph_tensor] = v->tensor;
    return v;
}

npu_view npu_input_view(npu_lowering *l, const ft_op *op, uint32_t i) {
    if (i >= op->input_count || op->inputs[i] == FT_NONE) return (npu_view){.tensor = FT_NONE};
    return *view(l, op->inputs[i]);
}

uint32_t npu_output(npu_lowering *l, const ft_op *op, uint32_t i) {
    assert(i < op->output_count);
    return view(l, op->outputs[i])->tensor;
}

void npu_alias_tensor(npu_lowering *l, uint32_t graph_tensor, npu_view v) {
    assert(graph_tensor < l->graph->tensor_count);
    l->views[graph_tensor] = v;
    l->net->tensor_of[graph_tensor] = v.tensor;
}

/* --- Passes -------------------------------------------------------------------------------------------------- */

npu_pass *npu_add_pass(npu_lowering *l, npu_block_type block, npu_math math) {
    npu_net *net = l->net;
    if (net->pass_count == net->pass_capacity) {
        uint32_t larger = net->pass_capacity * 2 + 64;
        npu_pass *passes = ARENA_ARRAY(net->memory, npu_pass, larger);
        if (passes == NULL) {
            l->has_failed = true;
            if (net->pass_capacity == 0) return &l->spare;
            net->pass_count--; /* overwrites the last pass: the lowering has failed */
        } else {
            if (net->pass_count > 0) memcpy(passes, net->passes, net->pass_count * sizeof *passes);
            net->passes = passes;
            net->pass_capacity = larger;
        }
    }
    assert(net->pass_count < net->pass_capacity);
    npu_pass *p = &net->passes[net->pass_count++];
    *p = (npu_pass){.op = l->op,
                    .block = block,
                    .math = math,
                    .ifm2 = FT_NONE,
                    .kernel_w = 1,
                    .kernel_h = 1,
                    .stride_x = 1,
                    .stride_y = 1,
                    .dilation_x = 1,
                    .dilation_y = 1,
                    .is_unary = true};
    return p;
}

void npu_set_ifm(npu_pass *p, npu_view v) {
    p->ifm = v.tensor;
    p->ifm_shape = v.is_slice ? v.whole : v.shape;
    p->read = v.shape;
    if (v.is_slice) p->has_read_offset = true;
}

void npu_set_ifm2(npu_pass *p, npu_view v) {
    p->ifm2 = v.tensor;
    p->ifm2_shape = v.is_slice ? v.whole : v.shape;
    p->read2 = v.shape;
    p->is_unary = false;
    if (v.is_slice) p->has_read_offset = true;
}

void npu_set_ofm(npu_lowering *l, npu_pass *p, uint32_t tensor, npu_shape shape) {
    p->ofm = tensor;
    p->ofm_shape = p->write = shape;
    if (!l->has_failed && p != &l->spare) l->producer[tensor] = (uint32_t)(p - l->net->passes);
}

npu_activation npu_activation_of(const ft_op *op) {
    const char *name = op_attr_string(op, "activation", "");
    if (strncmp(name, "RELU", 4) == 0) return ACTIVATION_CLAMP;
    return name[0] != '\0' ? ACTIVATION_TABLE : ACTIVATION_NONE;
}

bool npu_has_same_padding(const ft_op *op) {
    return strcmp(op_attr_string(op, "auto_pad", "VALID"), "SAME_UPPER") == 0;
}

/* --- The network --------------------------------------------------------------------------------------------- */

/* Whether a convolution or product reads floats that were integers before: quantised by pairs of operators, as ONNX
 * models are. In TFLite files the floats are meant: such operators run on the CPU. */
static bool reads_dequantised(const ft_graph *graph, const ft_op *op) {
    if (op->def->op_class != FT_CLASS_CONV && op->def->op_class != FT_CLASS_MATMUL) return false;
    const ft_tensor *x = op_input(graph, op, op->def->x);
    if (graph->format == FT_FORMAT_TFLITE || x == NULL || x->producer == FT_NONE) return false;
    return op_is(&graph->ops[x->producer], "DequantizeLinear");
}

static npu_types types_of(const ft_graph *graph) {
    npu_types types = TYPES_FLOAT;
    for (uint32_t i = 0; i < graph->tensor_count && types == TYPES_FLOAT; i++) {
        const ft_tensor *t = &graph->tensors[i];
        if (t->producer == FT_NONE || graph_is_constant(graph, t)) continue;
        if (t->dtype == FT_INT8 || t->dtype == FT_UINT8 || t->dtype == FT_INT16) types = TYPES_QUANTISED;
    }
    for (uint32_t i = 0; i < graph->op_count && types == TYPES_QUANTISED; i++)
        if (reads_dequantised(graph, &graph->ops[i])) types = TYPES_PAIRS;
    return types;
}

static bool add_step(npu_lowering *l, npu_step step) {
    npu_net *net = l->net;
    if (net->step_count == net->step_capacity) {
        uint32_t larger = net->step_capacity * 2 + 64;
        npu_step *steps = ARENA_ARRAY(net->memory, npu_step, larger);
        if (steps == NULL) return false;
        if (net->step_count > 0) memcpy(steps, net->steps, net->step_count * sizeof *steps);
        net->steps = steps;
        net->step_capacity = larger;
    }
    net->steps[net->step_count++] = step;
    return true;
}

/* An operator on the CPU: all its inputs and outputs are stored as NHWC. */
static void lower_cpu(npu_lowering *l, const ft_op *op) {
    l->net->cpu_ops++;
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++) {
        uint32_t tensor = i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
        if (tensor == FT_NONE) continue;
        npu_view *v = view(l, tensor);
        if (l->has_failed) return;
        assert(l->net->tensors != NULL); /* a view refers to one of them */
        npu_tensor *t = &l->net->tensors[v->tensor];
        t->is_external = !t->is_const;
        if (i < op->input_count) t->is_output = true;
        const ft_tensor *stored = &l->graph->tensors[tensor];
        if (t->is_const)
            l->net->cpu_constant_bytes += (int64_t)(stored->stored_bytes < 1U << 30 ? stored->stored_bytes : 0);
    }
    if (!add_step(l, (npu_step){.is_cpu = true, .index = l->op})) l->has_failed = true;
}

static void lower_op(npu_lowering *l, const ft_op *op) {
    uint32_t before = l->net->pass_count;
    if (!l->is_npu[l->op]) {
        lower_cpu(l, op);
        return;
    }
    assert(l->rules[l->op] != NULL);
    l->rules[l->op]->lower(l, op);
    for (uint32_t i = before; i < l->net->pass_count && !l->has_failed; i++) {
        if (!add_step(l, (npu_step){.index = i})) l->has_failed = true;
    }
}

static void mark_outputs(npu_lowering *l) {
    for (uint32_t i = 0; i < l->graph->outputs.count && !l->has_failed; i++) {
        uint32_t tensor = l->graph->outputs.items[i];
        npu_view *v = view(l, tensor);
        if (l->has_failed) return;
        assert(l->net->tensors != NULL);
        l->net->tensors[v->tensor].is_external = l->net->tensors[v->tensor].is_output = true;
    }
}

static void count_uses(npu_lowering *l) {
    npu_net *net = l->net;
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_pass *p = &net->passes[i];
        net->tensors[p->ifm].consumers++;
        if (p->ifm2 != FT_NONE) net->tensors[p->ifm2].consumers++;
        net->tensors[p->ofm].producers++;
        bool is_map = net->tensors[p->ifm].is_const;
        if (is_map) net->constant_bytes += npu_elems(net->tensors[p->ifm].shape) * net->tensors[p->ifm].bytes;
        if (p->ifm2 != FT_NONE && net->tensors[p->ifm2].is_const && p->ifm2 != p->ifm)
            net->constant_bytes += npu_elems(net->tensors[p->ifm2].shape) * net->tensors[p->ifm2].bytes;
    }
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (!net->steps[i].is_cpu) continue;
        const ft_op *op = &l->graph->ops[net->steps[i].index];
        for (uint32_t k = 0; k < op->input_count; k++) {
            uint32_t tensor = op->inputs[k] != FT_NONE ? net->tensor_of[op->inputs[k]] : FT_NONE;
            if (tensor != FT_NONE) net->tensors[tensor].consumers++;
        }
        for (uint32_t k = 0; k < op->output_count; k++) {
            uint32_t tensor = op->outputs[k] != FT_NONE ? net->tensor_of[op->outputs[k]] : FT_NONE;
            if (tensor != FT_NONE) net->tensors[tensor].producers++;
        }
    }
}

static ft_status lower_all(npu_lowering *l, ft_error *error) {
    const ft_graph *graph = l->graph;
    npu_rule_cache cache = {{NULL}, {NULL}};
    npu_find_signals(l);
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const ft_op *op = &graph->ops[i];
        l->rules[i] = npu_rule_find(op->def, &cache);
        l->is_npu[i] = l->rules[i] != NULL && !is_removed(graph, op, l->rules[i]) && npu_supports(l, op, l->rules[i]);
    }
    while (l->first_op < graph->op_count && is_removed(graph, &graph->ops[l->first_op], l->rules[l->first_op]))
        l->first_op++;
    for (l->op = 0; l->op < graph->op_count && !l->has_failed; l->op++) {
        const ft_op *op = &graph->ops[l->op];
        if (!is_removed(graph, op, l->rules[l->op])) lower_op(l, op);
    }
    mark_outputs(l);
    if (l->has_failed) return FT_NOMEM(error);
    count_uses(l);
    return npu_order_passes(l, error);
}

double npu_runs_per_batch(const ft_graph *bound) {
    if (bound->batch <= 0 || bound->exported_batch <= 0) return 1;
    return (double)bound->batch / (ft_graph_is_scaled(bound) ? (double)bound->exported_batch : 1);
}

static bool allocate_lowering(npu_lowering *l, arena *memory) {
    const ft_graph *graph = l->graph;
    arena *scratch = l->net->memory;
    l->views = ARENA_ARRAY(scratch, npu_view, (size_t)graph->tensor_count + 1);
    l->rules = ARENA_ARRAY(scratch, const npu_rule *, (size_t)graph->op_count + 1);
    l->is_signal = ARENA_ARRAY(scratch, bool, (size_t)graph->tensor_count + 1);
    l->is_npu = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    l->net->tensor_of = ARENA_ARRAY(memory, uint32_t, (size_t)graph->tensor_count + 1);
    l->net->is_npu = l->is_npu;
    if (l->views == NULL || l->rules == NULL || l->is_signal == NULL || l->is_npu == NULL || l->net->tensor_of == NULL)
        return false;
    for (uint32_t i = 0; i < graph->tensor_count; i++) l->views[i].tensor = l->net->tensor_of[i] = FT_NONE;
    return true;
}

/* Copies a lowered network out of the scratch memory, where its lists grew. False when out of memory. */
static bool keep_lists(npu_net *net, arena *memory) {
    net->memory = memory;
    net->tensors = arena_copy(memory, net->tensors, net->tensor_count * sizeof *net->tensors);
    net->passes = arena_copy(memory, net->passes, net->pass_count * sizeof *net->passes);
    net->steps = arena_copy(memory, net->steps, net->step_count * sizeof *net->steps);
    net->tensor_capacity = net->tensor_count;
    net->pass_capacity = net->pass_count;
    net->step_capacity = net->step_count;
    net->block_cache = npu_block_cache_new(memory, net->pass_count);
    return net->tensors != NULL && net->passes != NULL && net->steps != NULL && net->block_cache != NULL;
}

ft_status npu_lower(const ft_graph *bound, arena *memory, npu_net *net, ft_error *error) {
    arena scratch;
    arena_init(&scratch, memory->limit - memory->used);
    npu_net made = {.graph = bound, .memory = &scratch, .types = types_of(bound)};
    npu_lowering l = {.net = &made, .graph = bound, .is_float = made.types != TYPES_QUANTISED};
    l.batch = ft_graph_is_scaled(bound) ? 1 : bound->batch;
    ft_status status = allocate_lowering(&l, memory) ? lower_all(&l, error) : FT_NOMEM(error);
    if (status == FT_OK && !keep_lists(&made, memory)) status = FT_NOMEM(error);
    arena_free(&scratch);
    if (status == FT_OK) *net = made;
    return status;
}
