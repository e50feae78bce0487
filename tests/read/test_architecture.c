/* Parameters of published models of each kind of architecture, from the fields of their configurations: the counts of
 * their weights (without the extra layers of multi-token prediction), active parameters, cache and state by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "foretell/language.h"

typedef struct published {
    const char *name, *fields; /* with ' for " */
    uint64_t params, active, cache, state;
} published;

/* clang-format off */
static const published models[] = {
    {"gpt2",
     "'model_type': 'gpt2', 'n_embd': 768, 'n_layer': 12, 'n_head': 12, 'vocab_size': 50257, "
     "'n_positions': 1024",
     124439808, 124439808, 36864, 0},
    {"opt-125m",
     "'model_type': 'opt', 'hidden_size': 768, 'num_hidden_layers': 12, 'num_attention_heads': 12, "
     "'ffn_dim': 3072, 'vocab_size': 50272, 'word_embed_proj_dim': 768, 'max_position_embeddings': "
     "2048, 'do_layer_norm_before': true",
     125239296, 125239296, 36864, 0},
    {"opt-350m",
     "'model_type': 'opt', 'hidden_size': 1024, 'num_hidden_layers': 24, 'num_attention_heads': 16, "
     "'ffn_dim': 4096, 'vocab_size': 50272, 'word_embed_proj_dim': 512, 'max_position_embeddings': "
     "2048, 'do_layer_norm_before': false",
     331196416, 331196416, 98304, 0},
    {"pythia-160m",
     "'model_type': 'gpt_neox', 'hidden_size': 768, 'num_hidden_layers': 12, 'num_attention_heads': "
     "12, 'intermediate_size': 3072, 'vocab_size': 50304, 'use_parallel_residual': true",
     162322944, 162322944, 36864, 0},
    {"bloom-560m",
     "'model_type': 'bloom', 'hidden_size': 1024, 'n_layer': 24, 'num_attention_heads': 16, "
     "'vocab_size': 250880",
     559214592, 559214592, 98304, 0},
    {"gpt-j-6b",
     "'model_type': 'gptj', 'n_embd': 4096, 'n_layer': 28, 'n_head': 16, 'vocab_size': 50400, "
     "'rotary_dim': 64",
     6050882784, 6050882784, 458752, 0},
    {"mpt-7b",
     "'model_type': 'mpt', 'd_model': 4096, 'n_heads': 32, 'n_layers': 32, 'vocab_size': 50432, "
     "'expansion_ratio': 4, 'max_seq_len': 2048",
     6649286656, 6649286656, 524288, 0},
    {"falcon-7b",
     "'model_type': 'falcon', 'hidden_size': 4544, 'num_hidden_layers': 32, 'num_attention_heads': 71, "
     "'vocab_size': 65024, 'multi_query': true, 'parallel_attn': true, 'new_decoder_architecture': "
     "false, 'bias': false",
     6921720704, 6921720704, 8192, 0},
    {"falcon-40b",
     "'model_type': 'falcon', 'hidden_size': 8192, 'num_hidden_layers': 60, 'num_attention_heads': "
     "128, 'num_kv_heads': 8, 'vocab_size': 65024, 'new_decoder_architecture': true, 'bias': false",
     41303293952, 41303293952, 122880, 0},
    {"phi-2",
     "'model_type': 'phi', 'hidden_size': 2560, 'intermediate_size': 10240, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'vocab_size': 51200",
     2779683840, 2779683840, 327680, 0},
    {"Phi-3-mini-4k",
     "'model_type': 'phi3', 'hidden_size': 3072, 'intermediate_size': 8192, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 32, 'vocab_size': 32064, 'sliding_window': "
     "2047",
     3821079552, 3821079552, 393216, 0},
    {"Phi-3.5-MoE",
     "'model_type': 'phimoe', 'hidden_size': 4096, 'intermediate_size': 6400, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 32064, 'num_local_experts': 16, "
     "'num_experts_per_tok': 2, 'attention_bias': true, 'lm_head_bias': true, 'sliding_window': 131072",
     41873153344, 6640999744, 131072, 0},
    {"Phi-4-mini",
     "'model_type': 'phi3', 'hidden_size': 3072, 'intermediate_size': 8192, 'num_hidden_layers': 32, "
     "'num_attention_heads': 24, 'num_key_value_heads': 8, 'vocab_size': 200064, 'tie_word_embeddings': true, "
     "'partial_rotary_factor': 0.75, 'sliding_window': null",
     3836021760, 3836021760, 131072, 0},
    {"Qwen1.5-MoE-A2.7B",
     "'model_type': 'qwen2_moe', 'hidden_size': 2048, 'intermediate_size': 5632, 'num_hidden_layers': 24, "
     "'num_attention_heads': 16, 'num_key_value_heads': 16, 'vocab_size': 151936",
     14315784192, 2689173504, 196608, 0},
    {"Mixtral-8x22B",
     "'model_type': 'mixtral', 'hidden_size': 6144, 'intermediate_size': 16384, 'num_hidden_layers': 56, "
     "'num_attention_heads': 48, 'num_key_value_heads': 8, 'vocab_size': 32000, 'sliding_window': null",
     140620634112, 39152031744, 229376, 0},
    {"Mistral-Nemo",
     "'model_type': 'mistral', 'hidden_size': 5120, 'intermediate_size': 14336, 'num_hidden_layers': 40, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 131072, 'sliding_window': null",
     12247782400, 12247782400, 163840, 0},
    {"Mistral-Small-24B",
     "'model_type': 'mistral', 'hidden_size': 5120, 'intermediate_size': 32768, 'num_hidden_layers': 40, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 131072, 'sliding_window': null",
     23572403200, 23572403200, 163840, 0},
    {"Kimi-K2",
     "'model_type': 'kimi_k2', 'hidden_size': 7168, 'intermediate_size': 18432, 'num_hidden_layers': 61, "
     "'num_attention_heads': 64, 'num_key_value_heads': 64, 'vocab_size': 163840, 'n_routed_experts': 384, "
     "'first_k_dense_replace': 1, 'q_lora_rank': 1536, 'kv_lora_rank': 512, 'tie_word_embeddings': false",
     1026408232448, 32861500928, 70272, 0},
    {"Llama-2-70b",
     "'model_type': 'llama', 'hidden_size': 8192, 'intermediate_size': 28672, 'num_hidden_layers': 80, "
     "'num_attention_heads': 64, 'num_key_value_heads': 8, 'vocab_size': 32000, 'pretraining_tp': 1",
     68976648192, 68976648192, 327680, 0},
    {"Llama-3.2-1B",
     "'model_type': 'llama', 'hidden_size': 2048, 'intermediate_size': 8192, 'num_hidden_layers': 16, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 64, 'vocab_size': 128256, "
     "'tie_word_embeddings': true, 'rope_scaling': {'factor': 32.0, 'rope_type': 'llama3'}",
     1235814400, 1235814400, 32768, 0},
    {"starcoder2-3b",
     "'model_type': 'starcoder2', 'hidden_size': 3072, 'intermediate_size': 12288, "
     "'num_hidden_layers': 30, 'num_attention_heads': 24, 'num_key_value_heads': 2, 'vocab_size': "
     "49152, 'use_bias': true, 'sliding_window': 4096",
     3030371328, 3030371328, 30720, 0},
    {"stablelm-3b-4e1t",
     "'model_type': 'stablelm', 'hidden_size': 2560, 'intermediate_size': 6912, 'num_hidden_layers': "
     "32, 'num_attention_heads': 32, 'num_key_value_heads': 32, 'vocab_size': 50304",
     2795443200, 2795443200, 327680, 0},
    {"command-r-v01",
     "'model_type': 'cohere', 'hidden_size': 8192, 'intermediate_size': 22528, 'num_hidden_layers': "
     "40, 'num_attention_heads': 64, 'vocab_size': 256000, 'use_qk_norm': false",
     34980831232, 34980831232, 1310720, 0},
    {"OLMo-2-7B",
     "'model_type': 'olmo2', 'hidden_size': 4096, 'intermediate_size': 11008, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'vocab_size': 100352",
     7298617344, 7298617344, 524288, 0},
    {"OLMoE-1B-7B",
     "'model_type': 'olmoe', 'hidden_size': 2048, 'intermediate_size': 1024, 'num_hidden_layers': 16, "
     "'num_attention_heads': 16, 'vocab_size': 50304, 'num_experts': 64, 'num_experts_per_tok': 8",
     6919161856, 1282017280, 131072, 0},
    {"dbrx",
     "'model_type': 'dbrx', 'd_model': 6144, 'n_heads': 48, 'n_layers': 40, 'vocab_size': 100352, "
     "'attn_config': {'kv_n_heads': 8}, 'ffn_config': {'ffn_hidden_size': 10752, 'moe_num_experts': "
     "16, 'moe_top_k': 4}",
     131596523520, 36469708800, 163840, 0},
    {"gemma-2-2b",
     "'model_type': 'gemma2', 'hidden_size': 2304, 'intermediate_size': 9216, 'num_hidden_layers': 26, "
     "'num_attention_heads': 8, 'num_key_value_heads': 4, 'head_dim': 256, 'vocab_size': 256000",
     2614341888, 2614341888, 106496, 0},
    {"gemma-3-1b",
     "'model_type': 'gemma3_text', 'hidden_size': 1152, 'intermediate_size': 6912, "
     "'num_hidden_layers': 26, 'num_attention_heads': 4, 'num_key_value_heads': 1, 'head_dim': 256, "
     "'vocab_size': 262144, 'sliding_window': 512, 'sliding_window_pattern': 6",
     999885952, 999885952, 26624, 0},
    {"gemma-3-4b (text)",
     "'model_type': 'gemma3', 'text_config': {'model_type': 'gemma3_text', 'hidden_size': 2560, "
     "'intermediate_size': 10240, 'num_hidden_layers': 34, 'sliding_window': 1024}",
     3880263168, 3880263168, 139264, 0},
    {"gemma-4-31B (text)",
     "'model_type': 'gemma4', 'text_config': {'model_type': 'gemma4_text', 'hidden_size': 5376, "
     "'intermediate_size': 21504, 'num_hidden_layers': 60, 'num_attention_heads': 32, "
     "'num_key_value_heads': 16, 'num_global_key_value_heads': 4, 'head_dim': 256, 'global_head_dim': "
     "512, 'attention_k_eq_v': true, 'hidden_size_per_layer_input': 0, 'vocab_size': 262144}",
     30697345280, 30697345280, 901120, 0},
    {"glm-4-9b",
     "'model_type': 'glm', 'hidden_size': 4096, 'intermediate_size': 13696, 'num_hidden_layers': 40, "
     "'num_attention_heads': 32, 'num_key_value_heads': 2, 'head_dim': 128, 'vocab_size': 151552, "
     "'attention_bias': true",
     9399951360, 9399951360, 40960, 0},
    {"GLM-4.5-Air",
     "'model_type': 'glm4_moe', 'hidden_size': 4096, 'intermediate_size': 10944, 'num_hidden_layers': "
     "46, 'num_attention_heads': 96, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 151552, "
     "'attention_bias': true, 'n_routed_experts': 128, 'moe_intermediate_size': 1408, "
     "'first_k_dense_replace': 1, 'n_shared_experts': 1, 'num_experts_per_tok': 8",
     106852251264, 13424129664, 188416, 0},
    {"MiniMax-M2",
     "'model_type': 'minimax_m2', 'hidden_size': 3072, 'intermediate_size': 1536, 'num_hidden_layers': "
     "62, 'num_attention_heads': 48, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 200064, "
     "'num_local_experts': 256, 'num_experts_per_tok': 8",
     228689764864, 11030553088, 253952, 0},
    {"DeepSeek-V2-Lite",
     "'model_type': 'deepseek_v2', 'hidden_size': 2048, 'intermediate_size': 10944, "
     "'moe_intermediate_size': 1408, 'num_hidden_layers': 27, 'num_attention_heads': 16, "
     "'num_key_value_heads': 16, 'vocab_size': 102400, 'q_lora_rank': null, 'kv_lora_rank': 512, "
     "'n_routed_experts': 64, 'n_shared_experts': 2, 'num_experts_per_tok': 6, "
     "'first_k_dense_replace': 1, 'moe_layer_freq': 1",
     15706484224, 2661150208, 31104, 0},
    {"Kimi-Linear-48B",
     "'model_type': 'kimi_linear', 'hidden_size': 2304, 'intermediate_size': 9216, "
     "'num_hidden_layers': 27, 'num_attention_heads': 32, 'num_key_value_heads': 32, 'vocab_size': "
     "163840, 'q_lora_rank': null, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': "
     "64, 'v_head_dim': 128, 'num_experts': 256, 'num_experts_per_token': 8, 'num_shared_experts': 1, "
     "'moe_intermediate_size': 1024, 'first_k_dense_replace': 1, 'moe_layer_freq': 1, "
     "'linear_attn_config': {'full_attn_layers': [4, 8, 12, 16, 20, 24, 27], 'num_heads': 32, "
     "'head_dim': 128, 'short_conv_kernel_size': 4}",
     49122681728, 3484459904, 8064, 43417600},
    {"Qwen3-Next-80B",
     "'model_type': 'qwen3_next', 'hidden_size': 2048, 'intermediate_size': 5120, 'num_hidden_layers': "
     "48, 'num_attention_heads': 16, 'num_key_value_heads': 2, 'head_dim': 256, 'vocab_size': 151936, "
     "'num_experts': 512, 'num_experts_per_tok': 10, 'moe_intermediate_size': 512, "
     "'shared_expert_intermediate_size': 512, 'full_attention_interval': 4, 'linear_num_value_heads': "
     "32, 'linear_num_key_heads': 16",
     79674391296, 3874929408, 24576, 77266944},
    {"mamba-130m",
     "'model_type': 'mamba', 'hidden_size': 768, 'num_hidden_layers': 24, 'vocab_size': 50280, "
     "'state_size': 16, 'expand': 2, 'conv_kernel': 4, 'intermediate_size': 1536, 'time_step_rank': "
     "48, 'use_conv_bias': true, 'use_bias': false",
     129135360, 129135360, 0, 2580480},
    {"mamba2-2.7b",
     "'model_type': 'mamba2', 'hidden_size': 2560, 'num_hidden_layers': 64, 'vocab_size': 50288, "
     "'state_size': 128, 'expand': 2, 'conv_kernel': 4, 'n_groups': 1, 'head_dim': 64, 'num_heads': "
     "80, 'tie_word_embeddings': true",
     2702599680, 2702599680, 0, 169836544},
    {"Jamba-v0.1",
     "'model_type': 'jamba', 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': 32, "
     "'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 65536, 'num_experts': 16, "
     "'num_experts_per_tok': 2",
     51570323328, 12110311296, 16384, 16056320},
    {"Nemotron-H-8B",
     "'model_type': 'nemotron_h', 'hidden_size': 4096, 'intermediate_size': 21504, "
     "'num_hidden_layers': 52, 'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "
     "'vocab_size': 131072, 'hybrid_override_pattern': "
     "'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-', 'mamba_num_heads': 128, "
     "'mamba_head_dim': 64, 'ssm_state_size': 128, 'n_groups': 8, 'conv_kernel': 4",
     8100852736, 8100852736, 16384, 102137856},
    {"LFM2-1.2B",
     "'model_type': 'lfm2', 'hidden_size': 2048, 'block_ff_dim': 12288, 'intermediate_size': 12288, "
     "'num_hidden_layers': 16, 'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': "
     "65536, 'full_attn_idxs': [2, 5, 8, 10, 12, 14]",
     1170340608, 1170340608, 12288, 81920},
};
/* clang-format on */

