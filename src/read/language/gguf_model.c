/* gguf_model.c - from the metadata of a GGUF file to the fields of a config.json, which the reader of those turns into
 * a model; the types of its weights are those of the file (gguf_names.c). */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "read/language/config.h"
#include "read/language/gguf.h"
#include "read/language/language_graph.h"

/* --- Tables ------------------------------------------------------------------------------------------------------ */

typedef struct key_field {
    const char *key; /* after "llama." */
    const char *field;
    bool is_none_at_0;
} key_field;

/* clang-format off */
static const key_field key_fields[] = {
    {"block_count", "num_hidden_layers", false}, {"embedding_length", "hidden_size", false},
    {"attention.head_count", "num_attention_heads", false},
    {"attention.head_count_kv", "num_key_value_heads", false}, {"attention.key_length", "head_dim", false},
    {"attention.value_length", "v_head_dim", false}, {"vocab_size", "vocab_size", false},
    {"context_length", "max_position_embeddings", false}, {"attention.sliding_window", "sliding_window", true},
    {"feed_forward_length", "intermediate_size", true},
    {"expert_count", "num_experts", true}, {"expert_used_count", "num_experts_per_tok", true},
    {"expert_feed_forward_length", "moe_intermediate_size", true},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", true},
    {"expert_shared_count", "n_shared_experts", true}, {"leading_dense_block_count", "first_k_dense_replace", true},
    {"attention.kv_lora_rank", "kv_lora_rank", true}, {"attention.q_lora_rank", "q_lora_rank", true},
    {"ssm.conv_kernel", "conv_kernel", false}, {"ssm.state_size", "state_size", false},
    {"ssm.group_count", "n_groups", false},
};

/* Architectures, and types of models with the same layers; those that are not here are read as weights alone. */
static const struct {
    const char *architecture, *type;
} types[] = {
    {"llama", "llama"}, {"mistral", "llama"}, {"mistral3", "llama"}, {"mixtral", "mixtral"}, {"qwen2", "qwen2"},
    {"qwen2vl", "qwen2"}, {"qwen2moe", "qwen2_moe"}, {"qwen3", "qwen3"}, {"qwen3vl", "qwen3"},
    {"qwen3moe", "qwen3_moe"}, {"qwen3vlmoe", "qwen3_moe"}, {"gemma", "gemma"}, {"gemma2", "gemma2"},
    {"gemma3", "gemma3"}, {"phi2", "phi"}, {"phi3", "phi3"}, {"deepseek2", "deepseek_v2"}, {"gpt-oss", "gpt_oss"},
    {"command-r", "cohere"}, {"cohere2", "cohere2"}, {"gpt2", "gpt2"}, {"gptneox", "gpt_neox"}, {"falcon", "falcon"},
    {"bloom", "bloom"}, {"starcoder", "gpt_bigcode"}, {"starcoder2", "starcoder2"}, {"stablelm", "stablelm"},
    {"olmo", "olmo"}, {"olmo2", "olmo2"}, {"olmoe", "olmoe"}, {"granite", "granite"}, {"granitemoe", "granitemoe"},
    {"minicpm", "minicpm"}, {"baichuan", "baichuan"}, {"internlm2", "internlm2"}, {"exaone", "exaone"},
    {"nemotron", "nemotron"}, {"smollm3", "smollm3"}, {"arcee", "arcee"}, {"seed_oss", "seed_oss"},
    {"glm4", "glm4"}, {"glm4moe", "glm4_moe"}, {"chatglm", "chatglm"}, {"orion", "orion"},
    {"ernie4_5", "ernie4_5"}, {"dots1", "dots1"}, {"mamba", "mamba"}, {"mamba2", "mamba2"},
};
/* clang-format on */

enum { KEY_FIELDS = sizeof key_fields / sizeof key_fields[0] };

typedef struct translation {
    const gguf_meta *meta;
    const weight_list *weights;
    const char *architecture;
    json_t *fields; /* NULL: out of memory */
} translation;

static const char *type_of(const char *architecture) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].architecture, architecture) == 0) return types[i].type;
    return NULL;
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

static int64_t number_of(const translation *t, const char *key) {
    return gguf_meta_int(t->meta, t->architecture, key, 0);
}

static json_t *list_of(const gguf_value *value) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < value->count; i++) list = json_list_with(list, json_integer(value->ints[i]));
    return list;
}

/* Wrong types stay what they are: the reader of the fields names them. */
static json_t *json_of(const gguf_value *value) {
    switch (value->kind) {
    case GGUF_INT:
        return json_integer(value->number);
    case GGUF_INTS:
        return list_of(value);
    case GGUF_FLOAT:
        return json_real(value->real);
    case GGUF_LIST:
        return json_array();
    default:
        return json_string("text");
    }
}

static void put(translation *t, const char *field, json_t *value) {
    t->fields = json_with(t->fields, field, value);
}

/* A field that is missing in the file is null, not the default of the transformers library: converters write what
 * differs from llama.cpp's defaults, which are none. */
