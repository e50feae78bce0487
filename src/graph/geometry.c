/* geometry.c - geometry of convolutions, matrix products and pools.
 *
 * Sizes come from the tensors; where a format has no weight tensors, they come from attributes and from the shape of
 * the output. Every size is positive, except `out` of an operator whose output shape is not known yet. cost/ computes
 * the work from it. */
#include "graph/geometry.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"

static uint32_t data_index(const ft_opdef *def) {
    return def->x;
}

static uint32_t weight_index(const ft_opdef *def) {
    return def->x == 0 && def->w == 0 ? 1 : def->w;
}

static bool is_auxiliary(const ft_opdef *def, uint32_t input) {
    return input < 32 && (def->aux_inputs >> input & 1) != 0;
}

/* A known shape without empty dimensions, of at least `rank` dimensions. */
static bool has_positive_dims(const ft_tensor *t, int32_t rank) {
    if (t == NULL || t->rank < rank) return false;
    int64_t elems = 1;
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] <= 0 || !num_mul_i64(elems, t->dims[i], &elems)) return false;
    return elems <= FT_MAX_ELEMS;
}

/* The first input after data and weights that is not auxiliary and has the width of the output. Scales and zero points
 * of quantised products are auxiliary, so they are skipped. */
static const ft_tensor *find_bias(const ft_graph *graph, const ft_op *op, int64_t width) {
    uint32_t x = data_index(op->def), w = weight_index(op->def);
    for (uint32_t i = (x > w ? x : w) + 1; i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (is_auxiliary(op->def, i) || !has_positive_dims(t, 0)) continue;
        if (t->rank == 0 || t->dims[t->rank - 1] == width || t->dims[t->rank - 1] == 1) return t;
    }
    return NULL;
}

/* Reads a list of positive sizes; absent or short lists leave `fallback`. False when a value is out of range. */
static bool read_sizes(const ft_op *op, const char *name, int32_t spatial, int64_t fallback, int64_t *sizes) {
    uint32_t count;
    const int64_t *list = op_attr_ints(op, name, &count);
    for (int32_t i = 0; i < spatial; i++) {
        sizes[i] = (uint32_t)i < count ? list[i] : fallback;
        if (sizes[i] <= 0 || sizes[i] > FT_MAX_DIM) return false;
    }
    return true;
}

static bool multiply(const int64_t *sizes, int32_t count, int64_t *product) {
    *product = 1;
    for (int32_t i = 0; i < count; i++)
        if (!num_mul_i64(*product, sizes[i], product)) return false;
    return true;
}

/* Positions of the channels and of the first spatial dimension of an activation. */
static int32_t channel_axis(const ft_graph *graph, const ft_op *op, int32_t rank) {
    return op_is_nhwc(graph, op) ? rank - 1 : 1;
}

static void read_map(const ft_graph *graph, const ft_op *op, const ft_tensor *t, int32_t spatial, int64_t *sizes) {
    assert(spatial <= MAX_SPATIAL && t->rank >= spatial + 2);
    int32_t first = op_is_nhwc(graph, op) ? 1 : 2;
    for (int32_t i = 0; i < spatial; i++) sizes[i] = t->dims[first + i];
}

/* --- Convolutions -------------------------------------------------------------------------------------------- */

/* Kernel, groups and output channels from the weights. False when they do not fit the data. */
static bool read_weights(const ft_op *op, conv_geometry *g) {
    const int64_t *d = g->weight->dims;
    int32_t last = g->weight->rank - 1, first = 0;
    int64_t fan_in = 1, covered; /* input channels of a group; all of them */
    g->groups = g->cin;
    g->cout = d[last];
    switch (op->def->layout) {
    case WEIGHT_OIHW:
        fan_in = d[1];
        g->groups = op_attr_int(op, "group", g->cin / fan_in);
        g->cout = d[0];
        first = 2;
        break;
    case WEIGHT_IOHW:
        g->groups = op_attr_int(op, "group", 1);
        if (g->groups <= 0 || d[0] % g->groups != 0 || !num_mul_i64(d[1], g->groups, &g->cout)) return false;
        fan_in = d[0] / g->groups;
        first = 2;
        break;
    case WEIGHT_OHWI:
        fan_in = d[last];
        g->groups = g->cin / fan_in;
        g->cout = d[0];
        first = 1;
        break;
    case WEIGHT_1HWO:
        first = 1;
        break;
    case WEIGHT_HWIO:
    case WEIGHT_DHWIO:
        fan_in = d[last - 1];
        g->groups = g->cin / fan_in;
        break;
    case WEIGHT_HWOI:
        fan_in = d[last];
        g->groups = 1;
        g->cout = d[last - 1];
        break;
    case WEIGHT_HWIM:
        g->groups = d[last - 1];
        if (!num_mul_i64(d[last - 1], d[last], &g->cout)) return false;
        break;
    }
    for (int32_t i = 0; i < g->spatial; i++) g->kernel[i] = d[first + i];
    return g->groups > 0 && num_mul_i64(fan_in, g->groups, &covered) && covered == g->cin && g->cout % g->groups == 0;
}

