/* memory_row.c - the features of a step that trees correct its replay by (memory.h). */
#include "predictor/memory/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/geometry.h"
#include "graph/graph.h"

/* About what a process takes before its first tensor. */
#define TYPICAL_CONTEXT (1750.0 * 1024 * 1024)

static const ft_op_class classes[MEMORY_CLASSES] = {FT_CLASS_CONV,        FT_CLASS_NORM,   FT_CLASS_ACTIVATION,
                                                    FT_CLASS_ELEMENTWISE, FT_CLASS_MATMUL, FT_CLASS_POOL,
                                                    FT_CLASS_MOVE,        FT_CLASS_REDUCE, FT_CLASS_UNKNOWN};
enum { SOFTMAX_CLASS = MEMORY_CLASSES - 1 }; /* the last entry is for softmax alone */

/* Largest and total sizes over the operators, in bytes. */
typedef struct sizes {
    double made, largest, second;
    double by_class[MEMORY_CLASSES];
    double conv, wide_conv, winograd, depthwise,
        grouped;                     /* bytes read and written by the largest convolution of a kind */
    double unrolled, unrolled_image; /* the largest convolution as a matrix */
    double product;                  /* bytes read and written by the largest matrix product */
    double weight;                   /* the largest */
    double pairs, wide_pairs;        /* the largest product of input and output channels */
    uint32_t convs, depthwises, products, norms, ops;
} sizes;

static void raise(double *maximum, double value) {
    if (value > *maximum) *maximum = value;
}

static double bytes_of(const ft_graph *graph, const ft_tensor *t) {
    return t != NULL ? (double)tensor_bytes(graph, t) : 0;
}

static void add_conv(const ft_graph *graph, const conv_geometry *g, double made, sizes *z) {
    double touched = bytes_of(graph, g->x) + made, pairs = (double)g->cin * (double)g->cout;
    raise(&z->weight, bytes_of(graph, g->weight));
    if (g->is_depthwise) {
        z->depthwises++;
        raise(&z->depthwise, touched);
        return;
    }
    z->convs++;
    raise(&z->conv, touched);
    if (g->groups > 1)
        raise(&z->grouped, touched);
    else
        raise(&z->pairs, pairs);
    if (g->kernel_elems == 1) return;
    double image = 4.0 * (double)g->cin * (double)g->kernel_elems;
    for (int32_t i = 0; i < g->spatial; i++) image *= (double)g->out[i];
    raise(&z->unrolled_image, image);
    raise(&z->unrolled, image * (double)ft_graph_batch(graph));
    raise(&z->wide_conv, touched);
    if (g->groups == 1) raise(&z->wide_pairs, pairs);
    if (g->groups == 1 && g->kernel_elems == 9 && g->stride[0] == 1) raise(&z->winograd, 4 * touched);
}

static void add_product(const ft_graph *graph, const matmul_geometry *g, double made, sizes *z) {
    z->products++;
    raise(&z->product, made + bytes_of(graph, g->a) + bytes_of(graph, g->b));
    if (g->b != NULL && g->b->role == FT_CONSTANT) raise(&z->weight, bytes_of(graph, g->b));
}

static void add_class(const ft_op *op, double made, sizes *z) {
    ft_op_class class_of = ft_opdef_class(op->def);
    z->norms += class_of == FT_CLASS_NORM;
    if (op_is(op, "Softmax")) {
        z->by_class[SOFTMAX_CLASS] += made;
        return;
    }
    for (int i = 0; i < SOFTMAX_CLASS; i++) {
        if (classes[i] == class_of) z->by_class[i] += made;
    }
}

static void add_op(const ft_graph *graph, const ft_op *op, sizes *z) {
    const conv_geometry *conv = conv_geometry_cached(graph, op);
    matmul_geometry product;
    double made = 0;
    for (uint32_t i = 0; i < op->output_count; i++) made += bytes_of(graph, op_output(graph, op, i));
    add_class(op, made, z);
    if (ft_opdef_class(op->def) != FT_CLASS_VIEW) {
        z->made += made;
        raise(&z->second, made < z->largest ? made : z->largest);
        raise(&z->largest, made);
    }
    if (conv != NULL)
        add_conv(graph, conv, made, z);
    else if (matmul_geometry_of(graph, op, &product))
        add_product(graph, &product, made, z);
}

