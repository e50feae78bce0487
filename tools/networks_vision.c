/* networks_vision.c - convolutional networks, as in their papers and usual implementations. */
#include "networks.h"

enum { FLOAT = 1, INT64 = 7 }; /* element types of onnx.proto */

/* --- Layers ------------------------------------------------------------------------------------------------------ */

typedef struct conv_shape {
    int cin, cout, kernel, stride, groups;
} conv_shape;

/* A convolution with square kernel, "same" padding for odd kernels, and no bias. */
static const char *conv(builder *b, const char *x, const char *name, conv_shape c) {
    const char *w = weight(b, format(b, "%s.weight", name), 4, c.cout, c.cin / c.groups, c.kernel, c.kernel);
    const char *y = op(b, "Conv", x, w, NULL);
    int pad = c.kernel / 2;
    set_ints(b, "kernel_shape", 2, c.kernel, c.kernel);
    set_ints(b, "strides", 2, c.stride, c.stride);
    set_ints(b, "pads", 4, pad, pad, pad, pad);
    set_ints(b, "dilations", 2, 1, 1);
    set_int(b, "group", c.groups);
    return y;
}

static const char *conv_bias(builder *b, const char *x, const char *name, int cin, int cout, int kernel) {
    const char *w = weight(b, format(b, "%s.weight", name), 4, cout, cin, kernel, kernel);
    const char *y = op(b, "Conv", x, w, weight(b, format(b, "%s.bias", name), 1, cout), NULL);
    int pad = kernel / 2;
    set_ints(b, "kernel_shape", 2, kernel, kernel);
    set_ints(b, "pads", 4, pad, pad, pad, pad);
    return y;
}

static const char *batch_norm(builder *b, const char *x, const char *name, int channels) {
    const char *scale = weight(b, format(b, "%s.weight", name), 1, channels);
    const char *shift = weight(b, format(b, "%s.bias", name), 1, channels);
    const char *mean = weight(b, format(b, "%s.running_mean", name), 1, channels);
    const char *variance = weight(b, format(b, "%s.running_var", name), 1, channels);
    const char *y = op(b, "BatchNormalization", x, scale, shift, mean, variance, NULL);
    set_float(b, "epsilon", 1e-5);
    set_float(b, "momentum", 0.9);
    return y;
}

static const char *conv_bn(builder *b, const char *x, const char *name, conv_shape c) {
    const char *y = conv(b, x, format(b, "%s.conv", name), c);
    return batch_norm(b, y, format(b, "%s.bn", name), c.cout);
}

static const char *relu(builder *b, const char *x) {
    return op(b, "Relu", x, NULL);
}

static const char *relu6(builder *b, const char *x) {
    return op(b, "Clip", x, number(b, 0), number(b, 6), NULL);
}

static const char *silu(builder *b, const char *x) {
    return op(b, "Mul", x, op(b, "Sigmoid", x, NULL), NULL);
}

static const char *linear(builder *b, const char *x, const char *name, int in, int out) {
    const char *w = weight(b, format(b, "%s.weight", name), 2, out, in);
    const char *y = op(b, "Gemm", x, w, weight(b, format(b, "%s.bias", name), 1, out), NULL);
    set_int(b, "transB", 1);
    return y;
}

