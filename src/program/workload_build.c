/* workload_build.c - definitions of the workloads: the stages of each, and what each stage computes.
 *
 * They follow TVM's operator library: a convolution always has a padding stage, even for no padding; pooling only when
 * it pads; an average is a sum and a division. Inputs are numbered where TVM's walk over the graph finds them, because
 * steps number the stages in that order. */
#include <assert.h>
#include <stdio.h>

#include "base/error.h"
#include "program/workload.h"

/* --- Stages -------------------------------------------------------------------------------------------------- */

typedef struct axis {
    const char *name;
    int64_t extent;
} axis;

static uint32_t id_of(const prog *p, const prog_stage *stage) {
    return (uint32_t)(stage - p->stages);
}

static prog_stage *add_stage(prog *p, const char *name, uint32_t dims, uint32_t reduced, const axis *axes) {
    prog_stage *stage = prog_new_stage(p, p->stage_count);
    assert(dims + reduced <= PROG_MAX_AXES);
    if (stage == NULL) return NULL;
    snprintf(stage->name, sizeof stage->name, "%s", name);
    stage->dims = dims;
    stage->reduced = reduced;
    for (uint32_t i = 0; i < dims + reduced; i++) {
        stage->extents[i] = axes[i].extent;
        stage->axis_names[i] = axes[i].name;
    }
    prog_init_axes(p, stage);
    return stage;
}

static const char *const plain_names[PROG_MAX_DIMS] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};

/* A stage, or an input, whose axes are numbered. */
static prog_stage *add_plain(prog *p, const char *name, uint32_t dims, const int64_t *shape) {
    axis axes[PROG_MAX_DIMS] = {{NULL, 0}};
    for (uint32_t i = 0; i < dims; i++) axes[i] = (axis){plain_names[i], shape[i]};
    return add_stage(p, name, dims, 0, axes);
}

static lin axis_of(prog *p, const prog_stage *stage, uint32_t number) {
    return lin_from_atom(&p->space, stage->first_axis + number);
}

static prog_value *load(prog *p, const prog_stage *from, const lin *index) {
    return prog_load(p, id_of(p, from), index, from->dims);
}

/* --- Windows: convolutions and pooling ----------------------------------------------------------------------- */

static bool has_padding(const workload *w) {
    return w->pad_top + w->pad_bottom + w->pad_left + w->pad_right > 0;
}

/* The image with a border of `outside`. */
static prog_stage *add_pad(prog *p, const workload *w, const char *name, const prog_stage *image, double outside) {
    const axis axes[] = {{"i0", w->batch},
                         {"i1", w->channels},
                         {"i2", w->height + w->pad_top + w->pad_bottom},
                         {"i3", w->width + w->pad_left + w->pad_right}};
    prog_stage *pad = add_stage(p, name, 4, 0, axes);
    if (pad == NULL || image == NULL) return NULL;
    lin index[4];
    for (uint32_t i = 0; i < 4; i++) index[i] = axis_of(p, pad, i);
    index[2] = lin_add(&p->space, index[2], lin_constant(-w->pad_top), 1);
    index[3] = lin_add(&p->space, index[3], lin_constant(-w->pad_left), 1);
    pad->body = load(p, image, index);
    if (!has_padding(w)) return pad;
    prog_value *choice = prog_binary(p, PROG_IF, pad->body, prog_number(p, outside));
    prog_bound *bounds = ARENA_ARRAY(p->memory, prog_bound, 2);
    if (choice == NULL || bounds == NULL) {
        p->space.is_out_of_memory = true;
        return NULL;
    }
    bounds[0] = (prog_bound){.index = index[2], .high = w->height};
    bounds[1] = (prog_bound){.index = index[3], .high = w->width};
    choice->bounds = bounds;
    choice->bound_count = 2;
    pad->body = choice;
    return pad;
}

/* The index of element (ry, rx) of window (y, x). */
static void window_index(prog *p, const workload *w, const prog_stage *out, uint32_t first_reduced, lin index[2]) {
    for (uint32_t i = 0; i < 2; i++)
        index[i] = lin_add(&p->space, axis_of(p, out, first_reduced + i), axis_of(p, out, 2 + i), w->stride);
}

