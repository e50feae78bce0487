/* config_state.c - types with recurrent layers: which layers have a state, and its sizes. */
#include <string.h>

#include "base/error.h"
#include "read/language/config.h"

#define EACH_LAYER(m, i) for (uint32_t i = 0; (i) < (m)->layer_count; (i)++)

/* --- Delta rule -------------------------------------------------------------------------------------------------- */

/* Qwen3-Next, Qwen3.5: all but each fourth layer. Attention has a gate that its queries come with. */
void odd_qwen_hybrid(config *c) {
    language_model *m = c->model;
    const json_t *types = config_layer_list(c, "layer_types");
    int64_t interval = config_int(c, "full_attention_interval", 4);
    m->has_gated_queries = true;
    m->state = (language_state){.key_heads = config_size(c, "linear_num_key_heads"),
                                .value_heads = config_size(c, "linear_num_value_heads"),
                                .key_size = config_size(c, "linear_key_head_dim"),
                                .value_size = config_size(c, "linear_value_head_dim"),
                                .conv = config_size(c, "linear_conv_kernel_dim"),
                                .dtype = FT_FLOAT32};
    EACH_LAYER(m, i) {
        bool is_full = types != NULL ? config_list_is(types, i, "full_attention")
                                     : interval > 0 && ((int64_t)i + 1) % interval == 0;
        if (!is_full) m->layers[i].mixer = MIXER_DELTA;
    }
}

/* Kimi Linear: "kda_layers" and "full_attn_layers" count from 1; the latter have latent attention. */
void odd_kimi_linear(config *c) {
    language_model *m = c->model;
    const json_t *outer = config_enter(c, "linear_attn_config");
    const json_t *full = config_list(c, "full_attn_layers"), *linear = config_list(c, "kda_layers");
    int64_t heads = config_size(c, KEY_HEADS), size = config_size(c, "head_dim");
    m->state = (language_state){.key_heads = heads,
                                .value_heads = heads,
                                .key_size = size,
                                .value_size = size,
                                .conv = config_int(c, "short_conv_kernel_size", 4),
                                .has_split_inputs = true,
                                .has_channel_decay = true,
                                .has_full_gate = config_bool(c, "use_full_rank_gate", false),
                                .dtype = FT_FLOAT32};
    c->text = outer;
    m->latent.has_gate = config_bool(c, "mla_use_output_gate", false);
    EACH_LAYER(m, i) {
        bool is_full = linear != NULL ? !config_list_has(linear, (int64_t)i + 1)
                                      : config_list_has(full, (int64_t)i + 1) || full == NULL;
        if (!is_full) m->layers[i].mixer = MIXER_DELTA;
    }
}

/* MiniMax: linear attention in all layers but those whose number in "attn_type_list" is 1. */
void odd_minimax(config *c) {
    language_model *m = c->model;
    const json_t *numbers = config_layer_list(c, "attn_type_list"), *types = config_layer_list(c, "layer_types");
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        bool is_linear = numbers != NULL ? config_list_int(c, "attn_type_list", numbers, i, 1) == 0
                         : types != NULL ? config_list_is(types, i, "linear_attention")
                                         : (i + 1) % 8 != 0;
        if (is_linear) l->mixer = MIXER_LINEAR;
        m->state.key_heads = m->state.value_heads = l->heads;
        m->state.key_size = m->state.value_size = l->head_size;
    }
    m->state.dtype = FT_FLOAT32;
}

/* --- Mamba ------------------------------------------------------------------------------------------------------- */

/* The rank of the time step: a number or "auto". */
static int64_t time_rank(config *c, const char *keys) {
    const char *key;
    const json_t *value = config_value(c, keys, &key);
    if (value == NULL || json_is_string(value)) return (c->model->hidden + 15) / 16;
    return config_int(c, keys, 1);
}

