/* architecture.h - what the model types of HuggingFace's configurations have in common, and where they differ: one row
 * a type, of traits that no field states and of defaults of fields that a file leaves out.
 *
 *   architecture.c   the rows of decoders
 *   architecture_encoder.c  those of encoders, and of decoders with an encoder
 *   config_layers.c  what attention, experts and recurrent layers read from fields
 *   config_odd.c     types whose layers need more than a row
 *   config_state.c   types with recurrent layers
 *   config_encoder.c types with an encoder
 *
 * Traits that a field switches are the name of that field, "true" where they always hold, and NULL where they never do;
 * what the field means where it is missing is among the defaults. Defaults are those of the transformers library, whose
 * configuration classes fill in what a file lacks. An explicit null is not a missing field. */
#ifndef READ_LANGUAGE_ARCHITECTURE_H
#define READ_LANGUAGE_ARCHITECTURE_H

#include "read/language/language_model.h"

struct config;

/* Which layers look back over a window of "sliding_window" tokens. A list "layer_types" overrules all of them. */
typedef enum window_layers {
    WINDOWS_LISTED, /* those that the list names */
    WINDOWS_ALL,
    WINDOWS_EVEN,      /* the first, the third, ... */
    WINDOWS_PATTERN,   /* all but each n-th: "sliding_window_pattern" */
    WINDOWS_FROM,      /* from "max_window_layers" on, if "use_sliding_window" */
    WINDOWS_CHUNKS,    /* those with rotary positions: "no_rope_layers", else all but each fourth */
    WINDOWS_ALTERNATE, /* the second, the fourth, ... (GPT-Neo) */
} window_layers;

typedef struct architecture_default {
    const char *key;
    int64_t value; /* of a field with a number, or true or false */
} architecture_default;

enum { ARCHITECTURE_MAX_DEFAULTS = 12 };

typedef struct architecture {
    const char *types; /* values of "model_type", separated by spaces */
    architecture_default defaults[ARCHITECTURE_MAX_DEFAULTS];

    language_norm norm;
    language_norm_place place;
    language_qk_norm qk_norm;
    const char *qk_norm_field; /* that switches it; NULL: it always holds */
    language_position position;
    const char *activation; /* where the file names none; NULL: silu */
    bool is_plain;          /* MLPs have two matrices, not three */
    const char *parallel;   /* attention and MLP read the same x */
    const char *two_norms;  /* with `parallel`: a norm for each */
    const char *qkv_bias, *output_bias, *mlp_bias, *head_bias;
    const char *expert_bias, *router_bias, *score_bias, *sinks, *shared_gate;
    bool has_embedding_norm;
    bool has_fused_qkv, has_fused_gate;
    bool has_no_heads;                               /* no layer has attention */
    bool has_no_words;                               /* no vocabulary: images */
    const char *layer_keys, *head_keys, *inner_keys; /* of fields; NULL: the usual ones */
    bool has_wide_inner; /* the MLP is four times as wide as the model where no field says how wide */
    window_layers windows;
    void (*apply)(struct config *c); /* what the row cannot say; NULL: nothing */
} architecture;

/* NULL: not known. */
const architecture *architecture_of(const char *type);
/* The part of it that architecture_encoder.c has. `lower` is in small letters. */
const architecture *architecture_encoder_of(const char *lower);
/* The type of a class of the transformers library, "Qwen2MoeForCausalLM"; NULL: not known. What is returned begins with
 * the type, behind which others may follow. */
const char *architecture_type_of_class(const char *name);
bool architecture_names(const architecture *a, const char *lower); /* whether the row is for this type */
extern const architecture architecture_llama;                      /* of types that are not known */

/* Functions of rows: config_encoder.c, config_odd.c, and from odd_nemotron_h on config_state.c. */
void odd_bert(struct config *c);
void odd_vit(struct config *c);
void odd_t5(struct config *c);
void odd_switch(struct config *c);
void odd_bart(struct config *c);
void odd_whisper(struct config *c);
void odd_llama4(struct config *c);
void odd_gemma4(struct config *c);
void odd_falcon(struct config *c);
void odd_mpt(struct config *c);
void odd_dbrx(struct config *c);
void odd_bigcode(struct config *c);
void odd_chatglm(struct config *c);
void odd_opt(struct config *c);
void odd_minimax(struct config *c);
void odd_mimo(struct config *c);
void odd_nemotron_h(struct config *c);
void odd_nemotron_nas(struct config *c);
void odd_openelm(struct config *c);
void odd_kimi_linear(struct config *c);
void odd_mamba(struct config *c);
void odd_mamba2(struct config *c);
void odd_jamba(struct config *c);
void odd_bamba(struct config *c);
void odd_lfm2(struct config *c);
void odd_qwen_hybrid(struct config *c);

#endif
