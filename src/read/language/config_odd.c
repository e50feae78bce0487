/* config_odd.c - types whose layers need more than a row of architecture.c: layers that differ in heads or widths, and
 * sizes in objects or lists of their own. Types with recurrent layers are in config_state.c. */
#include <string.h>

#include "base/error.h"
#include "read/language/config.h"

#define EACH_LAYER(m, i) for (uint32_t i = 0; (i) < (m)->layer_count; (i)++)

/* --- Llama 4, MiMo, Gemma 4 -------------------------------------------------------------------------------------- */

/* Dense layers have a width of their own; one shared expert is as wide as the others. */
void odd_llama4(config *c) {
    config_set_inner(c, config_int(c, "intermediate_size_mlp", 16384));
    EACH_LAYER(c->model, i) {
        language_layer *l = &c->model->layers[i];
        if (l->mlp == MLP_EXPERTS) l->shared_inner = l->expert_inner;
    }
}

/* Windowed layers have heads and sinks of their own. */
void odd_mimo(config *c) {
    const json_t *pattern = config_layer_list(c, "hybrid_layer_pattern");
    int64_t window = config_int(c, KEY_WINDOW, 0);
    bool full_sinks = config_bool(c, "add_full_attention_sink_bias", false);
    bool window_sinks = config_bool(c, "add_swa_attention_sink_bias", false);
    EACH_LAYER(c->model, i) {
        language_layer *l = &c->model->layers[i];
        bool is_windowed = config_list_int(c, "hybrid_layer_pattern", pattern, i, 0) == 1;
        l->has_sinks = is_windowed ? window_sinks : full_sinks;
        l->window = is_windowed ? window : 0;
        if (!is_windowed) continue;
        l->heads = config_int(c, "swa_num_attention_heads", l->heads);
        l->kv_heads = config_int(c, "swa_num_key_value_heads", l->kv_heads);
        l->head_size = config_int(c, "swa_head_dim", l->head_size);
        l->value_size = config_int(c, "swa_v_head_dim", l->value_size);
    }
}

/* Layers without a window have larger heads, whose values may be the keys; the last layers read the caches of layers
 * before them. */
void odd_gemma4(config *c) {
    language_model *m = c->model;
    bool has_key_values = config_bool(c, "attention_k_eq_v", false);
    bool is_wide = config_bool(c, "use_double_wide_mlp", false), has_both = config_bool(c, "enable_moe_block", false);
    int64_t sharing = config_int(c, "num_kv_shared_layers", 0), first = (int64_t)m->layer_count - sharing;
    m->layer_embedding = config_int(c, "hidden_size_per_layer_input", 0);
    m->layer_words = config_int(c, "vocab_size_per_layer_input", m->vocabulary);
    if (first < 1) config_fail(c, FT_ERR_DAMAGED, "num_kv_shared_layers", "leaves no layer with a cache");
    m->layers[m->layer_count - 1].window = 0;
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        l->has_both = has_both && l->mlp == MLP_EXPERTS;
        l->shares_cache = i >= first;
        if (l->shares_cache && is_wide) l->inner = l->inner < LANGUAGE_MAX_SIZE ? 2 * l->inner : l->inner;
        if (l->window > 0) continue;
        l->head_size = l->value_size = config_int(c, "global_head_dim", l->head_size);
        l->has_key_values = has_key_values;
        if (has_key_values) l->kv_heads = config_int(c, "num_global_key_value_heads", l->kv_heads);
    }
}

/* --- GPT and its relatives --------------------------------------------------------------------------------------- */

static void set_kv_heads(config *c, int64_t heads) {
    EACH_LAYER(c->model, i) c->model->layers[i].kv_heads = heads;
}

static void set_fused_width(language_layer *l, int64_t kv_heads) {
    l->kv_heads = kv_heads;
}

/* Two rows more than positions; embeddings may be narrower than the model; 350m has norms after its layers. */
void odd_opt(config *c) {
    language_model *m = c->model;
    int64_t width = config_int(c, "word_embed_proj_dim", m->hidden);
    m->position_rows = m->positions + 2;
    m->embedding = width != m->hidden ? width : 0;
    bool is_before = config_bool(c, "do_layer_norm_before", true);
    m->norm_place = is_before ? PLACE_BEFORE : PLACE_AFTER;
    m->has_no_final_norm = !is_before || config_bool(c, "_remove_final_layer_norm", false);
}

void odd_bigcode(config *c) {
    if (config_bool(c, "multi_query", true)) set_kv_heads(c, 1);
}

