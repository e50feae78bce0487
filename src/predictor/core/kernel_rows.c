/* kernel_rows.c - terms and features of kernels, from their operators' shapes and costs. */
#include "predictor/core/kernel_rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"

/* --- Kinds --------------------------------------------------------------------------------------------------- */

typedef enum kernel_group {
    GROUP_PRODUCT,
    GROUP_DEPTHWISE,
    GROUP_POOL,
    GROUP_ELEMENTWISE,
    GROUP_JOIN, /* many runtimes write the parts of a concatenation in place */
    GROUP_MOVE,
    GROUP_BLOCK, /* several steps in one */
    GROUP_OTHER,
} kernel_group;

typedef struct kernel_kind {
    const char *words; /* of the kernel vocabulary, separated by spaces */
    kernel_group group;
} kernel_kind;

/* The index of a kind in this table is that of its flag: new ones replace the spare one. */
static const kernel_kind kinds[KERNEL_KINDS] = {
    {"conv", GROUP_PRODUCT},
    {"dwconv", GROUP_DEPTHWISE},
    {"convtrans", GROUP_PRODUCT},
    {"fc", GROUP_PRODUCT},
    {"matmul", GROUP_PRODUCT},
    {"maxpool", GROUP_POOL},
    {"avgpool", GROUP_POOL},
    {"gap mean", GROUP_POOL},
    {"concat", GROUP_JOIN},
    {"split slice", GROUP_MOVE},
    {"channelshuffle", GROUP_MOVE},
    {"reshape", GROUP_MOVE},
    {"transpose", GROUP_MOVE},
    {"add sub mul div", GROUP_ELEMENTWISE},
    {"relu", GROUP_ELEMENTWISE},
    {"bn", GROUP_ELEMENTWISE},
    {"hswish hsigmoid sigmoid tanh gelu silu elu", GROUP_ELEMENTWISE},
    {"softmax", GROUP_BLOCK},
    {"layernorm", GROUP_BLOCK},
    {"se", GROUP_BLOCK},
    {"attention", GROUP_BLOCK},
    {"lstm gru rnn", GROUP_BLOCK},
    {"", GROUP_OTHER}, /* spare */
    {"", GROUP_OTHER}, /* none of these */
};

enum { KIND_OTHER = KERNEL_KINDS - 1 };

static const char *const fused_words[KERNEL_FUSED] = {"relu", "bn", "add", "hswish", "maxpool", "avgpool"};

/* Whether a list of words, separated by one character, contains a word. */
static bool has_word(const char *list, const char *word, size_t length, char separator) {
    while (*list != '\0') {
        const char *end = strchr(list, separator);
        size_t size = end != NULL ? (size_t)(end - list) : strlen(list);
        if (size == length && memcmp(list, word, length) == 0) return true;
        list += size + (end != NULL);
    }
    return false;
}

static kernel_group group_of_class(ft_op_class op_class) {
    switch (op_class) {
    case FT_CLASS_CONV:
    case FT_CLASS_MATMUL:
        return GROUP_PRODUCT;
    case FT_CLASS_POOL:
    case FT_CLASS_REDUCE:
        return GROUP_POOL;
    case FT_CLASS_ACTIVATION:
    case FT_CLASS_ELEMENTWISE:
        return GROUP_ELEMENTWISE;
    case FT_CLASS_MOVE:
    case FT_CLASS_VIEW:
    case FT_CLASS_SELECT:
        return GROUP_MOVE;
    case FT_CLASS_ATTENTION:
    case FT_CLASS_RECURRENT:
    case FT_CLASS_NORM:
        return GROUP_BLOCK;
    default:
        return GROUP_OTHER;
    }
}

