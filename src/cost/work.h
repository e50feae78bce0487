/* work.h - forward and backward work of single operators. */
#ifndef COST_WORK_H
#define COST_WORK_H

#include <assert.h>

#include "cost/params.h"
#include "cost/sizes.h"
#include "foretell/cost.h"

typedef struct work_env {
    const ft_graph *graph;
    const ft_cost_options *options;
    const param_marks *params;
    const uint32_t *first_input; /* per operator: index of its first input in is_repeat */
    const bool *is_repeat;       /* per input of each operator: an earlier input is the same tensor */
} work_env;

/* False when out of memory. The arguments must outlive the environment. */
bool work_prepare(const ft_graph *graph, const ft_cost_options *options, const param_marks *params, arena *memory,
                  work_env *env);

/* Work of one operator at the bound batch, over all its runs. *is_estimated: the operator or its shapes are unknown. */
ft_work work_forward(const work_env *env, const ft_op *op, bool *is_estimated);

/* Gradients of its data inputs, and of its parameters. Zero where no gradient flows. */
void work_backward(const work_env *env, const ft_op *op, const ft_work *forward, ft_work *data, ft_work *weights);

/* Bytes that the operator reads of input `i`, and writes of output `i`, in one run. */
uint64_t work_input_bytes(const work_env *env, const ft_op *op, uint32_t i);
uint64_t work_output_bytes(const work_env *env, const ft_op *op, uint32_t i);

/* One optimiser step over `elems` parameters held in `dtype`. */
ft_work work_optimizer(const ft_cost_options *options, ft_dtype dtype, uint64_t elems);
/* Optimiser state of `elems` elements of a parameter (NULL: a vector) on the device: moments and master weights. */
uint64_t work_optimizer_bytes(const ft_cost_options *options, ft_dtype dtype, const ft_tensor *t, uint64_t elems);
/* The master weights alone. */
uint64_t work_master_bytes(const ft_cost_options *options, uint64_t elems);

/* Input `i` is the same tensor as an earlier input, so its bytes are already counted. */
static inline bool work_is_repeat(const work_env *env, const ft_op *op, uint32_t i) {
    assert(op >= env->graph->ops && op < env->graph->ops + env->graph->op_count && i < op->input_count);
    return env->is_repeat[env->first_input[op - env->graph->ops] + i];
}

static inline void work_add(ft_work *sum, const ft_work *part) {
    sum->macs = num_add_sat(sum->macs, part->macs);
    sum->flops = num_add_sat(sum->flops, part->flops);
    sum->read_bytes = num_add_sat(sum->read_bytes, part->read_bytes);
    sum->write_bytes = num_add_sat(sum->write_bytes, part->write_bytes);
}

#endif
