/* config.h - what the parts of the reader of HuggingFace's config.json share.
 *
 *   config.c         recognising, opening, nested files
 *   config_field.c   access to fields, and their defaults
 *   config_layers.c  from fields to layers: heads, windows, experts, latent attention
 *   config_odd.c     types whose layers need more than a row of architecture.c
 *   config_encoder.c types with an encoder
 *   config_quant.c   how weights are packed
 *
 * The first failure is kept in `status`; reading goes on with fallbacks, and the caller checks once. */
#ifndef READ_LANGUAGE_CONFIG_H
#define READ_LANGUAGE_CONFIG_H

#include "base/json.h"
#include "read/language/architecture.h"
#include "read/language/language_model.h"

typedef struct config {
    const json_t *root; /* of the file */
    const json_t *text; /* the language model in it: the file itself, or its "text_config" */
    const char *path;   /* of the file, for others beside it; NULL: it is not on disk */
    const architecture *arch;
    language_model *model;
    arena *memory;
    ft_status status;
    ft_error *error;
} config;

/* Keys of fields that families name differently. */
#define KEY_HIDDEN "hidden_size n_embd n_embed d_model dim model_dim"
#define KEY_LAYERS "num_hidden_layers n_layer num_layers n_layers num_transformer_layers"
#define KEY_HEADS  "num_attention_heads n_head num_heads n_heads num_query_heads"
#define KEY_KV_HEADS                                                                                                   \
    "num_key_value_heads num_kv_heads n_kv_heads n_head_kv num_attention_groups multi_query_group_num "                \
    "num_query_groups"
#define KEY_HEAD_SIZE "head_dim attention_head_dim kv_channels d_kv"
#define KEY_INNER     "intermediate_size n_inner ffn_dim ffn_hidden_size inner_size d_ff"
#define KEY_POSITIONS "max_position_embeddings n_positions max_seq_len seq_length max_sequence_length n_ctx"
#define KEY_EXPERTS   "num_local_experts num_experts n_routed_experts moe_num_experts num_routed_experts"
#define KEY_WINDOW    "sliding_window sliding_window_size attention_chunk_size window_size"

/* Fields of the language model. `keys` are alternatives, separated by spaces: families name a field differently, and
 * the first that is there and not null counts, then the default of the architecture (unless the file says null), then
 * the fallback. A value of a wrong type or out of range is a failure that names it. */
int64_t config_int(config *c, const char *keys, int64_t fallback);
int64_t config_size(config *c, const char *keys); /* that must be there, and at least 1 */
/* The same of a layer: the field is a number, or a list with one for each layer. */
int64_t config_layer_int(config *c, const char *keys, uint32_t layer, int64_t fallback);
bool config_bool(config *c, const char *keys, bool fallback);
/* A trait of an architecture: a field that switches it, "true", or NULL for never. */
bool config_trait(config *c, const char *field);
const char *config_text(config *c, const char *keys, const char *fallback); /* lives as long as the file is parsed */
const json_t *config_value(const config *c, const char *keys, const char **key); /* NULL: not there */
/* A list; NULL: not there. */
const json_t *config_list(config *c, const char *keys);
/* One with an item for each layer: fewer are a failure. */
const json_t *config_layer_list(config *c, const char *keys);
int64_t config_list_int(config *c, const char *key, const json_t *list, size_t index, int64_t fallback);
bool config_list_has(const json_t *list, int64_t value);
/* Whether an item of a list of texts is the word. */
bool config_list_is(const json_t *list, size_t index, const char *word);
/* Another object of the file as the one whose fields are read; `inner` that is not an object is a failure. Returns the
 * one before, which the caller puts back. */
const json_t *config_enter(config *c, const char *key);
void config_fail(config *c, ft_status status, const char *key, const char *what);

/* The model of the fields of `c->text`: type, sizes, layers, formats of weights; checked. (config.c) */
ft_status config_read_model(config *c);

/* A line for the user, which is copied. */
void config_note(config *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- Layers (config_layers.c) ------------------------------------------------------------------------------------ */

/* Sizes, traits and layers of the architecture `c->arch`. */
void config_read_layers(config *c);
/* Attention and a dense MLP in each of `count` layers. */
void config_make_layers(config *c, int64_t count, const char *key);
/* Formats of the weights of layers that are read. */
void config_read_quantisation(config *c);
/* Layers that have no experts yet become dense MLPs of this width. */
void config_set_inner(config *c, int64_t inner);

#endif
