/* torch_scalar.c - loops that torch.compile does not vectorise on CPUs: norms over small groups of channels, and masks
 * of shifted windows. */
#include "predictor/torch/torch_kernel.h"

#include <math.h>

#include "graph/graph.h"
#include "graph/opdef.h"

/* Reductions over the pixels and a group of channels of a map: number of groups, and channels of each. */
typedef struct channel_groups {
    double count, channels;
} channel_groups;

/* Recent files have an operator for group norms; older exporters write a reshape to (image, group, rest) and an
 * instance norm. */
static bool norm_groups(const ft_graph *graph, const ft_op *op, const ft_tensor *in, channel_groups *groups) {
    const ft_tensor *map = NULL;
    if (op_is(op, "GroupNormalization")) {
        groups->count = (double)op_attr_int(op, "num_groups", 1);
        map = in;
    } else if (op_is(op, "InstanceNormalization") && in->rank == 3 && in->producer != FT_NONE) {
        groups->count = (double)in->dims[1];
        map = op_input(graph, &graph->ops[in->producer], 0);
    }
    if (map == NULL || map->rank != 4 || groups->count < 1) return false;
    groups->channels = (double)map->dims[1] / groups->count;
    return true;
}

/* Norms implemented by models (EvoNorm) reduce (image, group, channel, row, column). */
static bool reduction_groups(const ft_op *op, const ft_tensor *in, channel_groups *groups) {
    if (op->def->op_class != FT_CLASS_REDUCE || in->rank != 5) return false;
    groups->count = (double)in->dims[1];
    groups->channels = (double)in->dims[2];
    return true;
}

/* Compiled maps are channels-last, so the elements of a group come in runs of its channels; runs shorter than a vector
 * are not vectorised. Each group is processed by one core; with too little work to parallelise, one core has all. */
static double scalar_group_elems(const ft_graph *graph, const ft_op *op) {
    static const double LANES = 16, CORES = 14 /* of the measured CPU */, MIN_SHARE = 4096;
    const ft_tensor *in = op_input(graph, op, 0);
    channel_groups groups = {0};
    if (in == NULL || !shape_is_known(in)) return 0;
    if (!norm_groups(graph, op, in, &groups) && !reduction_groups(op, in, &groups)) return 0;
    if (groups.count < 1 || groups.channels >= LANES) return 0;
    double elems = (double)tensor_elems(graph, in), batch = (double)ft_graph_batch(graph);
    if (elems / batch < CORES * MIN_SHARE) return elems;
    return elems / groups.count * ceil(groups.count / CORES);
}

/* Shifted windows have a mask each: (1, window, 1, row, column). Models add it to the bias of the heads in every step,
 * where it has as many elements as the scores. */
static bool has_window_masks(const ft_graph *graph, const ft_op *op) {
    for (uint32_t i = 0; op_is(op, "Add") && i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (t != NULL && t->role == FT_CONSTANT && t->rank == 5 && t->dims[1] > 1) return true;
    }
    return false;
}

double torch_scalar_elems(const ft_graph *graph, const ft_kernel *kernel, const torch_kernel *k) {
    double max_elems = 0;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &graph->ops[kernel->ops[i]];
        max_elems = fmax(max_elems, scalar_group_elems(graph, op));
        if (k->kind == TORCH_ATTENTION && has_window_masks(graph, op)) max_elems = fmax(max_elems, k->scores);
    }
    return max_elems;
}
