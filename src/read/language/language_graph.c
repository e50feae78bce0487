/* language_graph.c - the graph of a language model: inputs, embedding, layers, head; and the check of its sizes. */
#include "read/language/language_graph.h"

#include <string.h>

#include "base/format.h"
#include "read/language/language_build.h"

/* --- Layers ------------------------------------------------------------------------------------------------------ */

typedef uint32_t (*sublayer)(language_builder *b, const language_layer *layer, uint32_t x);

/* x and what a sub-layer adds to it. */
static uint32_t add_sublayer(language_builder *b, const language_layer *layer, sublayer run, const char *const paths[2],
                             uint32_t x) {
    const language_model *m = b->model;
    uint32_t y = x;
    if (m->norm_place == PLACE_BEFORE || m->norm_place == PLACE_AROUND) y = language_norm_of(b, paths[0], x, m->hidden);
    y = run(b, layer, y);
    if (m->norm_place == PLACE_AROUND || m->norm_place == PLACE_OUTPUT) y = language_norm_of(b, paths[1], y, m->hidden);
    y = language_binary(b, "Add", paths[1], x, y);
    return m->norm_place == PLACE_AFTER ? language_norm_of(b, paths[0], y, m->hidden) : y;
}

static uint32_t mix(language_builder *b, const language_layer *layer, uint32_t x) {
    if (layer->mixer == MIXER_ATTENTION) return language_attention(b, layer, x);
    return layer->mixer == MIXER_LATENT ? language_latent_attention(b, layer, x) : language_recurrence(b, layer, x);
}

static uint32_t add_parallel(language_builder *b, const language_layer *layer, uint32_t x) {
    int64_t hidden = b->model->hidden;
    uint32_t first = language_norm_of(b, "input_layernorm", x, hidden);
    uint32_t second = b->model->has_one_norm ? first : language_norm_of(b, "post_attention_layernorm", x, hidden);
    uint32_t y = language_binary(b, "Add", "sum", mix(b, layer, first), language_mlp_of(b, layer, second));
    return language_binary(b, "Add", "residual", x, y);
}

/* What the embedding of this layer adds, through a gate (Gemma 4). */
static uint32_t add_layer_embedding(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    static const char path[] = "per_layer_input";
    if (m->layer_embedding == 0) return x;
    language_linear gate = {"per_layer_input_gate", m->hidden, m->layer_embedding, MODULE_MLP, false};
    language_linear out = {"per_layer_projection", m->layer_embedding, m->hidden, MODULE_MLP, false};
    uint32_t y = language_activate(b, path, language_product(b, &gate, x));
    const int64_t row[] = {b->layer}, flat[3] = {0, 0, m->layer_embedding};
    uint32_t index = language_ints(b, path, row, 1);
    language_int(b, "axis", 2);
    uint32_t z = language_reshape(b, path, language_binary(b, "Gather", path, b->layer_inputs, index), flat, 3);
    y = language_product(b, &out, language_binary(b, "Mul", path, y, z));
    return language_binary(b, "Add", path, x, language_norm_of(b, "post_per_layer_input_norm", y, m->hidden));
}

static uint32_t add_layer(language_builder *b, const language_layer *layer, uint32_t x) {
    static const char *const mixer_paths[2] = {"input_layernorm", "post_attention_layernorm"};
    static const char *const cross_paths[2] = {"cross_layernorm", "post_cross_layernorm"};
    static const char *const mlp_paths[2] = {"pre_feedforward_layernorm", "post_feedforward_layernorm"};
    if (b->model->is_parallel && layer->mixer != MIXER_NONE && layer->mlp != MLP_NONE) return add_parallel(b, layer, x);
    if (layer->mixer != MIXER_NONE) x = add_sublayer(b, layer, mix, mixer_paths, x);
    if (b->model->encoder != NULL) x = add_sublayer(b, layer, language_cross_attention, cross_paths, x);
    if (layer->mlp != MLP_NONE) x = add_sublayer(b, layer, language_mlp_of, mlp_paths, x);
    return add_layer_embedding(b, x);
}

uint32_t language_layers(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    b->position_bias = FT_NONE;
    for (uint32_t i = 0; i < m->layer_count && b->status == FT_OK; i++) {
        b->layer = i;
        x = add_layer(b, &m->layers[i], x);
    }
    b->layer = FT_NONE;
    return m->has_no_final_norm ? x : language_norm_of(b, "norm", x, m->hidden);
}

/* --- Embedding and head ------------------------------------------------------------------------------------------ */

