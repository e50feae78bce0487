/* language_model.c - the check of a language model's sizes, and notes about it. */
#include "read/language/language_model.h"

#include "base/error.h"

void language_note(language_model *model, const char *note) {
    if (model->note_count < LANGUAGE_MAX_NOTES) model->notes[model->note_count++] = note;
}

typedef struct size_check {
    const char *name;
    int64_t value;
} size_check;

static ft_status check_sizes(const size_check *sizes, size_t count, ft_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].value < 1)
            return ft_fail(error, FT_ERR_DAMAGED, "%s is %lld, but must be at least 1", sizes[i].name,
                           (long long)sizes[i].value);
        if (sizes[i].value > LANGUAGE_MAX_SIZE)
            return ft_fail(error, FT_ERR_LIMIT, "%s is %lld; at most %d are supported", sizes[i].name,
                           (long long)sizes[i].value, LANGUAGE_MAX_SIZE);
    }
    return FT_OK;
}

#define CHECK_SIZES(sizes, error) check_sizes((sizes), sizeof(sizes) / sizeof((sizes)[0]), (error))

#define OPTIONAL(size) ((size) != 0 ? (size) : 1)

static ft_status check_heads(const language_layer *l, ft_error *error) {
    const size_check sizes[] = {{"\"num_attention_heads\"", l->heads},
                                {"\"num_key_value_heads\"", l->kv_heads},
                                {"\"head_dim\"", l->head_size},
                                {"\"v_head_dim\"", l->value_size}};
    FT_TRY(CHECK_SIZES(sizes, error));
    if (l->heads % l->kv_heads != 0)
        return ft_fail(error, FT_ERR_DAMAGED,
                       "\"num_attention_heads\" %lld does not divide by \"num_key_value_heads\" %lld",
                       (long long)l->heads, (long long)l->kv_heads);
    if (l->heads * l->head_size > LANGUAGE_MAX_SIZE || l->heads * l->value_size > LANGUAGE_MAX_SIZE)
        return ft_fail(error, FT_ERR_LIMIT,
                       "\"num_attention_heads\" %lld times \"head_dim\" %lld is more than the %d that are supported",
                       (long long)l->heads, (long long)l->head_size, LANGUAGE_MAX_SIZE);
    return FT_OK;
}

static ft_status check_experts(const language_layer *l, ft_error *error) {
    const size_check sizes[] = {{"the number of experts", l->experts},
                                {"\"num_experts_per_tok\"", l->active_experts},
                                {"\"moe_intermediate_size\"", l->expert_inner},
                                {"the width of what experts read", l->expert_hidden > 0 ? l->expert_hidden : 1},
                                {"the width of the shared experts", l->shared_inner > 0 ? l->shared_inner : 1}};
    FT_TRY(CHECK_SIZES(sizes, error));
    if (l->active_experts > l->experts)
        return ft_fail(error, FT_ERR_DAMAGED, "\"num_experts_per_tok\" %lld is more than the %lld experts",
                       (long long)l->active_experts, (long long)l->experts);
    return FT_OK;
}

static ft_status check_latent(const language_latent *p, ft_error *error) {
    const size_check sizes[] = {{"\"kv_lora_rank\"", p->kv_rank},
                                {"\"q_lora_rank\"", OPTIONAL(p->query_rank)},
                                {"\"qk_nope_head_dim\"", p->nope_size},
                                {"\"qk_rope_head_dim\"", OPTIONAL(p->rope_size)},
                                {"\"index_n_heads\"", OPTIONAL(p->index_heads)},
                                {"\"index_head_dim\"", OPTIONAL(p->index_size)},
                                {"\"index_topk\"", OPTIONAL(p->index_tokens)}};
    FT_TRY(CHECK_SIZES(sizes, error));
    if (p->index_heads > 0 && p->index_heads * p->index_size > LANGUAGE_MAX_SIZE)
        return ft_fail(error, FT_ERR_LIMIT, "%lld heads of the indexer of size %lld are too wide",
                       (long long)p->index_heads, (long long)p->index_size);
    return FT_OK;
}

