/* architecture.c - traits and defaults of the model types of decoders (architecture.h). */
#include "read/language/architecture.h"

#include <string.h>

#define ALWAYS "true"
#define TIED                                                                                                           \
    { "tie_word_embeddings", 1 }
#define BIASED_EVERYWHERE .qkv_bias = ALWAYS, .output_bias = ALWAYS, .mlp_bias = ALWAYS
#define LLAMA_BIASES      .qkv_bias = "attention_bias", .output_bias = "attention_bias", .mlp_bias = "mlp_bias"
#define QWEN_STATE                                                                                                     \
    {"linear_conv_kernel_dim", 4}, {"linear_key_head_dim", 128}, {"linear_value_head_dim", 128},                       \
        {"linear_num_key_heads", 16}, {"linear_num_value_heads", 32}, {                                                \
        "full_attention_interval", 4                                                                                   \
    }

/* clang-format off */
const architecture architecture_llama = {.types = "llama", LLAMA_BIASES};

static const architecture decoders[] = {
    /* --- Llama and its relatives ----------------------------------------------------------------------------- */
    {.types = "llama yi aquila xverse internlm3 solar ernie deci llava_llama bitnet_b158 vaultgemma_llama",
     LLAMA_BIASES},
    {.types = "llama4 llama4_text", LLAMA_BIASES, .windows = WINDOWS_CHUNKS, .apply = odd_llama4,
     .defaults = {{"num_local_experts", 16}, {"num_experts_per_tok", 1}, {"interleave_moe_layer_step", 1},
                  {"intermediate_size_mlp", 16384}, {"attention_chunk_size", 8192}, {"head_dim", 128},
                  {"num_key_value_heads", 8}}},
    {.types = "mistral ministral mistral3 ministral3 pixtral voxtral_text devstral", .windows = WINDOWS_ALL,
     .defaults = {{"sliding_window", 4096}, {"num_key_value_heads", 8}}},
    {.types = "mixtral", .windows = WINDOWS_ALL,
     .defaults = {{"num_local_experts", 8}, {"num_experts_per_tok", 2}, {"num_key_value_heads", 8}}},
    {.types = "phi3 phi4 phi4mm phi4_multimodal phi3_v phi4flash", .has_fused_qkv = true, .has_fused_gate = true,
     .qkv_bias = "attention_bias", .mlp_bias = "mlp_bias", .windows = WINDOWS_ALL},
    {.types = "phi phi-msft", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .parallel = ALWAYS,
     BIASED_EVERYWHERE, .head_bias = ALWAYS, .has_wide_inner = true, .qk_norm = QK_NORM_HEAD,
     .qk_norm_field = "qk_layernorm"},
    {.types = "phimoe", .norm = NORM_LAYER, .qkv_bias = "attention_bias", .output_bias = "attention_bias",
     .head_bias = "lm_head_bias", .windows = WINDOWS_ALL,
     .defaults = {{"num_local_experts", 16}, {"num_experts_per_tok", 2}, {"num_key_value_heads", 8}}},
    {.types = "granite", LLAMA_BIASES},
    {.types = "granitemoe granitemoeshared", .qkv_bias = "attention_bias", .output_bias = "attention_bias",
     .defaults = {{"num_local_experts", 8}, {"num_experts_per_tok", 2}}},
    {.types = "smollm3", LLAMA_BIASES, .defaults = {TIED, {"num_key_value_heads", 4}}},
    {.types = "seed_oss", .qkv_bias = "attention_bias", .output_bias = "attention_out_bias", .mlp_bias = "mlp_bias",
     .defaults = {{"attention_bias", 1}, {"head_dim", 128}}},
    {.types = "baichuan", .position = POSITION_ROTARY},
    {.types = "internlm internlm2", .qkv_bias = "bias qkv_bias", .output_bias = "bias"},
    {.types = "minicpm", .qkv_bias = "attention_bias", .output_bias = "attention_bias", .defaults = {TIED}},
    {.types = "arcee afm", LLAMA_BIASES, .is_plain = true, .activation = "relu2"},
    {.types = "apertus", LLAMA_BIASES, .is_plain = true, .activation = "xielu", .qk_norm = QK_NORM_HEAD},
    {.types = "helium", LLAMA_BIASES, .defaults = {{"head_dim", 128}}},
    {.types = "orion", .norm = NORM_LAYER},
    {.types = "exaone", .position = POSITION_ROTARY},
    {.types = "exaone4", .place = PLACE_OUTPUT, .qk_norm = QK_NORM_HEAD, .windows = WINDOWS_PATTERN,
     .defaults = {{"sliding_window_pattern", 4}}},
    {.types = "nemotron", .norm = NORM_LAYER, .activation = "relu2", .is_plain = true,
     .qkv_bias = "attention_bias", .output_bias = "attention_bias", .mlp_bias = "mlp_bias"},
    {.types = "nemotron-nas deci_lm", LLAMA_BIASES, .apply = odd_nemotron_nas},
    {.types = "openelm", .qk_norm = QK_NORM_HEAD, .qk_norm_field = "normalize_qk_projections", .apply = odd_openelm},
    {.types = "mimo", .qkv_bias = "attention_bias", .windows = WINDOWS_FROM, .defaults = {{"attention_bias", 1}}},
    {.types = "mimo_v2_flash mimo_v2", .qkv_bias = "attention_bias", .score_bias = ALWAYS, .apply = odd_mimo},
    {.types = "bitnet", .activation = "relu2"},
    {.types = "olmo", .norm = NORM_LAYER_PLAIN, .qkv_bias = "attention_bias", .output_bias = "attention_bias"},
    {.types = "olmo2", .place = PLACE_OUTPUT, .qk_norm = QK_NORM_WIDTH, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias"},
    {.types = "olmo3", .place = PLACE_OUTPUT, .qk_norm = QK_NORM_WIDTH, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .windows = WINDOWS_PATTERN,
     .defaults = {{"sliding_window", 4096}, {"sliding_window_pattern", 4}}},
    {.types = "olmoe flex_olmo", .qk_norm = QK_NORM_WIDTH, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .defaults = {{"num_experts", 64}, {"num_experts_per_tok", 8}}},

    /* --- Qwen ------------------------------------------------------------------------------------------------- */
    {.types = "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_audio qwen2_audio_encoder "
              "qwen2_5_omni_text qwen2_5_omni_thinker dream", .qkv_bias = ALWAYS, .windows = WINDOWS_FROM,
     .defaults = {{"sliding_window", 4096}, {"max_window_layers", 28}}},
    {.types = "qwen2_moe", .qkv_bias = "qkv_bias", .shared_gate = ALWAYS, .windows = WINDOWS_FROM,
     .defaults = {{"qkv_bias", 1}, {"num_experts", 60}, {"num_experts_per_tok", 4}, {"moe_intermediate_size", 1408},
                  {"shared_expert_intermediate_size", 5632}, {"sliding_window", 4096}, {"max_window_layers", 28}}},
    {.types = "qwen3 qwen3_vl qwen3_vl_text qwen3_omni_text qwen3_asr_text sdar", .qk_norm = QK_NORM_HEAD,
     .qkv_bias = "attention_bias", .output_bias = "attention_bias", .windows = WINDOWS_FROM,
     .defaults = {{"head_dim", 128}, {"sliding_window", 4096}, {"max_window_layers", 28}}},
    {.types = "qwen3_moe qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text qwen3_omni_moe_thinker",
     .qk_norm = QK_NORM_HEAD, .qkv_bias = "attention_bias", .output_bias = "attention_bias", .windows = WINDOWS_FROM,
     .defaults = {{"num_experts", 128}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768},
                  {"sliding_window", 4096}, {"max_window_layers", 28}}},
    {.types = "qwen3_next qwen3_5_moe qwen3_5_moe_text", .qk_norm = QK_NORM_HEAD, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .shared_gate = ALWAYS, .apply = odd_qwen_hybrid,
     .defaults = {QWEN_STATE, {"head_dim", 256}, {"num_experts", 512}, {"num_experts_per_tok", 10},
                  {"moe_intermediate_size", 512}, {"shared_expert_intermediate_size", 512}}},
    {.types = "qwen3_5 qwen3_5_text", .qk_norm = QK_NORM_HEAD, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .apply = odd_qwen_hybrid, .defaults = {QWEN_STATE, {"head_dim", 256}}},

    /* --- Gemma ------------------------------------------------------------------------------------------------ */
    {.types = "gemma", .activation = "gelu", .qkv_bias = "attention_bias", .output_bias = "attention_bias",
     .defaults = {TIED, {"head_dim", 256}, {"num_key_value_heads", 16}}},
    {.types = "gemma2", .activation = "gelu", .place = PLACE_AROUND, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .windows = WINDOWS_EVEN,
     .defaults = {TIED, {"head_dim", 256}, {"num_key_value_heads", 4}, {"sliding_window", 4096}}},
    {.types = "gemma3 gemma3_text", .activation = "gelu", .place = PLACE_AROUND, .qk_norm = QK_NORM_HEAD,
     .qkv_bias = "attention_bias", .output_bias = "attention_bias", .windows = WINDOWS_PATTERN,
     .defaults = {TIED, {"head_dim", 256}, {"num_attention_heads", 8}, {"num_key_value_heads", 4},
                  {"sliding_window", 4096}, {"sliding_window_pattern", 6}, {"hidden_size", 2304},
                  {"num_hidden_layers", 26}, {"intermediate_size", 9216}, {"vocab_size", 262208},
                  {"max_position_embeddings", 131072}}},
    {.types = "gemma4 gemma4_text", .activation = "gelu", .place = PLACE_AROUND, .qk_norm = QK_NORM_HEAD,
     .qkv_bias = "attention_bias", .output_bias = "attention_bias", .windows = WINDOWS_PATTERN, .apply = odd_gemma4,
     .defaults = {TIED, {"head_dim", 256}, {"num_attention_heads", 8}, {"num_key_value_heads", 4},
                  {"sliding_window", 512}, {"sliding_window_pattern", 6}, {"global_head_dim", 512},
                  {"vocab_size", 262144}, {"hidden_size_per_layer_input", 256}, {"max_position_embeddings", 131072}}},

    /* --- Latent attention (fields of it make a layer latent) --------------------------------------------------- */
    {.types = "deepseek_v2 deepseek_v2_lite", .qkv_bias = "attention_bias", .output_bias = "attention_bias",
     .defaults = {{"kv_lora_rank", 512}, {"q_lora_rank", 1536}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64},
                  {"v_head_dim", 128}, {"moe_layer_freq", 1}, {"moe_intermediate_size", 1407},
                  {"first_k_dense_replace", 0}}},
    {.types = "deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 glm_moe_dsa glm4_moe_lite mistral_large_3 pangu_ultra_moe "
              "axk1 youtu", .qkv_bias = "attention_bias", .output_bias = "attention_bias", .score_bias = ALWAYS,
     .defaults = {{"kv_lora_rank", 512}, {"q_lora_rank", 1536}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64},
                  {"v_head_dim", 128}, {"first_k_dense_replace", 3}, {"n_routed_experts", 256},
                  {"num_experts_per_tok", 8}, {"moe_intermediate_size", 2048}, {"n_shared_experts", 1}}},
    {.types = "minicpm3", .defaults = {TIED}},
    {.types = "kimi_linear kimi_k3", .score_bias = ALWAYS, .apply = odd_kimi_linear},

    /* --- Mixtures of experts ----------------------------------------------------------------------------------- */
    {.types = "gpt_oss", .qkv_bias = "attention_bias", .output_bias = "attention_bias", .expert_bias = ALWAYS,
     .router_bias = ALWAYS, .sinks = ALWAYS, .windows = WINDOWS_EVEN,
     .defaults = {{"attention_bias", 1}, {"head_dim", 64}, {"sliding_window", 128}, {"num_local_experts", 128},
                  {"num_experts_per_tok", 4}, {"num_key_value_heads", 8}}},
    {.types = "glm chatglm_hf", .has_fused_gate = true, .qkv_bias = "attention_bias",
     .defaults = {{"attention_bias", 1}, {"head_dim", 128}, {"num_key_value_heads", 2}}},
    {.types = "glm4 glm4v_text glm4v", .has_fused_gate = true, .place = PLACE_AROUND, .qkv_bias = "attention_bias",
     .defaults = {{"attention_bias", 1}, {"num_key_value_heads", 2}}},
    {.types = "glm4_moe glm4v_moe glm4v_moe_text", .qkv_bias = "attention_bias", .qk_norm = QK_NORM_HEAD,
     .qk_norm_field = "use_qk_norm", .score_bias = ALWAYS,
     .defaults = {{"n_routed_experts", 128}, {"n_shared_experts", 1}, {"num_experts_per_tok", 8},
                  {"first_k_dense_replace", 1}, {"moe_intermediate_size", 1408}, {"head_dim", 128},
                  {"num_key_value_heads", 8}}},
    {.types = "dots1", .qkv_bias = "attention_bias", .output_bias = "attention_bias", .qk_norm = QK_NORM_HEAD,
     .score_bias = ALWAYS},
    {.types = "ernie4_5", .qkv_bias = "use_bias", .output_bias = "use_bias", .mlp_bias = "use_bias",
     .defaults = {TIED, {"num_key_value_heads", 2}}},
    {.types = "ernie4_5_moe ernie4_5_vl_moe_text", .qkv_bias = "use_bias", .output_bias = "use_bias",
     .mlp_bias = "use_bias", .score_bias = ALWAYS,
     .defaults = {TIED, {"moe_num_experts", 64}, {"moe_k", 6}, {"moe_num_shared_experts", 2},
                  {"moe_layer_start_index", 1}, {"moe_layer_interval", 1}, {"num_key_value_heads", 4},
                  {"moe_intermediate_size", 1536}}},
    {.types = "hunyuan hunyuan_v1_dense hunyuan_v1_moe hunyuan_dense hunyuan_moe", .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .qk_norm = QK_NORM_HEAD, .qk_norm_field = "use_qk_norm",
     .defaults = {{"use_qk_norm", 1}}},
    {.types = "minimax_m2", .qk_norm = QK_NORM_WIDTH, .qk_norm_field = "use_qk_norm", .score_bias = ALWAYS,
     .defaults = {{"use_qk_norm", 1}, {"head_dim", 128}, {"num_key_value_heads", 8}}},
    {.types = "minimax minimax_m1 minimax_text_01", .apply = odd_minimax},
    {.types = "bailing_moe bailing_moe_v2 bailing_moe_linear ling", .has_fused_qkv = true, .qkv_bias = "use_qkv_bias",
     .output_bias = "use_bias", .mlp_bias = "use_bias", .qk_norm = QK_NORM_HEAD, .qk_norm_field = "use_qk_norm",
     .score_bias = "moe_router_enable_expert_bias"},
    {.types = "step3p5 step3p7 step3p5_flash", .qk_norm = QK_NORM_HEAD, .score_bias = "use_moe_router_bias",
     .sinks = "use_sink"},
    {.types = "dbrx", .norm = NORM_LAYER_SCALE, .has_fused_qkv = true, .apply = odd_dbrx},
    {.types = "grok-1 grok", .place = PLACE_AROUND, .activation = "gelu"},
    {.types = "jetmoe", .position = POSITION_ROTARY},
    {.types = "longcat_flash", .score_bias = ALWAYS},

    /* --- GPT and its relatives --------------------------------------------------------------------------------- */
    {.types = "gpt2 gpt3 openai-gpt cerebras-gpt", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true,
     .position = POSITION_LEARNED, BIASED_EVERYWHERE, .has_fused_qkv = true, .has_wide_inner = true,
     .defaults = {TIED, {"n_positions", 1024}}},
    {.types = "gpt_neo", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_LEARNED,
     .output_bias = ALWAYS, .mlp_bias = ALWAYS, .has_wide_inner = true, .windows = WINDOWS_ALTERNATE,
     .defaults = {TIED, {"window_size", 256}, {"max_position_embeddings", 2048}}},
    {.types = "gptj codegen", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .parallel = ALWAYS,
     .mlp_bias = ALWAYS, .head_bias = ALWAYS, .has_wide_inner = true},
    {.types = "gpt_neox", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true,
     .parallel = "use_parallel_residual", .two_norms = ALWAYS, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .mlp_bias = ALWAYS, .has_fused_qkv = true, .has_wide_inner = true,
     .defaults = {{"use_parallel_residual", 1}, {"attention_bias", 1}}},
    {.types = "gpt_bigcode", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_LEARNED,
     BIASED_EVERYWHERE, .has_fused_qkv = true, .has_wide_inner = true, .apply = odd_bigcode,
     .defaults = {TIED, {"multi_query", 1}, {"n_positions", 1024}}},
    {.types = "opt", .norm = NORM_LAYER, .activation = "relu", .is_plain = true, .position = POSITION_LEARNED,
     .qkv_bias = "enable_bias", .output_bias = "enable_bias", .mlp_bias = "enable_bias", .apply = odd_opt,
     .defaults = {TIED, {"enable_bias", 1}, {"do_layer_norm_before", 1}, {"max_position_embeddings", 2048}}},
    {.types = "bloom", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .position = POSITION_NONE,
     BIASED_EVERYWHERE, .has_fused_qkv = true, .has_embedding_norm = true, .has_wide_inner = true, .defaults = {TIED}},
    {.types = "mpt", .norm = NORM_LAYER_SCALE, .activation = "gelu", .is_plain = true, .position = POSITION_NONE,
     .has_fused_qkv = true, .apply = odd_mpt, .defaults = {TIED, {"expansion_ratio", 4}}},
    {.types = "falcon refinedwebmodel refinedweb", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true,
     .parallel = "parallel_attn", .two_norms = "new_decoder_architecture", .qkv_bias = "bias", .output_bias = "bias",
     .mlp_bias = "bias", .has_fused_qkv = true, .has_wide_inner = true, .apply = odd_falcon,
     .defaults = {TIED, {"parallel_attn", 1}, {"multi_query", 1}}},
    {.types = "starcoder2", .norm = NORM_LAYER, .activation = "gelu", .is_plain = true, .qkv_bias = "use_bias",
     .output_bias = "use_bias", .mlp_bias = "use_bias", .windows = WINDOWS_ALL,
     .defaults = {TIED, {"use_bias", 1}, {"num_key_value_heads", 2}}},
    {.types = "persimmon", .norm = NORM_LAYER, .activation = "relu2", .is_plain = true, BIASED_EVERYWHERE,
     .has_fused_qkv = true, .qk_norm = QK_NORM_HEAD, .qk_norm_field = "qk_layernorm",
     .defaults = {{"qk_layernorm", 1}}},
    {.types = "stablelm stablelm_epoch", .norm = NORM_LAYER, .parallel = "use_parallel_residual",
     .qkv_bias = "use_qkv_bias", .qk_norm = QK_NORM_HEADS, .qk_norm_field = "qk_layernorm"},
    {.types = "cohere", .norm = NORM_LAYER_SCALE, .parallel = ALWAYS, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .qk_norm = QK_NORM_HEADS, .qk_norm_field = "use_qk_norm", .defaults = {TIED}},
    {.types = "cohere2 cohere2_moe", .norm = NORM_LAYER_SCALE, .parallel = ALWAYS, .qkv_bias = "attention_bias",
     .output_bias = "attention_bias", .windows = WINDOWS_PATTERN,
     .defaults = {TIED, {"sliding_window", 4096}, {"sliding_window_pattern", 4}}},
    {.types = "chatglm", .has_fused_qkv = true, .has_fused_gate = true, .qkv_bias = "add_qkv_bias",
     .output_bias = "add_bias_linear", .mlp_bias = "add_bias_linear", .apply = odd_chatglm},

    /* --- Recurrent layers, with and without attention ----------------------------------------------------------- */
    {.types = "mamba falcon_mamba", .position = POSITION_NONE, .has_no_heads = true, .apply = odd_mamba,
     .defaults = {TIED, {"state_size", 16}, {"expand", 2}, {"conv_kernel", 4}, {"use_conv_bias", 1}}},
    {.types = "mamba2", .position = POSITION_NONE, .has_no_heads = true, .apply = odd_mamba2,
     .defaults = {{"state_size", 128}, {"expand", 2}, {"conv_kernel", 4}, {"n_groups", 8}, {"use_conv_bias", 1},
                  {"head_dim", 64}, {"num_heads", 128}}},
    {.types = "nemotron_h", .position = POSITION_NONE, .is_plain = true, .activation = "relu2",
     .qkv_bias = "attention_bias", .output_bias = "attention_bias", .mlp_bias = "mlp_bias", .score_bias = ALWAYS,
     .apply = odd_nemotron_h,
     .defaults = {{"ssm_state_size", 128}, {"conv_kernel", 4}, {"n_groups", 8}, {"use_conv_bias", 1},
                  {"mamba_head_dim", 64}, {"mamba_num_heads", 128}, {"num_key_value_heads", 8}, {"head_dim", 128}}},
    {.types = "jamba", .position = POSITION_NONE, .apply = odd_jamba,
     .defaults = {{"mamba_d_state", 16}, {"mamba_d_conv", 4}, {"mamba_expand", 2}, {"mamba_conv_bias", 1},
                  {"attn_layer_period", 8}, {"attn_layer_offset", 4}, {"expert_layer_period", 2},
                  {"expert_layer_offset", 1}, {"num_experts", 16}, {"num_experts_per_tok", 2},
                  {"num_key_value_heads", 8}}},
    {.types = "bamba granitemoehybrid granite_hybrid", .qkv_bias = "attention_bias", .output_bias = "attention_bias",
     .apply = odd_bamba,
     .defaults = {{"mamba_d_state", 128}, {"mamba_d_conv", 4}, {"mamba_expand", 2}, {"mamba_conv_bias", 1},
                  {"mamba_n_groups", 1}, {"mamba_n_heads", 128}}},
    {.types = "lfm2 lfm2_moe lfm2_vl", .qk_norm = QK_NORM_HEAD, .score_bias = "use_expert_bias", .apply = odd_lfm2,
     .defaults = {TIED, {"conv_L_cache", 3}, {"use_expert_bias", 1}, {"num_key_value_heads", 8},
                  {"block_auto_adjust_ff_dim", 1}, {"block_multiple_of", 256}, {"block_ffn_dim_multiplier", 1}}},
};
/* clang-format on */