/* "conv-bn-relu": the first word is the kind, the others were fused to it. */
static void set_flags(const char *type, ft_op_class op_class, float *features) {
    const char *rest = strchr(type, '-');
    size_t length = rest != NULL ? (size_t)(rest - type) : strlen(type);
    uint32_t kind = 0;
    while (kind < KIND_OTHER && !has_word(kinds[kind].words, type, length, ' ')) kind++;
    kernel_group group = kind < KIND_OTHER ? kinds[kind].group : group_of_class(op_class);
    assert(kind < KERNEL_KINDS && (uint32_t)group < KERNEL_GROUPS);
    features[FLAG_KIND + kind] = 1;
    features[FLAG_GROUP + (uint32_t)group] = 1;
    for (uint32_t i = 0; i < KERNEL_FUSED; i++)
        features[FLAG_FUSED + i] = rest != NULL && has_word(rest + 1, fused_words[i], strlen(fused_words[i]), '-');
}

/* --- Arrays of multipliers ----------------------------------------------------------------------------------- */

/* Steps as the open compiler of OpenVINO computes them for the Myriad X.
 *
 * In one step, each of 256 multipliers takes one coefficient. They serve 256 outputs of one input channel, or 128
 * outputs of two, and so on to 16 outputs of 16; the compiler takes the split that needs the fewest steps. Adding up
 * the ways of a split takes steps too. */
static const double ADDING_STEPS[ARRAY_WAYS] = {0, 5, 11, 19, 31};

/* Steps when the inputs are taken in so many parts, one after the other; infinite when coefficients do not fit. */
static double steps_in_parts(double inputs, double outputs, double window, double parts) {
    double best = INFINITY;
    for (int i = 0; i < ARRAY_WAYS; i++) {
        double ways = (double)(1 << i), depth = ceil(ceil(inputs / parts) / ways) * window;
        double steps = parts * ceil(outputs * ways / ARRAY_MULTIPLIERS) * (depth + ADDING_STEPS[i]);
        if (depth <= ARRAY_COEFFICIENTS) best = fmin(best, steps);
    }
    return best;
}

double array_steps(double inputs, double outputs, double window) {
    enum { MAX_PARTS = 64 };
    for (int parts = 1; parts <= MAX_PARTS; parts++) {
        double steps = steps_in_parts(inputs, outputs, window, parts);
        if (isfinite(steps)) return steps;
    }
    return inputs * outputs * window / ARRAY_MULTIPLIERS; /* larger than any the compiler would give to the array */
}

double array_rereads(double output_elements) {
    return fmax(0, output_elements / ARRAY_OUTPUTS - 1);
}

/* --- Shapes -------------------------------------------------------------------------------------------------- */

typedef struct kernel_shape {
    double in_height, out_height, in_channels, out_channels, window, stride;
    double unfolded, pooled, chain;
    double steps, rereads; /* of an array of multipliers; steps are 0 for what it does not run */
    bool is_depthwise, is_dense;
} kernel_shape;

static void shape_of_conv(const conv_geometry *g, kernel_shape *shape) {
    double outputs = (double)g->batch, kernel = (double)g->kernel_elems;
    for (int32_t i = 0; i < g->spatial; i++) outputs *= (double)g->out[i];
    shape->in_height = (double)g->in[0];
    shape->out_height = (double)g->out[0];
    shape->in_channels = (double)g->cin;
    shape->out_channels = (double)g->cout;
    shape->window = (double)g->kernel[0];
    shape->stride = (double)g->stride[0];
    shape->is_depthwise = g->is_depthwise && g->groups > 1;
    double groups = (double)g->groups;
    if (!shape->is_depthwise) {
        double inputs = (double)g->cin / groups, made = (double)g->cout / groups;
        shape->steps = outputs * groups * array_steps(inputs, made, kernel);
        shape->rereads = array_rereads(outputs * (double)g->cout);
    }
    bool is_copied = g->kernel_elems > 1 || g->stride[0] > 1; /* a 1x1 convolution multiplies the input as it is */
    if (!shape->is_depthwise && is_copied) shape->unfolded = outputs * kernel * (double)g->cin / groups;
}

