/* fuse_name.c - names of operators in the fusion rules.
 *
 * Most names come from the operator table (its `kernel` column, or the operator's name in lower case). Those that
 * depend on the operands are computed here:
 *
 *     dwconv   a convolution with one input channel per group, and more than one group
 *     fc       a matrix product with a constant; `matmul` is the product of two activations
 *     gap      a mean over the rows and columns of a map
 *     select   one entry along an axis (Gather with a constant scalar), which runtimes implement as a view */
#include <ctype.h>
#include <string.h>

#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/opdef.h"

static const char *lower(const char *text, char buffer[KERNEL_NAME_BYTES]) {
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < KERNEL_NAME_BYTES; i++) {
        unsigned char c = (unsigned char)text[i];
        buffer[i] = isalnum(c) && c < 0x80 ? (char)tolower(c) : '_';
    }
    buffer[i] = '\0';
    return i > 0 ? buffer : "unknown";
}

static const char *name_conv(const ft_graph *graph, const ft_op *op) {
    const conv_geometry *g = conv_geometry_cached(graph, op);
    return g != NULL && g->is_depthwise && g->groups > 1 ? "dwconv" : "conv";
}

/* A product without a weight tensor (the CG tables) counts as one with constant weights. */
static const char *name_product(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *weight = op_input(graph, op, op->def->w != 0 ? op->def->w : 1);
    return weight == NULL || graph_is_constant(graph, weight) ? "fc" : "matmul";
}

/* The axes of a reduction, from the attribute or from input 1. */
static const int64_t *reduced_axes(const ft_graph *graph, const ft_op *op, uint32_t *count) {
    const int64_t *axes = op_attr_ints(op, "axes", count);
    const ft_tensor *operand = op_input(graph, op, 1);
    if (axes != NULL || operand == NULL || operand->value == NULL || operand->value->ints == NULL) return axes;
    *count = (uint32_t)operand->value->count;
    return operand->value->ints;
}

static const char *name_mean(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *x = op_input(graph, op, 0);
    uint32_t count = 0;
    const int64_t *axes = reduced_axes(graph, op, &count);
    bool is_table = graph->format == FT_FORMAT_CG || graph->format == FT_FORMAT_NNMETER;
    if (axes == NULL) return is_table ? "gap" : "mean";
    if (x == NULL || x->rank != 4 || count != 2) return "mean";
    int64_t a = axes[0] < 0 ? axes[0] + 4 : axes[0], b = axes[1] < 0 ? axes[1] + 4 : axes[1];
    if (a > b) {
        int64_t swap = a;
        a = b;
        b = swap;
    }
    /* Models in NCHW also have maps in NHWC (ConvNeXt, Swin), so both positions count. */
    return (a == 2 && b == 3) || (a == 1 && b == 2) ? "gap" : "mean";
}

static const char *name_gather(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *index = op_input(graph, op, 1);
    return index != NULL && index->rank == 0 && graph_is_constant(graph, index) ? "select" : "gather";
}

static bool is_same(const char *a, const char *b) {
    return a[0] == b[0] && strcmp(a, b) == 0; /* most names differ in the first letter */
}

const char *kernel_name_of(const ft_graph *graph, const ft_op *op, char buffer[KERNEL_NAME_BYTES]) {
    if (!ft_opdef_is_known(op->def)) return lower(op->type, buffer);
    const char *kernel = op->def->kernel;
    if (kernel == NULL) return lower(op->def->name, buffer);
    if (is_same(kernel, "conv")) return name_conv(graph, op);
    if (is_same(kernel, "fc") || is_same(kernel, "matmul")) return name_product(graph, op);
    if (is_same(kernel, "mean")) return name_mean(graph, op);
    if (is_same(kernel, "gather")) return name_gather(graph, op);
    return kernel;
}
