/* language_state.c - layers with a state of fixed size: gated delta rule, linear attention, Mamba, gated convolutions.
 *
 * States are inputs and outputs as caches are: "past_key_values.3.state" [batch, heads, key, value] and
 * "past_key_values.3.conv" [batch, channels, taps - 1]. */
#include "base/format.h"
#include "read/language/language_build.h"

static uint32_t project(language_builder *b, const char *path, uint32_t x, int64_t in, int64_t out, bool has_bias) {
    return language_product(b, &(language_linear){path, in, out, MODULE_ATTENTION, has_bias}, x);
}

static uint32_t parameter(language_builder *b, const char *part, int64_t rows, int64_t columns) {
    ft_dtype dtype = b->model->state.dtype != FT_DTYPE_UNKNOWN ? b->model->state.dtype : b->model->dtype;
    return language_weight(b, "mixer", part, dtype, (const int64_t[3]){rows, columns});
}

/* --- States ------------------------------------------------------------------------------------------------------ */

/* An operator with a past and a present state, its input number 3. */
static uint32_t state_op(language_builder *b, const char *type, const char *part, uint32_t *inputs, uint32_t count,
                         ft_dtype dtype, const int64_t *dims, int32_t rank) {
    char past[LANGUAGE_NAME_SIZE], present[LANGUAGE_NAME_SIZE];
    format_text(past, sizeof past, "past_key_values.%u.%s", b->layer, part);
    format_text(present, sizeof present, "present.%u.%s", b->layer, part);
    inputs[3] = language_input(b, past, dtype, dims, rank);
    language_outputs outputs = {.names = {NULL, present}, .count = 2};
    language_op_outputs(b, type, "mixer", inputs, count, &outputs);
    if (b->status == FT_OK) b->status = graph_add_output(b->graph, outputs.tensors[1], b->error);
    return outputs.tensors[0];
}

static uint32_t transpose(language_builder *b, const char *path, uint32_t x) {
    language_ints_attr(b, "perm", (const int64_t[]){0, 2, 1}, 3);
    return language_op(b, "Transpose", path, &x, 1);
}

static uint32_t convolve(language_builder *b, uint32_t x, int64_t channels) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    uint32_t inputs[4] = {transpose(b, "mixer/conv_in", x), FT_NONE, FT_NONE, FT_NONE};
    inputs[1] = language_weight(b, "mixer/conv1d", "weight", m->dtype, (const int64_t[3]){channels, 1, s->conv});
    if (s->has_conv_bias) inputs[2] = language_vector(b, "mixer/conv1d", "bias", channels);
    language_int(b, "group", channels);
    const int64_t dims[3] = {b->batch, channels, s->conv - 1};
    uint32_t y = s->conv > 1 ? state_op(b, "CausalConvWithState", "conv", inputs, 4, m->dtype, dims, 3) : inputs[0];
    return transpose(b, "mixer/conv_out", y);
}

static uint32_t recur(language_builder *b, uint32_t *inputs, const char *rule, int64_t key_heads, int64_t heads,
                      const int64_t size[2]) {
    ft_dtype dtype = b->model->state.dtype != FT_DTYPE_UNKNOWN ? b->model->state.dtype : b->model->dtype;
    language_int(b, "q_num_heads", key_heads);
    language_int(b, "kv_num_heads", heads);
    language_text(b, "update_rule", rule);
    return state_op(b, "LinearAttention", "state", inputs, 6, dtype,
                    (const int64_t[]){b->batch, heads, size[0], size[1]}, 4);
}

static uint32_t silu(language_builder *b, const char *path, uint32_t x) {
    return language_op(b, "Swish", path, &x, 1);
}

