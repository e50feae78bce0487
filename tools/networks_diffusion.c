/* networks_diffusion.c - the U-Net of Stable Diffusion 1: latents of 64x64, conditioned on 77 tokens of text. */
#include "layers.h"
#include "networks.h"

enum { GROUPS = 32, HEADS = 8, CONTEXT = 768, TOKENS = 77, TIME = 1280, LATENT = 64, FREQUENCIES = 160 };

/* With the operators that exporters write below opset 18, which has an operator for it. */
static const char *group_norm(builder *b, const char *x, const char *name, int channels) {
    const char *shape = op(b, "Shape", x, NULL);
    const char *y = op(b, "Reshape", x, list(b, 3, 0, GROUPS, -1), NULL);
    const char *zeros = op(b, "ConstantOfShape", list(b, 1, GROUPS), NULL);
    y = op(b, "InstanceNormalization", y, op(b, "Exp", zeros, NULL), zeros, NULL);
    set_float(b, "epsilon", 1e-5);
    y = op(b, "Reshape", y, shape, NULL);
    y = op(b, "Mul", y, weight(b, format(b, "%s.weight", name), 3, channels, 1, 1), NULL);
    return op(b, "Add", y, weight(b, format(b, "%s.bias", name), 3, channels, 1, 1), NULL);
}

static const char *res_block(builder *b, const char *x, const char *name, const char *time, int cin, int cout) {
    const char *y = silu(b, group_norm(b, x, format(b, "%s.norm1", name), cin));
    y = conv_bias(b, y, format(b, "%s.conv1", name), (conv_shape){cin, cout, 3, 1, 1});
    const char *t = gemm(b, silu(b, time), format(b, "%s.time", name), TIME, cout);
    y = op(b, "Add", y, op(b, "Unsqueeze", t, list(b, 2, 2, 3), NULL), NULL);
    y = silu(b, group_norm(b, y, format(b, "%s.norm2", name), cout));
    y = conv_bias(b, y, format(b, "%s.conv2", name), (conv_shape){cout, cout, 3, 1, 1});
    if (cin != cout) x = conv_bias(b, x, format(b, "%s.shortcut", name), (conv_shape){cin, cout, 1, 1, 1});
    return op(b, "Add", x, y, NULL);
}

static const char *heads_of(builder *b, const char *x, int width) {
    return op(b, "Reshape", x, list(b, 4, 0, -1, HEADS, width / HEADS), NULL);
}

/* Attention of x to `context`, which has `from` features; to itself when they are the same. */
static const char *attend(builder *b, const char *x, const char *context, const char *name, int width, int from) {
    const char *q = heads_of(b, dense_plain(b, x, format(b, "%s.q", name), width, width), width);
    const char *k = heads_of(b, dense_plain(b, context, format(b, "%s.k", name), from, width), width);
    const char *v = heads_of(b, dense_plain(b, context, format(b, "%s.v", name), from, width), width);
    const char *scores = op(b, "MatMul", transpose(b, q, 4, 0, 2, 1, 3), transpose(b, k, 4, 0, 2, 3, 1), NULL);
    scores = op(b, "Softmax", op(b, "Mul", scores, number(b, 0.125), NULL), NULL);
    set_int(b, "axis", -1);
    const char *y = op(b, "MatMul", scores, transpose(b, v, 4, 0, 2, 1, 3), NULL);
    y = op(b, "Reshape", transpose(b, y, 4, 0, 2, 1, 3), list(b, 3, 0, -1, width), NULL);
    return dense(b, y, format(b, "%s.out", name), width, width);
}

static const char *gated_mlp(builder *b, const char *x, const char *name, int width) {
    const char *both = dense(b, x, format(b, "%s.in", name), width, 8 * width);
    const char *y = op(b, "Split", both, list(b, 2, 4 * width, 4 * width), NULL);
    set_int(b, "axis", -1);
    const char *gate = more_output(b);
    y = op(b, "Mul", y, gelu(b, gate), NULL);
    return dense(b, y, format(b, "%s.out", name), 4 * width, width);
}

static const char *transformer(builder *b, const char *x, const char *name, const char *context, int width, int size) {
    const char *y = group_norm(b, x, format(b, "%s.norm", name), width);
    y = conv_bias(b, y, format(b, "%s.proj_in", name), (conv_shape){width, width, 1, 1, 1});
    y = transpose(b, op(b, "Reshape", y, list(b, 3, 0, width, -1), NULL), 3, 0, 2, 1);
    const char *n = layer_norm(b, y, format(b, "%s.norm1", name), width);
    y = op(b, "Add", y, attend(b, n, n, format(b, "%s.attn1", name), width, width), NULL);
    n = layer_norm(b, y, format(b, "%s.norm2", name), width);
    y = op(b, "Add", y, attend(b, n, context, format(b, "%s.attn2", name), width, CONTEXT), NULL);
    n = layer_norm(b, y, format(b, "%s.norm3", name), width);
    y = op(b, "Add", y, gated_mlp(b, n, format(b, "%s.ff", name), width), NULL);
    y = op(b, "Reshape", transpose(b, y, 3, 0, 2, 1), list(b, 4, 0, width, size, size), NULL);
    y = conv_bias(b, y, format(b, "%s.proj_out", name), (conv_shape){width, width, 1, 1, 1});
    return op(b, "Add", x, y, NULL);
}