/* Formats without weight tensors have the kernel in attributes and the channels in the shape of the output. */
static bool read_attributes(const ft_graph *graph, const ft_op *op, const ft_tensor *y, conv_geometry *g) {
    if (!has_positive_dims(y, 2) || y->rank != g->spatial + 2) return false;
    bool is_depthwise = op->def->layout == WEIGHT_HWIM || op->def->layout == WEIGHT_1HWO;
    g->cout = y->dims[channel_axis(graph, op, y->rank)];
    g->groups = op_attr_int(op, "group", is_depthwise ? g->cin : 1);
    return read_sizes(op, "kernel_shape", g->spatial, 1, g->kernel) && g->groups > 0 && g->cin % g->groups == 0 &&
           g->cout % g->groups == 0;
}

static bool is_conv(const ft_op *op) {
    return op->def->cost == COST_CONV || op->def->cost == COST_CONV_TRANSPOSE;
}

static bool find_geometry(const ft_graph *graph, const ft_op *op, conv_geometry *g) {
    const ft_opdef *def = op->def;
    memset(g, 0, sizeof *g);
    g->x = op_input(graph, op, data_index(def));
    g->weight = op_input(graph, op, weight_index(def));
    const ft_tensor *y = op_output(graph, op, 0);
    if (g->x == NULL || !has_positive_dims(g->x, 3)) return false;
    g->spatial = g->x->rank - 2;
    g->batch = g->x->dims[0];
    g->cin = g->x->dims[channel_axis(graph, op, g->x->rank)];
    read_map(graph, op, g->x, g->spatial, g->in);
    if (g->weight != NULL) {
        if (!has_positive_dims(g->weight, 3) || g->weight->rank != g->x->rank || !read_weights(op, g)) return false;
    } else if (!read_attributes(graph, op, y, g)) {
        return false;
    }
    if (has_positive_dims(y, 3) && y->rank == g->x->rank) read_map(graph, op, y, g->spatial, g->out);
    if (!read_sizes(op, "strides", g->spatial, 1, g->stride) ||
        !read_sizes(op, "dilations", g->spatial, 1, g->dilation) || !multiply(g->kernel, g->spatial, &g->kernel_elems))
        return false;
    g->bias = find_bias(graph, op, g->cout);
    g->is_depthwise =
        g->groups == g->cin && (g->groups > 1 || def->layout == WEIGHT_1HWO || def->layout == WEIGHT_HWIM);
    assert(g->cin > 0 && g->cout > 0 && g->groups > 0 && g->kernel_elems > 0);
    return true;
}

bool conv_geometries_cache(ft_graph *graph) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++) count += is_conv(&graph->ops[i]);
    const conv_geometry **convs = ARENA_ARRAY(&graph->memory, const conv_geometry *, (size_t)graph->op_count + 1);
    conv_geometry *made = ARENA_ARRAY(&graph->memory, conv_geometry, (size_t)count + 1);
    if (convs == NULL || made == NULL) return false;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        if (!is_conv(&graph->ops[i])) continue;
        if (find_geometry(graph, &graph->ops[i], made)) convs[i] = made;
        made++;
    }
    graph->convs = convs;
    return true;
}

bool conv_geometry_of(const ft_graph *graph, const ft_op *op, conv_geometry *geometry) {
    if (!is_conv(op)) return false;
    if (graph->convs == NULL) return find_geometry(graph, op, geometry);
    const conv_geometry *kept = conv_geometry_cached(graph, op);
    if (kept != NULL) *geometry = *kept;
    return kept != NULL;
}

const conv_geometry *conv_geometry_cached(const ft_graph *bound, const ft_op *op) {
    assert(bound->convs != NULL && op >= bound->ops && op < bound->ops + bound->op_count);
    return bound->convs[op - bound->ops];
}

/* --- Matrix products ----------------------------------------------------------------------------------------- */

static bool is_transposed(const ft_op *op, const char *gemm, const char *tflite, const char *tf) {
    return op_attr_int(op, gemm, 0) != 0 || op_attr_int(op, tflite, 0) != 0 || op_attr_int(op, tf, 0) != 0;
}

/* A fully connected layer: however many leading dimensions, the rows are what is left of x after k. */
static bool read_dense(const ft_graph *graph, const ft_op *op, matmul_geometry *g) {
    const ft_tensor *y = op_output(graph, op, 0);
    uint64_t elems = (uint64_t)shape_elems(g->a->dims, g->a->rank);
    int64_t k, n;
    if (packed_matrix(graph, op, &k, &n)) { /* weights whose shape is not that of the matrix */
        g->k = (uint64_t)k;
        g->n = (uint64_t)n;
    } else if (g->b != NULL) {
        if (!has_positive_dims(g->b, 1)) return false;
        g->k = (uint64_t)g->b->dims[g->b->rank - 1];
        g->n = (uint64_t)shape_elems(g->b->dims, g->b->rank) / g->k;
    } else {
        if (y == NULL || !has_positive_dims(y, 1) || g->a->rank < 1) return false;
        g->k = (uint64_t)g->a->dims[g->a->rank - 1];
        g->n = (uint64_t)y->dims[y->rank - 1];
    }
    g->batch = 1;
    g->m = elems / g->k;
    return g->m > 0 && elems % g->k == 0;
}

