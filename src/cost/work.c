/* work.c - work of one operator in the forward pass: FLOPs by the cost kind of its table entry, and bytes.
 *
 * Counts are for the bound batch and for all trips of the loops around the operator. MACs come from macs.c. An unknown
 * operator, or one without shapes, is costed from its bytes and marked as estimated. */
#include "cost/work.h"

#include <string.h>

#include "cost/macs.h"
#include "cost/reads.h"
#include "graph/geometry.h"

static uint64_t elems_of(const ft_tensor *t) {
    return t == NULL ? 0 : (uint64_t)shape_elems(t->dims, t->rank);
}

static uint64_t log2_up(uint64_t n) {
    uint64_t bits = 0;
    while (bits < 63 && (UINT64_C(1) << bits) < n) bits++;
    return bits > 0 ? bits : 1;
}

/* A stamp per tensor (the last operator that read it) finds repeated inputs in one pass. */
static void find_repeats(const ft_graph *graph, uint32_t *stamps, bool *is_repeat) {
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        for (uint32_t i = 0; i < op->input_count; i++, is_repeat++) {
            if (op->inputs[i] == FT_NONE) continue;
            *is_repeat = stamps[op->inputs[i]] == k + 1;
            stamps[op->inputs[i]] = k + 1;
        }
    }
}

bool work_prepare(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                  work_env *env) {
    uint32_t *first = ARENA_ARRAY(memory, uint32_t, (size_t)graph->op_count + 1);
    uint32_t *stamps = ARENA_ARRAY(memory, uint32_t, (size_t)graph->tensor_count + 1);
    if (first == NULL || stamps == NULL) return false;
    for (uint32_t k = 0; k < graph->op_count; k++) first[k + 1] = first[k] + graph->ops[k].input_count;
    bool *is_repeat = ARENA_ARRAY(memory, bool, (size_t)first[graph->op_count] + 1);
    if (is_repeat == NULL) return false;
    find_repeats(graph, stamps, is_repeat);
    *env = (work_env){graph, options, params, first, is_repeat};
    return true;
}

/* --- Bytes --------------------------------------------------------------------------------------------------- */

uint64_t work_output_bytes(const work_env *env, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_output(env->graph, op, i);
    return t == NULL ? 0 : share_of(size_of_tensor(env->graph, t, env->options), writes_of_output(env->graph, op, i));
}

static uint64_t all_output_bytes(const work_env *env, const ft_op *op) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++) bytes = num_add_sat(bytes, work_output_bytes(env, op, i));
    return bytes;
}

uint64_t work_input_bytes(const work_env *env, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_input(env->graph, op, i);
    if (t == NULL || input_is_auxiliary(op->def, i)) return 0;
    uint64_t bytes = size_of_tensor(env->graph, t, env->options);
    if (op->def->cost != COST_SLICE || i != op->def->x) return share_of(bytes, reads_of_input(env->graph, op, i));
    uint64_t written = all_output_bytes(env, op); /* a slice reads only what it writes */
    return bytes < written ? bytes : written;
}

static void count_bytes(const work_env *env, const ft_op *op, ft_work *work) {
    for (uint32_t i = 0; i < op->input_count; i++)
        if (!work_is_repeat(env, op, i)) work->read_bytes = num_add_sat(work->read_bytes, work_input_bytes(env, op, i));
    work->write_bytes = all_output_bytes(env, op);
}

/* --- FLOPs, at the exported batch ---------------------------------------------------------------------------- */

/* Taps of an interpolation: none for nearest, 2 or 4 a dimension, a multiply and an add each. */
static uint64_t resize_flops(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *x = op_input(graph, op, 0), *y = op_output(graph, op, 0);
    const char *mode = op_attr_string(op, "mode", "nearest");
    if (x == NULL || y == NULL || x->rank != y->rank || strcmp(mode, "nearest") == 0) return 0;
    uint64_t taps = 1;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i]) taps *= strcmp(mode, "cubic") == 0 ? 4 : 2;
    return num_mul_sat(elems_of(y), 2 * taps);
}

static uint64_t elementwise_flops(const ft_graph *graph, const ft_op *op) {
    if (op_is(op, "Resize")) return resize_flops(graph, op);
    uint64_t flops = num_mul_sat(elems_of(op_output(graph, op, 0)), op->def->flops);
    /* Sum, Max and the like accept any number of operands. */
    bool is_chain = (op->def->flags & OP_BROADCASTS) != 0 && (op->def->flags & OP_SAVES_MASK) == 0;
    uint32_t operands = 0;
    for (uint32_t i = 0; i < op->input_count; i++) operands += !input_is_auxiliary(op->def, i);
    if (is_chain && operands > 2) flops = num_mul_sat(flops, operands - 1);
    return flops;
}

static bool pool_flops(const ft_graph *graph, const ft_op *op, uint64_t *flops) {
    pool_geometry g;
    if (!pool_geometry_of(graph, op, &g)) return false;
    uint64_t window = num_mul_sat((uint64_t)g.kernel_elems, op->def->flops);
    *flops = num_mul_sat(elems_of(op_output(graph, op, 0)), window);
    return true;
}

