/* config_layers.c - from the fields of a configuration to the layers of a model: heads, windows, latent attention,
 * experts. Which fields there are decides, so types that are not known are read by the same code. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/language/config.h"

static const char *keys_or(const char *given, const char *usual) {
    return given != NULL ? given : usual;
}

/* --- Traits ------------------------------------------------------------------------------------------------------ */

static void read_activation(config *c) {
    static const struct {
        const char *part;
        language_activation activation;
    } known[] = {{"silu", ACTIVATION_SILU},  {"swish", ACTIVATION_SILU},          {"swiglu", ACTIVATION_SILU},
                 {"gelu", ACTIVATION_GELU},  {"gelu_new", ACTIVATION_GELU_STEPS}, {"geglu", ACTIVATION_GELU},
                 {"relu", ACTIVATION_RELU},  {"relu2", ACTIVATION_RELU2},         {"relu_2", ACTIVATION_RELU2},
                 {"xielu", ACTIVATION_XIELU}};
    const char *usual = c->arch->activation != NULL ? c->arch->activation : "silu";
    const char *text = config_text(
        c,
        "hidden_activation hidden_act activation_function mlp_hidden_act activation dense_act_fn hidden_activation_fn",
        usual);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(text, known[i].part) != NULL) c->model->activation = known[i].activation;
}

static void read_traits(config *c) {
    const architecture *a = c->arch;
    language_model *m = c->model;
    m->norm = a->norm;
    m->norm_place = a->place;
    m->position = a->position;
    m->is_gated = !a->is_plain;
    m->is_parallel = config_trait(c, a->parallel);
    m->has_one_norm = m->is_parallel && !config_trait(c, a->two_norms);
    m->has_query_bias = m->has_kv_bias = config_trait(c, a->qkv_bias);
    m->has_output_bias = config_trait(c, a->output_bias);
    m->has_mlp_bias = config_trait(c, a->mlp_bias);
    m->has_head_bias = config_trait(c, a->head_bias);
    m->has_expert_bias = config_trait(c, a->expert_bias);
    m->has_router_bias = config_trait(c, a->router_bias);
    m->has_expert_score_bias = config_trait(c, a->score_bias);
    m->has_shared_gate = config_trait(c, a->shared_gate);
    m->has_embedding_norm = a->has_embedding_norm;
    m->has_fused_qkv = a->has_fused_qkv;
    m->has_fused_gate = a->has_fused_gate;
    if (a->qk_norm_field == NULL || config_bool(c, a->qk_norm_field, false)) m->qk_norm = a->qk_norm;
    read_activation(c);
}

/* --- Heads ------------------------------------------------------------------------------------------------------- */

static void read_heads(config *c) {
    language_model *m = c->model;
    const char *keys = keys_or(c->arch->head_keys, KEY_HEADS);
    bool has_size = config_int(c, KEY_HEAD_SIZE, 0) > 0 || config_int(c, "kv_lora_rank", 0) > 0;
    for (uint32_t i = 0; i < m->layer_count && c->status == FT_OK; i++) {
        language_layer *l = &m->layers[i];
        l->heads = config_layer_int(c, keys, i, 0);
        if (l->heads == 0) config_size(c, keys); /* missing or 0: a message */
        if (c->status != FT_OK || l->heads == 0) return;
        if (!has_size && m->hidden % l->heads != 0)
            config_fail(c, FT_ERR_DAMAGED, "hidden_size", "does not divide by \"num_attention_heads\"");
        l->kv_heads = config_layer_int(c, KEY_KV_HEADS, i, l->heads);
        l->head_size = config_int(c, KEY_HEAD_SIZE, m->hidden / l->heads);
        l->value_size = config_int(c, "v_head_dim", l->head_size);
        l->has_sinks = config_trait(c, c->arch->sinks);
    }
}

/* Multi-head latent attention, where the fields of it are. */
static void read_latent(config *c) {
    language_model *m = c->model;
    language_latent *latent = &m->latent;
    latent->kv_rank = config_int(c, "kv_lora_rank", 0);
    if (latent->kv_rank == 0) return;
    latent->query_rank = config_int(c, "q_lora_rank", 0);
    latent->nope_size = config_int(c, "qk_nope_head_dim", 128);
    latent->rope_size = config_int(c, "qk_rope_head_dim", 64);
    latent->index_heads = config_int(c, "index_n_heads", 0);
    latent->index_size = config_int(c, "index_head_dim", 128);
    latent->index_tokens = config_int(c, "index_topk", 2048);
    for (uint32_t i = 0; i < m->layer_count; i++) {
        language_layer *l = &m->layers[i];
        l->mixer = MIXER_LATENT;
        l->kv_heads = l->heads;
        l->head_size = latent->nope_size + latent->rope_size;
        l->value_size = config_int(c, "v_head_dim", 128);
    }
}