/* A norm of each head, and a product with the activation of the gate. */
static uint32_t gated_norm(language_builder *b, uint32_t y, uint32_t gate, int64_t heads, int64_t size) {
    const int64_t apart[4] = {0, 0, heads, size}, together[3] = {0, 0, heads * size};
    y = language_reshape(b, "mixer/norm_in", y, apart, 4);
    y = language_rms_norm(b, "mixer/norm", y, size);
    y = language_reshape(b, "mixer/norm_out", y, together, 3);
    return language_binary(b, "Mul", "mixer/gate", y, silu(b, "mixer/gate", gate));
}

/* The decay of each head and token: of a projection, with a learned offset and scale. */
static uint32_t decay(language_builder *b, uint32_t x, int64_t width, int64_t heads) {
    uint32_t rate = language_binary(b, "Add", "mixer/dt", x, parameter(b, "dt_bias", width, 0));
    rate = language_op(b, "Softplus", "mixer/dt", &rate, 1);
    if (width != heads) { /* a decay for each channel of a key, a scale for each head */
        uint32_t scale = parameter(b, "A_log", heads, 1);
        const int64_t apart[4] = {0, 0, heads, width / heads}, together[3] = {0, 0, width};
        rate = language_reshape(b, "mixer/decay_in", rate, apart, 4);
        rate = language_binary(b, "Mul", "mixer/decay", rate, scale);
        return language_reshape(b, "mixer/decay_out", rate, together, 3);
    }
    return language_binary(b, "Mul", "mixer/decay", rate, parameter(b, "A_log", heads, 0));
}

/* --- Delta rule -------------------------------------------------------------------------------------------------- */

typedef struct delta_parts {
    uint32_t qkv, gate, beta, decay;
} delta_parts;

static delta_parts project_delta(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t keys = s->key_heads * s->key_size, values = s->value_heads * s->value_size;
    language_outputs big = {.count = 2}, small = {.count = 2};
    uint32_t qkvz = project(b, "mixer/in_proj_qkvz", x, m->hidden, 2 * keys + 2 * values, false);
    language_split(b, "mixer/in_proj_qkvz", qkvz, (const int64_t[]){2 * keys + values, values}, &big);
    uint32_t ba = project(b, "mixer/in_proj_ba", x, m->hidden, 2 * s->value_heads, false);
    language_split(b, "mixer/in_proj_ba", ba, (const int64_t[]){s->value_heads, s->value_heads}, &small);
    uint32_t rate = decay(b, small.tensors[1], s->value_heads, s->value_heads);
    return (delta_parts){big.tensors[0], big.tensors[1], small.tensors[0], rate};
}

static uint32_t low_rank(language_builder *b, const char *down, const char *up, uint32_t x, int64_t out) {
    const language_model *m = b->model;
    uint32_t y = project(b, down, x, m->hidden, m->state.key_size, false);
    return project(b, up, y, m->state.key_size, out, false);
}

/* With a decay for each channel: gates come from matrices of low rank. */
static delta_parts project_channels(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t keys = s->key_heads * s->key_size, values = s->value_heads * s->value_size;
    uint32_t apart[3] = {project(b, "mixer/q_proj", x, m->hidden, keys, false),
                         project(b, "mixer/k_proj", x, m->hidden, keys, false),
                         project(b, "mixer/v_proj", x, m->hidden, values, false)};
    delta_parts p;
    language_int(b, "axis", -1);
    p.qkv = language_op(b, "Concat", "mixer/qkv", apart, 3);
    p.decay = decay(b, low_rank(b, "mixer/f_a_proj", "mixer/f_b_proj", x, values), values, s->value_heads);
    p.beta = project(b, "mixer/b_proj", x, m->hidden, s->value_heads, false);
    p.gate = s->has_full_gate ? project(b, "mixer/g_proj", x, m->hidden, values, false)
                              : low_rank(b, "mixer/g_a_proj", "mixer/g_b_proj", x, values);
    return p;
}

