/* networks_sequence.c - transformers and recurrent networks, with the operators that exporters write for them. */
#include "networks.h"

enum { FLOAT = 1, INT64 = 7 }; /* element types of onnx.proto */

/* --- Layers ------------------------------------------------------------------------------------------------------ */

/* A linear layer on the last of any number of dimensions, as exporters write it: MatMul, then Add. */
static const char *linear(builder *b, const char *x, const char *name, int in, int out) {
    const char *y = op(b, "MatMul", x, weight(b, format(b, "%s.weight", name), 2, in, out), NULL);
    return op(b, "Add", y, weight(b, format(b, "%s.bias", name), 1, out), NULL);
}

static const char *layer_norm(builder *b, const char *x, const char *name, int width) {
    const char *scale = weight(b, format(b, "%s.weight", name), 1, width);
    const char *y = op(b, "LayerNormalization", x, scale, weight(b, format(b, "%s.bias", name), 1, width), NULL);
    set_int(b, "axis", -1);
    set_float(b, "epsilon", 1e-6);
    return y;
}

static const char *gelu(builder *b, const char *x) {
    const char *y = op(b, "Erf", op(b, "Div", x, number(b, 1.4142135623730951), NULL), NULL);
    y = op(b, "Mul", x, op(b, "Add", y, number(b, 1), NULL), NULL);
    return op(b, "Mul", y, number(b, 0.5), NULL);
}

/* Dimension `axis` of x as a list of one: what a traced x.shape[axis] becomes. */
static const char *dim_of(builder *b, const char *x, int axis) {
    const char *size = op(b, "Gather", op(b, "Shape", x, NULL), integer(b, axis), NULL);
    return op(b, "Unsqueeze", size, list(b, 1, 0), NULL);
}

/* Reshapes x (batch x sequence x anything) to batch x sequence x tail. */
static const char *reshape_tail(builder *b, const char *x, const char *tail) {
    const char *batch = dim_of(b, x, 0), *sequence = dim_of(b, x, 1);
    const char *shape = op(b, "Concat", batch, sequence, tail, NULL);
    set_int(b, "axis", 0);
    return op(b, "Reshape", x, shape, NULL);
}

static const char *transpose(builder *b, const char *x, int p0, int p1, int p2, int p3) {
    const char *y = op(b, "Transpose", x, NULL);
    set_ints(b, "perm", 4, p0, p1, p2, p3);
    return y;
}

static const char *attention(builder *b, const char *x, const char *name, int width, int heads) {
    const char *tail = list(b, 2, heads, width / heads);
    const char *q = reshape_tail(b, linear(b, x, format(b, "%s.query", name), width, width), tail);
    const char *k = reshape_tail(b, linear(b, x, format(b, "%s.key", name), width, width), tail);
    const char *v = reshape_tail(b, linear(b, x, format(b, "%s.value", name), width, width), tail);
    q = transpose(b, q, 0, 2, 1, 3);
    k = transpose(b, k, 0, 2, 3, 1);
    const char *scores = op(b, "MatMul", q, k, NULL);
    scores = op(b, "Softmax", op(b, "Div", scores, number(b, 8), NULL), NULL);
    set_int(b, "axis", -1);
    const char *y = op(b, "MatMul", scores, transpose(b, v, 0, 2, 1, 3), NULL);
    y = reshape_tail(b, transpose(b, y, 0, 2, 1, 3), list(b, 1, width));
    return linear(b, y, format(b, "%s.output", name), width, width);
}

static const char *feed_forward(builder *b, const char *x, const char *name, int width) {
    const char *y = gelu(b, linear(b, x, format(b, "%s.in", name), width, 4 * width));
    return linear(b, y, format(b, "%s.out", name), 4 * width, width);
}

/* --- Vision transformer ------------------------------------------------------------------------------------------ */

/* Heads of 64 features. */
static void vision_transformer(builder *b, int width, int layers) {
    enum { PATCHES = 14 * 14, HEAD_WIDTH = 64 };
    int heads = width / HEAD_WIDTH;
    const char *image = input(b, "input", FLOAT, 4, DIM_BATCH, 3, 224, 224);
    const char *x =
        op(b, "Conv", image, weight(b, "patch.weight", 4, width, 3, 16, 16), weight(b, "patch.bias", 1, width), NULL);
    set_ints(b, "kernel_shape", 2, 16, 16);
    set_ints(b, "strides", 2, 16, 16);
    x = op(b, "Reshape", x, list(b, 3, 0, width, -1), NULL);
    x = op(b, "Transpose", x, NULL);
    set_ints(b, "perm", 3, 0, 2, 1);

    const char *shape = op(b, "Concat", dim_of(b, image, 0), list(b, 2, 1, width), NULL);
    set_int(b, "axis", 0);
    const char *token = op(b, "Expand", weight(b, "class_token", 3, 1, 1, width), shape, NULL);
    x = op(b, "Concat", token, x, NULL);
    set_int(b, "axis", 1);
    x = op(b, "Add", x, weight(b, "position", 3, 1, PATCHES + 1, width), NULL);
    for (int i = 0; i < layers; i++) {
        const char *normed = layer_norm(b, x, format(b, "%d.norm1", i), width);
        x = op(b, "Add", x, attention(b, normed, format(b, "%d.attention", i), width, heads), NULL);
        normed = layer_norm(b, x, format(b, "%d.norm2", i), width);
        x = op(b, "Add", x, feed_forward(b, normed, format(b, "%d.mlp", i), width), NULL);
    }
    x = op(b, "Gather", layer_norm(b, x, "norm", width), integer(b, 0), NULL);
    set_int(b, "axis", 1);
    output(b, linear(b, x, "classifier", width, 1000), FLOAT, 2, DIM_BATCH, 1000);
}