static uint64_t sort_flops(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *x = op_input(graph, op, op->def->x);
    if (x == NULL || x->rank < 1) return 0;
    int64_t axis = op_attr_int(op, "axis", -1);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank) axis = x->rank - 1;
    uint64_t steps = num_mul_sat(log2_up((uint64_t)x->dims[axis]), op->def->flops > 0 ? op->def->flops : 1);
    return num_mul_sat(elems_of(x), steps);
}

/* `flops` n log2 n for a complex transform of n points. STFT: as many points as its window or frame has. */
static uint64_t fft_flops(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *x = op_input(graph, op, 0), *y = op_output(graph, op, 0);
    if (x == NULL || y == NULL || x->rank < 2 || y->rank < 1) return 0;
    uint64_t length = (uint64_t)x->dims[x->rank - 2], points = elems_of(y);
    if (op_is(op, "STFT")) {
        const ft_tensor *window = op_input(graph, op, 2), *frame = op_input(graph, op, 3);
        if (window != NULL && window->rank == 1) length = (uint64_t)window->dims[0];
        if (frame != NULL && frame->value != NULL && frame->value->ints != NULL && frame->value->count == 1 &&
            frame->value->ints[0] > 0)
            length = (uint64_t)frame->value->ints[0];
        /* batch x frames x bins x 2: each frame costs a transform of its full length */
        points =
            y->rank == 4 ? num_mul_sat((uint64_t)y->dims[0], num_mul_sat((uint64_t)y->dims[1], length)) : points / 2;
    } else {
        points /= 2; /* real and imaginary parts */
    }
    return num_mul_sat(points, num_mul_sat(log2_up(length), op->def->flops));
}

/* MACs and FLOPs of one run. False when the operator is unknown or a shape it depends on is. */
static bool count_flops(const ft_graph *graph, const ft_op *op, ft_work *work) {
    const ft_opdef *def = op->def;
    op_macs macs;
    switch (def->cost) {
    case COST_UNKNOWN:
        return false;
    case COST_FREE:
    case COST_MOVE:
    case COST_SLICE:
        return true;
    case COST_ELEMENTWISE:
        work->flops = elementwise_flops(graph, op);
        return true;
    case COST_INPUTWISE:
        work->flops = num_mul_sat(elems_of(op_input(graph, op, def->x)), def->flops);
        return true;
    case COST_POOL:
        return pool_flops(graph, op, &work->flops);
    case COST_SORT:
        work->flops = sort_flops(graph, op);
        return true;
    case COST_FFT:
        work->flops = fft_flops(graph, op);
        return true;
    case COST_CONV:
    case COST_CONV_TRANSPOSE:
    case COST_MATMUL:
    case COST_EINSUM:
    case COST_RECURRENT:
    case COST_ATTENTION:
    case COST_LINEAR_ATTENTION:
    case COST_MOE:
        if (!macs_of(graph, op, &macs)) return false;
        work->macs = num_add_sat(macs.with_weights, macs.between_data);
        work->flops = num_add_sat(num_mul_sat(work->macs, 2), macs.extra_flops);
        return true;
    }
    return false;
}

/* An activation that TFLite fuses into another operator. */
static uint64_t fused_flops(const ft_graph *graph, const ft_op *op) {
    const char *name = op_attr_string(op, "activation", "");
    return name[0] == '\0' || strcmp(name, "NONE") == 0 ? 0 : elems_of(op_output(graph, op, 0));
}

/* A tensor without elements may still have a shape: an empty one. */
static bool has_shape(const ft_graph *graph, const ft_tensor *t) {
    return tensor_elems(graph, t) > 0 || shape_is_known(t);
}

static bool has_shapes(const ft_graph *graph, const ft_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *out = op_output(graph, op, i);
        if (out != NULL && !has_shape(graph, out)) return false;
    }
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *in = op_input(graph, op, i);
        if (in != NULL && !input_is_auxiliary(op->def, i) && !has_shape(graph, in)) return false;
    }
    return true;
}

static uint64_t estimated_flops(const ft_graph *graph, const ft_op *op) {
    uint64_t flops = 0;
    for (uint32_t i = 0; i < op->output_count; i++) flops = num_add_sat(flops, elems_of(op_output(graph, op, i)));
    return flops;
}

ft_work work_forward(const work_env *env, const ft_op *op, bool *is_estimated) {
    const ft_graph *graph = env->graph;
    ft_work work = {0};
    *is_estimated = false;
    bool is_disabled = (op->def->flags & OP_TRAIN_ONLY) != 0 && env->options->mode == FT_INFER;
    bool is_dropout = (op->def->flags & OP_TRAIN_ONLY) != 0 && !is_disabled;
    if (op->is_folded || is_disabled || (op->def->cost == COST_FREE && !is_dropout)) return work;
    if (is_dropout) {
        work.flops = num_mul_sat(elems_of(op_output(graph, op, 0)), 2); /* a random bit and a product */
    } else if (!has_shapes(graph, op) || !count_flops(graph, op, &work)) {
        *is_estimated = true;
        work = (ft_work){.flops = estimated_flops(graph, op)};
    }
    work.flops = num_add_sat(work.flops, fused_flops(graph, op));
    work.macs = op_scale(graph, op, work.macs);
    work.flops = op_scale(graph, op, work.flops);
    count_bytes(env, op, &work);
    work.read_bytes = num_mul_sat(work.read_bytes, op->repeats);
    work.write_bytes = num_mul_sat(work.write_bytes, op->repeats);
    return work;
}
