/* net.c - expansion of architectures to operators, and the work of each operator. */
#include "generate/net.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"

enum { STEM_WIDTH = 32, MAX_NODES = 4096 };

static const char *const op_names[NET_OP_COUNT] = {
#define NET_OP_NAME(name, text) [(name)] = (text),
    NET_OP_LIST(NET_OP_NAME)
#undef NET_OP_NAME
};

const char *net_op_name(net_op op) {
    assert(op < NET_OP_COUNT);
    return op_names[op];
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

static const uint32_t image = UINT32_MAX;

static uint32_t add_node(net *n, net_node node) {
    if (n->count == n->capacity) {
        n->has_failed = true;
        return 0;
    }
    n->nodes[n->count] = node;
    return n->count++;
}

/* A node with one input and an output of the same shape. */
static net_node node_after(const net *n, net_op op, uint32_t from) {
    const net_node *f = from == image ? NULL : &n->nodes[from];
    int64_t channels = f != NULL ? f->channels : 3, side = f != NULL ? f->side : NET_IMAGE;
    net_node node = {.op = op, .in_channels = channels, .in_side = side, .channels = channels, .side = side};
    if (f != NULL) node.inputs[node.input_count++] = from;
    return node;
}

static uint32_t add_plain(net *n, net_op op, uint32_t from) {
    return add_node(n, node_after(n, op, from));
}

static int64_t side_after(int64_t side, int kernel, int stride, int padding) {
    return (side + 2 * padding - kernel) / stride + 1;
}

static uint32_t add_pool(net *n, net_op op, uint32_t from, int kernel, int stride, int padding) {
    assert(kernel > 0 && stride > 0);
    net_node node = node_after(n, op, from);
    node.kernel = kernel;
    node.stride = stride;
    node.padding = padding;
    node.side = side_after(node.in_side, kernel, stride, padding);
    return add_node(n, node);
}

/* Padded so that the map keeps its size, or is halved. */
static uint32_t add_conv(net *n, uint32_t from, int64_t channels, int kernel, int stride, int groups) {
    assert(kernel > 0 && stride > 0 && groups > 0);
    net_node node = node_after(n, NET_CONV, from);
    node.kernel = kernel;
    node.stride = stride;
    node.padding = kernel / 2;
    node.groups = groups;
    node.channels = channels;
    node.side = side_after(node.in_side, kernel, stride, node.padding);
    uint32_t made = add_node(n, node);
    return n->is_unfolded ? add_plain(n, NET_NORM, made) : made;
}

static uint32_t add_conv_relu(net *n, uint32_t from, int64_t channels, int kernel, int stride, int groups) {
    return add_plain(n, NET_RELU, add_conv(n, from, channels, kernel, stride, groups));
}

static uint32_t add_join(net *n, net_op op, const uint32_t *from, uint32_t count) {
    assert(count >= 1 && count <= NET_MAX_INPUTS);
    net_node node = node_after(n, op, from[0]);
    node.in_channels = node.input_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        node.inputs[node.input_count++] = from[i];
        node.in_channels += n->nodes[from[i]].channels;
    }
    node.channels = op == NET_CONCAT ? node.in_channels : n->nodes[from[0]].channels;
    return add_node(n, node);
}

/* --- Blocks: input node and stride in, output node out ----------------------------------------------------------- */

static uint32_t add_vggnet(net *n, uint32_t from, const arch_stage *s, int stride) {
    return add_conv_relu(n, from, s->width, 3, stride, 1);
}

/* Parallel 1x1, 3x3 and 5x5 convolutions and a pool, with a quarter, a half and two eighths of the width. */
static uint32_t add_googlenet(net *n, uint32_t from, const arch_stage *s, int stride) {
    int64_t eighth = s->width / 8;
    uint32_t branches[4];
    branches[0] = add_conv_relu(n, from, s->width - 6 * eighth, 1, stride, 1);
    branches[1] = add_conv_relu(n, from, 2 * eighth, 1, 1, 1);
    branches[1] = add_conv_relu(n, branches[1], 4 * eighth, 3, stride, 1);
    branches[2] = add_conv_relu(n, from, eighth, 1, 1, 1);
    branches[2] = add_conv_relu(n, branches[2], eighth, 5, stride, 1);
    branches[3] = add_pool(n, NET_MAX, from, 3, stride, 1);
    branches[3] = add_conv_relu(n, branches[3], eighth, 1, 1, 1);
    return add_join(n, NET_CONCAT, branches, 4);
}

static uint32_t add_resnext(net *n, uint32_t from, const arch_stage *s, int stride) {
    int64_t inner = s->width / s->narrowing;
    uint32_t ways[2];
    ways[0] = add_conv_relu(n, from, inner, 1, 1, 1);
    ways[0] = add_conv_relu(n, ways[0], inner, 3, stride, s->groups);
    ways[0] = add_conv(n, ways[0], s->width, 1, 1, 1);
    bool is_same = stride == 1 && n->nodes[from].channels == s->width;
    ways[1] = is_same ? from : add_conv(n, from, s->width, 1, stride, 1);
    return add_plain(n, NET_RELU, add_join(n, NET_ADD, ways, 2));
}