/* Models with an encoder: cache and kept keys of the encoder, both for a token. */
static const published encoders[] = {
    {"bert-base (model)", "'model_type': 'bert'", 109482240, 0, 0, 0},
    {"bert-base (words)", "'model_type': 'bert', 'architectures': ['BertForMaskedLM']", 109514298, 0, 0, 0},
    {"bert-large (words)",
     "'model_type': 'bert', 'architectures': ['BertLMHeadModel'], 'hidden_size': 1024, 'num_hidden_layers': 24, "
     "'num_attention_heads': 16, 'intermediate_size': 4096",
     335174458, 0, 0, 0},
    {"roberta-base",
     "'model_type': 'roberta', 'architectures': ['RobertaForMaskedLM'], 'vocab_size': 50265, "
     "'max_position_embeddings': 514, 'type_vocab_size': 1",
     124697433, 0, 0, 0},
    {"distilbert-base", "'model_type': 'distilbert', 'architectures': ['DistilBertModel']", 66362880, 0, 0, 0},
    {"vit-base (model)", "'model_type': 'vit'", 86389248, 0, 0, 0},
    {"vit-base (2 classes)", "'model_type': 'vit', 'architectures': ['ViTForImageClassification']", 85800194, 0, 0, 0},
    {"t5-small", "'model_type': 't5'", 60506624, 60506624, 12288, 12288},
    {"t5-base", "'model_type': 't5', 'd_model': 768, 'd_ff': 3072, 'num_layers': 12, 'num_heads': 12", 222903552,
     222903552, 36864, 36864},
    {"t5-11b", "'model_type': 't5', 'd_model': 1024, 'd_ff': 65536, 'd_kv': 128, 'num_layers': 24, 'num_heads': 128",
     11307321344, 11307321344, 1572864, 1572864},
    {"flan-t5-base",
     "'model_type': 't5', 'd_model': 768, 'd_ff': 2048, 'num_layers': 12, 'num_heads': 12, 'feed_forward_proj': "
     "'gated-gelu', 'tie_word_embeddings': false",
     247577856, 247577856, 36864, 36864},
    {"switch-base-8",
     "'model_type': 'switch_transformers', 'd_ff': 3072, 'num_sparse_encoder_layers': 6, "
     "'num_sparse_decoder_layers': 6",
     619339008, 222977280, 36864, 36864},
    {"bart-base",
     "'model_type': 'bart', 'd_model': 768, 'encoder_layers': 6, 'decoder_layers': 6, 'encoder_ffn_dim': 3072, "
     "'decoder_ffn_dim': 3072, 'encoder_attention_heads': 12, 'decoder_attention_heads': 12",
     139420416, 139420416, 18432, 18432},
    {"bart-large", "'model_type': 'bart'", 406291456, 406291456, 49152, 49152},
    {"whisper-tiny", "'model_type': 'whisper'", 37760640, 37760640, 6144, 6144},
    {"whisper-large-v3-turbo",
     "'model_type': 'whisper', 'd_model': 1280, 'encoder_layers': 32, 'decoder_layers': 4, 'encoder_ffn_dim': 5120, "
     "'decoder_ffn_dim': 5120, 'encoder_attention_heads': 20, 'decoder_attention_heads': 20, 'num_mel_bins': 128, "
     "'vocab_size': 51866, 'num_hidden_layers': 32",
     808878080, 808878080, 20480, 20480},
};