static const prog_stage *build_conv2d(prog *p, const workload *w) {
    const int64_t image_shape[] = {w->batch, w->channels, w->height, w->width};
    const int64_t filter_shape[] = {w->out_channels, w->channels, w->kernel_height, w->kernel_width};
    const prog_stage *image = add_plain(p, "data", 4, image_shape);
    const prog_stage *pad = add_pad(p, w, "pad_temp", image, 0);
    const prog_stage *filter = add_plain(p, "kernel", 4, filter_shape);
    const axis axes[] = {
        {"nn", w->batch},    {"ff", w->out_channels},  {"yy", workload_out_height(w)}, {"xx", workload_out_width(w)},
        {"rc", w->channels}, {"ry", w->kernel_height}, {"rx", w->kernel_width}};
    prog_stage *conv = add_stage(p, "conv2d_nchw", 4, 3, axes);
    if (pad == NULL || filter == NULL || conv == NULL) return NULL;
    lin at[4] = {axis_of(p, conv, 0), axis_of(p, conv, 4)};
    window_index(p, w, conv, 5, at + 2);
    lin weight[4] = {axis_of(p, conv, 1), axis_of(p, conv, 4), axis_of(p, conv, 5), axis_of(p, conv, 6)};
    conv->reducer = PROG_REDUCE_SUM;
    conv->body = prog_binary(p, PROG_MUL, load(p, pad, at), load(p, filter, weight));
    return conv;
}

static const prog_stage *build_depthwise(prog *p, const workload *w) {
    const int64_t image_shape[] = {w->batch, w->channels, w->height, w->width};
    const int64_t filter_shape[] = {w->channels, 1, w->kernel_height, w->kernel_width};
    const prog_stage *image = add_plain(p, "data", 4, image_shape);
    const prog_stage *pad = add_pad(p, w, "PaddedInput", image, 0);
    const prog_stage *filter = add_plain(p, "kernel", 4, filter_shape);
    const axis axes[] = {
        {"b", w->batch},          {"c", w->channels},     {"i", workload_out_height(w)}, {"j", workload_out_width(w)},
        {"di", w->kernel_height}, {"dj", w->kernel_width}};
    prog_stage *conv = add_stage(p, "DepthwiseConv2d", 4, 2, axes);
    if (pad == NULL || filter == NULL || conv == NULL) return NULL;
    lin at[4] = {axis_of(p, conv, 0), axis_of(p, conv, 1)};
    window_index(p, w, conv, 4, at + 2);
    lin weight[4] = {axis_of(p, conv, 1), lin_constant(0), axis_of(p, conv, 4), axis_of(p, conv, 5)};
    conv->reducer = PROG_REDUCE_SUM;
    conv->body = prog_binary(p, PROG_MUL, load(p, pad, at), load(p, filter, weight));
    return conv;
}

/* Averages include the border, TVM's default. */
static const prog_stage *build_pool(prog *p, const workload *w) {
    const int64_t image_shape[] = {w->batch, w->channels, w->height, w->width};
    const prog_stage *image = add_plain(p, "data", 4, image_shape);
    if (has_padding(w)) image = add_pad(p, w, "pad_temp", image, w->is_average ? 0 : -3.402823466e38);
    const axis axes[] = {{"ax0", w->batch},
                         {"ax1", w->channels},
                         {"ax2", workload_out_height(w)},
                         {"ax3", workload_out_width(w)},
                         {"rv0", w->kernel_height},
                         {"rv1", w->kernel_width}};
    prog_stage *pool = add_stage(p, w->is_average ? "pool_sum" : "pool_max", 4, 2, axes);
    if (image == NULL || pool == NULL) return NULL;
    lin at[4] = {axis_of(p, pool, 0), axis_of(p, pool, 1)};
    window_index(p, w, pool, 4, at + 2);
    pool->reducer = w->is_average ? PROG_REDUCE_SUM : PROG_REDUCE_MAX;
    pool->body = load(p, image, at);
    if (!w->is_average) return pool;
    prog_stage *average = add_stage(p, "pool_avg", 4, 0, axes);
    if (average == NULL) return NULL;
    average->body = prog_binary(p, PROG_DIV, prog_load_same(p, id_of(p, pool), average),
                                prog_number(p, (double)(w->kernel_height * w->kernel_width)));
    return average;
}

/* --- Products ------------------------------------------------------------------------------------------------ */

static const prog_stage *build_matmul(prog *p, const workload *w) {
    bool is_nt = w->is_transposed;
    const int64_t a_shape[] = {w->m, w->k}, b_shape[] = {is_nt ? w->n : w->k, is_nt ? w->k : w->n};
    const prog_stage *a = add_plain(p, "A", 2, a_shape), *b = add_plain(p, "B", 2, b_shape);
    const axis axes[] = {{"x", w->m}, {"y", w->n}, {"k", w->k}};
    prog_stage *product = add_stage(p, is_nt ? "T_dense" : "compute", 2, 1, axes);
    if (a == NULL || b == NULL || product == NULL) return NULL;
    lin x = axis_of(p, product, 0), y = axis_of(p, product, 1), k = axis_of(p, product, 2);
    product->reducer = PROG_REDUCE_SUM;
    product->body =
        prog_binary(p, PROG_MUL, load(p, a, (lin[]){x, k}), load(p, b, is_nt ? (lin[]){y, k} : (lin[]){k, y}));
    return product;
}