/* The leading dimensions of both operands, broadcast. */
static bool read_batch(const ft_tensor *a, const ft_tensor *b, uint64_t *batch) {
    *batch = 1;
    for (int32_t back = 3; back <= a->rank || back <= b->rank; back++) {
        int64_t da = back <= a->rank ? a->dims[a->rank - back] : 1;
        int64_t db = back <= b->rank ? b->dims[b->rank - back] : 1;
        if (da != db && da != 1 && db != 1) return false;
        *batch = num_mul_sat(*batch, (uint64_t)(da > db ? da : db));
    }
    return true;
}

ft_tensor matmul_operand(const ft_op *op, const ft_tensor *t, const char *attribute) {
    ft_tensor moved = *t;
    if (t->rank < 3 || op_attr_int(op, attribute, 0) == 0) return moved;
    for (int32_t i = 0; i < t->rank - 2; i++) moved.dims[i] = t->dims[i + 1];
    moved.dims[t->rank - 2] = t->dims[0];
    return moved;
}

static bool read_matmul(const ft_op *op, matmul_geometry *g) {
    if (g->a->rank < 1 || !has_positive_dims(g->b, 1)) return false;
    ft_tensor left = matmul_operand(op, g->a, "transBatchA"), right = matmul_operand(op, g->b, "transBatchB");
    const ft_tensor *a = &left, *b = &right;
    bool transposes_a = a->rank > 1 && is_transposed(op, "transA", "adj_x", "transpose_a");
    bool transposes_b = b->rank > 1 && is_transposed(op, "transB", "adj_y", "transpose_b");
    int64_t a_last = a->dims[a->rank - 1], a_rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    /* A vector on the right is a column. */
    int64_t b_last = b->rank > 1 ? b->dims[b->rank - 1] : 1, b_rows = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    int64_t k = transposes_a ? a_rows : a_last;
    if (k != (transposes_b ? b_last : b_rows)) return false;
    g->k = (uint64_t)k;
    g->m = (uint64_t)(transposes_a ? a_last : a_rows);
    g->n = (uint64_t)(transposes_b ? b_rows : b_last);
    return read_batch(a, b, &g->batch);
}

bool matmul_geometry_of(const ft_graph *graph, const ft_op *op, matmul_geometry *geometry) {
    const ft_opdef *def = op->def;
    if (def->cost != COST_MATMUL) return false;
    matmul_geometry g = {.a = op_input(graph, op, data_index(def)), .b = op_input(graph, op, weight_index(def))};
    if (g.a == NULL || !has_positive_dims(g.a, 0)) return false;
    bool is_dense = op_is(op, "FullyConnected") || op_is(op, "InnerProduct") || def->packed_inputs != 0 || g.b == NULL;
    if (is_dense ? !read_dense(graph, op, &g) : !read_matmul(op, &g)) return false;
    assert(g.m > 0 && g.k > 0 && g.n > 0);
    g.bias = g.n <= (uint64_t)FT_MAX_DIM ? find_bias(graph, op, (int64_t)g.n) : NULL;
    *geometry = g;
    return true;
}

/* --- Pools --------------------------------------------------------------------------------------------------- */

bool pool_geometry_of(const ft_graph *graph, const ft_op *op, pool_geometry *geometry) {
    const ft_tensor *x = op_input(graph, op, data_index(op->def)), *y = op_output(graph, op, 0);
    if (op->def->cost != COST_POOL || !has_positive_dims(x, 3)) return false;
    pool_geometry g = {.spatial = x->rank - 2, .channels = x->dims[channel_axis(graph, op, x->rank)]};
    read_map(graph, op, x, g.spatial, g.in);
    if (has_positive_dims(y, 3) && y->rank == x->rank) read_map(graph, op, y, g.spatial, g.out);
    uint32_t kernel_count;
    op_attr_ints(op, "kernel_shape", &kernel_count);
    if (kernel_count > 0) {
        if (!read_sizes(op, "kernel_shape", g.spatial, 1, g.kernel)) return false;
    } else {
        for (int32_t i = 0; i < g.spatial; i++) /* global, or adaptive: the input divided by the output */
            g.kernel[i] = g.out[i] > 0 ? (int64_t)num_div_up((uint64_t)g.in[i], (uint64_t)g.out[i]) : g.in[i];
    }
    if (!read_sizes(op, "strides", g.spatial, 1, g.stride) || !multiply(g.kernel, g.spatial, &g.kernel_elems))
        return false;
    *geometry = g;
    return true;
}