static ft_status read_fields(const char *fields, ft_graph **graph, ft_error *error) {
    char text[2048];
    int size = snprintf(text, sizeof text, "{%s, \"torch_dtype\": \"bfloat16\"}", fields);
    assert_in_range(size, 1, sizeof text - 1);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    return ft_graph_read_memory(text, (size_t)size, "config.json", graph, error);
}

static void counts_are_those_of_the_published_weights(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const published *m = &models[i];
        ft_graph *graph = NULL;
        ft_error error = {0};
        ft_language l;
        if (read_fields(m->fields, &graph, &error) != FT_OK) fail_msg("%s: %s", m->name, error.message);
        if (ft_graph_meta(graph, "note") != NULL) fail_msg("%s: %s", m->name, ft_graph_meta(graph, "note"));
        assert_int_equal(ft_language_of(graph, NULL, &l, &error), FT_OK);
        if (l.params != m->params || l.active_params != m->active || l.kv_bytes_per_token != m->cache ||
            l.state_bytes != m->state)
            fail_msg("%s: %llu parameters, %llu active, %llu bytes a token, %llu of state", m->name,
                     (unsigned long long)l.params, (unsigned long long)l.active_params,
                     (unsigned long long)l.kv_bytes_per_token, (unsigned long long)l.state_bytes);
        if (!(l.decode_flops_per_token > 0) || !(l.prefill_flops_per_token > 0)) fail_msg("%s: no FLOPs", m->name);
        ft_graph_free(graph);
    }
}

