/* networks_residual.c - ResNets and their descendants, and the detector that is built on one. */
#include "layers.h"
#include "networks.h"

/* --- ResNet ------------------------------------------------------------------------------------------------------ */

typedef struct residual_net {
    int depths[4];
    bool is_basic;          /* blocks of two 3x3 convolutions, without bottlenecks */
    int groups, base_width; /* of the middle convolution: ResNeXt's groups, and channels of a group in 64ths */
} residual_net;

static const char *basic(builder *b, const char *x, const char *name, int cin, int width, int stride) {
    const char *y = relu(b, conv_bn(b, x, format(b, "%s.1", name), (conv_shape){cin, width, 3, stride, 1}));
    y = conv_bn(b, y, format(b, "%s.2", name), (conv_shape){width, width, 3, 1, 1});
    const char *shortcut = cin == width && stride == 1
                               ? x
                               : conv_bn(b, x, format(b, "%s.down", name), (conv_shape){cin, width, 1, stride, 1});
    return relu(b, op(b, "Add", y, shortcut, NULL));
}

/* `inner`: channels between the 1x1 convolutions. */
static const char *bottleneck(builder *b, const char *x, const char *name, conv_shape c, int inner) {
    const char *y = relu(b, conv_bn(b, x, format(b, "%s.1", name), (conv_shape){c.cin, inner, 1, 1, 1}));
    y = relu(b, conv_bn(b, y, format(b, "%s.2", name), (conv_shape){inner, inner, 3, c.stride, c.groups}));
    y = conv_bn(b, y, format(b, "%s.3", name), (conv_shape){inner, c.cout, 1, 1, 1});
    const char *shortcut =
        c.cin == c.cout ? x : conv_bn(b, x, format(b, "%s.down", name), (conv_shape){c.cin, c.cout, 1, c.stride, 1});
    return relu(b, op(b, "Add", y, shortcut, NULL));
}

/* The last block of each stage, in `ends`; returns the channels of the last. */
static int residual_stages(builder *b, const char *x, const residual_net *net, const char *ends[4]) {
    int base = (int)(64 * builder_options(b)->width + 0.5), channels = base;
    x = max_pool(b, relu(b, conv_bn(b, x, "stem", (conv_shape){3, base, 7, 2, 1})), 3, 2, 1);
    for (int stage = 0; stage < 4; stage++) {
        int width = base << stage, cout = net->is_basic ? width : 4 * width;
        for (int i = 0; i < net->depths[stage]; i++) {
            const char *name = format(b, "layer%d.%d", stage + 1, i);
            int stride = stage > 0 && i == 0 ? 2 : 1, inner = width * net->base_width / 64 * net->groups;
            x = net->is_basic ? basic(b, x, name, channels, width, stride)
                              : bottleneck(b, x, name, (conv_shape){channels, cout, 3, stride, net->groups}, inner);
            channels = cout;
        }
        ends[stage] = x;
    }
    return channels;
}

static void residual(builder *b, const residual_net *net) {
    const char *ends[4];
    int channels = residual_stages(b, image(b, 224), net, ends);
    classify(b, ends[3], channels);
}

void resnet18(builder *b) {
    residual(b, &(residual_net){{2, 2, 2, 2}, true, 1, 64});
}

void resnet34(builder *b) {
    residual(b, &(residual_net){{3, 4, 6, 3}, true, 1, 64});
}

void resnet50(builder *b) {
    residual(b, &(residual_net){{3, 4, 6, 3}, false, 1, 64});
}

void resnet101(builder *b) {
    residual(b, &(residual_net){{3, 4, 23, 3}, false, 1, 64});
}

void resnet152(builder *b) {
    residual(b, &(residual_net){{3, 8, 36, 3}, false, 1, 64});
}

void resnext50(builder *b) {
    residual(b, &(residual_net){{3, 4, 6, 3}, false, 32, 4});
}

void resnext101(builder *b) {
    residual(b, &(residual_net){{3, 4, 23, 3}, false, 32, 8});
}

void wide_resnet50(builder *b) {
    residual(b, &(residual_net){{3, 4, 6, 3}, false, 1, 128});
}