/* Height and channels of a tensor in the layout of its graph; a vector has channels only. */
static void map_of(const ft_graph *graph, const ft_tensor *t, double *height, double *channels) {
    if (t == NULL || t->rank < 1) return;
    bool is_map = t->rank == 4;
    *height = is_map ? (double)t->dims[ft_graph_layout(graph) == FT_NHWC ? 1 : 2] : 1;
    *channels = (double)t->dims[is_map && ft_graph_layout(graph) == FT_NCHW ? 1 : t->rank - 1];
}

static void shape_of_root(const ft_graph *graph, const ft_op *root, const ft_tensor *in, const ft_tensor *out,
                          kernel_shape *shape) {
    const conv_geometry *conv = conv_geometry_cached(graph, root);
    pool_geometry pool;
    matmul_geometry product;
    if (conv != NULL) {
        shape_of_conv(conv, shape);
    } else if (matmul_geometry_of(graph, root, &product)) {
        shape->is_dense = true;
        shape->in_height = shape->out_height = (double)product.m;
        shape->in_channels = (double)product.k;
        shape->out_channels = (double)product.n;
        shape->window = shape->stride = 1;
    } else {
        map_of(graph, in, &shape->in_height, &shape->in_channels);
        map_of(graph, out, &shape->out_height, &shape->out_channels);
        shape->stride = 1;
        if (!pool_geometry_of(graph, root, &pool)) return;
        shape->in_height = (double)pool.in[0];
        shape->out_height = (double)pool.out[0];
        shape->window = (double)pool.kernel[0];
        shape->stride = (double)pool.stride[0];
    }
}

/* The elements that the pooling steps of a kernel read, wherever in it they are, and how many of them are one chain of
 * additions: a mean over a map, or a product with a single pixel, has little parallelism. */
static void add_pooling(const ft_graph *graph, const ft_kernel *kernel, kernel_shape *shape) {
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &graph->ops[kernel->ops[i]];
        const ft_tensor *in = op_input(graph, op, 0), *out = op_output(graph, op, 0);
        if (in == NULL || out == NULL) continue;
        double inputs = (double)tensor_elems(graph, in), outputs = (double)tensor_elems(graph, out);
        const conv_geometry *conv = conv_geometry_cached(graph, op);
        pool_geometry pool;
        if (pool_geometry_of(graph, op, &pool)) {
            shape->pooled += outputs * (double)pool.kernel_elems;
            shape->chain += (double)pool.kernel_elems;
        } else if (op->def->op_class == FT_CLASS_REDUCE || op->def->op_class == FT_CLASS_POOL) {
            shape->pooled += inputs;
            shape->chain += outputs > 0 ? inputs / outputs : 0;
        } else if (conv != NULL && conv->out[0] == 1 && conv->groups == 1) {
            shape->chain += (double)conv->kernel_elems * (double)conv->cin;
        }
    }
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

static double log_of(double amount) {
    return amount > 1 ? log2(amount) : 0;
}

static double padding(double channels, double lanes) {
    return channels >= 1 ? log2(ceil(channels / lanes) * lanes / channels) : 0;
}

static uint32_t data_inputs(const ft_graph *graph, const ft_op *op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        count += t != NULL && !graph_is_constant(graph, t);
    }
    return count;
}

/* An array of multipliers is busy for its steps, whatever they multiply, and does not unfold windows. */
static void use_array(const kernel_shape *shape, double weights, double repeats, kernel_row *row) {
    row->terms[TERM_PRODUCT] = (float)(ARRAY_MULTIPLIERS * shape->steps * repeats);
    row->terms[TERM_UNFOLDED] = 0;
    row->terms[TERM_REREAD] = (float)(weights * shape->rereads);
}