static void put_keys(translation *t) {
    for (size_t i = 0; i < KEY_FIELDS; i++) {
        const gguf_value *value = gguf_meta_find(t->meta, t->architecture, key_fields[i].key);
        bool is_none = value == NULL || (key_fields[i].is_none_at_0 && value->kind == GGUF_INT && value->number == 0);
        put(t, key_fields[i].field, is_none ? json_null() : json_of(value));
    }
    put(t, "num_local_experts", json_null());
    put(t, "n_routed_experts", json_null());
    const gguf_value *tokens = gguf_meta_find(t->meta, "tokenizer.ggml", "tokens");
    if (gguf_meta_find(t->meta, t->architecture, "vocab_size") == NULL && tokens != NULL && tokens->kind == GGUF_LIST)
        put(t, "vocab_size", json_integer(tokens->count <= INT64_MAX ? (json_int_t)tokens->count : INT64_MAX));
}

/* --- What several keys say together ------------------------------------------------------------------------------ */

/* Latent attention: the size of a head includes its rotated part. Newer files keep the sizes of the cache in the usual
 * keys, and those of the heads in keys of their own. */
static void put_latent(translation *t) {
    if (number_of(t, "attention.kv_lora_rank") == 0) return;
    int64_t rope = number_of(t, "rope.dimension_count"), key = number_of(t, "attention.key_length_mla");
    int64_t value = number_of(t, "attention.value_length_mla");
    if (key == 0) key = number_of(t, "attention.key_length");
    if (value == 0) value = number_of(t, "attention.value_length");
    put(t, "head_dim", json_null());
    put(t, "qk_rope_head_dim", json_integer(rope));
    put(t, "qk_nope_head_dim", json_integer(key >= rope ? key - rope : -1));
    put(t, "v_head_dim", json_integer(value));
}

/* The number of windows before a full layer, or whether each layer has one. */
static void put_windows(translation *t) {
    const gguf_value *value = gguf_meta_find(t->meta, t->architecture, "attention.sliding_window_pattern");
    if (value == NULL) return;
    if (value->kind != GGUF_INTS) {
        put(t, "sliding_window_pattern", json_of(value));
        return;
    }
    json_t *list = json_array();
    for (uint64_t i = 0; i < value->count; i++)
        list = json_list_with(list, json_string(value->ints[i] != 0 ? "sliding_attention" : "full_attention"));
    put(t, "layer_types", list);
}

static void put_state(translation *t) {
    int64_t inner = number_of(t, "ssm.inner_size"), rank = number_of(t, "ssm.time_step_rank");
    if (inner == 0) return;
    put(t, "intermediate_size", json_integer(inner));
    put(t, "time_step_rank", json_integer(rank));
    if (strcmp(t->architecture, "mamba2") != 0) return;
    put(t, "num_heads", json_integer(rank));
    put(t, "head_dim", json_integer(rank > 0 ? inner / rank : 0));
}

/* --- What only the weights say ----------------------------------------------------------------------------------- */

static bool has_weight(const translation *t, const char *name) {
    return weight_list_find(t->weights, name) != NULL;
}

static bool ends_any(const translation *t, const char *end) {
    for (uint32_t i = 0; i < t->weights->count; i++)
        if (strstr(t->weights->items[i].name, end) != NULL) return true;
    return false;
}

static void put_switches(translation *t) {
    static const char *const biases[] = {"attention_bias", "qkv_bias", "use_qkv_bias",
                                         "bias",           "use_bias", "add_qkv_bias"};
    bool has_bias = has_weight(t, "blk.0.attn_q.bias") || has_weight(t, "blk.0.attn_qkv.bias");
    bool has_norms = has_weight(t, "blk.0.attn_q_norm.weight");
    for (size_t i = 0; i < sizeof biases / sizeof biases[0]; i++) put(t, biases[i], json_boolean(has_bias));
    put(t, "attention_out_bias", json_boolean(has_weight(t, "blk.0.attn_output.bias")));
    put(t, "mlp_bias", json_boolean(has_weight(t, "blk.0.ffn_up.bias")));
    put(t, "lm_head_bias", json_boolean(has_weight(t, "output.bias")));
    put(t, "use_qk_norm", json_boolean(has_norms));
    put(t, "qk_layernorm", json_boolean(has_norms));
    put(t, "tie_word_embeddings", json_boolean(!has_weight(t, "output.weight")));
    put(t, "new_decoder_architecture", json_boolean(has_weight(t, "blk.0.attn_norm_2.weight")));
    put(t, "multi_query", json_boolean(number_of(t, "attention.head_count_kv") == 1));
    put(t, "multi_query_attention", json_true());
    const gguf_value *parallel = gguf_meta_find(t->meta, t->architecture, "use_parallel_residual");
    bool is_parallel = parallel != NULL ? parallel->number != 0 : !has_weight(t, "blk.0.ffn_norm.weight");
    put(t, "use_parallel_residual", json_boolean(is_parallel));
}

/* Activations have the type of a table of words that is not packed, else that of llama.cpp's caches. */
static const char *dtype_of(const translation *t) {
    const weight *table = weight_list_find(t->weights, "token_embd.weight");
    ft_dtype dtype = table != NULL ? table->type->dtype : FT_DTYPE_UNKNOWN;
    return dtype == FT_FLOAT32 ? "float32" : dtype == FT_BFLOAT16 ? "bfloat16" : "float16";
}

