/* language_attention.c - attention of a language model, with the caches that a sequence keeps. */
#include "base/format.h"
#include "read/language/language_build.h"

typedef struct attention_parts {
    uint32_t query, key, value, gate; /* FT_NONE: not there */
} attention_parts;

static uint32_t project(language_builder *b, const char *path, uint32_t x, int64_t out, bool has_bias) {
    language_linear l = {path, b->model->hidden, out, MODULE_ATTENTION, has_bias};
    return language_product(b, &l, x);
}

/* --- Norms of queries and keys ----------------------------------------------------------------------------------- */

/* A norm of each head: all of them one after the other, then side by side again. */
static uint32_t norm_heads(language_builder *b, const char *path, uint32_t x, int64_t heads, int64_t size) {
    int64_t apart[4] = {0, 0, heads, size}, together[3] = {0, 0, heads * size};
    switch (b->model->qk_norm) {
    case QK_NORM_NONE:
        return x;
    case QK_NORM_WIDTH:
        return language_norm_of(b, path, x, heads * size);
    case QK_NORM_HEADS:
    case QK_NORM_HEAD:
        break;
    }
    x = language_reshape(b, path, x, apart, 4);
    if (b->model->qk_norm == QK_NORM_HEAD) {
        x = language_norm_of(b, path, x, size);
    } else {
        x = language_op(b, "SimplifiedLayerNormalization", path, &x, 1);
        uint32_t scale = language_weight(b, path, "weight", b->model->dtype, (const int64_t[3]){heads, size});
        x = language_binary(b, "Mul", path, x, scale);
    }
    return language_reshape(b, path, x, together, 3);
}

/* --- Projections ------------------------------------------------------------------------------------------------- */

static attention_parts project_fused(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    int64_t sizes[3] = {layer->heads * layer->head_size, layer->kv_heads * layer->head_size,
                        layer->kv_heads * layer->value_size};
    uint32_t all = project(b, "attn/qkv_proj", x, sizes[0] + sizes[1] + sizes[2], m->has_query_bias);
    if (m->qk_norm == QK_NORM_NONE && layer->head_size == layer->value_size)
        return (attention_parts){.query = all, .key = FT_NONE, .value = FT_NONE, .gate = FT_NONE};
    language_outputs parts = {.count = 3};
    language_split(b, "attn/qkv_proj", all, sizes, &parts);
    return (attention_parts){parts.tensors[0], parts.tensors[1], parts.tensors[2], FT_NONE};
}

static attention_parts project_apart(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    attention_parts p = {FT_NONE, FT_NONE, FT_NONE, FT_NONE};
    int64_t width = layer->heads * layer->head_size;
    p.query = project(b, "attn/q_proj", x, m->has_gated_queries ? 2 * width : width, m->has_query_bias);
    if (m->has_gated_queries) {
        language_outputs parts = {.count = 2};
        language_split(b, "attn/q_proj", p.query, (const int64_t[]){width, width}, &parts);
        p.query = parts.tensors[0];
        p.gate = parts.tensors[1];
    }
    if (layer->shares_cache) return p;
    p.key = project(b, "attn/k_proj", x, layer->kv_heads * layer->head_size, m->has_kv_bias);
    if (!layer->has_key_values)
        p.value = project(b, "attn/v_proj", x, layer->kv_heads * layer->value_size, m->has_kv_bias);
    return p;
}

/* --- Scores ------------------------------------------------------------------------------------------------------ */

static uint32_t past_input(language_builder *b, const char *part, int64_t heads, int64_t size) {
    char name[LANGUAGE_NAME_SIZE];
    format_text(name, sizeof name, "past_key_values.%u.%s", b->layer, part);
    return language_input(b, name, b->model->dtype, (const int64_t[]){b->batch, heads, b->past, size}, 4);
}

static void add_present(language_builder *b, const language_layer *layer, const language_outputs *outputs) {
    int kind = layer->window > 0;
    if (b->status != FT_OK) return;
    b->shared_keys[kind] = outputs->tensors[1];
    b->shared_values[kind] = outputs->tensors[2];
    for (uint32_t i = 1; i < 3 && b->status == FT_OK; i++)
        b->status = graph_add_output(b->graph, outputs->tensors[i], b->error);
}

static void add_attributes(language_builder *b, const language_layer *layer) {
    language_int(b, "num_heads", layer->heads);
    if (b->model->is_encoder) return;
    language_int(b, "kv_num_heads", layer->kv_heads);
    if (b->model->position == POSITION_ROTARY) language_int(b, "do_rotary", 1);
    if (layer->window > 0) language_int(b, "local_window_size", layer->window);
}

/* Inputs of GroupQueryAttention: query, key, value, past keys, past values, ..., sinks. */
static uint32_t attend(language_builder *b, const language_layer *layer, const attention_parts *p) {
    enum { SINKS = 11, INPUTS };
    uint32_t inputs[INPUTS] = {p->query, p->key, p->value};
    for (uint32_t i = 3; i < INPUTS; i++) inputs[i] = FT_NONE;
    if (b->model->is_encoder) {
        add_attributes(b, layer);
        return language_op(b, "MultiHeadAttention", "attn/MultiHeadAttention", inputs, 3);
    }
    if (layer->shares_cache) {
        inputs[1] = b->shared_keys[layer->window > 0];
        inputs[2] = b->shared_values[layer->window > 0];
        add_attributes(b, layer);
        return language_op(b, "GroupQueryAttention", "attn", inputs, 3);
    }
    char key[LANGUAGE_NAME_SIZE], value[LANGUAGE_NAME_SIZE];
    format_text(key, sizeof key, "present.%u.key", b->layer);
    format_text(value, sizeof value, "present.%u.value", b->layer);
    language_outputs outputs = {.names = {NULL, key, value}, .count = 3};
    inputs[3] = past_input(b, "key", layer->kv_heads, layer->head_size);
    inputs[4] = past_input(b, "value", layer->kv_heads, layer->value_size);
    if (layer->has_sinks) inputs[SINKS] = language_vector(b, "attn", "sinks", layer->heads);
    add_attributes(b, layer);
    language_op_outputs(b, "GroupQueryAttention", "attn", inputs, layer->has_sinks ? INPUTS : 5, &outputs);
    add_present(b, layer, &outputs);
    return outputs.tensors[0];
}

uint32_t language_attention(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    attention_parts p =
        m->has_fused_qkv && !layer->shares_cache ? project_fused(b, layer, x) : project_apart(b, layer, x);
    if (p.key != FT_NONE || layer->shares_cache)
        p.query = norm_heads(b, "attn/q_norm", p.query, layer->heads, layer->head_size);
    if (layer->has_key_values) p.value = p.key;
    if (p.key != FT_NONE) p.key = norm_heads(b, "attn/k_norm", p.key, layer->kv_heads, layer->head_size);
    uint32_t y = attend(b, layer, &p);
    if (p.gate != FT_NONE) {
        uint32_t gate = language_op(b, "Sigmoid", "attn/gate", &p.gate, 1);
        y = language_binary(b, "Mul", "attn/gate", y, gate);
    }
    language_linear out = {"attn/o_proj", layer->heads * layer->value_size, m->hidden, MODULE_ATTENTION,
                           m->has_output_bias};
    return language_product(b, &out, y);
}
