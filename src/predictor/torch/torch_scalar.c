/* torch_scalar.c - see torch_scalar.h. */
#include "predictor/torch/torch_scalar.h"

#include <math.h>

#include "graph/graph.h"
#include "graph/opdef.h"

/* A reduction over the pixels and some of the channels of a map: how many there are, and of how many channels each. */
typedef struct channel_groups {
    double count, channels;
} channel_groups;

/* A group norm has an operator of its own in new files; before, exporters spelled it as a reshape to (image, group,
 * rest) and an instance norm of that. */
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

/* Norms that models write out themselves (EvoNorm) reduce (image, group, channel, row, column). */
static bool reduction_groups(const ft_op *op, const ft_tensor *in, channel_groups *groups) {
    if (op->def->op_class != FT_CLASS_REDUCE || in->rank != 5) return false;
    groups->count = (double)in->dims[1];
    groups->channels = (double)in->dims[2];
    return true;
}

/* Compiled maps have their channels side by side, so what belongs to a group comes in runs of its channels; runs that
 * are shorter than a vector are not vectorised. Each group goes to one core, unless the work is too little for
 * torch.compile to share it. */
static double taken_for_groups(const ft_graph *graph, const ft_op *op) {
    static const double LANES = 16, CORES = 14 /* of what was measured */, MIN_SHARE = 4096;
    const ft_tensor *in = op_input(graph, op, 0);
    channel_groups groups = {0};
    if (in == NULL || !shape_is_known(in)) return 0;
    if (!norm_groups(graph, op, in, &groups) && !reduction_groups(op, in, &groups)) return 0;
    if (groups.count < 1 || groups.channels >= LANES) return 0;
    double elems = (double)tensor_elems(graph, in), batch = (double)ft_graph_batch(graph);
    if (elems / batch < CORES * MIN_SHARE) return elems;
    return elems / groups.count * ceil(groups.count / CORES);
}

/* Windows that were shifted have a mask each: (1, window, 1, row, column). Models add it to the bias of the heads in
 * every step, and it is as large as all scores then. */
static bool has_window_masks(const ft_graph *graph, const ft_op *op) {
    for (uint32_t i = 0; op_is(op, "Add") && i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (t != NULL && t->role == FT_CONSTANT && t->rank == 5 && t->dims[1] > 1) return true;
    }
    return false;
}

double torch_scalar_elems(const ft_graph *graph, const ft_kernel *kernel, const torch_kernel *k) {
    double most = 0;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &graph->ops[kernel->ops[i]];
        most = fmax(most, taken_for_groups(graph, op));
        if (k->kind == TORCH_ATTENTION && has_window_masks(graph, op)) most = fmax(most, k->scores);
    }
    return most;
}