/* --- RetinaNet --------------------------------------------------------------------------------------------------- */

enum { RETINA_SIZE = 800, RETINA_WIDTH = 256, RETINA_ANCHORS = 9, RETINA_CLASSES = 91 };

/* Both heads of all levels share their weights. */
typedef struct retina_head {
    const char *weights[5], *biases[5];
    int fields; /* of an anchor */
} retina_head;

static retina_head make_head(builder *b, const char *name, int fields) {
    retina_head h = {.fields = fields};
    for (int i = 0; i < 5; i++) {
        int cout = i < 4 ? RETINA_WIDTH : RETINA_ANCHORS * fields;
        h.weights[i] = weight(b, format(b, "%s.%d.weight", name, i), 4, cout, RETINA_WIDTH, 3, 3);
        h.biases[i] = weight(b, format(b, "%s.%d.bias", name, i), 1, cout);
    }
    return h;
}

/* A row for each anchor: batch, anchors, fields. */
static const char *apply_head(builder *b, const char *x, const retina_head *h, int size) {
    for (int i = 0; i < 5; i++) {
        int cout = i < 4 ? RETINA_WIDTH : RETINA_ANCHORS * h->fields;
        x = convolve(b, x, h->weights[i], h->biases[i], (conv_shape){RETINA_WIDTH, cout, 3, 1, 1}, 1);
        if (i < 4) x = relu(b, x);
    }
    x = op(b, "Reshape", x, list(b, 5, 0, RETINA_ANCHORS, h->fields, size, size), NULL);
    return op(b, "Reshape", transpose(b, x, 5, 0, 3, 4, 1, 2), list(b, 3, 0, -1, h->fields), NULL);
}

static const char *lateral(builder *b, const char *x, int level, int cin) {
    return conv_bias(b, x, format(b, "fpn.inner%d", level), (conv_shape){cin, RETINA_WIDTH, 1, 1, 1});
}

static const char *upsample(builder *b, const char *x) {
    x = op(b, "Resize", x, "", numbers(b, 4, 1.0, 1.0, 2.0, 2.0), NULL);
    set_string(b, "mode", "nearest");
    return x;
}

void retinanet_resnet50(builder *b) {
    const char *ends[4], *levels[5], *inner[3];
    residual_stages(b, image(b, RETINA_SIZE), &(residual_net){{3, 4, 6, 3}, false, 1, 64}, ends);
    inner[2] = lateral(b, ends[3], 5, 2048);
    inner[1] = op(b, "Add", lateral(b, ends[2], 4, 1024), upsample(b, inner[2]), NULL);
    inner[0] = op(b, "Add", lateral(b, ends[1], 3, 512), upsample(b, inner[1]), NULL);
    conv_shape same = {RETINA_WIDTH, RETINA_WIDTH, 3, 1, 1}, half = {RETINA_WIDTH, RETINA_WIDTH, 3, 2, 1};
    for (int i = 0; i < 3; i++) levels[i] = conv_bias(b, inner[i], format(b, "fpn.layer%d", i + 3), same);
    levels[3] = conv_bias(b, levels[2], "fpn.p6", half);
    levels[4] = conv_bias(b, relu(b, levels[3]), "fpn.p7", half);

    retina_head scores = make_head(b, "scores", RETINA_CLASSES), boxes = make_head(b, "boxes", 4);
    const char *all_scores = NULL, *all_boxes = NULL;
    for (int i = 0; i < 5; i++) {
        int size = (RETINA_SIZE + (8 << i) - 1) / (8 << i);
        const char *s = apply_head(b, levels[i], &scores, size), *x = apply_head(b, levels[i], &boxes, size);
        all_scores = i == 0 ? s : concat(b, 1, all_scores, s);
        all_boxes = i == 0 ? x : concat(b, 1, all_boxes, x);
    }
    int anchors = RETINA_ANCHORS * (100 * 100 + 50 * 50 + 25 * 25 + 13 * 13 + 7 * 7);
    output(b, op(b, "Sigmoid", all_scores, NULL), FLOAT, 3, DIM_BATCH, anchors, RETINA_CLASSES);
    output(b, all_boxes, FLOAT, 3, DIM_BATCH, anchors, 4);
}