static sizes sizes_of(const ft_graph *graph) {
    sizes z = {.ops = graph->op_count};
    for (uint32_t i = 0; i < graph->op_count; i++) {
        if (!graph->ops[i].is_folded) add_op(graph, &graph->ops[i], &z);
    }
    return z;
}

static double image_of(const ft_graph *graph) {
    if (graph->inputs.count == 0) return 0;
    const ft_tensor *input = &graph->tensors[graph->inputs.items[0]];
    return input->rank > 0 ? (double)input->dims[input->rank - 1] : 0;
}

static float log_of(double value) {
    return (float)log(fmax(value, 1));
}

static void fill(const ft_graph *graph, const ft_cost *cost, const allocator_replay *r, const sizes *z, float *items) {
    const ft_memory *m = &r->plan;
    double scale = (double)r->reserved_bytes + TYPICAL_CONTEXT, made = fmax(z->made, 1), mib = 1024 * 1024;
    const double shares[MEMORY_SIZES] = {(double)r->reserved_bytes,
                                         (double)r->allocated_bytes,
                                         (double)r->scores_bytes,
                                         (double)m->peak_bytes,
                                         (double)m->weight_bytes,
                                         (double)m->saved_bytes,
                                         (double)m->activation_gradient_bytes,
                                         (double)m->input_bytes,
                                         z->largest,
                                         z->second,
                                         z->conv,
                                         z->wide_conv,
                                         z->winograd,
                                         z->depthwise,
                                         z->grouped,
                                         z->unrolled,
                                         z->unrolled_image,
                                         z->product,
                                         z->weight,
                                         (double)m->gradient_bytes,
                                         (double)m->optimizer_bytes};
    const float others[MEMORY_OTHERS] = {log_of(scale / mib),
                                         log_of((double)ft_graph_batch(graph)),
                                         log_of(z->pairs / mib + 1),
                                         log_of(z->wide_pairs / mib + 1),
                                         (float)(made / fmax((double)m->saved_bytes, 1)),
                                         (float)z->convs,
                                         (float)z->depthwises,
                                         (float)z->products,
                                         (float)z->norms,
                                         (float)z->ops,
                                         (float)image_of(graph),
                                         (float)log(fmax((double)cost->total.forward.macs, 1) / made),
                                         log_of(z->largest / mib)};
    for (int i = 0; i < MEMORY_SIZES; i++) *items++ = (float)(shares[i] / scale);
    for (int i = 0; i < MEMORY_CLASSES; i++) *items++ = (float)(z->by_class[i] / made);
    for (int i = 0; i < MEMORY_OTHERS; i++) *items++ = others[i];
}

/* The optimiser in the setting of a record: "amp=no;optimizer=momentum". */
static void parse_optimizer(const char *setting, ft_optimizer *optimizer) {
    static const char key[] = "optimizer=";
    char name[16];
    for (const char *at = setting; at != NULL && *at != '\0'; at += strcspn(at, ";"), at += *at == ';') {
        size_t length = strcspn(at, ";"), skipped = sizeof key - 1;
        if (strncmp(at, key, skipped) != 0 || length - skipped >= sizeof name) continue;
        assert(length >= skipped);
        memcpy(name, at + skipped, length - skipped);
        name[length - skipped] = '\0';
        ft_optimizer_parse(name, optimizer);
    }
}

/* Autocast keeps float32 weights and works in 16 bits. */
static ft_cost_options options_of(const model_view *s) {
    ft_cost_options options = ft_cost_options_default();
    options.mode = s->request.mode;
    options.dtype = s->request.dtype;
    options.optimizer = s->request.optimizer;
    parse_optimizer(s->request.setting, &options.optimizer);
    options.is_mixed = s->request.mode == FT_TRAIN && ft_dtype_bits(s->request.dtype) == 16;
    return options;
}

ft_status memory_row_make(model_view *s, uint64_t limit, memory_row *row, ft_error *error) {
    const ft_cost *cost;
    memory_row made = {0};
    ft_cost_options options = options_of(s);
    FT_TRY(model_view_cost(s, &cost, error));
    FT_TRY(allocator_replay_steps(s->bound, cost, &options, limit, &made.replayed, error));
    sizes z = sizes_of(s->bound);
    fill(s->bound, cost, &made.replayed, &z, made.items);
    made.coverage_ratio = cost->coverage_ops_ratio;
    *row = made;
    return FT_OK;
}