static uint32_t add_positions(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    if (m->position != POSITION_LEARNED) return x;
    const char *input = m->encoder != NULL ? "decoder_position_ids" : "position_ids";
    uint32_t rows = language_input(b, input, FT_INT64, (const int64_t[]){b->batch, b->sequence}, 2);
    uint32_t table =
        language_weight(b, "embed_positions", "weight", m->dtype, (const int64_t[3]){m->position_rows, m->hidden});
    uint32_t y = language_binary(b, "Gather", "embed_positions", table, rows);
    return language_binary(b, "Add", "embed_positions", x, y);
}

/* The types of tokens of BERT: which of two sentences they belong to. */
static uint32_t add_types(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    if (m->token_types == 0) return x;
    uint32_t rows = language_input(b, "token_type_ids", FT_INT64, (const int64_t[]){b->batch, b->sequence}, 2);
    uint32_t table =
        language_weight(b, "embed_types", "weight", m->dtype, (const int64_t[3]){m->token_types, m->hidden});
    uint32_t y = language_binary(b, "Gather", "embed_types", table, rows);
    return language_binary(b, "Add", "embed_types", x, y);
}

/* Rows of the table of words, which may be packed. Encoder and decoder have it in common. */
static uint32_t look_up(language_builder *b, uint32_t words, int64_t width) {
    static const char path[] = "embed_tokens";
    const language_model *m = b->model;
    const language_format *f = &m->formats[MODULE_EMBEDDING];
    language_block block;
    if (f->bits == 0) {
        if (b->table == FT_NONE)
            b->table = language_weight(b, path, "weight", m->dtype, (const int64_t[3]){m->vocabulary, width});
        if (!language_is_packed(b, path, "weight", &block)) return language_binary(b, "Gather", path, b->table, words);
        language_ints_attr(b, "packed_blocks", (const int64_t[]){block.block_elems, block.block_bytes}, 2);
        return language_binary(b, "GatherBlockQuantized", path, b->table, words);
    }
    b->table = language_weight(b, path, "qweight", FT_UINT8,
                               (const int64_t[3]){m->vocabulary, language_packed_bytes(f, width)});
    uint32_t scales = language_weight(b, path, "scales", f->scale_dtype,
                                      (const int64_t[3]){m->vocabulary, language_groups(f, width)});
    language_int(b, "bits", f->bits);
    language_int(b, "block_size", f->group > 0 ? f->group : width);
    language_int(b, "quantize_axis", 1);
    return language_op(b, "GatherBlockQuantized", path, (const uint32_t[]){b->table, words, scales}, 3);
}

/* The embedding of each layer: rows of a table of its own, plus a projection of the first embedding. */
static void embed_layers(language_builder *b, uint32_t words, uint32_t x) {
    static const char path[] = "embed_tokens_per_layer";
    const language_model *m = b->model;
    int64_t width = m->layer_embedding, all = (int64_t)m->layer_count * width;
    const int64_t apart[4] = {0, 0, m->layer_count, width};
    if (width == 0) return;
    language_linear l = {"per_layer_model_projection", m->hidden, all, MODULE_EMBEDDING, false};
    uint32_t table = language_weight(b, path, "weight", m->dtype, (const int64_t[3]){m->layer_words, all});
    uint32_t rows = language_reshape(b, path, language_binary(b, "Gather", path, table, words), apart, 4);
    uint32_t y = language_reshape(b, "per_layer_projection", language_product(b, &l, x), apart, 4);
    y = language_norm_of(b, "per_layer_projection_norm", y, width);
    b->layer_inputs = language_binary(b, "Add", path, rows, y);
}

uint32_t language_embed(language_builder *b, const char *input) {
    const language_model *m = b->model;
    uint32_t words = language_input(b, input, FT_INT64, (const int64_t[]){b->batch, b->sequence}, 2);
    int64_t width = m->embedding > 0 ? m->embedding : m->hidden;
    uint32_t x = look_up(b, words, width);
    if (width != m->hidden) {
        language_linear l = {"project_in", width, m->hidden, MODULE_EMBEDDING, false};
        x = language_product(b, &l, x);
    }
    embed_layers(b, words, x);
    x = add_types(b, add_positions(b, x));
    return m->has_embedding_norm ? language_norm_of(b, "embed_layernorm", x, m->hidden) : x;
}

/* The positions whose logits are computed: those of the next token where it is not bound. */
static uint32_t choose_positions(language_builder *b, uint32_t x) {
    uint32_t rows = language_input(b, "logit_positions", FT_INT64, &b->logits, 1);
    language_int(b, "axis", 1);
    return language_binary(b, "Gather", "logit_positions", x, rows);
}

