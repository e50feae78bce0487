/* config.c - the reader of HuggingFace's config.json (docs/formats/huggingface.md): the model that a configuration of
 * the transformers library describes, without its weights. */
#include "read/language/config.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "read/json_scan.h"
#include "read/language/language_graph.h"
#include "read/read.h"

enum { NAME_SIZE = 256 };

static bool matches(const uint8_t *bytes, size_t size) {
    static const char *const keys[] = {"model_type", "architectures", "text_config", "hidden_size", "n_embd", NULL};
    return json_scan_has_key(bytes, size, keys);
}

/* --- Sizes that all families have -------------------------------------------------------------------------------- */

static void read_dtype(config *c) {
    const char *text = config_text(c, "torch_dtype dtype", NULL);
    if (text == NULL) {
        const json_t *outer = json_object_get(c->root, "torch_dtype");
        text = json_string_value(outer != NULL ? outer : json_object_get(c->root, "dtype"));
    }
    if (text != NULL && strncmp(text, "torch.", 6) == 0) text += 6;
    c->model->dtype = FT_BFLOAT16;
    if (text == NULL || strcmp(text, "auto") == 0)
        config_note(c, "the file names no type of weights: bfloat16 is assumed");
    else if (!ft_dtype_parse(text, &c->model->dtype) || !ft_dtype_is_float(c->model->dtype))
        config_fail(c, FT_ERR_UNSUPPORTED, "torch_dtype", "is not the name of a floating-point type");
}

static void read_activation(config *c) {
    static const struct {
        const char *part;
        language_activation activation;
    } known[] = {{"silu", ACTIVATION_SILU}, {"swish", ACTIVATION_SILU}, {"swiglu", ACTIVATION_SILU},
                 {"gelu", ACTIVATION_GELU}, {"geglu", ACTIVATION_GELU}, {"relu2", ACTIVATION_RELU2},
                 {"relu", ACTIVATION_RELU}};
    const char *text = config_text(c, "hidden_activation hidden_act activation_function mlp_hidden_act", "silu");
    for (size_t i = sizeof known / sizeof known[0]; i-- > 0;)
        if (strstr(text, known[i].part) != NULL) c->model->activation = known[i].activation;
}

/* Layers that are all alike: what a family differs in, it sets later. */
static void read_layers(config *c) {
    language_model *m = c->model;
    int64_t count = config_size(c, "num_hidden_layers n_layer num_layers n_layers");
    int64_t heads = config_size(c, "num_attention_heads n_head num_heads n_heads");
    if (c->status == FT_OK && count > LANGUAGE_MAX_LAYERS)
        config_fail(c, FT_ERR_LIMIT, "num_hidden_layers", "is larger than the 1024 that are supported");
    if (c->status == FT_OK && config_int(c, "head_dim", 0) == 0 && m->hidden % heads != 0)
        config_fail(c, FT_ERR_DAMAGED, "hidden_size", "does not divide by \"num_attention_heads\"");
    if (c->status != FT_OK) return;
    language_layer layer = {.mixer = MIXER_ATTENTION, .mlp = MLP_DENSE, .heads = heads};
    layer.kv_heads = config_int(c, "num_key_value_heads num_kv_heads n_kv_heads", heads);
    layer.head_size = config_int(c, "head_dim", m->hidden / heads);
    layer.value_size = layer.head_size;
    layer.inner = config_size(c, "intermediate_size n_inner ffn_dim");
    m->layers = ARENA_ARRAY(c->memory, language_layer, (size_t)count);
    if (m->layers == NULL) {
        c->status = FT_NOMEM(c->error);
        return;
    }
    m->layer_count = (uint32_t)count;
    for (uint32_t i = 0; i < m->layer_count; i++) m->layers[i] = layer;
}

static void read_common(config *c) {
    language_model *m = c->model;
    m->hidden = config_size(c, "hidden_size n_embd d_model dim");
    m->vocabulary = config_size(c, "vocab_size");
    m->positions = config_int(c, "max_position_embeddings n_positions max_seq_len", 0);
    m->is_tied = config_bool(c, "tie_word_embeddings", false);
    m->is_gated = true;
    read_dtype(c);
    read_activation(c);
    read_layers(c);
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

/* Models of several modalities have their language model in an object of its own. */
static const json_t *find_text(const json_t *root) {
    static const char *const keys[] = {"text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *inner = json_object_get(root, keys[i]);
        if (json_is_object(inner)) return inner;
    }
    return root;
}

static const char *model_type(config *c) {
    const char *type = config_text(c, "model_type", NULL);
    if (type == NULL) type = json_string_value(json_object_get(c->root, "model_type"));
    return type != NULL ? type : "";
}

static ft_status read_model(config *c) {
    const char *type = model_type(c);
    char *copy = arena_string(c->memory, type, strlen(type));
    if (copy == NULL) return FT_NOMEM(c->error);
    c->model->type = copy;
    read_common(c);
    if (c->status == FT_OK) config_apply_family(c, type);
    return c->status == FT_OK ? language_check(c->model, c->error) : c->status;
}

/* The name of the folder for a config.json in it, else of the file. */
static void model_name(const char *path, char name[NAME_SIZE]) {
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path, *start = file;
    if (slash != NULL && strcmp(file, "config.json") == 0) {
        for (start = slash; start > path && start[-1] != '/'; start--) continue;
        format_text(name, NAME_SIZE, "%.*s", (int)(slash - start), start);
    } else {
        format_text(name, NAME_SIZE, "%s", file);
        char *dot = strstr(name, ".json");
        if (dot != NULL && dot != name) *dot = '\0';
    }
}

static ft_status read_file(const uint8_t *bytes, size_t size, const char *path, arena *memory, ft_graph **graph,
                           ft_error *error) {
    char name[NAME_SIZE];
    json_t *root = NULL;
    model_name(path, name);
    language_model model = {.name = name};
    FT_TRY(json_scan_check(bytes, size, error));
    FT_TRY(json_parse(bytes, size, &root, error));
    config c = {.root = root, .text = find_text(root), .model = &model, .memory = memory, .error = error};
    ft_status status = read_model(&c);
    json_decref(root);
    return status == FT_OK ? language_graph_make(&model, FT_FORMAT_HUGGINGFACE, graph, error) : status;
}

static ft_status read_config(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                             ft_error *error) {
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = read_file(bytes, size, origin->path, &memory, graph, error);
    arena_free(&memory);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader huggingface_reader = {.format = FT_FORMAT_HUGGINGFACE, .matches = matches, .read = read_config};
