/* networks_window.c - networks with layers of their own kind on images in NHWC: ConvNeXt, Swin transformer. */
#include "layers.h"
#include "networks.h"

/* --- ConvNeXt ---------------------------------------------------------------------------------------------------- */

/* A layer norm over the channels of an image. */
static const char *channel_norm(builder *b, const char *x, const char *name, int channels) {
    return transpose(b, layer_norm(b, transpose(b, x, 4, 0, 2, 3, 1), name, channels), 4, 0, 3, 1, 2);
}

static const char *convnext_block(builder *b, const char *x, const char *name, int width) {
    const char *y = conv_bias(b, x, format(b, "%s.dwconv", name), (conv_shape){width, width, 7, 1, width});
    y = layer_norm(b, transpose(b, y, 4, 0, 2, 3, 1), format(b, "%s.norm", name), width);
    y = gelu(b, dense(b, y, format(b, "%s.in", name), width, 4 * width));
    y = dense(b, y, format(b, "%s.out", name), 4 * width, width);
    y = op(b, "Mul", transpose(b, y, 4, 0, 3, 1, 2), weight(b, format(b, "%s.scale", name), 3, width, 1, 1), NULL);
    return op(b, "Add", x, y, NULL);
}

static void convnext(builder *b, const int depths[4], int width) {
    const char *x = conv_bias(b, image(b, 224), "stem", (conv_shape){3, width, 4, 4, 1});
    x = channel_norm(b, x, "stem.norm", width);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < depths[stage]; i++) x = convnext_block(b, x, format(b, "stage%d.%d", stage, i), width);
        if (stage == 3) break;
        x = channel_norm(b, x, format(b, "down%d.norm", stage), width);
        x = conv_bias(b, x, format(b, "down%d", stage), (conv_shape){width, 2 * width, 2, 2, 1});
        width *= 2;
    }
    x = layer_norm(b, pool_flat(b, x), "norm", width);
    output(b, gemm(b, x, "classifier", width, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

void convnext_tiny(builder *b) {
    convnext(b, (const int[4]){3, 3, 9, 3}, 96);
}

void convnext_small(builder *b) {
    convnext(b, (const int[4]){3, 3, 27, 3}, 96);
}

void convnext_base(builder *b) {
    convnext(b, (const int[4]){3, 3, 27, 3}, 128);
}

/* --- Swin -------------------------------------------------------------------------------------------------------- */

enum { WINDOW = 7, TOKENS = WINDOW * WINDOW, OFFSETS = (2 * WINDOW - 1) * (2 * WINDOW - 1), HEAD_WIDTH = 32 };

static const char *slice(builder *b, const char *x, int axis, int from, int to, int step) {
    return op(b, "Slice", x, list(b, 1, from), list(b, 1, to), list(b, 1, axis), list(b, 1, step), NULL);
}

/* torch.roll: the first `count` rows come last, or the other way round. */
static const char *roll(builder *b, const char *x, int axis, int count, int size) {
    return concat(b, axis, slice(b, x, axis, count, size, 1), slice(b, x, axis, 0, count, 1));
}

/* Windows of a map: windows, TOKENS, width. */
static const char *to_windows(builder *b, const char *x, int size, int width) {
    x = op(b, "Reshape", x, list(b, 6, -1, size / WINDOW, WINDOW, size / WINDOW, WINDOW, width), NULL);
    return op(b, "Reshape", transpose(b, x, 6, 0, 1, 3, 2, 4, 5), list(b, 3, -1, TOKENS, width), NULL);
}

static const char *from_windows(builder *b, const char *x, int size, int width) {
    x = op(b, "Reshape", x, list(b, 6, -1, size / WINDOW, size / WINDOW, WINDOW, WINDOW, width), NULL);
    return op(b, "Reshape", transpose(b, x, 6, 0, 1, 3, 2, 4, 5), list(b, 4, -1, size, size, width), NULL);
}

/* Query, key or value of all windows: windows, heads, TOKENS, HEAD_WIDTH. */
static const char *part_of(builder *b, const char *qkv, int index) {
    const char *x = op(b, "Gather", qkv, integer(b, index), NULL);
    set_int(b, "axis", 0);
    return x;
}

/* The bias of an attention by the distance of its tokens: heads, TOKENS, TOKENS. */
static const char *relative_bias(builder *b, const char *name, int heads) {
    const char *table = weight(b, format(b, "%s.table", name), 2, OFFSETS, heads);
    /* The index of each pair of tokens is a constant of the file; every row of the table is as good for its size. */
    const char *index = typed_weight(b, format(b, "%s.index", name), INT64, 1, TOKENS * TOKENS);
    const char *x = op(b, "Gather", table, index, NULL);
    x = op(b, "Reshape", x, list(b, 3, TOKENS, TOKENS, heads), NULL);
    return transpose(b, x, 3, 2, 0, 1);
}

static const char *window_attention(builder *b, const char *x, const char *name, int width, int mask_windows) {
    int heads = width / HEAD_WIDTH;
    const char *qkv = dense(b, x, format(b, "%s.qkv", name), width, 3 * width);
    qkv = op(b, "Reshape", qkv, list(b, 5, -1, TOKENS, 3, heads, HEAD_WIDTH), NULL);
    qkv = transpose(b, qkv, 5, 2, 0, 3, 1, 4);
    const char *q = op(b, "Mul", part_of(b, qkv, 0), number(b, 0.17677669529663687), NULL);
    const char *k = transpose(b, part_of(b, qkv, 1), 4, 0, 1, 3, 2), *v = part_of(b, qkv, 2);
    const char *scores = op(b, "Add", op(b, "MatMul", q, k, NULL), relative_bias(b, name, heads), NULL);
    if (mask_windows > 0) { /* shifted windows hold tokens that are no neighbours */
        const char *mask = typed_weight(b, format(b, "%s.mask", name), FLOAT, 5, 1, mask_windows, 1, TOKENS, TOKENS);
        scores = op(b, "Reshape", scores, list(b, 5, -1, mask_windows, heads, TOKENS, TOKENS), NULL);
        scores = op(b, "Reshape", op(b, "Add", scores, mask, NULL), list(b, 4, -1, heads, TOKENS, TOKENS), NULL);
    }
    scores = op(b, "Softmax", scores, NULL);
    set_int(b, "axis", -1);
    x = transpose(b, op(b, "MatMul", scores, v, NULL), 4, 0, 2, 1, 3);
    x = op(b, "Reshape", x, list(b, 3, -1, TOKENS, width), NULL);
    return dense(b, x, format(b, "%s.proj", name), width, width);
}

static const char *swin_block(builder *b, const char *x, const char *name, int size, int width, int shift) {
    const char *y = layer_norm(b, x, format(b, "%s.norm1", name), width);
    if (shift > 0) y = roll(b, roll(b, y, 1, shift, size), 2, shift, size);
    int windows = (size / WINDOW) * (size / WINDOW);
    y = window_attention(b, to_windows(b, y, size, width), format(b, "%s.attn", name), width, shift > 0 ? windows : 0);
    y = from_windows(b, y, size, width);
    if (shift > 0) y = roll(b, roll(b, y, 1, size - shift, size), 2, size - shift, size);
    x = op(b, "Add", x, y, NULL);
    y = layer_norm(b, x, format(b, "%s.norm2", name), width);
    y = gelu(b, dense(b, y, format(b, "%s.in", name), width, 4 * width));
    return op(b, "Add", x, dense(b, y, format(b, "%s.out", name), 4 * width, width), NULL);
}

/* Four neighbours become one of twice the width. */
static const char *merge_patches(builder *b, const char *x, const char *name, int size, int width) {
    const char *even = slice(b, x, 1, 0, size, 2), *odd = slice(b, x, 1, 1, size, 2);
    const char *y = concat(b, 3, slice(b, even, 2, 0, size, 2), slice(b, odd, 2, 0, size, 2));
    y = concat(b, 3, y, slice(b, even, 2, 1, size, 2));
    y = concat(b, 3, y, slice(b, odd, 2, 1, size, 2));
    y = layer_norm(b, y, format(b, "%s.norm", name), 4 * width);
    return dense_plain(b, y, name, 4 * width, 2 * width);
}

static void swin(builder *b, const int depths[4], int width) {
    int size = 56;
    const char *x = conv_bias(b, image(b, 224), "patch", (conv_shape){3, width, 4, 4, 1});
    x = layer_norm(b, transpose(b, x, 4, 0, 2, 3, 1), "patch.norm", width);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < depths[stage]; i++)
            x = swin_block(b, x, format(b, "stage%d.%d", stage, i), size, width,
                           i % 2 == 1 && size > WINDOW ? WINDOW / 2 : 0);
        if (stage == 3) break;
        x = merge_patches(b, x, format(b, "merge%d", stage), size, width);
        size /= 2;
        width *= 2;
    }
    x = layer_norm(b, x, "norm", width);
    classify(b, transpose(b, x, 4, 0, 3, 1, 2), width);
}

void swin_tiny(builder *b) {
    swin(b, (const int[4]){2, 2, 6, 2}, 96);
}

void swin_small(builder *b) {
    swin(b, (const int[4]){2, 2, 18, 2}, 96);
}

void swin_base(builder *b) {
    swin(b, (const int[4]){2, 2, 18, 2}, 128);
}