bool architecture_names(const architecture *a, const char *lower) {
    size_t length = strlen(lower);
    const char *list = a->types;
    for (const char *at = strstr(list, lower); length > 0 && at != NULL; at = strstr(at + 1, lower))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
    return false;
}

const architecture *architecture_of(const char *type) {
    char lower[64];
    size_t i;
    for (i = 0; type[i] != '\0' && i + 1 < sizeof lower; i++)
        lower[i] = (char)(type[i] >= 'A' && type[i] <= 'Z' ? type[i] - 'A' + 'a' : type[i]);
    lower[i] = '\0';
    if (strchr(lower, ' ') != NULL) return NULL;
    for (size_t k = 0; k < sizeof decoders / sizeof decoders[0]; k++)
        if (architecture_names(&decoders[k], lower)) return &decoders[k];
    return architecture_encoder_of(lower);
}

/* Whether the first word of a list is the class up to its ending, capitals and underscores apart; its length. */
static size_t class_length(const char *word, const char *name) {
    size_t i = 0;
    for (; word[i] != '\0' && word[i] != ' '; i++) {
        if (word[i] == '_' || word[i] == '-') continue;
        char c = *name++;
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != word[i]) return 0;
    }
    bool is_whole = strncmp(name, "For", 3) == 0 || strncmp(name, "LMHead", 6) == 0 || strncmp(name, "Model", 5) == 0;
    return is_whole ? i : 0;
}

const char *architecture_type_of_class(const char *name) {
    for (size_t k = 0; k < sizeof decoders / sizeof decoders[0]; k++) {
        const char *word = decoders[k].types;
        while (*word != '\0') {
            if (class_length(word, name) > 0) return word;
            word += strcspn(word, " ");
            word += strspn(word, " ");
        }
    }
    return NULL;
}