void vit_tiny(builder *b) {
    vision_transformer(b, 192, 12);
}

void vit_small(builder *b) {
    vision_transformer(b, 384, 12);
}

void vit_base(builder *b) {
    vision_transformer(b, 768, 12);
}

void vit_large(builder *b) {
    vision_transformer(b, 1024, 24);
}

/* --- Text encoder ------------------------------------------------------------------------------------------------ */

/* The first `sequence` rows of the table of positions, as many as there are tokens. */
static const char *positions(builder *b, const char *tokens, int longest, int width) {
    const char *table = weight(b, "embeddings.position", 2, longest, width);
    return op(b, "Slice", table, list(b, 1, 0), dim_of(b, tokens, 1), list(b, 1, 0), NULL);
}

void bert_base(builder *b) {
    enum { WIDTH = 768, HEADS = 12, LAYERS = 12, WORDS = 30522, LONGEST = 512 };
    const char *tokens = input(b, "input_ids", INT64, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *types = input(b, "token_type_ids", INT64, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *x = op(b, "Gather", weight(b, "embeddings.word", 2, WORDS, WIDTH), tokens, NULL);
    x = op(b, "Add", x, op(b, "Gather", weight(b, "embeddings.type", 2, 2, WIDTH), types, NULL), NULL);
    x = op(b, "Add", x, positions(b, tokens, LONGEST, WIDTH), NULL);
    x = layer_norm(b, x, "embeddings.norm", WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        const char *y = attention(b, x, format(b, "%d.attention", i), WIDTH, HEADS);
        x = layer_norm(b, op(b, "Add", x, y, NULL), format(b, "%d.norm1", i), WIDTH);
        y = feed_forward(b, x, format(b, "%d.mlp", i), WIDTH);
        x = layer_norm(b, op(b, "Add", x, y, NULL), format(b, "%d.norm2", i), WIDTH);
    }
    output(b, x, FLOAT, 3, DIM_BATCH, DIM_SEQUENCE, WIDTH);
    const char *first = op(b, "Gather", x, integer(b, 0), NULL);
    set_int(b, "axis", 1);
    output(b, op(b, "Tanh", linear(b, first, "pooler", WIDTH, WIDTH), NULL), FLOAT, 2, DIM_BATCH, WIDTH);
}

/* --- Recurrent --------------------------------------------------------------------------------------------------- */

/* Both directions of one LSTM layer: sequence x batch x `in` becomes sequence x batch x 2 `hidden`. */
static const char *bidirectional_lstm(builder *b, const char *x, const char *name, int in, int hidden) {
    const char *w = weight(b, format(b, "%s.W", name), 3, 2, 4 * hidden, in);
    const char *r = weight(b, format(b, "%s.R", name), 3, 2, 4 * hidden, hidden);
    const char *y = op(b, "LSTM", x, w, r, weight(b, format(b, "%s.B", name), 2, 2, 8 * hidden), NULL);
    set_int(b, "hidden_size", hidden);
    set_string(b, "direction", "bidirectional");
    y = transpose(b, y, 0, 2, 1, 3); /* sequence x batch x direction x hidden */
    return op(b, "Reshape", y, list(b, 3, 0, 0, -1), NULL);
}

void lstm_tagger(builder *b) {
    enum { WORDS = 20000, WIDTH = 128, HIDDEN = 256, TAGS = 32 };
    const char *tokens = input(b, "tokens", INT64, 2, DIM_SEQUENCE, DIM_BATCH);
    const char *x = op(b, "Gather", weight(b, "embedding", 2, WORDS, WIDTH), tokens, NULL);
    x = bidirectional_lstm(b, x, "lstm1", WIDTH, HIDDEN);
    x = bidirectional_lstm(b, x, "lstm2", 2 * HIDDEN, HIDDEN);
    x = op(b, "LogSoftmax", linear(b, x, "tags", 2 * HIDDEN, TAGS), NULL);
    set_int(b, "axis", -1);
    output(b, x, FLOAT, 3, DIM_SEQUENCE, DIM_BATCH, TAGS);
}