static int64_t expanded(config *c, const char *keys) {
    const char *key;
    const json_t *value = config_value(c, keys, &key);
    double factor = json_is_real(value) ? json_real_value(value) : (double)config_int(c, keys, 2);
    if (!(factor >= 0.01) || factor > 1024) config_fail(c, FT_ERR_LIMIT, "expand", "is not between 0.01 and 1024");
    return c->status == FT_OK ? (int64_t)(factor * (double)c->model->hidden) : 1;
}

static void set_all(config *c, language_mixer mixer, language_mlp mlp) {
    EACH_LAYER(c->model, i) c->model->layers[i] = (language_layer){.mixer = mixer, .mlp = mlp};
}

void odd_mamba(config *c) {
    language_model *m = c->model;
    m->state = (language_state){.key_size = config_size(c, "state_size d_state"),
                                .conv = config_size(c, "conv_kernel d_conv"),
                                .rank = time_rank(c, "time_step_rank dt_rank"),
                                .has_conv_bias = config_bool(c, "use_conv_bias", true),
                                .has_bias = config_bool(c, "use_bias", false),
                                .dtype = FT_FLOAT32};
    m->state.inner = config_int(c, "intermediate_size d_inner", 0);
    if (m->state.inner == 0) m->state.inner = expanded(c, "expand");
    set_all(c, MIXER_MAMBA, MLP_NONE);
}

/* Sizes of a Mamba 2 layer; names differ in a prefix. */
static void read_mamba2(config *c, const char *heads, const char *size, const char *groups, const char *state,
                        const char *conv) {
    language_model *m = c->model;
    m->state = (language_state){.key_heads = config_size(c, groups),
                                .value_heads = config_size(c, heads),
                                .key_size = config_size(c, state),
                                .value_size = config_int(c, size, 0),
                                .conv = config_size(c, conv),
                                .has_conv_bias = config_bool(c, "use_conv_bias mamba_conv_bias", true),
                                .has_bias = config_bool(c, "use_bias mamba_proj_bias", false),
                                .has_gated_norm = true,
                                .dtype = FT_FLOAT32};
    if (m->state.value_size == 0 && c->status == FT_OK)
        m->state.value_size = expanded(c, "expand mamba_expand") / m->state.value_heads;
    if (m->state.value_size > LANGUAGE_MAX_SIZE || m->state.value_heads > LANGUAGE_MAX_SIZE / 64)
        config_fail(c, FT_ERR_LIMIT, "head_dim", "is absurdly large");
    else
        m->state.inner = m->state.value_heads * m->state.value_size;
}

void odd_mamba2(config *c) {
    read_mamba2(c, "num_heads", "head_dim", "n_groups", "state_size", "conv_kernel");
    set_all(c, MIXER_MAMBA2, MLP_NONE);
}

/* A letter a layer in "hybrid_override_pattern" (M, *, -, E), or a word in "layers_block_type". */
static char kind_of(config *c, uint32_t layer) {
    const char *letters = config_text(c, "hybrid_override_pattern", NULL);
    const json_t *words = config_layer_list(c, "layers_block_type layer_types");
    if (words != NULL)
        return config_list_is(words, layer, "mamba")                                              ? 'M'
               : config_list_is(words, layer, "attention")                                        ? '*'
               : config_list_is(words, layer, "moe") || config_list_is(words, layer, "moe_block") ? 'E'
                                                                                                  : '-';
    if (letters == NULL || strlen(letters) <= layer) {
        config_fail(c, FT_ERR_DAMAGED, "hybrid_override_pattern", "is missing or shorter than the layers");
        return '*';
    }
    if (strchr("M*-E", letters[layer]) == NULL)
        config_fail(c, FT_ERR_DAMAGED, "hybrid_override_pattern", "has a letter that is none of M, *, - and E");
    return letters[layer];
}