/* --- Windows ----------------------------------------------------------------------------------------------------- */

static bool is_windowed(config *c, uint32_t layer) {
    const json_t *rotary;
    switch (c->arch->windows) {
    case WINDOWS_LISTED:
        return false;
    case WINDOWS_ALL:
        return true;
    case WINDOWS_EVEN:
        return layer % 2 == 0;
    case WINDOWS_ALTERNATE:
        return layer % 2 == 1;
    case WINDOWS_PATTERN: {
        int64_t period = config_int(c, "sliding_window_pattern _sliding_window_pattern", 0);
        return period > 0 && (layer + 1) % period != 0;
    }
    case WINDOWS_FROM:
        return config_bool(c, "use_sliding_window", false) && layer >= config_int(c, "max_window_layers", 28);
    case WINDOWS_CHUNKS:
        rotary = json_array_get(json_object_get(c->text, "no_rope_layers"), layer);
        return json_is_integer(rotary) ? json_integer_value(rotary) != 0 : (layer + 1) % 4 != 0;
    }
    return false;
}

static void read_windows(config *c) {
    const json_t *types = config_layer_list(c, "layer_types");
    const char *key;
    const json_t *pattern = config_value(c, "sliding_window_pattern", &key); /* of EXAONE: "LLLG" */
    const char *letters = json_string_value(pattern);
    int64_t window = config_int(c, KEY_WINDOW, 0);
    if (window == 0) return;
    for (uint32_t i = 0; i < c->model->layer_count && c->status == FT_OK; i++) {
        bool has_window;
        if (types != NULL)
            has_window = config_list_is(types, i, "sliding_attention") || config_list_is(types, i, "chunked_attention");
        else if (letters != NULL && letters[0] != '\0')
            has_window = letters[i % strlen(letters)] == 'L' && i + 1 < c->model->layer_count;
        else
            has_window = is_windowed(c, i);
        c->model->layers[i].window = has_window ? window : 0;
    }
}

/* --- Experts ----------------------------------------------------------------------------------------------------- */

static bool divides(int64_t number, int64_t step) {
    return step > 0 && number % step == 0;
}

