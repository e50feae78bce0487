/* language_build.h - what the parts of language_graph.c share: a graph under construction, and the operators that all
 * layers are made of.
 *
 *   language_graph.c      inputs, embedding, layers, head
 *   language_attention.c  attention, and its caches
 *   language_latent.c     multi-head latent attention
 *   language_state.c      recurrent layers and convolutions
 *   language_encoder.c    what encoders read, and their heads
 *   language_mlp.c        dense MLPs and experts
 *   language_build.c      tensors, operators, linear layers, norms
 *
 * The first failure is kept in `status`: the functions then do nothing and return FT_NONE, so that callers need not
 * check each of a hundred calls. */
#ifndef READ_LANGUAGE_LANGUAGE_BUILD_H
#define READ_LANGUAGE_LANGUAGE_BUILD_H

#include "graph/graph.h"
#include "read/language/language_model.h"

enum { LANGUAGE_NAME_SIZE = 128, LANGUAGE_MAX_ATTRS = 8, LANGUAGE_MAX_OUTPUTS = 4 };

typedef struct language_builder {
    const language_model *model;
    ft_graph *graph;
    ft_status status;
    ft_error *error;
    const char *stack;                     /* first part of names: "model", or "encoder" and "decoder" */
    int64_t batch, sequence, past, logits; /* symbols */
    uint32_t layer;                        /* that is built; FT_NONE outside of layers */
    uint32_t table;                        /* of words; FT_NONE: there is none yet */
    uint32_t encoded;                      /* result of the encoder: this many tokens */
    int64_t encoded_tokens;
    uint32_t position_bias;            /* of the scores of all layers of a stack */
    uint32_t layer_inputs;             /* embedding of each layer: [batch, sequence, layers, width] */
    ft_attr attrs[LANGUAGE_MAX_ATTRS]; /* of the next operator */
    uint32_t attr_count;
    uint32_t shared_keys[2], shared_values[2]; /* that layers without a cache read: of full, of windowed attention */
} language_builder;

/* A stored tensor "model.layers.3.PATH.PART"; dimensions that are 0 end the shape. A kernel is the weight of a
 * convolution. */
uint32_t language_weight(language_builder *b, const char *path, const char *part, ft_dtype dtype,
                         const int64_t dims[3]);
uint32_t language_kernel(language_builder *b, const char *path, const int64_t *dims, int32_t rank);
uint32_t language_vector(language_builder *b, const char *path, const char *part, int64_t size);
/* Whether the file has the weight "PATH.PART" of this layer in blocks that pack many numbers. */
bool language_is_packed(language_builder *b, const char *path, const char *part, language_block *block);
/* An input or a computed tensor whose name is PATH. */
uint32_t language_input(language_builder *b, const char *path, ft_dtype dtype, const int64_t *dims, int32_t rank);
uint32_t language_ints(language_builder *b, const char *path, const int64_t *values, int64_t count);

/* Attributes of the operator that is added next. */
void language_int(language_builder *b, const char *name, int64_t value);
void language_ints_attr(language_builder *b, const char *name, const int64_t *values, size_t count);
void language_text(language_builder *b, const char *name, const char *value);

/* An operator "/model/layers.3/PATH/TYPE"; its first output. Inputs are FT_NONE where they are omitted. */
uint32_t language_op(language_builder *b, const char *type, const char *path, const uint32_t *inputs, uint32_t count);
/* One with several outputs, whose names are those of `names` ("present.3.key") or, where that is NULL, made up. */
typedef struct language_outputs {
    const char *names[LANGUAGE_MAX_OUTPUTS];
    uint32_t tensors[LANGUAGE_MAX_OUTPUTS];
    uint32_t count;
    int32_t rank; /* of the first, where readers of the graph have to know its shape; 0: inferred */
    int64_t dims[4];
} language_outputs;
void language_op_outputs(language_builder *b, const char *type, const char *path, const uint32_t *inputs,
                         uint32_t count, language_outputs *outputs);
uint32_t language_binary(language_builder *b, const char *type, const char *path, uint32_t x, uint32_t y);
uint32_t language_reshape(language_builder *b, const char *path, uint32_t x, const int64_t *dims, int64_t rank);

/* Parts of a tensor along its last dimension: `parts->count` of these sizes. */
void language_split(language_builder *b, const char *path, uint32_t x, const int64_t *sizes, language_outputs *parts);

/* x times a matrix of `in` rows and `out` columns in the type of the module, plus a bias. */
typedef struct language_linear {
    const char *path;
    int64_t in, out;
    language_module module;
    bool has_bias;
} language_linear;
uint32_t language_product(language_builder *b, const language_linear *l, uint32_t x);
/* The head of a model whose head is the embedding table. */
uint32_t language_tied_product(language_builder *b, const char *path, uint32_t x, uint32_t table);
/* Bytes and shape of packed weights, for embeddings and experts: [lead..., rows, bytes]. */
int64_t language_packed_bytes(const language_format *format, int64_t inputs);
int64_t language_groups(const language_format *format, int64_t inputs);

/* As the model has its norms: `width` is the size of the last dimension. */
uint32_t language_norm_of(language_builder *b, const char *path, uint32_t x, int64_t width);
uint32_t language_rms_norm(language_builder *b, const char *path, uint32_t x, int64_t width);
uint32_t language_activate(language_builder *b, const char *path, uint32_t x);

/* --- Parts of a layer: x of `hidden` columns in, a sum to be added to the residual out ------------------------------
 */

uint32_t language_attention(language_builder *b, const language_layer *layer, uint32_t x);
uint32_t language_cross_attention(language_builder *b, const language_layer *layer, uint32_t x);
uint32_t language_latent_attention(language_builder *b, const language_layer *layer, uint32_t x);
uint32_t language_recurrence(language_builder *b, const language_layer *layer, uint32_t x);
uint32_t language_mlp_of(language_builder *b, const language_layer *layer, uint32_t x);

/* --- Stacks of layers -------------------------------------------------------------------------------------------- */

/* Rows of the table of words, which is made at the first call. */
uint32_t language_embed(language_builder *b, const char *input);
/* All layers, and the norm behind them. */
uint32_t language_layers(language_builder *b, uint32_t x);
/* What the layers of an encoder read; and all its heads, which become outputs. */
uint32_t language_encoder_input(language_builder *b);
void language_encoder_heads(language_builder *b, uint32_t x);

#endif
