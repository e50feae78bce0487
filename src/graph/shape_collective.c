/* shape_collective.c - shape rules of the exchanges between ranks that change a shape.
 *
 * A group of `group_size` ranks holds one tensor in equal parts along `axis` (0). AllGather gives each rank the whole;
 * ReduceScatter adds the tensors of all ranks and leaves each its part of the sum. */
#include "graph/shape.h"

static ft_status set_axis(infer *in, bool is_gathered) {
    const ft_tensor *x = input_known(in, 0);
    int64_t ranks = op_attr_int(in->op, "group_size", 1), dims[FT_MAX_RANK];
    int32_t axis;
    if (x == NULL) return FT_OK;
    if (ranks < 1) return shape_fail(in, "a group of %lld ranks", (long long)ranks);
    if (!axis_normalize(op_attr_int(in->op, "axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    for (int32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    if (is_gathered && !num_mul_i64(dims[axis], ranks, &dims[axis])) return shape_fail(in, "the result is too large");
    if (!is_gathered && dims[axis] % ranks != 0)
        return shape_fail(in, "%lld elements along axis %d cannot be divided among %lld ranks", (long long)dims[axis],
                          axis, (long long)ranks);
    if (!is_gathered) dims[axis] /= ranks;
    return shape_set(in, 0, x->dtype, dims, x->rank);
}

ft_status shape_all_gather(infer *in) {
    return set_axis(in, true);
}

ft_status shape_reduce_scatter(infer *in) {
    return set_axis(in, false);
}
