/* sizes.h - how large things are under the options of a cost question, and which inputs of an operator count. */
#ifndef COST_SIZES_H
#define COST_SIZES_H

#include "base/num.h"
#include "foretell/cost.h"
#include "graph/graph.h"
#include "graph/opdef.h"

static inline bool size_is_float(const ft_tensor *t) {
    return t->dtype == FT_DTYPE_UNKNOWN ||
           (dtype_facts_of(t->dtype).is_float && t->dtype != FT_COMPLEX64 && t->dtype != FT_COMPLEX128);
}

/* Integers that stand for floats in a quantised model. */
static inline bool size_is_quantised(const ft_tensor *t) {
    return t->dtype == FT_INT8 || t->dtype == FT_UINT8 || t->dtype == FT_INT16 ||
           (dtype_facts_of(t->dtype).bits < 8 && !dtype_facts_of(t->dtype).is_float);
}

/* The type a tensor is held in: floats as the options say; a quantised model is trained in the floats it stands for. */
static inline ft_dtype size_dtype(const ft_tensor *t, const ft_cost_options *options) {
    if (size_is_float(t)) return options->dtype != FT_DTYPE_UNKNOWN ? options->dtype : t->dtype;
    if (options->mode != FT_TRAIN || !size_is_quantised(t)) return t->dtype;
    return options->dtype != FT_DTYPE_UNKNOWN ? options->dtype : FT_FLOAT32;
}

static inline uint64_t size_of_tensor(const ft_graph *graph, const ft_tensor *t, const ft_cost_options *options) {
    return dtype_bytes(size_dtype(t, options), tensor_elems(graph, t));
}

/* Steering inputs (shapes, axes) are neither weights nor data. */
static inline bool input_is_steering(const ft_opdef *def, uint32_t i) {
    return (def->steering >> (i < 31 ? i : 31) & 1) != 0;
}

static inline bool op_is_scaled(const ft_graph *graph, const ft_op *op) {
    if (!graph_is_scaled(graph)) return false;
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *out = op_output(graph, op, i);
        if (out != NULL && out->is_batched) return true;
    }
    return false;
}

/* Work of one run at the exported batch -> work at the bound batch, over all runs of the loops around it. */
static inline uint64_t op_scale(const ft_graph *graph, const ft_op *op, uint64_t work) {
    work = num_mul_sat(work, op->repeats);
    if (!op_is_scaled(graph, op)) return work;
    return num_scale_sat(work, (uint64_t)graph->batch, (uint64_t)graph->exported_batch);
}

#endif