/* Keys and values of the first releases have one head, whatever "num_kv_heads" says. */
void odd_falcon(config *c) {
    language_model *m = c->model;
    bool is_new = config_bool(c, "new_decoder_architecture", false), has_one = config_bool(c, "multi_query", true);
    if (config_bool(c, "alibi", false)) m->position = POSITION_NONE;
    if (is_new && config_int(c, "num_ln_in_parallel_attn", 2) == 1) m->has_one_norm = true;
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        set_fused_width(l, is_new ? l->kv_heads : has_one ? 1 : l->heads);
    }
}

void odd_mpt(config *c) {
    language_model *m = c->model;
    int64_t ratio = config_int(c, "expansion_ratio", 4);
    if (ratio < 1 || ratio > 1024) config_fail(c, FT_ERR_LIMIT, "expansion_ratio", "is not between 1 and 1024");
    config_set_inner(c, ratio * m->hidden);
    const json_t *outer = config_enter(c, "attn_config");
    if (c->text != outer) {
        int64_t kv_heads = config_int(c, "kv_n_heads", 0);
        if (kv_heads > 0) set_kv_heads(c, kv_heads);
        if (config_bool(c, "rope", false)) m->position = POSITION_ROTARY;
    }
    c->text = outer;
}

void odd_dbrx(config *c) {
    language_model *m = c->model;
    const json_t *outer = config_enter(c, "attn_config");
    set_kv_heads(c, config_int(c, "kv_n_heads", 1));
    c->text = outer;
    config_enter(c, "ffn_config");
    int64_t experts = config_int(c, "moe_num_experts", 4), active = config_int(c, "moe_top_k", 1);
    int64_t inner = config_int(c, "ffn_hidden_size", 3584);
    c->text = outer;
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        l->mlp = MLP_EXPERTS;
        l->experts = experts;
        l->active_experts = active;
        l->expert_inner = inner;
    }
}

void odd_chatglm(config *c) {
    if (!config_bool(c, "multi_query_attention", false))
        EACH_LAYER(c->model, i) c->model->layers[i].kv_heads = c->model->layers[i].heads;
}

/* --- Layers that a search chose ---------------------------------------------------------------------------------- */

static int64_t round_up(double width, int64_t step) {
    if (!(width > 0) || width > LANGUAGE_MAX_SIZE) return 0;
    return ((int64_t)width + step - 1) / step * step;
}

static double real_of(const json_t *object, const char *key, double fallback) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static void apply_block(config *c, uint32_t layer, const json_t *block) {
    language_layer *l = &c->model->layers[layer];
    const json_t *attention = json_object_get(block, "attention"), *mlp = json_object_get(block, "ffn");
    double group = real_of(attention, "n_heads_in_group", 0), kv = real_of(attention, "num_key_value_heads", 0);
    double inner = real_of(mlp, "intermediate_size", 0);
    if (json_is_true(json_object_get(attention, "no_op"))) l->mixer = MIXER_NONE;
    if (json_is_true(json_object_get(attention, "replace_with_linear"))) l->mixer = MIXER_PRODUCT;
    if (group >= 1 && group <= (double)l->heads) l->kv_heads = l->heads / (int64_t)group;
    if (kv >= 1 && kv <= (double)l->heads) l->kv_heads = (int64_t)kv;
    if (json_is_true(json_object_get(mlp, "no_op"))) l->mlp = MLP_NONE;
    if (inner == 0) inner = (double)round_up(2 * real_of(mlp, "ffn_mult", 0) * (double)c->model->hidden / 3, 256);
    l->inner = inner >= 1 && inner <= LANGUAGE_MAX_SIZE ? (int64_t)inner : l->inner;
}

/* "block_configs": for each layer, how many heads share keys and how wide the MLP is; either may be left out. */
void odd_nemotron_nas(config *c) {
    const json_t *blocks = config_list(c, "block_configs");
    if (blocks == NULL) return;
    if (json_array_size(blocks) != c->model->layer_count) {
        config_fail(c, FT_ERR_DAMAGED, "block_configs", "has another number of items than there are layers");
        return;
    }
    EACH_LAYER(c->model, i) apply_block(c, i, json_array_get(blocks, i));
}

void odd_openelm(config *c) {
    language_model *m = c->model;
    const json_t *factors = config_list(c, "ffn_multipliers");
    int64_t step = config_int(c, "ffn_dim_divisor", 256);
    if (config_bool(c, "share_input_output_layers", false)) m->is_tied = true;
    if (step < 1 || step > LANGUAGE_MAX_SIZE) config_fail(c, FT_ERR_LIMIT, "ffn_dim_divisor", "is out of range");
    EACH_LAYER(m, i) {
        const json_t *factor = json_array_get(factors, i);
        if (!json_is_number(factor) || c->status != FT_OK) continue;
        double width = json_number_value(factor) * (double)m->hidden;
        int64_t near = round_up(width + (double)step / 2 - (double)step + 1, step); /* to the nearest multiple */
        m->layers[i].inner = near < step ? step : (double)near < 0.9 * width ? near + step : near;
    }
}
