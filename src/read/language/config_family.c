/* config_family.c - families of models: what their files leave out, and how their layers differ.
 *
 * Defaults are those of the transformers library, whose configuration classes fill in what a file lacks. */
#include <string.h>

#include "read/language/config.h"

#define EXPERT_COUNT "num_local_experts num_experts n_routed_experts moe_num_experts"

/* --- Layers ------------------------------------------------------------------------------------------------------ */

typedef struct family {
    const char *types; /* values of "model_type", separated by spaces */
    void (*apply)(config *c);
} family;

static bool names(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); length > 0 && at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
    return false;
}

static bool is_window(const json_t *types, size_t layer) {
    const char *type = json_string_value(json_array_get(types, layer));
    return type != NULL && (strcmp(type, "sliding_attention") == 0 || strcmp(type, "chunked_attention") == 0);
}

/* Windows of the layers that "layer_types" lists, or that `is_windowed` chooses where it does not. */
static void set_windows(config *c, int64_t window, bool (*is_windowed)(const config *c, uint32_t layer)) {
    const json_t *types = config_list(c, "layer_types");
    for (uint32_t i = 0; i < c->model->layer_count; i++) {
        bool has_window = types != NULL ? is_window(types, i) : is_windowed != NULL && is_windowed(c, i);
        c->model->layers[i].window = has_window ? window : 0;
    }
}

static bool is_any(const config *c, uint32_t layer) {
    (void)c;
    (void)layer;
    return true;
}

/* --- Experts ----------------------------------------------------------------------------------------------------- */

/* The layers that have experts: from `first` on, those whose number plus `offset` divides by `step`, unless a list
 * names them as dense. */
typedef struct expert_layers {
    int64_t first, step, offset;
    const json_t *dense;
} expert_layers;

static bool has_experts(const expert_layers *which, int64_t layer) {
    if (layer < which->first || config_list_has(which->dense, layer)) return false;
    return which->step > 0 && (layer + which->offset) % which->step == 0;
}

static void set_experts(config *c, const expert_layers *which) {
    language_model *m = c->model;
    int64_t experts = config_size(c, EXPERT_COUNT);
    int64_t active =
        config_size(c, "num_experts_per_tok experts_per_token num_experts_per_token moe_topk top_k_experts");
    int64_t inner = config_size(c, "moe_intermediate_size expert_intermediate_size intermediate_size");
    int64_t shared = config_int(c, "n_shared_experts num_shared_experts moe_num_shared_experts", 0);
    int64_t width = config_int(c, "shared_expert_intermediate_size moe_shared_expert_intermediate_size", inner);
    if (shared > experts) config_fail(c, FT_ERR_LIMIT, "n_shared_experts", "is larger than the number of experts");
    if (json_object_get(c->text, "shared_expert_intermediate_size") != NULL && shared == 0) shared = 1;
    if (c->status != FT_OK) return;
    for (uint32_t i = 0; i < m->layer_count; i++) {
        language_layer *l = &m->layers[i];
        if (!has_experts(which, i)) continue;
        l->mlp = MLP_EXPERTS;
        l->experts = experts;
        l->active_experts = active;
        l->expert_inner = inner;
        l->shared_inner = shared * width;
    }
}

/* --- Llama and its relatives ------------------------------------------------------------------------------------- */

static void apply_llama(config *c) {
    language_model *m = c->model;
    m->has_query_bias = m->has_kv_bias = m->has_output_bias = config_bool(c, "attention_bias", false);
    m->has_mlp_bias = config_bool(c, "mlp_bias", false);
}

/* A file without the field has the window of the first release; later ones have null. */
static void apply_mistral(config *c) {
    bool is_absent = json_object_get(c->text, "sliding_window") == NULL;
    set_windows(c, config_int(c, "sliding_window", is_absent ? 4096 : 0), is_any);
}

static bool is_beyond_full_layers(const config *c, uint32_t layer) {
    const json_t *full = json_object_get(c->text, "max_window_layers");
    int64_t first = json_is_integer(full) ? json_integer_value(full) : 28;
    return (int64_t)layer >= first;
}

static void set_qwen_windows(config *c) {
    if (config_bool(c, "use_sliding_window", false))
        set_windows(c, config_int(c, "sliding_window", 4096), is_beyond_full_layers);
}