static const prog_stage *build_batch_matmul(prog *p, const workload *w) {
    static const char *const names[2][2] = {{"T_batch_matmul_NN", "T_batch_matmul_NT"},
                                            {"T_batch_matmul_TN", "T_batch_matmul_TT"}};
    int64_t batch = w->batch * w->channels;
    bool is_ta = w->is_first_transposed, is_tb = w->is_transposed;
    const int64_t a_shape[] = {batch, is_ta ? w->k : w->m, is_ta ? w->m : w->k};
    const int64_t b_shape[] = {batch, is_tb ? w->n : w->k, is_tb ? w->k : w->n};
    const prog_stage *a = add_plain(p, "A", 3, a_shape), *b = add_plain(p, "B", 3, b_shape);
    const axis axes[] = {{"b", batch}, {"i", w->m}, {"j", w->n}, {"k", w->k}};
    prog_stage *product = add_stage(p, names[is_ta][is_tb], 3, 1, axes);
    if (a == NULL || b == NULL || product == NULL) return NULL;
    lin n = axis_of(p, product, 0), i = axis_of(p, product, 1), j = axis_of(p, product, 2), k = axis_of(p, product, 3);
    product->reducer = PROG_REDUCE_SUM;
    product->body = prog_binary(p, PROG_MUL, load(p, a, is_ta ? (lin[]){n, k, i} : (lin[]){n, i, k}),
                                load(p, b, is_tb ? (lin[]){n, j, k} : (lin[]){n, k, j}));
    return product;
}

/* --- Elementwise, reduction, transpose ----------------------------------------------------------------------- */

static const prog_stage *build_reduction(prog *p, const workload *w) {
    static const char *const reduced_names[PROG_MAX_DIMS] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
    const prog_stage *data = add_plain(p, "data", w->dims, w->shape);
    axis axes[PROG_MAX_AXES];
    uint32_t dims = 0, reduced = 0;
    for (uint32_t i = 0; i < w->dims; i++) {
        if (w->is_reduced[i] && !w->keeps_dims) continue;
        axes[dims] = (axis){plain_names[dims], w->is_reduced[i] ? 1 : w->shape[i]};
        dims++;
    }
    for (uint32_t i = 0; i < w->dims; i++) {
        if (w->is_reduced[i]) axes[dims + reduced] = (axis){reduced_names[reduced], w->shape[i]};
        reduced += w->is_reduced[i];
    }
    prog_stage *sum = add_stage(p, "data_red", dims, reduced, axes);
    if (data == NULL || sum == NULL) return NULL;
    lin at[PROG_MAX_DIMS];
    for (uint32_t i = 0, plain = 0, next = dims; i < w->dims; i++) {
        at[i] = axis_of(p, sum, w->is_reduced[i] ? next++ : plain);
        plain += !w->is_reduced[i] || w->keeps_dims;
    }
    sum->reducer = PROG_REDUCE_SUM;
    sum->body = load(p, data, at);
    return sum;
}

static const prog_stage *build_elementwise(prog *p, const workload *w) {
    bool has_two = w->kind == WORKLOAD_ADD || w->kind == WORKLOAD_MUL || w->kind == WORKLOAD_BIAS;
    bool is_bias = w->kind == WORKLOAD_BIAS;
    const prog_stage *a = add_plain(p, has_two ? "data1" : "data", w->dims, w->shape), *b = NULL;
    if (has_two) b = add_plain(p, "data2", w->dims - is_bias, w->shape + is_bias);
    prog_stage *out = add_plain(p, "compute", w->dims, w->shape);
    if (a == NULL || out == NULL || (has_two && b == NULL)) return NULL;
    prog_value *first = prog_load_same(p, id_of(p, a), out), *second = NULL;
    lin index[PROG_MAX_DIMS];
    for (uint32_t i = 0; i < w->dims; i++) index[i] = axis_of(p, out, i);
    if (has_two) second = load(p, b, index + is_bias);
    if (w->kind == WORKLOAD_RELU)
        out->body = prog_binary(p, PROG_MAX, first, prog_number(p, 0));
    else if (w->kind == WORKLOAD_TANH || w->kind == WORKLOAD_SIGMOID)
        out->body = prog_binary(p, w->kind == WORKLOAD_TANH ? PROG_TANH : PROG_SIGMOID, first, NULL);
    else
        out->body = prog_binary(p, w->kind == WORKLOAD_MUL ? PROG_MUL : PROG_ADD, first, second);
    return out;
}