static uint64_t bound_params(const ft_graph *graph) {
    ft_graph *bound = NULL;
    ft_cost cost;
    ft_error error;
    const ft_shape_binding sizes[] = {{.name = "sequence", .rank = 1, .dims = {8}}};
    ft_binding binding = {.batch = 2, .shapes = sizes, .shape_count = 1};
    if (ft_graph_bind(graph, &binding, &bound, &error) != FT_OK &&
        ft_graph_bind(graph, &(ft_binding){.batch = 2}, &bound, &error) != FT_OK)
        fail_msg("%s", error.message);
    ft_cost_options options = ft_cost_options_default();
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t params = cost.total.params;
    assert_int_equal(cost.estimated_ops, 0);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    return params;
}

/* Encoders keep no cache; decoders behind one keep its keys and values too. */
static void counts_of_models_with_an_encoder_are_those_of_the_published_weights(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof encoders / sizeof encoders[0]; i++) {
        const published *m = &encoders[i];
        ft_graph *graph = NULL;
        ft_error error = {0};
        ft_language l;
        if (read_fields(m->fields, &graph, &error) != FT_OK) fail_msg("%s: %s", m->name, error.message);
        assert_null(ft_graph_meta(graph, "note"));
        assert_int_equal(ft_language_of(graph, NULL, &l, &error), FT_OK);
        uint64_t params = l.has_cache ? l.params : bound_params(graph);
        uint64_t cache = l.has_cache ? l.kv_bytes_per_token : 0, kept = l.has_cache ? l.input_kv_bytes_per_token : 0;
        if (params != m->params || l.has_cache != (m->cache > 0) || cache != m->cache || kept != m->state ||
            (l.has_cache && l.active_params != m->active))
            fail_msg("%s: %llu parameters, %llu active, %llu and %llu bytes a token", m->name,
                     (unsigned long long)params, (unsigned long long)l.active_params, (unsigned long long)cache,
                     (unsigned long long)kept);
        ft_graph_free(graph);
    }
}