static void put_type(translation *t, const char *type) {
    if (strcmp(type, "llama") == 0 && number_of(t, "expert_count") > 0) type = "mixtral";
    if (strcmp(type, "deepseek_v2") == 0 && ends_any(t, ".exp_probs_b.bias")) type = "deepseek_v3";
    put(t, "model_type", json_string(type));
    put(t, "torch_dtype", json_string(dtype_of(t)));
}

/* --- Messages ---------------------------------------------------------------------------------------------------- */

static const char *key_of_field(const char *field, size_t length) {
    static const key_field others[] = {{"attention.key_length", "qk_nope_head_dim", false},
                                       {"rope.dimension_count", "qk_rope_head_dim", false},
                                       {"ssm.time_step_rank", "time_step_rank", false},
                                       {"ssm.time_step_rank", "num_heads", false}};
    for (size_t i = 0; i < KEY_FIELDS + sizeof others / sizeof others[0]; i++) {
        const key_field *f = i < KEY_FIELDS ? &key_fields[i] : &others[i - KEY_FIELDS];
        if (strlen(f->field) == length && memcmp(f->field, field, length) == 0) return f->key;
    }
    return NULL;
}

/* The message with the keys of the file in place of the fields that they became: "num_attention_heads" is
 * "llama.attention.head_count". */
static ft_status fail_with_keys(const char *architecture, ft_status status, ft_error *error) {
    buf text = {0};
    for (const char *at = error->message; *at != '\0'; at++) {
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        const char *key = end != NULL ? key_of_field(at + 1, (size_t)(end - at) - 1) : NULL;
        if (key == NULL) {
            buf_char(&text, *at);
            continue;
        }
        buf_format(&text, "\"%.60s.%s\"", architecture, key);
        at = end;
    }
    if (!text.failed && text.length > 0) ft_fail(error, status, "%s", text.data);
    buf_free(&text);
    return status;
}

/* --- The model --------------------------------------------------------------------------------------------------- */

/* The fields; NULL when memory is exhausted. */
static json_t *translate(const gguf_meta *meta, const weight_list *weights, const char *architecture,
                         const char *type) {
    translation t = {.meta = meta, .weights = weights, .architecture = architecture, .fields = json_object()};
    put_keys(&t);
    put_latent(&t);
    put_windows(&t);
    put_state(&t);
    put_switches(&t);
    put_type(&t, type);
    return t.fields;
}

/* The graph, if it has all weights of the file and the file all of the graph. */
static ft_status make_graph(const language_model *model, const gguf_stored *stored, ft_graph **graph, const char **why,
                            ft_error *error) {
    ft_graph *made = NULL;
    FT_TRY(language_graph_make(model, FT_FORMAT_GGUF, &made, error));
    const char *left;
    if (gguf_stored_is_whole(stored, &left)) {
        *graph = made;
        return FT_OK;
    }
    ft_graph_free(made);
    *why = arena_format(stored->weights->memory,
                        "its weights are not those of its architecture (%.100s): they are counted, but operators and "
                        "caches are not known",
                        left);
    return *why != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status read_fields(json_t *fields, const char *name, const weight_list *weights, ft_graph **graph,
                             const char **why, ft_error *error) {
    gguf_stored stored;
    FT_TRY(gguf_stored_init(&stored, weights, error));
    language_model model = {.name = name, .stored = &stored.base};
    config c = {.root = fields, .text = fields, .model = &model, .memory = weights->memory, .error = error};
    FT_TRY(config_read_model(&c));
    model.has_fused_qkv = weight_list_find(weights, "blk.0.attn_qkv.weight") != NULL; /* as the converter stored it */
    if (model.dtype == FT_FLOAT32) model.kv_dtype = FT_FLOAT16; /* llama.cpp's caches, whatever the weights */
    return make_graph(&model, &stored, graph, why, error);
}

ft_status gguf_model_graph(const gguf_meta *meta, const char *name, const weight_list *weights, ft_graph **graph,
                           const char **why, ft_error *error) {
    const char *architecture = gguf_meta_text(meta, "general.architecture", "");
    const char *type = type_of(architecture);
    *graph = NULL;
    *why = "weights only: operators are not known";
    if (strcmp(gguf_meta_text(meta, "general.type", "model"), "model") != 0) return FT_OK; /* an adapter, ... */
    if (type == NULL) {
        if (architecture[0] == '\0') return FT_OK;
        *why = arena_format(weights->memory,
                            "architecture \"%.60s\" is not known: its weights are counted, but operators and caches "
                            "are not known",
                            architecture);
        return *why != NULL ? FT_OK : FT_NOMEM(error);
    }
    json_t *fields = translate(meta, weights, architecture, type);
    if (fields == NULL) return FT_NOMEM(error);
    ft_status status = read_fields(fields, name, weights, graph, why, error);
    json_decref(fields);
    return status == FT_OK || status == FT_ERR_NOMEM ? status : fail_with_keys(architecture, status, error);
}