static uint32_t delta_rule(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t keys = s->key_heads * s->key_size, values = s->value_heads * s->value_size;
    delta_parts p = s->has_channel_decay ? project_channels(b, x) : project_delta(b, x);
    language_outputs qkv = {.count = 3};
    uint32_t mixed = silu(b, "mixer/conv", convolve(b, p.qkv, 2 * keys + values));
    language_split(b, "mixer/qkv", mixed, (const int64_t[]){keys, keys, values}, &qkv);
    uint32_t beta = language_op(b, "Sigmoid", "mixer/beta", &p.beta, 1);
    uint32_t inputs[6] = {qkv.tensors[0], qkv.tensors[1], qkv.tensors[2], FT_NONE, p.decay, beta};
    uint32_t y =
        recur(b, inputs, "gated_delta", s->key_heads, s->value_heads, (const int64_t[]){s->key_size, s->value_size});
    y = gated_norm(b, y, p.gate, s->value_heads, s->value_size);
    return language_product(b, &(language_linear){"mixer/out_proj", values, m->hidden, MODULE_ATTENTION_OUTPUT, false},
                            y);
}

/* --- Linear attention -------------------------------------------------------------------------------------------- */

static uint32_t linear(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t width = s->value_heads * s->value_size;
    language_outputs parts = {.count = 3};
    uint32_t qkv = silu(b, "mixer/qkv_proj", project(b, "mixer/qkv_proj", x, m->hidden, 3 * width, false));
    language_split(b, "mixer/qkv_proj", qkv, (const int64_t[]){width, width, width}, &parts);
    uint32_t inputs[6] = {parts.tensors[0], parts.tensors[1], parts.tensors[2], FT_NONE, FT_NONE, FT_NONE};
    uint32_t y = recur(b, inputs, "gated", s->key_heads, s->value_heads, (const int64_t[]){s->key_size, s->value_size});
    y = language_rms_norm(b, "mixer/norm", y, width);
    uint32_t gate = project(b, "mixer/output_gate", x, m->hidden, width, false);
    y = language_binary(b, "Mul", "mixer/gate", y, language_op(b, "Sigmoid", "mixer/gate", &gate, 1));
    return language_product(b, &(language_linear){"mixer/out_proj", width, m->hidden, MODULE_ATTENTION_OUTPUT, false},
                            y);
}

/* --- Mamba ------------------------------------------------------------------------------------------------------- */

static uint32_t mamba(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t inner = s->inner, size = s->key_size;
    language_outputs in = {.count = 2}, parts = {.count = 3};
    uint32_t both = project(b, "mixer/in_proj", x, m->hidden, 2 * inner, s->has_bias);
    language_split(b, "mixer/in_proj", both, (const int64_t[]){inner, inner}, &in);
    uint32_t u = silu(b, "mixer/conv", convolve(b, in.tensors[0], inner));
    uint32_t rates = project(b, "mixer/x_proj", u, inner, s->rank + 2 * size, false);
    language_split(b, "mixer/x_proj", rates, (const int64_t[]){s->rank, size, size}, &parts);
    if (s->has_state_norms) {
        parts.tensors[0] = language_rms_norm(b, "mixer/dt_layernorm", parts.tensors[0], s->rank);
        parts.tensors[1] = language_rms_norm(b, "mixer/b_layernorm", parts.tensors[1], size);
        parts.tensors[2] = language_rms_norm(b, "mixer/c_layernorm", parts.tensors[2], size);
    }
    uint32_t step = project(b, "mixer/dt_proj", parts.tensors[0], s->rank, inner, true);
    step = language_op(b, "Softplus", "mixer/dt", &step, 1);
    uint32_t inputs[7] = {
        parts.tensors[2], parts.tensors[1], u, FT_NONE, step, FT_NONE, parameter(b, "A_log", inner, size)};
    language_int(b, "q_num_heads", 1);
    language_int(b, "kv_num_heads", inner);
    language_text(b, "update_rule", "gated");
    uint32_t y = state_op(b, "LinearAttention", "state", inputs, 7, s->dtype != FT_DTYPE_UNKNOWN ? s->dtype : m->dtype,
                          (const int64_t[]){b->batch, inner, size, 1}, 4);
    y = language_binary(b, "Add", "mixer/skip", y,
                        language_binary(b, "Mul", "mixer/skip", u, parameter(b, "D", inner, 0)));
    y = language_binary(b, "Mul", "mixer/gate", y, silu(b, "mixer/gate", in.tensors[1]));
    return language_product(
        b, &(language_linear){"mixer/out_proj", inner, m->hidden, MODULE_ATTENTION_OUTPUT, s->has_bias}, y);
}