/* Whether a list names the layer: numbers, or "3,4,5" as text. */
static bool is_in_text(const char *text, uint32_t layer) {
    while (*text != '\0') {
        if (strtoul(text, NULL, 10) == layer) return true;
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return false;
}

static bool has_experts(config *c, uint32_t layer) {
    const json_t *dense = config_list(c, "mlp_only_layers"), *kinds = config_layer_list(c, "mlp_layer_types");
    const json_t *sparse = config_list(c, "moe_layers");
    const char *texts = config_text(c, "moe_layers_enum", NULL);
    int64_t first = config_int(
        c, "first_k_dense_replace moe_layer_start_index num_dense_layers n_dense_layers first_dense_layers", 0);
    int64_t last = config_int(c, "moe_layer_end_index", INT32_MAX), next = (int64_t)layer + 1;
    if (kinds != NULL) return config_list_is(kinds, layer, "sparse");
    if (sparse != NULL) return config_list_has(sparse, layer);
    if (texts != NULL) return is_in_text(texts, layer);
    if (layer < first || layer > last || config_list_has(dense, layer)) return false;
    int64_t offset = config_int(c, "expert_layer_offset", 0);
    if (config_int(c, "expert_layer_period", 1) > 1)
        return divides((int64_t)layer - offset, config_int(c, "expert_layer_period", 1));
    const char *key;
    if (json_is_array(config_value(c, "moe_layer_freq", &key))) return config_layer_int(c, key, layer, 0) != 0;
    return divides(layer, config_int(c, "moe_layer_freq", 1)) &&
           divides(next, config_int(c, "decoder_sparse_step interleave_moe_layer_step moe_layer_interval", 1));
}

/* The experts that see all tokens, as one MLP: so many of the width of the others, or of a width of their own. */
static int64_t shared_width(config *c, uint32_t layer, int64_t inner) {
    static const char *const totals = "shared_expert_intermediate_size moe_shared_expert_intermediate_size "
                                      "share_expert_dim share_expert_dims shared_intermediate_size "
                                      "moe_shared_intermediate_size";
    int64_t count = config_layer_int(
        c, "n_shared_experts num_shared_experts moe_num_shared_experts num_shared_expert shared_experts", layer, 0);
    int64_t width = config_int(c, totals, 0);
    if (count > LANGUAGE_MAX_SIZE / 64) config_fail(c, FT_ERR_LIMIT, "n_shared_experts", "is absurdly large");
    if (c->status != FT_OK || (count == 0 && width == 0)) return 0;
    return width > 0 ? (count > 0 ? count : 1) * width : count * inner;
}

static void read_layer_experts(config *c, uint32_t layer, int64_t experts) {
    static const char *const chosen = "num_experts_per_tok num_experts_per_token experts_per_token moe_topk moe_top_k "
                                      "moe_k top_k_experts num_selected_experts moe_router_topk";
    language_layer *l = &c->model->layers[layer];
    const char *key;
    l->mlp = MLP_EXPERTS;
    l->experts = experts;
    l->active_experts = config_layer_int(c, chosen, layer, 0);
    if (l->active_experts == 0) config_size(c, chosen);
    if (json_is_array(config_value(c, "moe_intermediate_size", &key)) &&
        json_array_size(config_value(c, key, &key)) < c->model->layer_count) /* of text, of images */
        l->expert_inner = config_list_int(c, key, config_list(c, key), 0, 0);
    else
        l->expert_inner = config_layer_int(
            c, "moe_intermediate_size expert_intermediate_size moe_ffn_hidden_size expert_ffn_hidden_size", layer, 0);
    if (l->expert_inner == 0) l->expert_inner = config_size(c, KEY_INNER);
    l->shared_inner = shared_width(c, layer, l->expert_inner);
    l->expert_hidden = config_int(c, "moe_latent_size routed_expert_hidden_size", 0);
}

/* The number of experts; 0: the model has none. A list (of text, of images) has that of text first. */
static int64_t count_experts(config *c) {
    const char *key;
    const json_t *value = config_value(c, KEY_EXPERTS, &key);
    if (json_is_array(value)) return config_list_int(c, key, value, 0, 0);
    return config_int(c, KEY_EXPERTS, 0);
}

static void read_experts(config *c) {
    int64_t experts = count_experts(c);
    if (experts <= 1) return;
    for (uint32_t i = 0; i < c->model->layer_count && c->status == FT_OK; i++)
        if (has_experts(c, i)) read_layer_experts(c, i, experts);
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

static bool is_any_dense(const language_model *m) {
    for (uint32_t i = 0; i < m->layer_count; i++)
        if (m->layers[i].mlp == MLP_DENSE) return true;
    return false;
}

void config_set_inner(config *c, int64_t inner) {
    for (uint32_t i = 0; i < c->model->layer_count; i++) c->model->layers[i].inner = inner;
}

static void read_inner(config *c) {
    const char *key, *keys = keys_or(c->arch->inner_keys, KEY_INNER);
    language_model *m = c->model;
    if (c->status != FT_OK || !is_any_dense(m)) return;
    if (c->arch->has_wide_inner && config_value(c, keys, &key) == NULL) {
        config_set_inner(c, 4 * m->hidden);
        return;
    }
    for (uint32_t i = 0; i < m->layer_count && c->status == FT_OK; i++) {
        m->layers[i].inner = config_layer_int(c, keys, i, 0);
        if (m->layers[i].inner == 0 && m->layers[i].mlp == MLP_DENSE && c->arch->apply == NULL) config_size(c, keys);
    }
}

void config_make_layers(config *c, int64_t count, const char *key) {
    language_model *m = c->model;
    if (c->status == FT_OK && count > LANGUAGE_MAX_LAYERS)
        config_fail(c, FT_ERR_LIMIT, key, "is larger than the 1024 that are supported");
    if (c->status != FT_OK) return;
    m->layers = ARENA_ARRAY(c->memory, language_layer, (size_t)count);
    if (m->layers == NULL) {
        c->status = FT_NOMEM(c->error);
        return;
    }
    m->layer_count = (uint32_t)count;
    for (uint32_t i = 0; i < m->layer_count; i++)
        m->layers[i] = (language_layer){.mixer = MIXER_ATTENTION, .mlp = MLP_DENSE};
}

void config_read_layers(config *c) {
    language_model *m = c->model;
    m->hidden = config_size(c, KEY_HIDDEN);
    m->vocabulary = c->arch->has_no_words ? 1 : config_size(c, "vocab_size padded_vocab_size");
    m->positions = config_int(c, KEY_POSITIONS, 0);
    m->position_rows = m->positions;
    read_traits(c);
    const char *layers = keys_or(c->arch->layer_keys, KEY_LAYERS);
    if (c->status == FT_OK) config_make_layers(c, config_size(c, layers), "num_hidden_layers");
    if (c->status == FT_OK && !c->arch->has_no_heads) read_heads(c);
    if (c->status == FT_OK) read_latent(c);
    if (c->status == FT_OK) read_windows(c);
    if (c->status == FT_OK) read_experts(c);
    if (c->status == FT_OK) read_inner(c);
    if (c->status == FT_OK && c->arch->apply != NULL) c->arch->apply(c);
}
