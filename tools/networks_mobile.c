/* networks_mobile.c - networks of inverted residuals with squeeze and excitation: MobileNetV3, EfficientNet. */
#include <math.h>

#include "layers.h"
#include "networks.h"

/* The multiple of 8 nearest to a number of channels, not less than nine tenths of it. */
static int round_channels(double channels) {
    int rounded = (int)(channels + 4) / 8 * 8;
    if (rounded < 8) rounded = 8;
    return rounded < 0.9 * channels ? rounded + 8 : rounded;
}

typedef enum activation { ACT_RELU, ACT_HARD_SWISH, ACT_SILU } activation;

static const char *hard_sigmoid(builder *b, const char *x) {
    x = op(b, "HardSigmoid", x, NULL);
    set_float(b, "alpha", 1.0 / 6);
    return x;
}

static const char *activate(builder *b, const char *x, activation act) {
    if (act == ACT_RELU) return relu(b, x);
    return act == ACT_SILU ? silu(b, x) : op(b, "HardSwish", x, NULL);
}

static const char *excite(builder *b, const char *x, const char *name, int channels, int squeezed, activation act) {
    const char *y = op(b, "GlobalAveragePool", x, NULL);
    y = conv_bias(b, y, format(b, "%s.fc1", name), (conv_shape){channels, squeezed, 1, 1, 1});
    y = activate(b, y, act == ACT_SILU ? ACT_SILU : ACT_RELU);
    y = conv_bias(b, y, format(b, "%s.fc2", name), (conv_shape){squeezed, channels, 1, 1, 1});
    return op(b, "Mul", x, act == ACT_SILU ? op(b, "Sigmoid", y, NULL) : hard_sigmoid(b, y), NULL);
}

typedef struct inverted {
    int cin, kernel, hidden, cout, squeezed; /* squeezed: 0 without excitation */
    activation act;
    int stride;
} inverted;

static const char *inverted_block(builder *b, const char *x, const char *name, const inverted *v) {
    const char *y = x;
    if (v->hidden != v->cin)
        y = activate(b, conv_bn(b, y, format(b, "%s.expand", name), (conv_shape){v->cin, v->hidden, 1, 1, 1}), v->act);
    conv_shape middle = {v->hidden, v->hidden, v->kernel, v->stride, v->hidden};
    y = activate(b, conv_bn(b, y, format(b, "%s.depthwise", name), middle), v->act);
    if (v->squeezed > 0) y = excite(b, y, format(b, "%s.se", name), v->hidden, v->squeezed, v->act);
    y = conv_bn(b, y, format(b, "%s.project", name), (conv_shape){v->hidden, v->cout, 1, 1, 1});
    return v->stride == 1 && v->cin == v->cout ? op(b, "Add", x, y, NULL) : y;
}

/* --- MobileNetV3 ------------------------------------------------------------------------------------------------- */

typedef struct mobile_row {
    int kernel, hidden, cout;
    bool is_excited, is_hard; /* hard swish, else ReLU */
    int stride;
} mobile_row;

static void mobilenet_v3(builder *b, const mobile_row *rows, int count, int last) {
    int channels = 16;
    const char *x = op(b, "HardSwish", conv_bn(b, image(b, 224), "stem", (conv_shape){3, channels, 3, 2, 1}), NULL);
    for (int i = 0; i < count; i++) {
        const mobile_row *r = &rows[i];
        int squeezed = r->is_excited ? round_channels(r->hidden / 4.0) : 0;
        activation act = r->is_hard ? ACT_HARD_SWISH : ACT_RELU;
        x = inverted_block(b, x, format(b, "features.%d", i + 1),
                           &(inverted){channels, r->kernel, r->hidden, r->cout, squeezed, act, r->stride});
        channels = r->cout;
    }
    x = op(b, "HardSwish", conv_bn(b, x, "last", (conv_shape){channels, 6 * channels, 1, 1, 1}), NULL);
    x = op(b, "HardSwish", gemm(b, pool_flat(b, x), "classifier.0", 6 * channels, last), NULL);
    output(b, gemm(b, x, "classifier.3", last, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

void mobilenet_v3_large(builder *b) {
    static const mobile_row rows[] = {
        {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
        {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
        {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
        {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
        {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
    mobilenet_v3(b, rows, sizeof rows / sizeof *rows, 1280);
}

void mobilenet_v3_small(builder *b) {
    static const mobile_row rows[] = {
        {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
        {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
        {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
        {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    mobilenet_v3(b, rows, sizeof rows / sizeof *rows, 1024);
}

/* --- EfficientNet ------------------------------------------------------------------------------------------------ */

static void efficientnet(builder *b, double width, double depth, int size) {
    static const struct {
        int expansion, kernel, stride, channels, count;
    } stages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                  {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
    int channels = round_channels(32 * width);
    const char *x = silu(b, conv_bn(b, image(b, size), "stem", (conv_shape){3, channels, 3, 2, 1}));
    for (int s = 0; s < (int)(sizeof stages / sizeof *stages); s++) {
        int cout = round_channels(stages[s].channels * width), count = (int)ceil(stages[s].count * depth);
        for (int i = 0; i < count; i++) {
            const inverted v = {channels,     stages[s].kernel, channels * stages[s].expansion, cout,
                                channels / 4, ACT_SILU,         i == 0 ? stages[s].stride : 1};
            x = inverted_block(b, x, format(b, "features.%d.%d", s + 1, i), &v);
            channels = cout;
        }
    }
    x = silu(b, conv_bn(b, x, "last", (conv_shape){channels, 4 * channels, 1, 1, 1}));
    classify(b, x, 4 * channels);
}

void efficientnet_b0(builder *b) {
    efficientnet(b, 1.0, 1.0, 224);
}

void efficientnet_b4(builder *b) {
    efficientnet(b, 1.4, 1.8, 380);
}

void efficientnet_b7(builder *b) {
    efficientnet(b, 2.0, 3.1, 600);
}