static ft_status check_state(const language_state *s, ft_error *error) {
    const size_check sizes[] = {{"the heads of keys of a recurrent layer", OPTIONAL(s->key_heads)},
                                {"the heads of a recurrent layer", OPTIONAL(s->value_heads)},
                                {"the size of a key of a recurrent layer", OPTIONAL(s->key_size)},
                                {"the size of a value of a recurrent layer", OPTIONAL(s->value_size)},
                                {"the width of a recurrent layer", OPTIONAL(s->inner)},
                                {"the rank of the time step", OPTIONAL(s->rank)},
                                {"the taps of the convolution", OPTIONAL(s->conv)}};
    FT_TRY(CHECK_SIZES(sizes, error));
    if (s->key_heads * s->key_size > LANGUAGE_MAX_SIZE || s->value_heads * s->value_size > LANGUAGE_MAX_SIZE)
        return ft_fail(error, FT_ERR_LIMIT, "the heads of a recurrent layer are wider than %d", LANGUAGE_MAX_SIZE);
    if (s->key_heads > 0 && s->value_heads % s->key_heads != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "%lld heads of a recurrent layer do not divide by %lld heads of keys",
                       (long long)s->value_heads, (long long)s->key_heads);
    return FT_OK;
}

static ft_status check_layer(const language_model *m, const language_layer *l, ft_error *error) {
    bool is_attention = l->mixer == MIXER_ATTENTION || l->mixer == MIXER_LATENT;
    if (is_attention) FT_TRY(check_heads(l, error));
    if (l->mixer == MIXER_LATENT) FT_TRY(check_latent(&m->latent, error));
    if (!is_attention) FT_TRY(check_state(&m->state, error));
    if (l->window > 0) FT_TRY(CHECK_SIZES(((const size_check[]){{"\"sliding_window\"", l->window}}), error));
    if (l->mlp == MLP_EXPERTS) FT_TRY(check_experts(l, error));
    if (l->mlp == MLP_EXPERTS && !l->has_both) return FT_OK;
    if (l->mlp != MLP_NONE) return CHECK_SIZES(((const size_check[]){{"\"intermediate_size\"", l->inner}}), error);
    return FT_OK;
}

static ft_status check_signal(const language_model *m, ft_error *error) {
    const size_check sizes[] = {
        {"\"num_channels\" or \"num_mel_bins\"", OPTIONAL(m->signal.channels)},
        {"\"image_size\" or \"max_source_positions\"", OPTIONAL(m->signal.size)},
        {"\"patch_size\"", OPTIONAL(m->signal.patch)},
        {"\"type_vocab_size\"", OPTIONAL(m->token_types)},
        {"\"num_labels\"", OPTIONAL(m->heads.classes)},
        {"\"relative_attention_num_buckets\"", m->position == POSITION_RELATIVE ? m->position_rows : 1}};
    return CHECK_SIZES(sizes, error);
}

ft_status language_check(const language_model *m, ft_error *error) {
    const size_check sizes[] = {
        {"\"hidden_size\"", m->hidden},
        {"\"vocab_size\"", m->vocabulary},
        {"\"word_embed_proj_dim\"", m->embedding > 0 ? m->embedding : m->hidden},
        {"\"hidden_size_per_layer_input\"", OPTIONAL(m->layer_embedding)},
        {"\"vocab_size_per_layer_input\"", OPTIONAL(m->layer_words)},
        {"\"num_hidden_layers\"", m->layer_count},
        {"\"max_position_embeddings\"", m->position == POSITION_LEARNED ? m->position_rows : 1},
    };
    FT_TRY(CHECK_SIZES(sizes, error));
    if (m->layer_embedding > LANGUAGE_MAX_SIZE / (int64_t)LANGUAGE_MAX_LAYERS)
        return ft_fail(error, FT_ERR_LIMIT, "the embedding of layers is %lld wide, which is absurdly large",
                       (long long)m->layer_embedding);
    FT_TRY(check_signal(m, error));
    if (m->layer_count > LANGUAGE_MAX_LAYERS)
        return ft_fail(error, FT_ERR_LIMIT, "%u layers; at most %d are supported", m->layer_count, LANGUAGE_MAX_LAYERS);
    for (uint32_t i = 0; i < m->layer_count; i++) {
        ft_status status = check_layer(m, &m->layers[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "layer %u", i);
    }
    if (m->encoder == NULL) return FT_OK;
    ft_status status = language_check(m->encoder, error);
    return status != FT_OK ? ft_fail_prefix(error, status, "encoder") : FT_OK;
}