static void apply_qwen2(config *c) {
    c->model->has_query_bias = c->model->has_kv_bias = true;
    set_qwen_windows(c);
}

static void apply_qwen3(config *c) {
    apply_llama(c);
    c->model->qk_norm = QK_NORM_HEAD;
    set_qwen_windows(c);
}

/* --- Mixtures of experts ----------------------------------------------------------------------------------------- */

static void apply_mixtral(config *c) {
    apply_llama(c);
    set_windows(c, config_int(c, "sliding_window", 0), is_any);
    set_experts(c, &(expert_layers){.step = 1});
}

static void set_qwen_experts(config *c) {
    expert_layers which = {.offset = 1, .step = config_int(c, "decoder_sparse_step", 1)};
    which.dense = config_list(c, "mlp_only_layers");
    set_experts(c, &which);
}

static void apply_qwen2_moe(config *c) {
    apply_qwen2(c);
    c->model->has_shared_gate = true;
    set_qwen_experts(c);
}

static void apply_qwen3_moe(config *c) {
    apply_qwen3(c);
    set_qwen_experts(c);
}

/* Layers with rotary positions attend within chunks: all but each fourth, unless a list says which. */
static bool is_chunked(const config *c, uint32_t layer) {
    const json_t *rotary = json_object_get(c->text, "no_rope_layers");
    const json_t *item = json_array_get(rotary, layer);
    return json_is_integer(item) ? json_integer_value(item) != 0 : (layer + 1) % 4 != 0;
}

/* Dense layers have a width of their own; one shared expert is as wide as the others. */
static void apply_llama4(config *c) {
    language_model *m = c->model;
    int64_t step = config_int(c, "interleave_moe_layer_step", 1);
    int64_t dense = config_int(c, "intermediate_size_mlp", 16384);
    apply_llama(c);
    set_windows(c, config_int(c, "attention_chunk_size", 8192), is_chunked);
    for (uint32_t i = 0; i < m->layer_count; i++) m->layers[i].inner = dense;
    set_experts(c, &(expert_layers){.offset = 1, .step = step});
    for (uint32_t i = 0; i < m->layer_count; i++)
        if (m->layers[i].mlp == MLP_EXPERTS) m->layers[i].shared_inner = m->layers[i].expert_inner;
}

static bool is_even(const config *c, uint32_t layer) {
    (void)c;
    return layer % 2 == 0;
}

static void apply_gpt_oss(config *c) {
    language_model *m = c->model;
    m->has_query_bias = m->has_kv_bias = m->has_output_bias = config_bool(c, "attention_bias", true);
    m->has_expert_bias = m->has_router_bias = m->has_sinks = true;
    set_windows(c, config_int(c, "sliding_window", 128), is_even);
    set_experts(c, &(expert_layers){.step = 1});
}

/* A model of an unknown type: as its fields suggest. */
static void apply_other(config *c) {
    const char *key;
    apply_llama(c);
    if (config_value(c, "kv_lora_rank", &key) != NULL)
        config_fail(c, FT_ERR_UNSUPPORTED, "kv_lora_rank", "means latent attention, which is not supported");
    if (config_value(c, EXPERT_COUNT, &key) == NULL) return;
    set_experts(c, &(expert_layers){.first = config_int(c, "first_k_dense_replace", 0),
                                    .step = config_int(c, "moe_layer_freq", 1)});
}

static const family families[] = {
    {"llama yi", apply_llama},  {"mistral", apply_mistral},           {"qwen2", apply_qwen2},
    {"mixtral", apply_mixtral}, {"qwen3 qwen3_vl_text", apply_qwen3}, {"llama4 llama4_text", apply_llama4},
    {"gpt_oss", apply_gpt_oss}, {"qwen2_moe", apply_qwen2_moe},       {"qwen3_moe qwen3_vl_moe_text", apply_qwen3_moe},
};

void config_apply_family(config *c, const char *type) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (!names(families[i].types, type)) continue;
        families[i].apply(c);
        return;
    }
    config_note(c, "model type \"%.60s\" is not known: read as one of Llama's kind", type);
    apply_other(c);
}
