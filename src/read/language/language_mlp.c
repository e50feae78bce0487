/* language_mlp.c - dense MLPs and mixtures of experts of a language model. */
#include <string.h>

#include "read/language/language_build.h"

enum { EXPERT_INPUTS = 11 }; /* of the operator of experts, with scales */

typedef struct dense {
    const char *gate, *up, *down, *fused, *act; /* paths */
    int64_t inner;
    language_module module;
} dense;

static uint32_t gated_inner(language_builder *b, const dense *d, uint32_t x) {
    const language_model *m = b->model;
    uint32_t gate, up;
    if (m->has_fused_gate) {
        language_linear l = {d->fused, m->hidden, 2 * d->inner, d->module, m->has_mlp_bias};
        language_outputs parts = {.count = 2};
        uint32_t inputs[2] = {language_product(b, &l, x), FT_NONE};
        inputs[1] = language_ints(b, d->fused, (const int64_t[]){d->inner, d->inner}, 2);
        language_int(b, "axis", -1);
        language_op_outputs(b, "Split", d->fused, inputs, 2, &parts);
        gate = parts.tensors[0];
        up = parts.tensors[1];
    } else {
        gate = language_product(b, &(language_linear){d->gate, m->hidden, d->inner, d->module, m->has_mlp_bias}, x);
        up = language_product(b, &(language_linear){d->up, m->hidden, d->inner, d->module, m->has_mlp_bias}, x);
    }
    return language_binary(b, "Mul", d->act, language_activate(b, d->act, gate), up);
}

static uint32_t dense_mlp(language_builder *b, const dense *d, uint32_t x) {
    const language_model *m = b->model;
    uint32_t y;
    if (m->is_gated) {
        y = gated_inner(b, d, x);
    } else {
        language_linear up = {d->up, m->hidden, d->inner, d->module, m->has_mlp_bias};
        y = language_activate(b, d->act, language_product(b, &up, x));
    }
    return language_product(b, &(language_linear){d->down, d->inner, m->hidden, d->module, m->has_mlp_bias}, y);
}

/* --- Experts ----------------------------------------------------------------------------------------------------- */

/* The matrices of all experts: [experts, outputs, inputs], with scales where they are quantised. */
static void expert_matrix(language_builder *b, const char *part, int64_t experts, int64_t in, int64_t out,
                          uint32_t *inputs) {
    const language_model *m = b->model;
    const language_format *f = &m->formats[MODULE_EXPERTS];
    if (f->bits == 0) {
        inputs[0] = language_weight(b, "moe/experts", part, m->dtype, (const int64_t[3]){experts, out, in});
        return;
    }
    ft_dtype dtype = f->is_float && f->bits == 8 ? FT_FLOAT8 : FT_UINT8;
    inputs[0] =
        language_weight(b, "moe/experts", part, dtype, (const int64_t[3]){experts, out, language_packed_bytes(f, in)});
    int64_t rows = f->rows > 0 ? (int64_t)num_div_up((uint64_t)out, (uint64_t)f->rows) : f->is_float ? 1 : out;
    inputs[1] = language_weight(b, "moe/experts/scales", part, f->scale_dtype,
                                (const int64_t[3]){experts, rows, language_groups(f, in)});
}

static const char *const expert_weights[3] = {"gate_proj.weight", "down_proj.weight", "up_proj.weight"};

/* Blocks of the inputs of the operator, where the file has its matrices in blocks; their number. */
static uint32_t expert_blocks(language_builder *b, int64_t blocks[2 * EXPERT_INPUTS]) {
    enum { QMOE_STEP = 3 };
    uint32_t found = 0;
    memset(blocks, 0, 2 * EXPERT_INPUTS * sizeof *blocks);
    for (uint32_t i = 0; i < 3; i++) {
        language_block block;
        if (!language_is_packed(b, "moe/experts", expert_weights[i], &block)) continue;
        blocks[2 * (2 + i * QMOE_STEP)] = block.block_elems;
        blocks[2 * (2 + i * QMOE_STEP) + 1] = block.block_bytes;
        found++;
    }
    return found;
}

/* MoE: input, router; matrices and biases of the first, the second and, where they are gated, the third layer. QMoE has
 * scales between matrix and bias. */