static void classify(builder *b, const char *x, int channels) {
    const char *pooled = op(b, "GlobalAveragePool", x, NULL);
    const char *flat = op(b, "Flatten", pooled, NULL);
    set_int(b, "axis", 1);
    output(b, linear(b, flat, "classifier", channels, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

static const char *image(builder *b, int size) {
    return input(b, "input", FLOAT, 4, DIM_BATCH, 3, size, size);
}

/* --- ResNet-50 --------------------------------------------------------------------------------------------------- */

static const char *bottleneck(builder *b, const char *x, const char *name, int cin, int width, int stride) {
    int cout = 4 * width;
    const char *y = relu(b, conv_bn(b, x, format(b, "%s.1", name), (conv_shape){cin, width, 1, 1, 1}));
    y = relu(b, conv_bn(b, y, format(b, "%s.2", name), (conv_shape){width, width, 3, stride, 1}));
    y = conv_bn(b, y, format(b, "%s.3", name), (conv_shape){width, cout, 1, 1, 1});
    const char *shortcut =
        cin == cout ? x : conv_bn(b, x, format(b, "%s.down", name), (conv_shape){cin, cout, 1, stride, 1});
    return relu(b, op(b, "Add", y, shortcut, NULL));
}

void resnet50(builder *b) {
    static const int depths[] = {3, 4, 6, 3};
    int base = (int)(64 * builder_options(b)->width + 0.5);
    const char *x = relu(b, conv_bn(b, image(b, 224), "stem", (conv_shape){3, base, 7, 2, 1}));
    x = op(b, "MaxPool", x, NULL);
    set_ints(b, "kernel_shape", 2, 3, 3);
    set_ints(b, "strides", 2, 2, 2);
    set_ints(b, "pads", 4, 1, 1, 1, 1);
    int channels = base;
    for (int stage = 0; stage < 4; stage++) {
        int width = base << stage;
        for (int i = 0; i < depths[stage]; i++) {
            x = bottleneck(b, x, format(b, "layer%d.%d", stage + 1, i), channels, width, stage > 0 && i == 0 ? 2 : 1);
            channels = 4 * width;
        }
    }
    classify(b, x, channels);
}

/* --- MobileNetV2 ------------------------------------------------------------------------------------------------- */

static const char *inverted_residual(builder *b, const char *x, const char *name, int cin, int cout, int stride,
                                     int expansion) {
    int hidden = cin * expansion;
    const char *y = x;
    if (expansion != 1) y = relu6(b, conv_bn(b, y, format(b, "%s.expand", name), (conv_shape){cin, hidden, 1, 1, 1}));
    y = relu6(b, conv_bn(b, y, format(b, "%s.depthwise", name), (conv_shape){hidden, hidden, 3, stride, hidden}));
    y = conv_bn(b, y, format(b, "%s.project", name), (conv_shape){hidden, cout, 1, 1, 1});
    return stride == 1 && cin == cout ? op(b, "Add", x, y, NULL) : y;
}

void mobilenet_v2(builder *b) {
    static const struct {
        int expansion, channels, count, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    const char *x = relu6(b, conv_bn(b, image(b, 224), "stem", (conv_shape){3, 32, 3, 2, 1}));
    int channels = 32;
    for (int s = 0; s < (int)(sizeof stages / sizeof *stages); s++) {
        for (int i = 0; i < stages[s].count; i++) {
            x = inverted_residual(b, x, format(b, "features.%d.%d", s, i), channels, stages[s].channels,
                                  i == 0 ? stages[s].stride : 1, stages[s].expansion);
            channels = stages[s].channels;
        }
    }
    classify(b, relu6(b, conv_bn(b, x, "last", (conv_shape){channels, 1280, 1, 1, 1})), 1280);
}

/* --- Detector ---------------------------------------------------------------------------------------------------- */

enum { DETECTOR_SIZE = 320, CLASSES = 80, FIELDS = 5 + CLASSES }; /* box, objectness, classes */

static const char *conv_silu(builder *b, const char *x, const char *name, int cin, int cout, int kernel, int stride) {
    return silu(b, conv_bn(b, x, name, (conv_shape){cin, cout, kernel, stride, 1}));
}

static const char *stage(builder *b, const char *x, const char *name, int cin, int cout) {
    x = conv_silu(b, x, format(b, "%s.down", name), cin, cout, 3, 2);
    const char *y = conv_silu(b, x, format(b, "%s.a", name), cout, cout / 2, 1, 1);
    y = conv_silu(b, y, format(b, "%s.b", name), cout / 2, cout, 3, 1);
    return op(b, "Add", x, y, NULL);
}

static const char *concat(builder *b, int axis, const char *x, const char *y) {
    const char *both = op(b, "Concat", x, y, NULL);
    set_int(b, "axis", axis);
    return both;
}

/* Concatenates a coarse map, upsampled and with half its channels, and a fine one with that many channels. */
static const char *merge(builder *b, const char *coarse, const char *fine, const char *name, int cin) {
    const char *x = conv_silu(b, coarse, format(b, "%s.reduce", name), cin, cin / 2, 1, 1);
    x = op(b, "Resize", x, "", numbers(b, 4, 1.0, 1.0, 2.0, 2.0), NULL);
    set_string(b, "mode", "nearest");
    return conv_silu(b, concat(b, 1, x, fine), format(b, "%s.fuse", name), cin, cin / 2, 3, 1);
}

/* Predictions of one scale, a column per position: batch, FIELDS, positions. */
static const char *head(builder *b, const char *x, const char *name, int channels) {
    x = conv_silu(b, x, format(b, "%s.conv", name), channels, channels, 3, 1);
    return op(b, "Reshape", conv_bias(b, x, format(b, "%s.out", name), channels, FIELDS, 1), list(b, 3, 0, FIELDS, -1),
              NULL);
}

static const char *fields(builder *b, const char *x, int from, int to) {
    return op(b, "Slice", x, list(b, 1, from), list(b, 1, to), list(b, 1, 1), list(b, 1, 1), NULL);
}

void detector(builder *b) {
    const char *x = conv_silu(b, image(b, DETECTOR_SIZE), "stem", 3, 16, 3, 2);
    const char *c2 = stage(b, x, "c2", 16, 32);
    const char *c3 = stage(b, c2, "c3", 32, 64);
    const char *c4 = stage(b, c3, "c4", 64, 128);
    const char *c5 = stage(b, c4, "c5", 128, 256);
    const char *p4 = merge(b, c5, c4, "p4", 256);
    const char *p3 = merge(b, p4, c3, "p3", 128);
    const char *all = head(b, p3, "h3", 64);
    all = concat(b, 2, all, head(b, p4, "h4", 128));
    all = concat(b, 2, all, head(b, c5, "h5", 256));

    const char *boxes = op(b, "Transpose", fields(b, all, 0, 4), NULL);
    set_ints(b, "perm", 3, 0, 2, 1);
    const char *objectness = op(b, "Sigmoid", fields(b, all, 4, 5), NULL);
    const char *scores = op(b, "Mul", op(b, "Sigmoid", fields(b, all, 5, FIELDS), NULL), objectness, NULL);
    const char *kept =
        op(b, "NonMaxSuppression", boxes, scores, integer(b, 100), number(b, 0.5), number(b, 0.25), NULL);
    output(b, boxes, FLOAT, 3, DIM_BATCH, 2100, 4);
    output(b, scores, FLOAT, 3, DIM_BATCH, CLASSES, 2100);
    output(b, kept, INT64, 2, DIM_DETECTIONS, 3);
}

/* --- Small examples ------------------------------------------------------------------------------------------ */

static const char *small_features(builder *b, const char *x) {
    x = relu(b, conv_bn(b, x, "conv1", (conv_shape){3, 32, 3, 2, 1}));
    return relu(b, conv_bn(b, x, "conv2", (conv_shape){32, 64, 3, 2, 1}));
}

/* Tracing exporters write the traced batch into Reshape: another batch can then not be inferred. */
void fixed_batch(builder *b) {
    int batch = builder_options(b)->batch > 0 ? (int)builder_options(b)->batch : 1;
    const char *x = small_features(b, input(b, "input", FLOAT, 4, batch, 3, 32, 32));
    x = op(b, "Reshape", x, list(b, 2, batch, 64 * 8 * 8), NULL);
    output(b, linear(b, x, "classifier", 64 * 8 * 8, 10), FLOAT, 2, batch, 10);
}

void custom_op(builder *b) {
    const char *x = small_features(b, image(b, 32));
    x = op(b, "WaveletMix", x, weight(b, "mix.weight", 2, 64, 64), NULL);
    set_domain(b, "com.example");
    output(b, x, FLOAT, 4, DIM_BATCH, 64, 8, 8);
}
