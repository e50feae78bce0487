/* networks_long.c - networks of any number of operators, which show how time and memory grow with it.
 *
 * Each has a property that invites work in proportion to its square: a long chain, convolutions of which no two are
 * alike, an operator with very many inputs, tensors that live until the end, attention. bench/growth predicts them. */
#include "networks.h"

enum { FLOAT = 1, SIDE = 14, CHANNELS = 8, TOKENS = 16, WIDTH = 32 };

static const char *conv(builder *b, const char *x, int number, const int shape[4]) {
    const char *w = weight(b, format(b, "w%d", number), 4, shape[0], shape[1], shape[2], shape[3]);
    const char *y = op(b, "Conv", x, w, NULL);
    int top = shape[2] / 2, left = shape[3] / 2;
    set_ints(b, "pads", 4, top, left, top, left);
    return y;
}

void chain(builder *b) {
    const char *x = input(b, "x", FLOAT, 4, DIM_BATCH, CHANNELS, SIDE, SIDE);
    for (int i = 0; i < builder_options(b)->ops; i += 2)
        x = op(b, "Relu", conv(b, x, i, (const int[]){CHANNELS, CHANNELS, 3, 3}), NULL);
    output(b, x, FLOAT, 4, DIM_BATCH, CHANNELS, SIDE, SIDE);
}

/* Numbers of channels repeat after a prime number of operators, kernels change then. */
void varied(builder *b) {
    enum { PERIOD = 4099, SIZES = 5 };
    int channels = CHANNELS;
    const char *x = input(b, "x", FLOAT, 4, DIM_BATCH, channels, SIDE, SIDE);
    for (int i = 0; i < builder_options(b)->ops; i++) {
        int next = CHANNELS + i * 37 % PERIOD, kernel = i / PERIOD;
        x = conv(b, x, i, (const int[]){next, channels, 1 + 2 * (kernel % SIZES), 1 + 2 * (kernel / SIZES % SIZES)});
        channels = next;
    }
    output(b, x, FLOAT, 4, DIM_BATCH, channels, SIDE, SIDE);
}

void wide(builder *b) {
    int count = builder_options(b)->ops;
    const char *x = input(b, "x", FLOAT, 2, DIM_BATCH, CHANNELS);
    for (int i = 0; i < count; i++) op(b, "Relu", x, NULL);
    const char *y = op(b, "Concat", NULL);
    for (int i = 0; i < count; i++) more_input(b, format(b, "Relu_%d", i));
    set_int(b, "axis", 1);
    output(b, y, FLOAT, 2, DIM_BATCH, CHANNELS * count);
}

/* The first half makes tensors, the second adds them in reverse. */
void nested(builder *b) {
    int count = builder_options(b)->ops / 2;
    const char *x = input(b, "x", FLOAT, 4, DIM_BATCH, CHANNELS, SIDE, SIDE);
    for (int i = 0; i < count; i++) x = op(b, "Relu", x, NULL);
    for (int i = count - 1; i >= 0; i--) x = op(b, "Add", x, format(b, "Relu_%d", i), NULL);
    output(b, x, FLOAT, 4, DIM_BATCH, CHANNELS, SIDE, SIDE);
}

void attention_chain(builder *b) {
    const char *x = input(b, "x", FLOAT, 3, DIM_BATCH, TOKENS, WIDTH);
    for (int i = 0; i < builder_options(b)->ops; i += 5) {
        const char *keys = op(b, "Transpose", x, NULL);
        set_ints(b, "perm", 3, 0, 2, 1);
        const char *scores = op(b, "Softmax", op(b, "MatMul", x, keys, NULL), NULL);
        set_int(b, "axis", -1);
        x = op(b, "Add", x, op(b, "MatMul", scores, x, NULL), NULL);
    }
    output(b, x, FLOAT, 3, DIM_BATCH, TOKENS, WIDTH);
}