static const char *embed_time(builder *b) {
    const char *step = input(b, "timestep", FLOAT, 1, DIM_BATCH);
    const char *steps = op(b, "Range", number(b, 0), number(b, FREQUENCIES), number(b, 1), NULL);
    const char *frequencies =
        op(b, "Exp", op(b, "Mul", steps, number(b, -9.210340371976184 / FREQUENCIES), NULL), NULL);
    const char *x = op(b, "Mul", op(b, "Unsqueeze", step, list(b, 1, 1), NULL), frequencies, NULL);
    x = concat(b, 1, op(b, "Cos", x, NULL), op(b, "Sin", x, NULL));
    x = silu(b, gemm(b, x, "time.0", 2 * FREQUENCIES, TIME));
    return gemm(b, x, "time.2", TIME, TIME);
}

static const char *enlarge(builder *b, const char *x, const char *name, int width) {
    x = op(b, "Resize", x, "", numbers(b, 4, 1.0, 1.0, 2.0, 2.0), NULL);
    set_string(b, "mode", "nearest");
    return conv_bias(b, x, name, (conv_shape){width, width, 3, 1, 1});
}

enum { LEVELS = 4, SKIPS = 12 };

static const int widths[LEVELS] = {320, 640, 1280, 1280};

typedef struct unet {
    const char *x, *time, *context;
    const char *skips[SKIPS];
    int skip_widths[SKIPS], skip_count, width, size;
} unet;

static void keep_skip(unet *u) {
    u->skip_widths[u->skip_count] = u->width;
    u->skips[u->skip_count++] = u->x;
}

static void go_down(builder *b, unet *u) {
    for (int level = 0; level < LEVELS; level++) {
        for (int i = 0; i < 2; i++) {
            const char *name = format(b, "down%d.%d", level, i);
            u->x = res_block(b, u->x, name, u->time, u->width, widths[level]);
            u->width = widths[level];
            if (level < 3) u->x = transformer(b, u->x, format(b, "%s.attn", name), u->context, u->width, u->size);
            keep_skip(u);
        }
        if (level == 3) break;
        u->x = conv_bias(b, u->x, format(b, "down%d.sample", level), (conv_shape){u->width, u->width, 3, 2, 1});
        u->size /= 2;
        keep_skip(u);
    }
}

static void go_up(builder *b, unet *u) {
    for (int level = LEVELS - 1; level >= 0; level--) {
        for (int i = 0; i < 3; i++) {
            const char *name = format(b, "up%d.%d", level, i);
            int skip = --u->skip_count;
            u->x = res_block(b, concat(b, 1, u->x, u->skips[skip]), name, u->time, u->width + u->skip_widths[skip],
                             widths[level]);
            u->width = widths[level];
            if (level < 3) u->x = transformer(b, u->x, format(b, "%s.attn", name), u->context, u->width, u->size);
        }
        if (level == 0) break;
        u->x = enlarge(b, u->x, format(b, "up%d.sample", level), u->width);
        u->size *= 2;
    }
}

void diffusion_unet(builder *b) {
    const char *latents = input(b, "sample", FLOAT, 4, DIM_BATCH, 4, LATENT, LATENT);
    unet u = {.time = embed_time(b), .width = widths[0], .size = LATENT};
    u.context = input(b, "encoder_hidden_states", FLOAT, 3, DIM_BATCH, TOKENS, CONTEXT);
    u.x = conv_bias(b, latents, "conv_in", (conv_shape){4, widths[0], 3, 1, 1});
    keep_skip(&u);
    go_down(b, &u);
    u.x = res_block(b, u.x, "mid.0", u.time, u.width, u.width);
    u.x = transformer(b, u.x, "mid.attn", u.context, u.width, u.size);
    u.x = res_block(b, u.x, "mid.1", u.time, u.width, u.width);
    go_up(b, &u);
    const char *y = silu(b, group_norm(b, u.x, "norm_out", widths[0]));
    output(b, conv_bias(b, y, "conv_out", (conv_shape){widths[0], 4, 3, 1, 1}), FLOAT, 4, DIM_BATCH, 4, LATENT, LATENT);
}
