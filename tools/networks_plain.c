/* networks_plain.c - convolutional networks without residual blocks: AlexNet, VGG, SqueezeNet, DenseNet. */
#include "layers.h"
#include "networks.h"

/* Two layers of 4096, and the classes. */
static void classify_wide(builder *b, const char *x, int features) {
    x = op(b, "Flatten", x, NULL);
    set_int(b, "axis", 1);
    x = relu(b, gemm(b, x, "fc6", features, 4096));
    x = relu(b, gemm(b, x, "fc7", 4096, 4096));
    output(b, gemm(b, x, "fc8", 4096, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

void alexnet(builder *b) {
    const char *w = weight(b, "conv1.weight", 4, 64, 3, 11, 11);
    const char *x = convolve(b, image(b, 224), w, weight(b, "conv1.bias", 1, 64), (conv_shape){3, 64, 11, 4, 1}, 2);
    x = max_pool(b, relu(b, x), 3, 2, 0);
    x = max_pool(b, relu(b, conv_bias(b, x, "conv2", (conv_shape){64, 192, 5, 1, 1})), 3, 2, 0);
    x = relu(b, conv_bias(b, x, "conv3", (conv_shape){192, 384, 3, 1, 1}));
    x = relu(b, conv_bias(b, x, "conv4", (conv_shape){384, 256, 3, 1, 1}));
    x = max_pool(b, relu(b, conv_bias(b, x, "conv5", (conv_shape){256, 256, 3, 1, 1})), 3, 2, 0);
    classify_wide(b, x, 256 * 6 * 6);
}

static void vgg(builder *b, const int counts[5]) {
    static const int widths[5] = {64, 128, 256, 512, 512};
    const char *x = image(b, 224);
    int channels = 3;
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < counts[stage]; i++) {
            x = relu(b, conv_bias(b, x, format(b, "conv%d_%d", stage + 1, i + 1),
                                  (conv_shape){channels, widths[stage], 3, 1, 1}));
            channels = widths[stage];
        }
        x = max_pool(b, x, 2, 2, 0);
    }
    classify_wide(b, x, 512 * 7 * 7);
}

void vgg11(builder *b) {
    vgg(b, (const int[5]){1, 1, 2, 2, 2});
}

void vgg16(builder *b) {
    vgg(b, (const int[5]){2, 2, 3, 3, 3});
}

void vgg19(builder *b) {
    vgg(b, (const int[5]){2, 2, 4, 4, 4});
}

/* --- SqueezeNet 1.1 ---------------------------------------------------------------------------------------------- */

static const char *fire(builder *b, const char *x, const char *name, int cin, int squeezed, int half) {
    x = relu(b, conv_bias(b, x, format(b, "%s.squeeze", name), (conv_shape){cin, squeezed, 1, 1, 1}));
    const char *y = relu(b, conv_bias(b, x, format(b, "%s.1x1", name), (conv_shape){squeezed, half, 1, 1, 1}));
    x = relu(b, conv_bias(b, x, format(b, "%s.3x3", name), (conv_shape){squeezed, half, 3, 1, 1}));
    return concat(b, 1, y, x);
}

static const char *pool_ceil(builder *b, const char *x) {
    x = max_pool(b, x, 3, 2, 0);
    set_int(b, "ceil_mode", 1);
    return x;
}

void squeezenet(builder *b) {
    static const struct {
        int cin, squeezed, half;
        bool is_pooled;
    } fires[] = {{64, 16, 64, false},   {128, 16, 64, true},   {128, 32, 128, false}, {256, 32, 128, true},
                 {256, 48, 192, false}, {384, 48, 192, false}, {384, 64, 256, false}, {512, 64, 256, false}};
    const char *w = weight(b, "stem.weight", 4, 64, 3, 3, 3);
    const char *x = convolve(b, image(b, 224), w, weight(b, "stem.bias", 1, 64), (conv_shape){3, 64, 3, 2, 1}, 0);
    x = pool_ceil(b, relu(b, x));
    for (int i = 0; i < (int)(sizeof fires / sizeof *fires); i++) {
        x = fire(b, x, format(b, "fire%d", i + 2), fires[i].cin, fires[i].squeezed, fires[i].half);
        if (fires[i].is_pooled) x = pool_ceil(b, x);
    }
    x = relu(b, conv_bias(b, x, "classifier", (conv_shape){512, 1000, 1, 1, 1}));
    output(b, pool_flat(b, x), FLOAT, 2, DIM_BATCH, 1000);
}

/* --- DenseNet ---------------------------------------------------------------------------------------------------- */

static const char *dense_layer(builder *b, const char *x, const char *name, int channels, int growth) {
    const char *y = relu(b, batch_norm(b, x, format(b, "%s.norm1", name), channels));
    y = conv(b, y, format(b, "%s.conv1", name), (conv_shape){channels, 4 * growth, 1, 1, 1});
    y = relu(b, batch_norm(b, y, format(b, "%s.norm2", name), 4 * growth));
    y = conv(b, y, format(b, "%s.conv2", name), (conv_shape){4 * growth, growth, 3, 1, 1});
    return concat(b, 1, x, y);
}

static const char *transition(builder *b, const char *x, const char *name, int channels) {
    x = relu(b, batch_norm(b, x, format(b, "%s.norm", name), channels));
    x = conv(b, x, format(b, "%s.conv", name), (conv_shape){channels, channels / 2, 1, 1, 1});
    x = op(b, "AveragePool", x, NULL);
    set_ints(b, "kernel_shape", 2, 2, 2);
    set_ints(b, "strides", 2, 2, 2);
    return x;
}

static void densenet(builder *b, const int depths[4], int growth) {
    int channels = 2 * growth;
    const char *x = relu(b, conv_bn(b, image(b, 224), "stem", (conv_shape){3, channels, 7, 2, 1}));
    x = max_pool(b, x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < depths[stage]; i++, channels += growth)
            x = dense_layer(b, x, format(b, "block%d.%d", stage + 1, i), channels, growth);
        if (stage == 3) break;
        x = transition(b, x, format(b, "transition%d", stage + 1), channels);
        channels /= 2;
    }
    classify(b, relu(b, batch_norm(b, x, "norm5", channels)), channels);
}

void densenet121(builder *b) {
    densenet(b, (const int[4]){6, 12, 24, 16}, 32);
}

void densenet169(builder *b) {
    densenet(b, (const int[4]){6, 12, 32, 32}, 32);
}
