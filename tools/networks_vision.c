/* networks_vision.c - convolutional networks, as in their papers and usual implementations. */
#include "layers.h"
#include "networks.h"

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
    return op(b, "Reshape", conv_bias(b, x, format(b, "%s.out", name), (conv_shape){channels, FIELDS, 1, 1, 1}),
              list(b, 3, 0, FIELDS, -1), NULL);
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
    output(b, gemm(b, x, "classifier", 64 * 8 * 8, 10), FLOAT, 2, batch, 10);
}

void custom_op(builder *b) {
    const char *x = small_features(b, image(b, 32));
    x = op(b, "WaveletMix", x, weight(b, "mix.weight", 2, 64, 64), NULL);
    set_domain(b, "com.example");
    output(b, x, FLOAT, 4, DIM_BATCH, 64, 8, 8);
}