static uint32_t experts_op(language_builder *b, const language_layer *layer, uint32_t x, uint32_t router) {
    static const char *const biases[3] = {"gate_proj.bias", "down_proj.bias", "up_proj.bias"};
    const language_model *m = b->model;
    const language_format *f = &m->formats[MODULE_EXPERTS];
    int64_t blocks[2 * EXPERT_INPUTS];
    bool has_blocks = expert_blocks(b, blocks) > 0;
    uint32_t inputs[EXPERT_INPUTS], step = f->bits > 0 || has_blocks ? 3 : 2, layers = m->is_gated ? 3 : 2;
    for (uint32_t i = 0; i < EXPERT_INPUTS; i++) inputs[i] = FT_NONE;
    inputs[0] = x;
    inputs[1] = router;
    for (uint32_t i = 0; i < layers; i++) {
        bool is_down = i == 1;
        int64_t width = layer->expert_hidden > 0 ? layer->expert_hidden : m->hidden;
        int64_t in = is_down ? layer->expert_inner : width, out = is_down ? width : layer->expert_inner;
        uint32_t *at = &inputs[2 + i * step];
        expert_matrix(b, expert_weights[i], layer->experts, in, out, at);
        if (m->has_expert_bias)
            at[step - 1] =
                language_weight(b, "moe/experts", biases[i], m->dtype, (const int64_t[3]){layer->experts, out});
    }
    language_int(b, "k", layer->active_experts);
    if (f->bits > 0) language_int(b, "expert_weight_bits", f->bits);
    if (has_blocks) language_ints_attr(b, "packed_blocks", blocks, 2 * EXPERT_INPUTS);
    return language_op(b, step == 3 ? "QMoE" : "MoE", "moe", inputs, 2 + layers * step);
}

static uint32_t shared_experts(language_builder *b, const language_layer *layer, uint32_t x) {
    static const char path[] = "moe/shared_expert_gate";
    dense d = {"moe/shared_expert/gate_proj", "moe/shared_expert/up_proj",
               "moe/shared_expert/down_proj", "moe/shared_expert/gate_up_proj",
               "moe/shared_expert/act",       layer->shared_inner,
               MODULE_SHARED_EXPERTS};
    uint32_t y = dense_mlp(b, &d, x);
    if (!b->model->has_shared_gate) return y;
    uint32_t gate = language_product(b, &(language_linear){path, b->model->hidden, 1, MODULE_ROUTER, false}, x);
    return language_binary(b, "Mul", path, y, language_op(b, "Sigmoid", path, &gate, 1));
}

static uint32_t experts(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    language_linear l = {"moe/router", m->hidden, layer->experts, MODULE_ROUTER, m->has_router_bias};
    uint32_t router = language_product(b, &l, x);
    if (m->has_expert_score_bias) {
        uint32_t bias =
            language_weight(b, "moe/router", "e_score_correction_bias", FT_FLOAT32, (const int64_t[3]){layer->experts});
        router = language_binary(b, "Add", "moe/router/scores", router, bias);
    }
    int64_t width = layer->expert_hidden;
    uint32_t y = x;
    if (width > 0)
        y = language_product(b, &(language_linear){"moe/latent_in", m->hidden, width, MODULE_ROUTER, false}, y);
    y = experts_op(b, layer, y, router);
    if (width > 0)
        y = language_product(b, &(language_linear){"moe/latent_out", width, m->hidden, MODULE_ROUTER, false}, y);
    if (layer->shared_inner == 0) return y;
    return language_binary(b, "Add", "moe/sum", y, shared_experts(b, layer, x));
}

/* A dense MLP and experts beside each other, with norms around each. The router scales what it reads and the experts.
 */
static uint32_t both(language_builder *b, const language_layer *layer, const dense *d, uint32_t x) {
    const language_model *m = b->model;
    uint32_t y = language_norm_of(b, "post_feedforward_layernorm_1", dense_mlp(b, d, x), m->hidden);
    uint32_t scaled = language_binary(b, "Mul", "moe/router", x, language_vector(b, "moe/router", "scale", m->hidden));
    language_linear l = {"moe/router", m->hidden, layer->experts, MODULE_ROUTER, m->has_router_bias};
    uint32_t router = language_product(b, &l, scaled);
    router = language_binary(b, "Mul", "moe/router", router,
                             language_vector(b, "moe/router", "per_expert_scale", layer->experts));
    uint32_t z = language_norm_of(b, "pre_feedforward_layernorm_2", x, m->hidden);
    z = language_norm_of(b, "post_feedforward_layernorm_2", experts_op(b, layer, z, router), m->hidden);
    return language_binary(b, "Add", "moe/sum", y, z);
}

uint32_t language_mlp_of(language_builder *b, const language_layer *layer, uint32_t x) {
    dense d = {"mlp/gate_proj", "mlp/up_proj", "mlp/down_proj", "mlp/gate_up_proj",
               "mlp/act",       layer->inner,  MODULE_MLP};
    if (layer->mlp == MLP_EXPERTS) return layer->has_both ? both(b, layer, &d, x) : experts(b, layer, x);
    return dense_mlp(b, &d, x);
}
