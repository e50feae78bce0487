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

/* --- Fields that may be outside of the language model ------------------------------------------------------------- */

static bool read_tie(config *c) {
    const char *key;
    const json_t *outer = json_object_get(c->root, "tie_word_embeddings");
    if (config_value(c, "tie_word_embeddings", &key) == NULL && json_is_boolean(outer)) return json_is_true(outer);
    return config_bool(c, "tie_word_embeddings", false);
}

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

/* --- The file ---------------------------------------------------------------------------------------------------- */

/* Models of several modalities have their language model in an object of its own, which may be in another. */
static const json_t *find_text(config *c) {
    enum { MAX_NESTING = 4 };
    static const char *const keys[] = {"text_config",    "llm_config", "language_config", "thinker_config",
                                       "language_model", "lm_config",  "decoder"};
    const json_t *found = c->root;
    for (int depth = 0; depth < MAX_NESTING; depth++) {
        const json_t *inner = NULL;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0] && inner == NULL; i++) {
            inner = json_object_get(found, keys[i]);
            if (i == 0 && inner != NULL && !json_is_null(inner) && !json_is_object(inner))
                config_fail(c, FT_ERR_DAMAGED, keys[i], "is not an object");
            if (!json_is_object(inner)) inner = NULL;
        }
        if (inner == NULL) break;
        found = inner;
    }
    return found;
}

/* The type of a file that names the class of the model alone: "LlamaForCausalLM". */
static const char *type_of_class(const config *c) {
    const char *name = json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
    const char *type = name != NULL ? architecture_type_of_class(name) : NULL;
    return type != NULL ? arena_string(c->memory, type, strcspn(type, " ")) : NULL;
}

static const char *model_type(config *c) {
    const char *type = config_text(c, "model_type", NULL);
    if (type == NULL) type = json_string_value(json_object_get(c->root, "model_type"));
    if (type == NULL) type = type_of_class(c);
    return type != NULL ? type : "";
}

ft_status config_read_model(config *c) {
    const char *type = model_type(c);
    char *copy = arena_string(c->memory, type, strlen(type));
    if (copy == NULL) return FT_NOMEM(c->error);
    c->model->type = copy;
    c->arch = architecture_of(type);
    if (c->arch == NULL) {
        config_note(c, "model type \"%.60s\" is not known: read as one of Llama's kind", type);
        c->arch = &architecture_llama;
    }
    read_dtype(c);
    c->model->is_tied = read_tie(c);
    config_read_layers(c);
    config_read_quantisation(c);
    if (c->status == FT_OK) c->status = language_check(c->model, c->error);
    if (c->status != FT_OK && c->arch == &architecture_llama)
        return ft_fail_prefix(c->error, c->status, "model type \"%.60s\" is not known; read as one of Llama's kind",
                              type);
    return c->status;
}

/* The name of the folder for a config.json in it, else of the file. */
static void model_name(const char *path, char name[NAME_SIZE]) {
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path, *start;
    if (slash != NULL && strcmp(file, "config.json") == 0) {
        for (start = slash; start > path && start[-1] != '/'; start--) continue;
        format_text(name, NAME_SIZE, "%.*s", (int)(slash - start), start);
    } else {
        format_text(name, NAME_SIZE, "%s", file);
        char *dot = strstr(name, ".json");
        if (dot != NULL && dot != name) *dot = '\0';
    }
}

static ft_status read_file(const uint8_t *bytes, size_t size, const read_origin *origin, arena *memory,
                           ft_graph **graph, ft_error *error) {
    const char *path = origin->path;
    char name[NAME_SIZE];
    json_t *root = NULL;
    model_name(path, name);
    language_model model = {.name = name};
    FT_TRY(json_scan_check(bytes, size, error));
    FT_TRY(json_parse(bytes, size, &root, error));
    config c = {.root = root,
                .text = root,
                .model = &model,
                .memory = memory,
                .error = error,
                .path = origin->is_on_disk ? path : NULL};
    c.text = find_text(&c);
    ft_status status = c.status == FT_OK ? config_read_model(&c) : c.status;
    json_decref(root);
    return status == FT_OK ? language_graph_make(&model, FT_FORMAT_HUGGINGFACE, graph, error) : status;
}

static ft_status read_config(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                             ft_error *error) {
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = read_file(bytes, size, origin, &memory, graph, error);
    arena_free(&memory);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader huggingface_reader = {.format = FT_FORMAT_HUGGINGFACE, .matches = matches, .read = read_config};
