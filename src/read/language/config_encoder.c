/* config_encoder.c - types with an encoder: which heads it has, and the encoder of those with a decoder. */
#include <string.h>

#include "base/error.h"
#include "read/language/config.h"

#define EACH_LAYER(m, i) for (uint32_t i = 0; (i) < (m)->layer_count; (i)++)

/* --- Encoders ---------------------------------------------------------------------------------------------------- */

/* Whether the class of the model, which says what heads it has, contains a word. */
static bool is_class(const config *c, const char *word) {
    const char *name = json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
    return name != NULL && strstr(name, word) != NULL;
}

/* Names of classes, else their number. */
static int64_t count_classes(config *c) {
    const json_t *names = json_object_get(c->text, "id2label");
    return json_is_object(names) && json_object_size(names) > 0 ? (int64_t)json_object_size(names)
                                                                : config_int(c, "num_labels", 2);
}

/* BERT and its relatives: logits of words, of classes, or a pooled token. A file that names no class is of the plain
 * model. */
void odd_bert(config *c) {
    language_model *m = c->model;
    language_heads *h = &m->heads;
    bool is_words = is_class(c, "MaskedLM") || is_class(c, "LMHead") || is_class(c, "CausalLM");
    bool is_pretraining = is_class(c, "ForPreTraining"), is_sequence = is_class(c, "ForSequenceClassification");
    bool is_tokens = is_class(c, "ForTokenClassification") || is_class(c, "ForQuestionAnswering");
    m->is_encoder = true;
    m->has_no_final_norm = true;
    m->token_types = config_int(c, "type_vocab_size", 2);
    h->has_transform = is_words || is_pretraining;
    h->has_pooler = is_sequence || (!is_words && !is_tokens && strcmp(m->type, "distilbert") != 0);
    h->classes = is_pretraining ? 2 : is_sequence || is_tokens ? count_classes(c) : 0;
}

void odd_vit(config *c) {
    language_model *m = c->model;
    bool has_classes = is_class(c, "ForImageClassification");
    m->is_encoder = true;
    m->signal = (language_signal){.source = SOURCE_PATCHES,
                                  .channels = config_size(c, "num_channels"),
                                  .size = config_size(c, "image_size"),
                                  .patch = config_size(c, "patch_size")};
    if (c->status == FT_OK && (m->signal.patch > m->signal.size || m->signal.size > 1 << 14))
        config_fail(c, FT_ERR_DAMAGED, "image_size", "is smaller than a patch or larger than 16384");
    m->heads.has_pooler = !has_classes;
    m->heads.classes = has_classes ? count_classes(c) : 0;
}

/* --- Encoder and decoder ----------------------------------------------------------------------------------------- */

/* An encoder like the decoder, with so many layers. */
static language_model *add_encoder(config *c, int64_t layers, const char *key) {
    language_model *decoder = c->model, *encoder = arena_copy(c->memory, decoder, sizeof *decoder);
    if (encoder == NULL && c->status == FT_OK) c->status = FT_NOMEM(c->error);
    if (c->status != FT_OK) return NULL;
    c->model = encoder;
    config_make_layers(c, layers, key);
    c->model = decoder;
    if (c->status != FT_OK) return NULL;
    encoder->is_encoder = true;
    encoder->encoder = NULL;
    EACH_LAYER(encoder, i) encoder->layers[i] = decoder->layers[0];
    decoder->encoder = encoder;
    return encoder;
}

static void set_heads(config *c, language_model *m, int64_t heads, const char *key) {
    if (c->status == FT_OK && (heads < 1 || m->hidden % heads != 0))
        config_fail(c, FT_ERR_DAMAGED, key, "does not divide \"d_model\"");
    if (c->status != FT_OK) return;
    EACH_LAYER(m, i) {
        m->layers[i].heads = m->layers[i].kv_heads = heads;
        m->layers[i].head_size = m->layers[i].value_size = m->hidden / heads;
    }
}

void odd_t5(config *c) {
    language_model *m = c->model;
    const char *mlp = config_text(c, "feed_forward_proj", "relu");
    m->is_gated = strncmp(mlp, "gated-", 6) == 0;
    if (strstr(mlp, "gelu") != NULL) m->activation = ACTIVATION_GELU;
    if (strstr(mlp, "silu") != NULL) m->activation = ACTIVATION_SILU;
    m->position_rows = config_size(c, "relative_attention_num_buckets");
    add_encoder(c, config_size(c, "num_layers"), "num_layers");
}

/* Layers with experts: each n-th, from the second on. */
static void set_experts(config *c, language_model *m, const char *key) {
    int64_t sparse = config_int(c, key, 0), step = sparse > 0 ? (int64_t)m->layer_count / sparse : m->layer_count;
    if (sparse > m->layer_count) config_fail(c, FT_ERR_DAMAGED, key, "is more than the layers");
    if (c->status != FT_OK) return;
    language_layer layer = m->layers[0];
    EACH_LAYER(m, i) {
        bool is_sparse = sparse > 0 && (step == 1 || i % step == 1);
        m->layers[i] = layer;
        m->layers[i].mlp = is_sparse ? MLP_EXPERTS : MLP_DENSE;
    }
}

void odd_switch(config *c) {
    language_model *m = c->model;
    int64_t experts = config_size(c, "num_experts"), inner = config_size(c, "d_ff");
    odd_t5(c);
    if (c->status != FT_OK) return;
    language_layer *l = &m->layers[0];
    *l = (language_layer){.mixer = MIXER_ATTENTION,
                          .heads = l->heads,
                          .kv_heads = l->kv_heads,
                          .head_size = l->head_size,
                          .value_size = l->value_size,
                          .inner = inner,
                          .experts = experts,
                          .active_experts = 1,
                          .expert_inner = inner};
    set_experts(c, m, "num_sparse_decoder_layers");
    language_model *encoder = add_encoder(c, config_size(c, "num_layers"), "num_layers");
    if (encoder != NULL) set_experts(c, encoder, "num_sparse_encoder_layers");
}

static language_model *add_other_encoder(config *c) {
    language_model *encoder = add_encoder(c, config_size(c, "encoder_layers"), "encoder_layers");
    int64_t inner = config_size(c, "encoder_ffn_dim");
    if (encoder == NULL) return NULL;
    set_heads(c, encoder, config_size(c, "encoder_attention_heads"), "encoder_attention_heads");
    EACH_LAYER(encoder, i) encoder->layers[i].inner = inner;
    return encoder;
}

/* Tables of positions have two rows more; the norms of mBART are before its layers. */
void odd_bart(config *c) {
    language_model *m = c->model;
    bool is_before = strcmp(m->type, "mbart") == 0;
    m->norm_place = is_before ? PLACE_BEFORE : PLACE_AFTER;
    m->has_no_final_norm = !is_before;
    m->position_rows = m->positions + 2;
    add_other_encoder(c);
}

void odd_whisper(config *c) {
    language_model *m = c->model;
    m->has_no_key_bias = true;
    m->positions = m->position_rows = config_size(c, "max_target_positions");
    language_model *encoder = add_other_encoder(c);
    if (encoder == NULL) return;
    encoder->signal = (language_signal){.source = SOURCE_SOUND,
                                        .channels = config_size(c, "num_mel_bins"),
                                        .size = config_size(c, "max_source_positions")};
}