static uint32_t add_head(language_builder *b, uint32_t x) {
    const language_model *m = b->model;
    int64_t width = m->embedding > 0 ? m->embedding : m->hidden;
    x = choose_positions(b, x);
    if (width != m->hidden)
        x = language_product(b, &(language_linear){"project_out", m->hidden, width, MODULE_EMBEDDING, false}, x);
    const language_format *f = &m->formats[MODULE_EMBEDDING];
    if (!m->is_tied || f->bits > 0)
        return language_product(b, &(language_linear){"lm_head", width, m->vocabulary, MODULE_HEAD, m->has_head_bias},
                                x);
    return language_tied_product(b, "lm_head", x, b->table);
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

static void add_symbol(language_builder *b, const char *name, int64_t *dim) {
    if (b->status == FT_OK) b->status = graph_symbol(b->graph, name, dim, b->error);
}

static void add_symbols(language_builder *b) {
    const language_model *m = b->model;
    add_symbol(b, "batch", &b->batch);
    if (m->signal.source == SOURCE_WORDS) add_symbol(b, "sequence", &b->sequence);
    if (m->is_encoder) return;
    add_symbol(b, "past", &b->past);
    add_symbol(b, "logits", &b->logits);
    if (b->status == FT_OK) b->status = graph_set_exported_size(b->graph, b->logits, 1, b->error);
}

static void add_meta(language_builder *b, const char *key, const char *value) {
    if (b->status == FT_OK && value != NULL) b->status = graph_set_meta(b->graph, key, value, b->error);
}

static void add_all_meta(language_builder *b) {
    const language_model *m = b->model;
    char number[32], key[32];
    add_meta(b, "model_type", m->type);
    add_meta(b, "producer", m->producer);
    add_meta(b, "quantisation", m->quantisation);
    if (m->kv_dtype != FT_DTYPE_UNKNOWN) add_meta(b, "cache_dtype", ft_dtype_name(m->kv_dtype));
    format_text(number, sizeof number, "%lld", (long long)m->positions);
    if (m->positions > 0) add_meta(b, "max_positions", number);
    for (uint32_t i = 0; i < m->note_count; i++) {
        format_text(key, sizeof key, i == 0 ? "note" : "note_%u", i);
        add_meta(b, key, m->notes[i]);
    }
}

/* The encoder of a model that has one, with a symbol for its own tokens. Text of an encoder of a length that is left
 * open is as long as the model allows, or 512 tokens. */
static void encode(language_builder *b) {
    enum { USUAL_TOKENS = 512 };
    const language_model *decoder = b->model;
    int64_t sequence = b->sequence;
    b->model = decoder->encoder;
    b->stack = "encoder";
    if (b->model->signal.source == SOURCE_WORDS) {
        add_symbol(b, "encoder_sequence", &b->sequence);
        int64_t usual =
            b->model->positions > 0 && b->model->positions < USUAL_TOKENS ? b->model->positions : USUAL_TOKENS;
        if (b->status == FT_OK) b->status = graph_set_exported_size(b->graph, b->sequence, usual, b->error);
    }
    b->encoded_tokens = b->model->signal.source == SOURCE_WORDS ? b->sequence : b->model->signal.size;
    b->encoded = language_layers(b, language_encoder_input(b));
    b->model = decoder;
    b->stack = "decoder";
    b->sequence = sequence;
}

static void fill(language_builder *b) {
    const language_model *m = b->model;
    add_symbols(b);
    add_all_meta(b);
    if (m->is_encoder) {
        language_encoder_heads(b, language_layers(b, language_encoder_input(b)));
    } else {
        if (m->encoder != NULL) encode(b);
        uint32_t x = language_layers(b, language_embed(b, m->encoder != NULL ? "decoder_input_ids" : "input_ids"));
        if (!m->has_no_head) x = add_head(b, x);
        if (b->status == FT_OK) b->status = graph_add_output(b->graph, x, b->error);
    }
    if (b->status == FT_OK) b->status = graph_finish(b->graph, b->error);
}

ft_status language_graph_make(const language_model *model, ft_format format, ft_graph **graph, ft_error *error) {
    enum { OPS_PER_LAYER = 28, TENSORS_PER_LAYER = 56 };
    language_builder b = {.model = model, .error = error, .layer = FT_NONE, .stack = "model", .table = FT_NONE};
    b.shared_keys[0] = b.shared_keys[1] = b.shared_values[0] = b.shared_values[1] = FT_NONE;
    FT_TRY(graph_new(format, FT_NCHW, model->name, &b.graph, error));
    size_t layers = model->layer_count + (model->encoder != NULL ? model->encoder->layer_count : 0);
    b.status = graph_reserve(b.graph, layers * TENSORS_PER_LAYER, layers * OPS_PER_LAYER, error);
    if (b.status == FT_OK) fill(&b);
    if (b.status == FT_OK)
        *graph = b.graph;
    else
        ft_graph_free(b.graph);
    return b.status;
}
