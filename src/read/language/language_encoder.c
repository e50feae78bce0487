/* language_encoder.c - what encoders of text, images and sound read, and the heads of those that stand alone. */
#include "read/language/language_build.h"

/* --- Inputs ------------------------------------------------------------------------------------------------------ */

typedef struct convolution {
    const char *path;
    int64_t in, out, size, step;
    int32_t axes;
} convolution;

static uint32_t convolve(language_builder *b, const convolution *c, uint32_t x, int64_t pad) {
    const int64_t dims[4] = {c->out, c->in, c->size, c->size}, steps[2] = {c->step, c->step};
    const int64_t sizes[2] = {c->size, c->size}, pads[4] = {pad, pad, pad, pad};
    uint32_t inputs[3] = {x, language_kernel(b, c->path, dims, 2 + c->axes),
                          language_vector(b, c->path, "bias", c->out)};
    language_ints_attr(b, "kernel_shape", sizes, (size_t)c->axes);
    language_ints_attr(b, "strides", steps, (size_t)c->axes);
    language_ints_attr(b, "pads", pads, 2 * (size_t)c->axes);
    return language_op(b, "Conv", c->path, inputs, 3);
}

/* From channels first to tokens first. */
static uint32_t as_tokens(language_builder *b, const char *path, uint32_t x) {
    language_ints_attr(b, "perm", (const int64_t[]){0, 2, 1}, 3);
    return language_op(b, "Transpose", path, &x, 1);
}

static uint32_t add_table(language_builder *b, uint32_t x, int64_t rows) {
    const language_model *m = b->model;
    const int64_t dims[3] = {1, rows, m->hidden};
    return language_binary(b, "Add", "embed_positions", x,
                           language_weight(b, "embed_positions", "weight", m->dtype, dims));
}

/* A token before all others, for the whole image; its batch is that of x. */
static uint32_t add_class_token(language_builder *b, uint32_t x) {
    static const char path[] = "class_token";
    const language_model *m = b->model;
    uint32_t sizes[2] = {FT_NONE, language_ints(b, path, (const int64_t[]){1, m->hidden}, 2)};
    language_int(b, "start", 0);
    language_int(b, "end", 1);
    sizes[0] = language_op(b, "Shape", path, &x, 1);
    language_int(b, "axis", 0);
    uint32_t shape = language_op(b, "Concat", path, sizes, 2);
    uint32_t token = language_weight(b, path, "weight", m->dtype, (const int64_t[3]){1, 1, m->hidden});
    uint32_t parts[2] = {language_binary(b, "Expand", path, token, shape), x};
    language_int(b, "axis", 1);
    return language_op(b, "Concat", "tokens", parts, 2);
}

static uint32_t read_image(language_builder *b) {
    const language_model *m = b->model;
    const language_signal *s = &m->signal;
    const int64_t dims[4] = {b->batch, s->channels, s->size, s->size}, flat[3] = {0, m->hidden, -1};
    int64_t side = s->size / s->patch;
    convolution patches = {"patch_embed", s->channels, m->hidden, s->patch, s->patch, 2};
    uint32_t x = convolve(b, &patches, language_input(b, "pixel_values", m->dtype, dims, 4), 0);
    x = as_tokens(b, "patch_embed", language_reshape(b, "patch_embed", x, flat, 3));
    return add_table(b, add_class_token(b, x), side * side + 1);
}

/* Two columns of the spectrogram are a token. */
static uint32_t read_sound(language_builder *b) {
    const language_model *m = b->model;
    const language_signal *s = &m->signal;
    const int64_t dims[3] = {b->batch, s->channels, 2 * s->size};
    convolution first = {"conv1", s->channels, m->hidden, 3, 1, 1}, second = {"conv2", m->hidden, m->hidden, 3, 2, 1};
    uint32_t x = convolve(b, &first, language_input(b, "input_features", m->dtype, dims, 3), 1);
    x = convolve(b, &second, language_activate(b, "conv1", x), 1);
    x = as_tokens(b, "conv2", language_activate(b, "conv2", x));
    return add_table(b, x, s->size);
}

uint32_t language_encoder_input(language_builder *b) {
    switch (b->model->signal.source) {
    case SOURCE_PATCHES:
        return read_image(b);
    case SOURCE_SOUND:
        return read_sound(b);
    case SOURCE_WORDS:
        break;
    }
    return language_embed(b, "input_ids");
}

/* --- Heads ------------------------------------------------------------------------------------------------------- */

static uint32_t product(language_builder *b, const char *path, uint32_t x, int64_t out) {
    return language_product(b, &(language_linear){path, b->model->hidden, out, MODULE_HEAD, true}, x);
}

static uint32_t first_token(language_builder *b, uint32_t x) {
    uint32_t zero = language_ints(b, "pooler", (const int64_t[]){0}, 1);
    const int64_t flat[2] = {-1, b->model->hidden};
    language_int(b, "axis", 1);
    return language_reshape(b, "pooler", language_binary(b, "Gather", "pooler", x, zero), flat, 2);
}

/* Logits of all tokens, by the table of words, with a bias of their own. */
static uint32_t masked_logits(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    x = language_activate(b, "head", product(b, "head/dense", x, m->hidden));
    x = language_norm_of(b, "head/norm", x, m->hidden);
    if (!m->is_tied) return product(b, "lm_head", x, m->vocabulary);
    x = language_tied_product(b, "lm_head", x, b->table);
    return language_binary(b, "Add", "lm_head", x, language_vector(b, "lm_head", "bias", m->vocabulary));
}

static void add_output(language_builder *b, uint32_t x) {
    if (b->status == FT_OK) b->status = graph_add_output(b->graph, x, b->error);
}

void language_encoder_heads(language_builder *b, uint32_t x) {
    const language_heads *h = &b->model->heads;
    bool is_whole = h->has_pooler || b->model->signal.source == SOURCE_PATCHES; /* classes of the whole input */
    if (!h->has_pooler && !h->has_transform && h->classes == 0) add_output(b, x);
    if (h->has_transform) add_output(b, masked_logits(b, x));
    if (!h->has_pooler && h->classes == 0) return;
    uint32_t y = is_whole ? first_token(b, x) : x;
    if (h->has_pooler) {
        y = product(b, "pooler/dense", y, b->model->hidden);
        y = language_op(b, "Tanh", "pooler", &y, 1);
    }
    add_output(b, h->classes > 0 ? product(b, "classifier", y, h->classes) : y);
}
