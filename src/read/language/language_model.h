/* language_model.h - a language model as its file states it, before it is a graph: sizes and kinds, layer by layer.
 *
 * Readers (config.c, and those of formats that hold weights) fill it in; language_graph.h makes the graph. Plain data:
 * pointers are into the arena of the reader, and zero is the absence of everything, so that a reader sets only what its
 * file has. language_check() refuses what is not a model, which the graph relies on. */
#ifndef READ_LANGUAGE_LANGUAGE_MODEL_H
#define READ_LANGUAGE_LANGUAGE_MODEL_H

#include "base/arena.h"
#include "foretell/graph.h"

enum {
    LANGUAGE_MAX_LAYERS = 1024,
    LANGUAGE_MAX_SIZE = 1 << 28, /* of any count or width in it: products of two fit, and so do those of dimensions */
    LANGUAGE_MAX_NOTES = 8,
};

/* --- Layers ------------------------------------------------------------------------------------------------------ */

/* What mixes the tokens of a sequence in a layer. */
typedef enum language_mixer {
    MIXER_NONE,
    MIXER_ATTENTION,  /* softmax attention, over all tokens or a window of them */
    MIXER_LATENT,     /* multi-head latent attention: keys and values from a common projection (language_latent) */
    MIXER_DELTA,      /* gated delta rule (language_state) */
    MIXER_LINEAR,     /* linear attention with a fixed decay per head */
    MIXER_PRODUCT,    /* a matrix in place of attention, which mixes nothing */
    MIXER_MAMBA,      /* selective state space of Mamba */
    MIXER_MAMBA2,     /* of Mamba 2: a scalar decay per head */
    MIXER_SHORT_CONV, /* gated causal convolution */
} language_mixer;

/* What works on each token alone. */
typedef enum language_mlp {
    MLP_NONE,
    MLP_DENSE,
    MLP_EXPERTS,
} language_mlp;

typedef struct language_layer {
    language_mixer mixer;
    language_mlp mlp;

    int64_t heads, kv_heads;       /* attention */
    int64_t head_size, value_size; /* of queries and keys, and of values */
    int64_t window;                /* tokens that a query sees, itself included; 0: all of them */
    bool shares_cache;             /* reads keys and values of a layer before it, and has none */
    bool has_key_values;           /* values are the keys: one projection and norm for both */
    bool has_sinks;                /* a learned logit a head that takes part in the softmax */

    int64_t inner; /* width of the dense MLP */

    int64_t experts, active_experts; /* and how many of them a token is sent to */
    int64_t expert_inner;
    int64_t expert_hidden; /* width of what experts read and write, projected from and to the model's; 0: none */
    int64_t shared_inner;  /* width of the experts that see all tokens, together; 0: none */
    bool has_both;         /* with MLP_EXPERTS: a dense MLP beside them, each with norms of its own */
} language_layer;

/* --- Parts that layers share ---------------------------------------------------------------------------------------
 */

/* Multi-head latent attention. The size of a head is nope_size + rope_size. */
typedef struct language_latent {
    int64_t query_rank; /* 0: queries are projected at once */
    int64_t kv_rank;
    int64_t nope_size, rope_size;
    int64_t index_heads, index_size; /* of the indexer that chooses keys; 0: none */
    int64_t index_tokens;            /* that it chooses */
    bool has_gate;                   /* of the output */
} language_latent;

/* Recurrent layers and those with a convolution. */
typedef struct language_state {
    int64_t key_heads, value_heads; /* delta rule; Mamba 2: groups, heads */
    int64_t key_size, value_size;   /* delta rule; Mamba: state size, head size */
    int64_t inner;                  /* Mamba: width of the state space part */
    int64_t rank;                   /* Mamba: of the time step */
    int64_t conv;                   /* taps of the convolution; 0: none */
    bool has_conv_bias, has_bias;   /* of the convolution; of the projections */
    bool has_split_inputs;          /* delta rule: queries, keys, values, gates are projections of their own */
    bool has_channel_decay;         /* delta rule: a decay per channel of a key, from a projection of rank key_size */
    bool has_full_gate;             /* with it: the gate of the output has one matrix, not two of low rank */
    bool has_state_norms;           /* Mamba: norms of time step, B and C (Jamba, Falcon-Mamba without weights) */
    bool has_gated_norm;            /* Mamba 2: a norm before the last projection */
    ft_dtype dtype;                 /* of the state; FT_DTYPE_UNKNOWN: as activations */
} language_state;

typedef enum language_norm {
    NORM_RMS,
    NORM_LAYER,       /* scale and bias */
    NORM_LAYER_SCALE, /* scale only */
    NORM_LAYER_PLAIN, /* neither */
} language_norm;

/* Where norms are, for the function f of a sub-layer. */
typedef enum language_norm_place {
    PLACE_BEFORE, /* x + f(norm(x)) */
    PLACE_AFTER,  /* norm(x + f(x)) */
    PLACE_AROUND, /* x + norm(f(norm(x))) */
    PLACE_OUTPUT, /* x + norm(f(x)) */
} language_norm_place;

/* Norms of queries and keys. */
typedef enum language_qk_norm {
    QK_NORM_NONE,
    QK_NORM_HEAD,  /* of a head; all heads have one scale */
    QK_NORM_HEADS, /* of a head; each has its own scale */
    QK_NORM_WIDTH, /* of all heads at once */
} language_qk_norm;

typedef enum language_activation {
    ACTIVATION_SILU,
    ACTIVATION_GELU,
    ACTIVATION_GELU_STEPS, /* by tanh, an operator for each step of the formula */
    ACTIVATION_RELU,
    ACTIVATION_RELU2, /* squared */
    ACTIVATION_XIELU, /* learned, two scalars a layer */
} language_activation;