static uint32_t add_densenet(net *n, uint32_t from, const arch_stage *s) {
    uint32_t ways[2] = {from, add_plain(n, NET_RELU, add_plain(n, NET_NORM, from))};
    ways[1] = add_conv_relu(n, ways[1], 4 * s->growth, 1, 1, 1);
    ways[1] = add_conv(n, ways[1], s->growth, 3, 1, 1);
    return add_join(n, NET_CONCAT, ways, 2);
}

/* Between dense blocks: to the width of the stage, and to half the map size. */
static uint32_t add_transition(net *n, uint32_t from, const arch_stage *s) {
    uint32_t at = add_plain(n, NET_RELU, add_plain(n, NET_NORM, from));
    return add_pool(n, NET_AVERAGE, add_conv(n, at, s->width, 1, 1, 1), 2, 2, 0);
}

static uint32_t add_mobilenet(net *n, uint32_t from, const arch_stage *s, int stride) {
    int64_t channels = n->nodes[from].channels;
    return add_conv_relu(n, add_conv_relu(n, from, channels, 3, stride, (int)channels), s->width, 1, 1, 1);
}

static uint32_t add_block(net *n, uint32_t from, const arch_stage *s, int stride) {
    switch (s->style) {
    case STYLE_VGGNET:
        return add_vggnet(n, from, s, stride);
    case STYLE_GOOGLENET:
        return add_googlenet(n, from, s, stride);
    case STYLE_RESNEXT:
        return add_resnext(n, from, s, stride);
    case STYLE_DENSENET:
        return add_densenet(n, from, s);
    default:
        return add_mobilenet(n, from, s, stride);
    }
}

static uint32_t add_stage(net *n, uint32_t at, const arch_stage *s) {
    bool is_dense = s->style == STYLE_DENSENET;
    if (is_dense && !s->halves_last) at = add_transition(n, at, s);
    for (int i = 0; i < s->depth; i++) {
        bool halves = i == (s->halves_last ? s->depth - 1 : 0);
        at = add_block(n, at, s, halves ? 2 : 1);
    }
    return is_dense && s->halves_last ? add_transition(n, at, s) : at;
}

static void add_head(net *n, uint32_t at) {
    net_node node = node_after(n, NET_GLOBAL, at);
    node.side = 1;
    at = add_node(n, node);
    node = node_after(n, NET_FLATTEN, at);
    node.side = 0;
    at = add_node(n, node);
    node = node_after(n, NET_GEMM, at);
    node.channels = NET_CLASSES;
    add_node(n, node);
}

ft_status net_build(const arch *a, bool is_unfolded, arena *memory, net *made, ft_error *error) {
    net n = {.capacity = MAX_NODES, .is_unfolded = is_unfolded};
    n.nodes = ARENA_ARRAY(memory, net_node, n.capacity);
    if (n.nodes == NULL) return FT_NOMEM(error);
    uint32_t at = add_conv_relu(&n, image, STEM_WIDTH, 3, 2, 1);
    for (int i = 0; i < ARCH_STAGES; i++) at = add_stage(&n, at, &a->stages[i]);
    add_head(&n, at);
    if (n.has_failed) return ft_fail(error, FT_ERR_LIMIT, "the network has more than %d operators", MAX_NODES);
    *made = n;
    return FT_OK;
}

/* --- Counting ---------------------------------------------------------------------------------------------------- */

static int64_t area(int64_t side) {
    return side > 0 ? side * side : 1;
}

int64_t net_in_elems(const net_node *n) {
    return n->in_channels * area(n->in_side);
}

int64_t net_out_elems(const net_node *n) {
    return n->channels * area(n->side);
}

/* Including the bias, which every convolution and linear layer has, since normalisation is folded. */
int64_t net_weights(const net_node *n) {
    switch (n->op) {
    case NET_CONV:
        return n->channels * (n->in_channels / n->groups) * n->kernel * n->kernel + n->channels;
    case NET_NORM:
        return 4 * n->channels;
    case NET_GEMM:
        return (n->in_channels + 1) * n->channels;
    default:
        return 0;
    }
}

int64_t net_flops(const net_node *n) {
    int64_t out = net_out_elems(n), window = (int64_t)n->kernel * n->kernel;
    switch (n->op) {
    case NET_CONV:
        return 2 * out * (n->in_channels / n->groups) * window + 2 * out;
    case NET_RELU:
        return out;
    case NET_NORM:
        return 2 * out;
    case NET_AVERAGE:
    case NET_MAX:
        return window * out;
    case NET_GLOBAL:
        return net_in_elems(n);
    case NET_GEMM:
        return 2 * n->in_channels * n->channels;
    case NET_ADD:
        return (n->input_count - 1) * out;
    default:
        return 0;
    }
}