static uint32_t mamba2(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    const language_state *s = &m->state;
    int64_t inner = s->inner, groups = s->key_heads * s->key_size, heads = s->value_heads, mixed = inner + 2 * groups;
    language_outputs in = {.count = 3}, parts = {.count = 3};
    uint32_t all = project(b, "mixer/in_proj", x, m->hidden, inner + mixed + heads, s->has_bias);
    language_split(b, "mixer/in_proj", all, (const int64_t[]){inner, mixed, heads}, &in);
    uint32_t u = silu(b, "mixer/conv", convolve(b, in.tensors[1], mixed));
    language_split(b, "mixer/conv", u, (const int64_t[]){inner, groups, groups}, &parts);
    uint32_t inputs[6] = {
        parts.tensors[2], parts.tensors[1], parts.tensors[0], FT_NONE, decay(b, in.tensors[2], heads, heads), FT_NONE};
    uint32_t y = recur(b, inputs, "gated", s->key_heads, heads, (const int64_t[]){s->key_size, s->value_size});
    const int64_t apart[4] = {0, 0, heads, s->value_size}, together[3] = {0, 0, inner};
    uint32_t skip = language_reshape(b, "mixer/skip_in", parts.tensors[0], apart, 4);
    skip = language_binary(b, "Mul", "mixer/skip", skip, parameter(b, "D", heads, 1));
    y = language_binary(b, "Add", "mixer/skip", y, language_reshape(b, "mixer/skip_out", skip, together, 3));
    y = language_binary(b, "Mul", "mixer/gate", y, silu(b, "mixer/gate", in.tensors[0]));
    if (s->has_gated_norm) y = language_rms_norm(b, "mixer/norm", y, inner);
    return language_product(
        b, &(language_linear){"mixer/out_proj", inner, m->hidden, MODULE_ATTENTION_OUTPUT, s->has_bias}, y);
}

/* --- Gated convolutions ------------------------------------------------------------------------------------------ */

static uint32_t short_conv(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    int64_t h = m->hidden;
    language_outputs parts = {.count = 3};
    uint32_t all = project(b, "mixer/in_proj", x, h, 3 * h, m->state.has_bias);
    language_split(b, "mixer/in_proj", all, (const int64_t[]){h, h, h}, &parts);
    uint32_t y = language_binary(b, "Mul", "mixer/gate_in", parts.tensors[0], parts.tensors[2]);
    y = language_binary(b, "Mul", "mixer/gate_out", parts.tensors[1], convolve(b, y, h));
    return language_product(b, &(language_linear){"mixer/out_proj", h, h, MODULE_ATTENTION_OUTPUT, m->state.has_bias},
                            y);
}

uint32_t language_recurrence(language_builder *b, const language_layer *layer, uint32_t x) {
    switch (layer->mixer) {
    case MIXER_DELTA:
        return delta_rule(b, x);
    case MIXER_LINEAR:
        return linear(b, x);
    case MIXER_MAMBA:
        return mamba(b, x);
    case MIXER_MAMBA2:
        return mamba2(b, x);
    case MIXER_SHORT_CONV:
        return short_conv(b, x);
    case MIXER_PRODUCT:
        return project(b, "attn/linear", x, b->model->hidden, b->model->hidden, false);
    case MIXER_NONE:
    case MIXER_ATTENTION:
    case MIXER_LATENT:
        break;
    }
    return x;
}
