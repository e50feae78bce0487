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
    p.key = project(b, "attn/k_proj", x, layer->kv_heads * layer->head_size, m->has_kv_bias && !m->has_no_key_bias);
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

/* One dimension of a tensor, as a computed integer. */
static uint32_t size_of(language_builder *b, uint32_t x, int64_t axis) {
    language_int(b, "start", axis);
    language_int(b, "end", axis + 1);
    return language_op(b, "Shape", "attn/position_bias", &x, 1);
}

/* A bias of the scores for each head and distance, from a table that all layers of a stack have in common. */
static void make_position_bias(language_builder *b, const language_layer *layer, uint32_t query, uint32_t past) {
    static const char path[] = "attn/position_bias";
    const language_model *m = b->model;
    if (m->position != POSITION_RELATIVE || b->position_bias != FT_NONE) return;
    uint32_t inputs[3] = {FT_NONE, size_of(b, query, 1), FT_NONE};
    inputs[0] = language_weight(b, path, "weight", m->dtype, (const int64_t[3]){m->position_rows, layer->heads});
    inputs[2] = past == FT_NONE ? inputs[1] : language_binary(b, "Add", path, inputs[1], size_of(b, past, 2));
    language_int(b, "max_distance", 128);
    language_int(b, "is_bidirectional", m->is_encoder);
    b->position_bias = language_op(b, "RelativePositionBias", path, inputs, 3);
}

/* Attention without a cache: of an encoder, or of a decoder to what the encoder made. */
static uint32_t attend_all(language_builder *b, const language_layer *layer, const attention_parts *p, uint32_t bias) {
    enum { BIAS = 5, INPUTS };
    uint32_t inputs[INPUTS] = {p->query, p->key, p->value, FT_NONE, FT_NONE, bias};
    language_int(b, "num_heads", layer->heads);
    return language_op(b, "MultiHeadAttention", "attn/MultiHeadAttention", inputs, bias != FT_NONE ? INPUTS : 3);
}

/* Inputs of GroupQueryAttention: query, key, value, past keys, past values, ..., bias of scores, sinks. */
static uint32_t attend(language_builder *b, const language_layer *layer, const attention_parts *p) {
    enum { BIAS = 10, SINKS = 11, INPUTS };
    uint32_t inputs[INPUTS] = {p->query, p->key, p->value};
    for (uint32_t i = 3; i < INPUTS; i++) inputs[i] = FT_NONE;
    if (b->model->is_encoder) {
        make_position_bias(b, layer, p->query, FT_NONE);
        return attend_all(b, layer, p, b->position_bias);
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
    make_position_bias(b, layer, p->query, inputs[3]);
    inputs[BIAS] = b->position_bias;
    if (layer->has_sinks) inputs[SINKS] = language_vector(b, "attn", "sinks", layer->heads);
    add_attributes(b, layer);
    uint32_t count = layer->has_sinks ? INPUTS : b->position_bias != FT_NONE ? SINKS : 5;
    language_op_outputs(b, "GroupQueryAttention", "attn", inputs, count, &outputs);
    add_present(b, layer, &outputs);
    return outputs.tensors[0];
}

/* --- Attention to the encoder ------------------------------------------------------------------------------------- */

/* Keys or values of what the encoder made: computed once for an input, and kept. */
static uint32_t encoded_part(language_builder *b, const char *part, const language_linear *l, int64_t heads) {
    char name[LANGUAGE_NAME_SIZE];
    const int64_t apart[4] = {0, 0, heads, l->out / heads};
    format_text(name, sizeof name, "present.%u.encoder.%s", b->layer, part);
    uint32_t x = language_reshape(b, l->path, language_product(b, l, b->encoded), apart, 4);
    language_outputs outputs = {
        .names = {name}, .count = 1, .rank = 4, .dims = {b->batch, heads, b->encoded_tokens, apart[3]}};
    language_ints_attr(b, "perm", (const int64_t[]){0, 2, 1, 3}, 4);
    language_op_outputs(b, "Transpose", l->path, &x, 1, &outputs);
    if (b->status == FT_OK) b->status = graph_add_output(b->graph, outputs.tensors[0], b->error);
    return outputs.tensors[0];
}

uint32_t language_cross_attention(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    int64_t width = layer->heads * layer->head_size, values = layer->heads * layer->value_size;
    bool has_key_bias = m->has_kv_bias && !m->has_no_key_bias;
    language_linear key = {"cross_attn/k_proj", m->encoder->hidden, width, MODULE_ATTENTION, has_key_bias};
    language_linear value = {"cross_attn/v_proj", m->encoder->hidden, values, MODULE_ATTENTION, m->has_kv_bias};
    language_linear out = {"cross_attn/o_proj", values, m->hidden, MODULE_ATTENTION_OUTPUT, m->has_output_bias};
    uint32_t inputs[3] = {project(b, "cross_attn/q_proj", x, width, m->has_query_bias), FT_NONE, FT_NONE};
    inputs[1] = encoded_part(b, "key", &key, layer->heads);
    inputs[2] = encoded_part(b, "value", &value, layer->heads);
    language_int(b, "num_heads", layer->heads);
    return language_product(b, &out, language_op(b, "MultiHeadAttention", "cross_attn", inputs, 3));
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
    language_linear out = {"attn/o_proj", layer->heads * layer->value_size, m->hidden, MODULE_ATTENTION_OUTPUT,
                           m->has_output_bias};
    return language_product(b, &out, y);
}