static void row_of(const ft_graph *graph, const ft_kernel *kernel, const ft_op_cost *cost, bool has_array,
                   kernel_row *row) {
    const ft_op *root = &graph->ops[kernel->root], *last = &graph->ops[kernel->ops[kernel->op_count - 1]];
    const ft_tensor *in = op_input(graph, root, 0), *out = op_output(graph, last, 0);
    assert(kernel->op_count > 0);
    kernel_shape shape = {0};
    shape_of_root(graph, root, in, out, &shape);
    double macs = (double)cost->forward.macs, weights = (double)cost->param_bytes;
    double moved = (double)cost->forward.read_bytes + (double)cost->forward.write_bytes - weights;
    add_pooling(graph, kernel, &shape);
    double inputs = data_inputs(graph, root);
    double outputs = out != NULL ? (double)tensor_elems(graph, out) : 0;
    if (moved < 4) moved = 4;
    double repeats = (double)root->repeats;

    row->terms[TERM_LAUNCH] = (float)repeats;
    row->terms[shape.is_depthwise ? TERM_DEPTHWISE : TERM_PRODUCT] = (float)macs;
    row->terms[TERM_MOVED] = (float)moved;
    row->terms[shape.is_dense ? TERM_DENSE : TERM_WEIGHTS] = (float)weights;
    row->terms[TERM_UNFOLDED] = (float)(shape.unfolded * repeats);
    row->terms[TERM_WINDOW] = (float)(shape.pooled * repeats);
    row->terms[TERM_CHAIN] = (float)(shape.chain * repeats);
    if (has_array && shape.steps > 0) use_array(&shape, weights, repeats, row);

    float *f = row->features;
    f[FEATURE_IN_HEIGHT] = (float)log_of(shape.in_height);
    f[FEATURE_OUT_HEIGHT] = (float)log_of(shape.out_height);
    f[FEATURE_IN_CHANNELS] = (float)log_of(shape.in_channels);
    f[FEATURE_OUT_CHANNELS] = (float)log_of(shape.out_channels);
    f[FEATURE_WINDOW] = (float)log_of(shape.window);
    f[FEATURE_STRIDE] = (float)log_of(shape.stride);
    f[FEATURE_MOVED] = (float)log_of(moved);
    f[FEATURE_PRODUCT] = (float)log_of(macs);
    f[FEATURE_WEIGHTS] = (float)log_of(weights);
    f[FEATURE_INTENSITY] = f[FEATURE_PRODUCT] - f[FEATURE_MOVED];
    f[FEATURE_INPUTS] = (float)inputs;
    f[FEATURE_LOG_INPUTS] = (float)log_of(inputs);
    f[FEATURE_POOLED] = (float)(outputs > 0 ? log_of(shape.pooled / outputs) : 0);
    for (uint32_t i = 0; i < 4; i++) {
        f[FEATURE_PAD_IN + i] = (float)padding(shape.in_channels, 4 << i);
        f[FEATURE_PAD_OUT + i] = (float)padding(shape.out_channels, 4 << i);
    }
    set_flags(kernel->type, root->def->op_class, f);
}

ft_status kernel_rows_extract(model_view *s, const ft_rules *rules, arena *memory, kernel_row **rows, uint32_t *count,
                              ft_error *error) {
    return kernel_rows_extract_as(s, rules, true, memory, rows, count, error);
}

ft_status kernel_rows_extract_as(model_view *s, const ft_rules *rules, bool has_array, arena *memory, kernel_row **rows,
                                 uint32_t *count, ft_error *error) {
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(model_view_cost(s, &cost, error));
    FT_TRY(model_view_kernels(s, rules, &kernels, error));
    kernel_row *made = ARENA_ARRAY(memory, kernel_row, kernels->count + 1);
    if (made == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < kernels->count; i++) {
        ft_op_cost work = ft_cost_kernel(s->bound, cost, kernels, i);
        row_of(s->bound, &kernels->items[i], &work, has_array && rules->has_array, &made[i]);
    }
    *rows = made;
    *count = kernels->count;
    return FT_OK;
}
