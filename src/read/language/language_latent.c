/* language_latent.c - multi-head latent attention, and the indexer that chooses its keys.
 *
 * The cache has one row a token for all heads: the common projection of keys and values, and the part of the key that
 * is rotated. Their expansion to heads is a product of this run's tokens; the operator knows what attending to those of
 * the cache costs, expanded again or with queries projected instead (graph/attention.c). */
#include "base/format.h"
#include "read/language/language_build.h"

static uint32_t project(language_builder *b, const char *path, uint32_t x, int64_t in, int64_t out, bool has_bias) {
    return language_product(b, &(language_linear){path, in, out, MODULE_ATTENTION, has_bias}, x);
}

static uint32_t past_of(language_builder *b, const char *part, int64_t size) {
    char name[LANGUAGE_NAME_SIZE];
    format_text(name, sizeof name, "past_key_values.%u.%s", b->layer, part);
    return language_input(b, name, b->model->dtype, (const int64_t[]){b->batch, 1, b->past, size}, 4);
}

static uint32_t attend(language_builder *b, const char *type, const char *part, const uint32_t *inputs,
                       uint32_t count) {
    char name[LANGUAGE_NAME_SIZE];
    format_text(name, sizeof name, "present.%u.%s", b->layer, part);
    language_outputs outputs = {.names = {NULL, name}, .count = 2};
    language_op_outputs(b, type, "attn", inputs, count, &outputs);
    if (b->status == FT_OK) b->status = graph_add_output(b->graph, outputs.tensors[1], b->error);
    return outputs.tensors[0];
}

/* Scores of all keys by a few small heads, whose keys are cached too. */
static uint32_t index_keys(language_builder *b, uint32_t x, uint32_t query) {
    const language_model *m = b->model;
    const language_latent *p = &m->latent;
    int64_t in = p->query_rank > 0 ? p->query_rank : m->hidden, width = p->index_heads * p->index_size;
    uint32_t inputs[4] = {project(b, "attn/indexer/q_proj", query, in, width, false), FT_NONE, FT_NONE, FT_NONE};
    uint32_t key = project(b, "attn/indexer/k_proj", x, m->hidden, p->index_size, false);
    uint32_t norm[3] = {key, language_vector(b, "attn/indexer/k_norm", "weight", p->index_size),
                        language_vector(b, "attn/indexer/k_norm", "bias", p->index_size)};
    language_int(b, "axis", -1);
    inputs[1] = language_op(b, "LayerNormalization", "attn/indexer/k_norm", norm, 3);
    inputs[3] = past_of(b, "index", p->index_size);
    language_int(b, "num_heads", p->index_heads);
    language_int(b, "kv_num_heads", 1);
    language_int(b, "v_head_size", 1);
    uint32_t scores = attend(b, "GroupQueryAttention", "index", inputs, 4);
    uint32_t weights = project(b, "attn/indexer/weights_proj", x, m->hidden, p->index_heads, false);
    return language_binary(b, "Mul", "attn/indexer", scores, weights);
}

uint32_t language_latent_attention(language_builder *b, const language_layer *layer, uint32_t x) {
    const language_model *m = b->model;
    const language_latent *p = &m->latent;
    int64_t queries = layer->heads * layer->head_size, values = layer->heads * layer->value_size;
    uint32_t low = x, inputs[5] = {FT_NONE};
    if (p->query_rank > 0) {
        low = project(b, "attn/q_a_proj", x, m->hidden, p->query_rank, m->has_query_bias);
        low = language_rms_norm(b, "attn/q_a_layernorm", low, p->query_rank);
        inputs[0] = project(b, "attn/q_b_proj", low, p->query_rank, queries, false);
    } else {
        inputs[0] = project(b, "attn/q_proj", x, m->hidden, queries, false);
    }
    uint32_t latent = project(b, "attn/kv_a_proj", x, m->hidden, p->kv_rank + p->rope_size, m->has_kv_bias);
    uint32_t common = latent;
    if (p->rope_size > 0) {
        language_outputs parts = {.count = 2};
        language_split(b, "attn/kv_a_proj", latent, (const int64_t[]){p->kv_rank, p->rope_size}, &parts);
        common = parts.tensors[0];
    }
    common = language_rms_norm(b, "attn/kv_a_layernorm", common, p->kv_rank);
    inputs[1] = project(b, "attn/kv_b_proj", common, p->kv_rank, layer->heads * p->nope_size + values, false);
    inputs[2] = latent;
    inputs[3] = past_of(b, "latent", p->kv_rank + p->rope_size);
    inputs[4] = p->index_heads > 0 ? index_keys(b, x, low) : FT_NONE;
    language_int(b, "num_heads", layer->heads);
    language_int(b, "kv_num_heads", 1);
    language_int(b, "v_head_size", layer->value_size);
    language_int(b, "kv_rank", p->kv_rank);
    if (p->rope_size > 0) language_int(b, "do_rotary", 1);
    if (p->index_heads > 0) language_int(b, "top_keys", p->index_tokens);
    uint32_t y = attend(b, "MultiHeadLatentAttention", "latent", inputs, p->index_heads > 0 ? 5 : 4);
    if (p->has_gate) {
        uint32_t gate = project(b, "attn/g_proj", x, m->hidden, values, false);
        y = language_binary(b, "Mul", "attn/gate", y, language_op(b, "Sigmoid", "attn/gate", &gate, 1));
    }
    return language_product(
        b, &(language_linear){"attn/o_proj", values, m->hidden, MODULE_ATTENTION_OUTPUT, m->has_output_bias}, y);
}
