/* backward.c - work of one operator in the backward pass.
 *
 * A product costs one more product for each operand that needs a gradient: the gradient of the output times the other
 * operand. Every other operator costs about as much as its forward pass. A gradient flows only into tensors that depend
 * on a parameter (params.c), so the first convolution has no data gradient. Gradients of stored operands count as
 * weight gradients, all others as data gradients. Each gradient reads the gradient of the output and the tensor it is
 * multiplied with, and writes itself. */
#include "cost/work.h"

#include <assert.h>

#include "cost/macs.h"

static bool needs_gradient(const work_env *env, const ft_op *op, uint32_t i) {
    assert(i < op->input_count);
    return !input_is_auxiliary(op->def, i) && tensor_has(env->params, op->inputs[i], MARK_GRADIENT);
}

static bool is_stored(const work_env *env, const ft_op *op, uint32_t i) {
    return tensor_has(env->params, op->inputs[i], MARK_STATIC);
}

/* Bytes of a tensor over all runs. */
static uint64_t bytes_of(const work_env *env, const ft_op *op, const ft_tensor *t) {
    return t == NULL ? 0 : num_mul_sat(size_of_tensor(env->graph, t, env->options), op->repeats);
}

static uint64_t output_elems(const work_env *env, const ft_op *op) {
    const ft_tensor *out = op_output(env->graph, op, 0);
    return out == NULL ? 0 : num_mul_sat(tensor_elems(env->graph, out), op->repeats);
}

static uint64_t output_gradient_bytes(const work_env *env, const ft_op *op) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (tensor_has(env->params, op->outputs[i], MARK_GRADIENT))
            bytes = num_add_sat(bytes, bytes_of(env, op, op_output(env->graph, op, i)));
    return bytes;
}

static uint64_t input_bytes(const work_env *env, const ft_op *op) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->input_count; i++)
        if (!input_is_auxiliary(op->def, i)) bytes = num_add_sat(bytes, bytes_of(env, op, op_input(env->graph, op, i)));
    return bytes;
}

/* --- Products ------------------------------------------------------------------------------------------------ */

/* MACs of the gradient of one operand; 0 for operands that are only added (a bias). */
static uint64_t operand_macs(const work_env *env, const ft_op *op, uint32_t i, const op_macs *macs) {
    const ft_opdef *def = op->def;
    uint32_t w = def->x == 0 && def->w == 0 ? 1 : def->w;
    switch (def->cost) {
    case COST_EINSUM:
        return macs->with_weights;
    case COST_ATTENTION:
        /* Both products of the scores have two operands, each with a gradient. */
        if (is_stored(env, op, i)) return i == 1 ? macs->with_weights : 0;
        return i == 0 ? num_add_sat(macs->with_weights, num_mul_sat(macs->between_data, 2)) : 0;
    case COST_RECURRENT:
        return i == def->x || i == 1 ? macs->with_weights : 0;
    default:
        return i == def->x || i == w ? macs->with_weights : 0;
    }
}

static void product_backward(const work_env *env, const ft_op *op, const op_macs *macs, ft_work *data,
                             ft_work *weights) {
    uint64_t gradient = output_gradient_bytes(env, op), inputs = input_bytes(env, op);
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (!needs_gradient(env, op, i)) continue;
        ft_work *share = is_stored(env, op, i) ? weights : data;
        uint64_t own = bytes_of(env, op, op_input(env->graph, op, i));
        uint64_t products = op_scale(env->graph, op, operand_macs(env, op, i, macs));
        ft_work part = {.macs = products, .flops = num_mul_sat(products, 2), .write_bytes = own};
        if (products > 0)
            part.read_bytes = num_add_sat(gradient, inputs - (own < inputs ? own : inputs));
        else
            part.flops = output_elems(env, op); /* a sum over the gradient, read for the product anyway */
        work_add(share, &part);
    }
}

/* --- Everything else ----------------------------------------------------------------------------------------- */

static uint64_t data_flops(const work_env *env, const ft_op *op, const ft_work *forward, const ft_tensor *input) {
    uint64_t elems = output_elems(env, op);
    uint32_t saves = OP_SAVES_INPUTS | OP_SAVES_OUTPUT | OP_SAVES_MASK | OP_SAVES_INDEX;
    if (op->def->op_class == FT_CLASS_NORM) return num_mul_sat(forward->flops, 2);
    switch (op->def->cost) {
    case COST_MOVE:
    case COST_SLICE:
        return 0;
    case COST_ELEMENTWISE:
        if ((op->def->flags & saves) != 0) return num_add_sat(forward->flops, elems);
        /* An addition passes its gradient on unchanged; a broadcast operand gets the sum of it. */
        return tensor_elems(env->graph, input) < elems ? elems : 0;
    default:
        return forward->flops;
    }
}

/* Reads the gradient and the tensors saved by forward, writes the gradients of the data inputs. */
static void plain_data(const work_env *env, const ft_op *op, const ft_work *forward, ft_work *data) {
    uint64_t elems = output_elems(env, op);
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (!needs_gradient(env, op, i) || is_stored(env, op, i)) continue;
        const ft_tensor *input = op_input(env->graph, op, i);
        data->flops = num_add_sat(data->flops, data_flops(env, op, forward, input));
        data->write_bytes = num_add_sat(data->write_bytes, bytes_of(env, op, input));
        wanted++;
    }
    if (wanted == 0) return;
    uint32_t flags = op->def->flags;
    data->read_bytes = output_gradient_bytes(env, op);
    if ((flags & OP_SAVES_INPUTS) != 0) data->read_bytes = num_add_sat(data->read_bytes, input_bytes(env, op));
    if ((flags & OP_SAVES_OUTPUT) != 0)
        data->read_bytes = num_add_sat(data->read_bytes, bytes_of(env, op, op_output(env->graph, op, 0)));
    if ((flags & OP_SAVES_MASK) != 0) data->read_bytes = num_add_sat(data->read_bytes, elems);
    if ((flags & OP_SAVES_INDEX) != 0) data->read_bytes = num_add_sat(data->read_bytes, num_mul_sat(elems, 8));
}

/* Scales, shifts, embeddings: sums of the gradient, or of its products with saved tensors. */
static void plain_weights(const work_env *env, const ft_op *op, bool has_data, ft_work *weights) {
    bool is_norm = op->def->op_class == FT_CLASS_NORM;
    uint64_t elems = output_elems(env, op), gradient = output_gradient_bytes(env, op);
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (!needs_gradient(env, op, i) || !is_stored(env, op, i)) continue;
        weights->flops = num_add_sat(weights->flops, num_mul_sat(elems, is_norm ? 2 : 1));
        weights->write_bytes = num_add_sat(weights->write_bytes, bytes_of(env, op, op_input(env->graph, op, i)));
        /* A norm computes all its gradients in one pass over the data. */
        if (!is_norm || !has_data) weights->read_bytes = num_add_sat(weights->read_bytes, gradient);
    }
}

void work_backward(const work_env *env, const ft_op *op, const ft_work *forward, ft_work *data, ft_work *weights) {
    op_macs macs;
    *data = *weights = (ft_work){0};
    bool is_free = op->def->cost == COST_FREE && (op->def->flags & OP_TRAIN_ONLY) == 0;
    if (op->is_folded || is_free || !params_op_has_gradient(env->params, op)) return;
    if (macs_of(env->graph, op, &macs)) {
        product_backward(env, op, &macs, data, weights);
        return;
    }
    plain_data(env, op, forward, data);
    plain_weights(env, op, data->write_bytes > 0, weights);
}
