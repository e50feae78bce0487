/* tfrepair.c - repair of wrongly recorded shapes.
 *
 * In every graph of the CG set (and in the IR files they come from) the node before the final Mean has its feature
 * map recorded as 1xC: its height and width are lost. In squeeze-and-excite blocks the product with a scalar is
 * recorded with the shape of the map that it scales later. One rule finds both: elementwise operators compute the
 * broadcast of their inputs, and a convolution, pool or concatenation of maps computes a map.
 *
 * Padding is not in the tables either. It is SAME when the recorded size fits that, else VALID. A pool whose size is
 * lost takes the padding of the last unambiguous pool of its type before it; SAME without one. */
#include "base/num.h"
#include "read/tfgraph.h"

#include <assert.h>
#include <string.h>

enum { MAP_RANK = 4 };

static bool shape_is_equal(const tf_shape *a, const tf_shape *b) {
    return a->rank == b->rank && (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0);
}

/* The shape of input `i` of a node: the producer's, or the recorded one when there is no producer. */
static const tf_shape *input_shape(const tf_node *nodes, const tf_node *node, uint32_t i) {
    return i < node->input_count ? &nodes[node->inputs[i]].out : &node->in;
}

/* Broadcasts `b` into *a, aligned at the last dimension. False when they are incompatible. */
static bool broadcast(tf_shape *a, const tf_shape *b) {
    if (a->rank < 0 || b->rank < 0) return false;
    const tf_shape *longer = a->rank >= b->rank ? a : b, *shorter = longer == a ? b : a;
    tf_shape made = *longer;
    for (int32_t i = 1; i <= shorter->rank; i++) {
        int64_t *dim = &made.dims[made.rank - i], other = shorter->dims[shorter->rank - i];
        if (*dim == 1) *dim = other;
        if (other != 1 && other != *dim) return false;
    }
    *a = made;
    return true;
}

static void repair_elementwise(const tf_node *nodes, tf_node *node) {
    tf_shape made = *input_shape(nodes, node, 0);
    if (made.rank < 0) return;
    uint32_t count = node->type.kind == TF_ELEMENTWISE ? node->input_count : 0;
    for (uint32_t i = 1; i < count; i++) {
        if (!broadcast(&made, input_shape(nodes, node, i))) return;
    }
    if (made.rank > 0 && !shape_is_equal(&made, &node->out)) node->out = made;
}

static void repair_concat(const tf_node *nodes, tf_node *node) {
    tf_shape made = *input_shape(nodes, node, 0);
    if (made.rank != MAP_RANK || node->out.rank == MAP_RANK) return;
    for (uint32_t i = 1; i < node->input_count; i++) {
        const tf_shape *more = input_shape(nodes, node, i);
        if (more->rank == 0) continue; /* the axis */
        if (more->rank != MAP_RANK || !num_add_i64(made.dims[3], more->dims[3], &made.dims[3])) return;
    }
    node->out = made;
}

/* Output height or width of a window, 0 when it does not fit. */
static int64_t window_size(const tf_node *node, const tf_shape *in, int axis, tf_padding padding) {
    assert(axis == 0 || axis == 1);
    int64_t size = in->dims[1 + axis], kernel = node->kernel[axis], stride = node->strides[axis];
    int64_t dilation = node->dilations[axis] > 0 ? node->dilations[axis] : 1;
    if (size <= 0 || stride <= 0) return 0;
    if (padding == TF_PAD_SAME) return (int64_t)num_div_up((uint64_t)size, (uint64_t)stride);
    int64_t span;
    if (kernel <= 0 || !num_mul_i64(kernel - 1, dilation, &span) || span >= size) return 0;
    return (size - span - 1) / stride + 1;
}

static bool window_fits(const tf_node *node, const tf_shape *in, tf_padding padding) {
    return window_size(node, in, 0, padding) == node->out.dims[1] &&
           window_size(node, in, 1, padding) == node->out.dims[2];
}

/* The last unambiguous padding of each type of pool. */
typedef struct pool_padding {
    const ft_opdef *def;
    tf_padding padding;
} pool_padding;

enum { POOL_TYPES = 4 };

static pool_padding *find_pool(pool_padding *pools, const tf_node *node) {
    for (int i = 0; i < POOL_TYPES - 1; i++) {
        if (pools[i].def == NULL) pools[i].def = node->type.def;
        if (pools[i].def == node->type.def) return &pools[i];
    }
    return &pools[POOL_TYPES - 1];
}

static void repair_window(const tf_node *nodes, tf_node *node, pool_padding *pools) {
    const tf_shape *in = input_shape(nodes, node, 0);
    bool is_pool = node->type.kind == TF_POOL;
    pool_padding *memory = is_pool ? find_pool(pools, node) : NULL;
    if (in->rank != MAP_RANK) return;
    if (node->out.rank == MAP_RANK) {
        bool is_same = window_fits(node, in, TF_PAD_SAME), is_valid = window_fits(node, in, TF_PAD_VALID);
        if (node->padding == TF_PAD_UNKNOWN) node->padding = is_valid && !is_same ? TF_PAD_VALID : TF_PAD_SAME;
        if (is_pool && is_same != is_valid) memory->padding = is_valid ? TF_PAD_VALID : TF_PAD_SAME;
        return;
    }
    if (node->padding == TF_PAD_EXPLICIT) return;
    if (node->padding == TF_PAD_UNKNOWN && is_pool) node->padding = memory->padding;
    if (node->padding == TF_PAD_UNKNOWN) node->padding = TF_PAD_SAME;
    int64_t height = window_size(node, in, 0, node->padding), width = window_size(node, in, 1, node->padding);
    if (height <= 0 || width <= 0 || node->out.rank < 1) return;
    int64_t channels = node->out.dims[node->out.rank - 1];
    node->out = (tf_shape){.rank = MAP_RANK, .dims = {in->dims[0], height, width, channels}};
}

/* IR made from ONNX has no weight shape: channels are those of the maps. */
static void complete_kernel(const tf_node *nodes, tf_node *node) {
    const tf_shape *in = input_shape(nodes, node, 0), *out = &node->out;
    if (node->kernel[3] > 0 || in->rank != MAP_RANK || out->rank != MAP_RANK) return;
    int64_t group = node->group > 1 ? node->group : 1, channels = in->dims[3];
    if (channels <= 0 || channels % group != 0) return;
    if (group > 1 && group == channels && node->type.kind == TF_CONV) {
        const char *spelling = node->type.name;
        node->type = tf_type_of("DepthwiseConv2dNative");
        node->type.name = spelling;
    }
    bool is_depthwise = node->type.kind == TF_DEPTHWISE;
    node->kernel[2] = is_depthwise ? channels : channels / group;
    node->kernel[3] = is_depthwise ? out->dims[3] / channels : out->dims[3];
}

void tf_repair(tf_node *nodes, uint32_t count) {
    pool_padding pools[POOL_TYPES] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        tf_node *node = &nodes[i];
        switch (node->type.kind) {
        case TF_ELEMENTWISE:
        case TF_NORM:
        case TF_BIAS:
            repair_elementwise(nodes, node);
            break;
        case TF_CONCAT:
            repair_concat(nodes, node);
            break;
        case TF_CONV:
        case TF_DEPTHWISE:
            repair_window(nodes, node, pools);
            complete_kernel(nodes, node);
            break;
        case TF_POOL:
            repair_window(nodes, node, pools);
            break;
        default:
            break;
        }
    }
}