/* Nemotron-H: a layer is either attention, or Mamba 2, or an MLP, or experts. */
void odd_nemotron_h(config *c) {
    language_model *m = c->model;
    read_mamba2(c, "mamba_num_heads", "mamba_head_dim", "n_groups mamba_n_groups", "ssm_state_size",
                "conv_kernel mamba_d_conv");
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        char kind = kind_of(c, i);
        l->mixer = kind == 'M' ? MIXER_MAMBA2 : kind == '*' ? MIXER_ATTENTION : MIXER_NONE;
        if (kind == 'M' || kind == '*')
            l->mlp = MLP_NONE;
        else if (kind == 'E' && l->mlp != MLP_EXPERTS)
            config_fail(c, FT_ERR_DAMAGED, "n_routed_experts", "is missing, but a layer has experts");
        else if (kind == '-') {
            l->mlp = MLP_DENSE;
            l->inner = config_size(c, KEY_INNER);
        }
    }
}

/* Jamba: attention in each eighth layer, experts in each second. */
void odd_jamba(config *c) {
    language_model *m = c->model;
    int64_t period = config_size(c, "attn_layer_period"), offset = config_int(c, "attn_layer_offset", 4);
    m->state = (language_state){.key_size = config_size(c, "mamba_d_state"),
                                .conv = config_size(c, "mamba_d_conv"),
                                .rank = time_rank(c, "mamba_dt_rank"),
                                .inner = expanded(c, "mamba_expand"),
                                .has_conv_bias = config_bool(c, "mamba_conv_bias", true),
                                .has_bias = config_bool(c, "mamba_proj_bias", false),
                                .has_state_norms = true,
                                .dtype = FT_FLOAT32};
    EACH_LAYER(m, i)
    if (((int64_t)i - offset) % period != 0) m->layers[i].mixer = MIXER_MAMBA;
}

/* Bamba, Granite 4: Mamba 2 in layers that are not listed as attention. Granite's MLP of all tokens may be the only
 * one. */
void odd_bamba(config *c) {
    language_model *m = c->model;
    const json_t *types = config_layer_list(c, "layer_types layers_block_type");
    const json_t *attention = config_list(c, "attn_layer_indices");
    int64_t shared = config_int(c, "shared_intermediate_size", 0);
    read_mamba2(c, "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv");
    EACH_LAYER(m, i) {
        language_layer *l = &m->layers[i];
        bool is_full = types != NULL
                           ? config_list_is(types, i, "attention") || config_list_is(types, i, "full_attention")
                           : config_list_has(attention, i);
        if (!is_full) l->mixer = MIXER_MAMBA2;
        if (l->mlp == MLP_DENSE && shared > 0) l->inner = shared;
    }
}

/* --- Convolutions ------------------------------------------------------------------------------------------------ */

/* LFM2: gated convolutions where "layer_types" or "full_attn_idxs" do not say attention. Widths are adjusted. */
void odd_lfm2(config *c) {
    language_model *m = c->model;
    const json_t *types = config_layer_list(c, "layer_types"), *full = config_list(c, "full_attn_idxs");
    int64_t inner = config_int(c, "intermediate_size block_ff_dim", 0), step = config_int(c, "block_multiple_of", 256);
    bool is_adjusted = config_bool(c, "block_auto_adjust_ff_dim", true) && strcmp(m->type, "lfm2_moe") != 0;
    if (step < 1 || step > LANGUAGE_MAX_SIZE) config_fail(c, FT_ERR_LIMIT, "block_multiple_of", "is out of range");
    if (c->status != FT_OK) return;
    if (is_adjusted) inner = (2 * inner / 3 + step - 1) / step * step;
    m->is_tied = config_bool(c, "tie_embedding", m->is_tied);
    m->state = (language_state){.conv = config_size(c, "conv_L_cache"),
                                .has_conv_bias = config_bool(c, "conv_bias", false),
                                .has_bias = config_bool(c, "conv_bias", false)};
    EACH_LAYER(m, i) {
        bool is_full =
            types != NULL ? config_list_is(types, i, "full_attention") : full == NULL || config_list_has(full, i);
        if (!is_full) m->layers[i].mixer = MIXER_SHORT_CONV;
        if (m->layers[i].mlp == MLP_DENSE) m->layers[i].inner = inner;
    }
}
