/* layers.c - layers of layers.h. */
#include "layers.h"

#include <stdarg.h>

/* --- Convolutions ------------------------------------------------------------------------------------------------ */

const char *convolve(builder *b, const char *x, const char *w, const char *bias, conv_shape c, int pad) {
    const char *y = bias[0] != '\0' ? op(b, "Conv", x, w, bias, NULL) : op(b, "Conv", x, w, NULL);
    set_ints(b, "kernel_shape", 2, c.kernel, c.kernel);
    set_ints(b, "strides", 2, c.stride, c.stride);
    set_ints(b, "pads", 4, pad, pad, pad, pad);
    set_ints(b, "dilations", 2, 1, 1);
    set_int(b, "group", c.groups);
    return y;
}

static const char *conv_weight(builder *b, const char *name, conv_shape c) {
    return weight(b, format(b, "%s.weight", name), 4, c.cout, c.cin / c.groups, c.kernel, c.kernel);
}

const char *conv(builder *b, const char *x, const char *name, conv_shape c) {
    return convolve(b, x, conv_weight(b, name, c), "", c, c.kernel % 2 == 1 ? c.kernel / 2 : 0);
}

const char *conv_bias(builder *b, const char *x, const char *name, conv_shape c) {
    const char *w = conv_weight(b, name, c);
    return convolve(b, x, w, weight(b, format(b, "%s.bias", name), 1, c.cout), c, c.kernel % 2 == 1 ? c.kernel / 2 : 0);
}

const char *batch_norm(builder *b, const char *x, const char *name, int channels) {
    const char *scale = weight(b, format(b, "%s.weight", name), 1, channels);
    const char *shift = weight(b, format(b, "%s.bias", name), 1, channels);
    const char *mean = weight(b, format(b, "%s.running_mean", name), 1, channels);
    const char *variance = weight(b, format(b, "%s.running_var", name), 1, channels);
    const char *y = op(b, "BatchNormalization", x, scale, shift, mean, variance, NULL);
    set_float(b, "epsilon", 1e-5);
    set_float(b, "momentum", 0.9);
    return y;
}

const char *conv_bn(builder *b, const char *x, const char *name, conv_shape c) {
    const char *y = conv(b, x, format(b, "%s.conv", name), c);
    return batch_norm(b, y, format(b, "%s.bn", name), c.cout);
}

/* --- Activations ------------------------------------------------------------------------------------------------- */

const char *relu(builder *b, const char *x) {
    return op(b, "Relu", x, NULL);
}

const char *relu6(builder *b, const char *x) {
    return op(b, "Clip", x, number(b, 0), number(b, 6), NULL);
}

const char *silu(builder *b, const char *x) {
    return op(b, "Mul", x, op(b, "Sigmoid", x, NULL), NULL);
}

const char *gelu(builder *b, const char *x) {
    const char *y = op(b, "Erf", op(b, "Div", x, number(b, 1.4142135623730951), NULL), NULL);
    y = op(b, "Mul", x, op(b, "Add", y, number(b, 1), NULL), NULL);
    return op(b, "Mul", y, number(b, 0.5), NULL);
}

/* --- Matrices ---------------------------------------------------------------------------------------------------- */

const char *gemm(builder *b, const char *x, const char *name, int in, int out) {
    const char *w = weight(b, format(b, "%s.weight", name), 2, out, in);
    const char *y = op(b, "Gemm", x, w, weight(b, format(b, "%s.bias", name), 1, out), NULL);
    set_int(b, "transB", 1);
    return y;
}

const char *dense_plain(builder *b, const char *x, const char *name, int in, int out) {
    return op(b, "MatMul", x, weight(b, format(b, "%s.weight", name), 2, in, out), NULL);
}

const char *dense(builder *b, const char *x, const char *name, int in, int out) {
    const char *y = dense_plain(b, x, name, in, out);
    return op(b, "Add", y, weight(b, format(b, "%s.bias", name), 1, out), NULL);
}

const char *layer_norm(builder *b, const char *x, const char *name, int width) {
    const char *scale = weight(b, format(b, "%s.weight", name), 1, width);
    const char *y = op(b, "LayerNormalization", x, scale, weight(b, format(b, "%s.bias", name), 1, width), NULL);
    set_int(b, "axis", -1);
    set_float(b, "epsilon", 1e-6);
    return y;
}

/* --- Shapes ------------------------------------------------------------------------------------------------------ */

const char *max_pool(builder *b, const char *x, int kernel, int stride, int pad) {
    x = op(b, "MaxPool", x, NULL);
    set_ints(b, "kernel_shape", 2, kernel, kernel);
    set_ints(b, "strides", 2, stride, stride);
    set_ints(b, "pads", 4, pad, pad, pad, pad);
    return x;
}

const char *concat(builder *b, int axis, const char *x, const char *y) {
    const char *both = op(b, "Concat", x, y, NULL);
    set_int(b, "axis", axis);
    return both;
}

const char *transpose(builder *b, const char *x, int rank, ...) {
    int p[6] = {0};
    va_list args;
    va_start(args, rank);
    for (int i = 0; i < rank && i < 6; i++) p[i] = va_arg(args, int);
    va_end(args);
    x = op(b, "Transpose", x, NULL);
    set_ints(b, "perm", rank, p[0], p[1], p[2], p[3], p[4], p[5]);
    return x;
}

const char *pool_flat(builder *b, const char *x) {
    const char *flat = op(b, "Flatten", op(b, "GlobalAveragePool", x, NULL), NULL);
    set_int(b, "axis", 1);
    return flat;
}

void classify(builder *b, const char *x, int channels) {
    output(b, gemm(b, pool_flat(b, x), "classifier", channels, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

const char *image(builder *b, int size) {
    return input(b, "input", FLOAT, 4, DIM_BATCH, 3, size, size);
}
