/* architecture_encoder.c - traits and defaults of the model types with an encoder (architecture.h). */
#include "read/language/architecture.h"

#define ALWAYS "true"
#define TIED                                                                                                           \
    { "tie_word_embeddings", 1 }
#define BIASED_EVERYWHERE .qkv_bias = ALWAYS, .output_bias = ALWAYS, .mlp_bias = ALWAYS
#define DECODER_KEYS                                                                                                   \
    .layer_keys = "decoder_layers num_decoder_layers num_layers", .head_keys = "decoder_attention_heads num_heads",    \
    .inner_keys = "decoder_ffn_dim d_ff"

/* clang-format off */
static const architecture encoders[] = {
    /* --- Encoders -------------------------------------------------------------------------------------------- */
    {.types = "bert roberta xlm-roberta camembert", .norm = NORM_LAYER, .place = PLACE_AFTER, .activation = "gelu",
     .is_plain = true, .position = POSITION_LEARNED, BIASED_EVERYWHERE, .has_embedding_norm = true, .apply = odd_bert,
     .defaults = {TIED, {"vocab_size", 30522}, {"hidden_size", 768}, {"num_hidden_layers", 12},
                  {"num_attention_heads", 12}, {"intermediate_size", 3072}, {"max_position_embeddings", 512},
                  {"type_vocab_size", 2}}},
    {.types = "distilbert", .norm = NORM_LAYER, .place = PLACE_AFTER, .activation = "gelu", .is_plain = true,
     .position = POSITION_LEARNED, BIASED_EVERYWHERE, .has_embedding_norm = true, .inner_keys = "hidden_dim",
     .apply = odd_bert,
     .defaults = {TIED, {"vocab_size", 30522}, {"dim", 768}, {"n_layers", 6}, {"n_heads", 12}, {"hidden_dim", 3072},
                  {"max_position_embeddings", 512}, {"type_vocab_size", 0}}},
    {.types = "vit", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_NONE,
     .qkv_bias = "qkv_bias", .output_bias = ALWAYS, .mlp_bias = ALWAYS, .has_no_words = true, .apply = odd_vit,
     .defaults = {{"qkv_bias", 1}, {"hidden_size", 768}, {"num_hidden_layers", 12}, {"num_attention_heads", 12},
                  {"intermediate_size", 3072}, {"image_size", 224}, {"patch_size", 16}, {"num_channels", 3}}},

    /* --- Encoder and decoder --------------------------------------------------------------------------------- */
    {.types = "t5 mt5", .activation = "relu", .is_plain = true, .position = POSITION_RELATIVE, DECODER_KEYS,
     .apply = odd_t5,
     .defaults = {TIED, {"vocab_size", 32128}, {"d_model", 512}, {"d_kv", 64}, {"d_ff", 2048}, {"num_layers", 6},
                  {"num_heads", 8}, {"relative_attention_num_buckets", 32}}},
    {.types = "switch_transformers", .activation = "relu", .is_plain = true, .position = POSITION_RELATIVE,
     DECODER_KEYS, .router_bias = "router_bias", .apply = odd_switch,
     .defaults = {TIED, {"vocab_size", 32128}, {"d_model", 768}, {"d_kv", 64}, {"d_ff", 2048}, {"num_layers", 12},
                  {"num_heads", 12}, {"relative_attention_num_buckets", 32}, {"num_experts", 8},
                  {"num_sparse_encoder_layers", 3}, {"num_sparse_decoder_layers", 3}, {"num_experts_per_tok", 1}}},
    {.types = "bart mbart", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_LEARNED,
     BIASED_EVERYWHERE, .has_embedding_norm = true, DECODER_KEYS, .apply = odd_bart,
     .defaults = {TIED, {"vocab_size", 50265}, {"d_model", 1024}, {"encoder_layers", 12}, {"decoder_layers", 12},
                  {"encoder_ffn_dim", 4096}, {"decoder_ffn_dim", 4096}, {"encoder_attention_heads", 16},
                  {"decoder_attention_heads", 16}, {"max_position_embeddings", 1024}}},
    {.types = "whisper", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_LEARNED,
     BIASED_EVERYWHERE, DECODER_KEYS, .apply = odd_whisper,
     .defaults = {TIED, {"vocab_size", 51865}, {"d_model", 384}, {"encoder_layers", 4}, {"decoder_layers", 4},
                  {"encoder_ffn_dim", 1536}, {"decoder_ffn_dim", 1536}, {"encoder_attention_heads", 6},
                  {"decoder_attention_heads", 6}, {"num_mel_bins", 80}, {"max_source_positions", 1500},
                  {"max_target_positions", 448}}},
};
/* clang-format on */

const architecture *architecture_encoder_of(const char *lower) {
    for (size_t i = 0; i < sizeof encoders / sizeof encoders[0]; i++)
        if (architecture_names(&encoders[i], lower)) return &encoders[i];
    return NULL;
}