/* A step of decoding does not run the encoder again, and the prompt is the encoder's. */
static void an_encoder_runs_with_the_prompt(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error = {0};
    ft_language l;
    assert_int_equal(read_fields("'model_type': 'whisper'", &graph, &error), FT_OK);
    assert_int_equal(ft_language_of(graph, NULL, &l, &error), FT_OK);
    assert_int_equal(l.prompt_tokens, 1500);
    assert_int_equal(l.context_tokens, 448);
    assert_int_equal(l.kv_needed_bytes, 448 * 6144 + 1500 * 6144);
    /* Matrices of the decoder without those of the encoder's keys and values, its head, and attention to both. */
    double matrices = 4 * (4 * 384 * 384 + 2 * 384 * 384 + 2 * 384 * 1536) + 51865. * 384;
    double attention = 4. * (448 + 1500) * 384 * 2;
    assert_true(l.decode_flops_per_token > 2 * (matrices + attention));
    assert_true(l.decode_flops_per_token < 2.02 * (matrices + attention));
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_published_weights),
        cmocka_unit_test(counts_of_models_with_an_encoder_are_those_of_the_published_weights),
        cmocka_unit_test(an_encoder_runs_with_the_prompt)};
    return cmocka_run_group_tests_name("read/architecture", tests, NULL, NULL);
}