typedef enum language_position {
    POSITION_ROTARY,
    POSITION_LEARNED,  /* a table of `position_rows` rows, added to the embedding */
    POSITION_FIXED,    /* computed and added */
    POSITION_RELATIVE, /* a bias of scores: `position_rows` buckets x heads, common to all layers */
    POSITION_NONE,
} language_position;

/* What an encoder reads. */
typedef enum language_source {
    SOURCE_WORDS,
    SOURCE_PATCHES, /* of an image: one convolution whose step is its size */
    SOURCE_SOUND,   /* a spectrogram: two convolutions, the second with a step of two */
} language_source;

typedef struct language_signal {
    language_source source;
    int64_t channels; /* of an image; bands of a spectrogram */
    int64_t size;     /* of an image, which is square; tokens of a spectrogram */
    int64_t patch;    /* size */
} language_signal;

/* Heads of encoders, several of which may be there. */
typedef struct language_heads {
    bool has_pooler;    /* of the first token */
    bool has_transform; /* before the logits of all tokens: product, activation, norm */
    int64_t classes;    /* of the sequence (where there is a pooler or an image), or of each token; 0: none */
} language_heads;

/* --- Types of weights -------------------------------------------------------------------------------------------- */

/* Parts of a model whose weights have a type of their own. Norms, biases and small vectors have that of activations. */
typedef enum language_module {
    MODULE_EMBEDDING,
    MODULE_ATTENTION,        /* projections of any mixer, but for the last */
    MODULE_ATTENTION_OUTPUT, /* the last */
    MODULE_MLP,
    MODULE_EXPERTS,
    MODULE_SHARED_EXPERTS,
    MODULE_ROUTER,
    MODULE_HEAD,
    MODULE_COUNT,
} language_module;

/* bits 0: the type of activations. Else `bits` a weight, as integers or floats, with a scale of `scale_dtype` for each
 * block of `rows` outputs x `group` inputs (0: all of them). */
typedef struct language_format {
    int32_t bits;
    bool is_float;
    bool has_zeros; /* a zero point for each scale */
    int64_t group, rows;
    ft_dtype scale_dtype;
} language_format;

/* How the file stores a tensor: `block_bytes` bytes hold `block_elems` numbers. */
typedef struct language_block {
    ft_dtype dtype; /* of blocks of one number; else FT_DTYPE_UNKNOWN */
    int32_t block_elems, block_bytes;
    uint64_t bytes; /* of the tensor */
} language_block;

/* The weights of a file that has them, by the names of the graph ("attn/q_proj", "weight"). */
typedef struct language_stored {
    bool (*find)(struct language_stored *stored, uint32_t layer, const char *path, const char *part,
                 language_block *block);
    void *owner;
    uint64_t elems;   /* of the tensors of the graph that the file has */
    uint32_t missing; /* tensors of the graph that it does not have */
} language_stored;

/* --- The model --------------------------------------------------------------------------------------------------- */

typedef struct language_model {
    const char *type; /* "llama", or the architecture of a file of another format */
    const char *name;
    const char *producer; /* meta of the graph; NULL: none */
    const char *notes[LANGUAGE_MAX_NOTES];
    uint32_t note_count;

    int64_t hidden, vocabulary;
    int64_t embedding;       /* width of the embedding table where that is not `hidden`; 0: it is */
    int64_t layer_embedding; /* width of an embedding that each layer adds; 0: none */
    int64_t layer_words;     /* rows of its table */
    int64_t positions;       /* longest sequence; 0: unknown */
    int64_t position_rows;
    language_position position;
    language_layer *layers;
    uint32_t layer_count;

    language_norm norm;
    language_norm_place norm_place;
    language_qk_norm qk_norm;
    bool is_parallel;  /* attention and MLP read the same x */
    bool has_one_norm; /* with is_parallel: one norm for both */
    bool has_embedding_norm;
    bool has_no_final_norm;
    language_activation activation;
    bool is_gated;          /* MLPs have three matrices */
    bool has_gated_queries; /* queries come with a gate of the output */
    bool has_query_bias, has_kv_bias, has_output_bias;
    bool has_mlp_bias, has_expert_bias, has_router_bias, has_head_bias;
    bool has_shared_gate;       /* a scalar gate of the shared experts */
    bool has_expert_score_bias; /* a number an expert that only the choice uses */
    bool has_fused_qkv, has_fused_gate;
    bool is_tied; /* the head is the embedding table */
    bool has_no_head;
    bool is_encoder; /* attends to all tokens, keeps no cache */
    bool has_no_key_bias;
    int64_t token_types; /* rows of a table of types of tokens; 0: none */
    language_signal signal;
    language_heads heads;
    language_latent latent;
    language_state state;

    const struct language_model *encoder; /* whose output the layers also attend to; NULL: none */

    ft_dtype dtype;    /* of activations, and of weights without another format */
    ft_dtype kv_dtype; /* that the file asks for; FT_DTYPE_UNKNOWN: none. The graph keeps caches in `dtype` */
    language_format formats[MODULE_COUNT];
    const char *quantisation; /* name of the method, for people; NULL: none */
    language_stored *stored;  /* types of the weights, where the file has them; NULL: `dtype` and `formats` */
} language_model;

/* Sizes that are missing, too large or do not divide: a message with the field. */
ft_status language_check(const language_model *model, ft_error *error);

/* Adds a line that is printed with the model; those above LANGUAGE_MAX_NOTES are dropped. `note` is not copied. */
void language_note(language_model *model, const char *note);

#endif