static const prog_stage *build_transpose(prog *p, const workload *w) {
    const prog_stage *data = add_plain(p, "data", w->dims, w->shape);
    int64_t shape[PROG_MAX_DIMS];
    for (uint32_t i = 0; i < w->dims; i++) shape[i] = w->shape[w->dims - 1 - i];
    prog_stage *out = add_plain(p, "T_transpose", w->dims, shape);
    if (data == NULL || out == NULL) return NULL;
    lin index[PROG_MAX_DIMS];
    for (uint32_t i = 0; i < w->dims; i++) index[i] = axis_of(p, out, w->dims - 1 - i);
    out->body = load(p, data, index);
    return out;
}

/* --- Workloads ----------------------------------------------------------------------------------------------- */

typedef const prog_stage *builder(prog *p, const workload *w);

static builder *const builders[WORKLOAD_KINDS] = {
    [WORKLOAD_MATMUL] = build_matmul,       [WORKLOAD_BATCH_MATMUL] = build_batch_matmul,
    [WORKLOAD_CONV2D] = build_conv2d,       [WORKLOAD_DEPTHWISE] = build_depthwise,
    [WORKLOAD_POOL] = build_pool,           [WORKLOAD_REDUCTION] = build_reduction,
    [WORKLOAD_RELU] = build_elementwise,    [WORKLOAD_TANH] = build_elementwise,
    [WORKLOAD_SIGMOID] = build_elementwise, [WORKLOAD_ADD] = build_elementwise,
    [WORKLOAD_MUL] = build_elementwise,     [WORKLOAD_BIAS] = build_elementwise,
    [WORKLOAD_TRANSPOSE] = build_transpose,
};

/* A bias has one value per channel: (1, C, 1, 1) of images, (1, N) of products. */
static const prog_stage *add_bias(prog *p, const prog_stage *before) {
    int64_t shape[PROG_MAX_DIMS];
    uint32_t channel = before->dims == 4 ? 1 : before->dims - 1;
    for (uint32_t i = 0; i < before->dims; i++) shape[i] = i == channel ? before->extents[i] : 1;
    const prog_stage *bias = add_plain(p, "bias", before->dims, shape);
    prog_stage *sum = add_plain(p, "T_add", before->dims, before->extents);
    if (bias == NULL || sum == NULL) return NULL;
    lin index[PROG_MAX_DIMS];
    for (uint32_t i = 0; i < before->dims; i++) index[i] = i == channel ? axis_of(p, sum, i) : lin_constant(0);
    sum->body = prog_binary(p, PROG_ADD, prog_load_same(p, id_of(p, before), sum), load(p, bias, index));
    return sum;
}

static const prog_stage *add_relu(prog *p, const prog_stage *before) {
    prog_stage *relu = add_plain(p, "T_relu", before->dims, before->extents);
    if (relu == NULL) return NULL;
    relu->body = prog_binary(p, PROG_MAX, prog_load_same(p, id_of(p, before), relu), prog_number(p, 0));
    return relu;
}

ft_status workload_build(const workload *w, prog *p) {
    const prog_stage *last = builders[w->kind](p, w);
    if (last != NULL && w->has_add && last->dims > 0) last = add_bias(p, last);
    if (last != NULL && w->has_relu) last = add_relu(p, last);
    FT_TRY(prog_check(p));
    p->stages[id_of(p, last)].is_output = true;
    return FT_OK;
}

double workload_flops(const workload *w) {
    double out = 1, inner = 1, flops = 0;
    switch (w->kind) {
    case WORKLOAD_MATMUL:
        out = (double)w->m * (double)w->n;
        flops = 2 * out * (double)w->k;
        break;
    case WORKLOAD_BATCH_MATMUL:
        out = (double)w->batch * (double)w->channels * (double)w->m * (double)w->n;
        flops = 2 * out * (double)w->k;
        break;
    case WORKLOAD_CONV2D:
    case WORKLOAD_DEPTHWISE:
    case WORKLOAD_POOL:
        out = (double)w->batch * (double)(w->kind == WORKLOAD_CONV2D ? w->out_channels : w->channels) *
              (double)workload_out_height(w) * (double)workload_out_width(w);
        inner = (double)w->kernel_height * (double)w->kernel_width;
        if (w->kind == WORKLOAD_CONV2D) inner *= (double)w->channels;
        flops = w->kind == WORKLOAD_POOL ? out * (inner + w->is_average) : 2 * out * inner;
        break;
    case WORKLOAD_REDUCTION:
        for (uint32_t i = 0; i < w->dims; i++) {
            flops = (flops == 0 ? 1 : flops) * (double)w->shape[i];
            if (!w->is_reduced[i]) out *= (double)w->shape[i];
        }
        break;
    default:
        for (uint32_t i = 0; i < w->dims; i++) out *= (double)w->shape[i];
        flops = w->kind == WORKLOAD_TRANSPOSE ? 0 : out;
        break;
    }
    return flops + out * (w->has_add + w->has_relu);
}
