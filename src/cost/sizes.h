/* sizes.h - sizes of tensors under the options of a cost computation, and the scale of an operator's work. */
#ifndef COST_SIZES_H
#define COST_SIZES_H

#include "base/num.h"
#include "foretell/cost.h"
#include "graph/graph.h"
#include "graph/opdef.h"

static inline bool size_is_float(const ft_tensor *t) {
    return t->dtype == FT_DTYPE_UNKNOWN ||
           (dtype_info_of(t->dtype).is_float && t->dtype != FT_COMPLEX64 && t->dtype != FT_COMPLEX128);
}

/* Integers that represent floats in a quantised model. */
static inline bool size_is_quantised(const ft_tensor *t) {
    return t->dtype == FT_INT8 || t->dtype == FT_UINT8 || t->dtype == FT_INT16 ||
           (dtype_info_of(t->dtype).bits < 8 && !dtype_info_of(t->dtype).is_float);
}

/* The type a tensor is held in: floats in the type of the options; a quantised model is trained in floats. */
static inline ft_dtype size_dtype(const ft_tensor *t, const ft_cost_options *options) {
    if (size_is_float(t)) return options->dtype != FT_DTYPE_UNKNOWN ? options->dtype : t->dtype;
    if (options->mode != FT_TRAIN || !size_is_quantised(t)) return t->dtype;
    return options->dtype != FT_DTYPE_UNKNOWN ? options->dtype : FT_FLOAT32;
}

static inline uint64_t size_of_tensor(const ft_graph *graph, const ft_tensor *t, const ft_cost_options *options) {
    return t->held_bytes > 0 ? t->held_bytes : dtype_bytes(size_dtype(t, options), tensor_elems(graph, t));
}

/* Auxiliary inputs (shapes, axes, quantisation scales) are neither weights nor data. */
static inline bool input_is_auxiliary(const ft_opdef *def, uint32_t i) {
    return (def->aux_inputs >> (i < 31 ? i : 31) & 1) != 0;
}

static inline bool op_is_scaled(const ft_graph *graph, const ft_op *op) {
    if (!graph_is_scaled(graph)) return false;
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *out = op_output(graph, op, i);
        if (out != NULL && out->is_batched) return true;
    }
    return false;
}

/* Converts the work of one run at the exported batch to work at the bound batch, over all trips of enclosing loops. */
static inline uint64_t op_scale(const ft_graph *graph, const ft_op *op, uint64_t work) {
    work = num_mul_sat(work, op->repeats);
    if (!op_is_scaled(graph, op)) return work;
    return num_scale_sat(work, (uint64_t)graph->batch, (uint64_t)graph->exported_batch);
}

#endif
