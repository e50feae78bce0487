/* tfjs.c - the reader of TensorFlow.js models: graph models, whose topology is a GraphDef. Layers models, whose
 * topology is that of Keras, are refused by name. */
#include <string.h>

#include "read/json_scan.h"
#include "read/read.h"
#include "read/tensorflow/tfjs.h"

static bool matches(const uint8_t *bytes, size_t size) {
    const char *const keys[] = {"modelTopology", "weightsManifest", NULL};
    return json_scan_has_key(bytes, size, keys);
}

/* Whether the graph has all nodes that a signature names. Converters may rename nodes after they wrote it. */
static ft_status check_names(const Tf__SignatureDef *signature, const Tf__Graph *graph, arena *memory, bool *fits,
                             ft_error *error) {
    map names;
    map_init(&names, memory);
    for (size_t i = 0; i < graph->n_node; i++)
        if (!map_set(&names, gd_text(graph->node[i]->name), 0)) return FT_NOMEM(error);
    *fits = signature->n_outputs > 0;
    for (size_t i = 0; i < signature->n_outputs; i++) {
        const char *name = gd_text(signature->outputs[i]->value->name);
        const char *node = arena_string(memory, name, strcspn(name, ":"));
        uint32_t unused;
        if (node == NULL) return FT_NOMEM(error);
        *fits = *fits && map_get(&names, node, &unused);
    }
    return FT_OK;
}

static ft_status find_signature(const json_t *root, arena *memory, gd_model *model, ft_error *error) {
    const json_t *signature = json_object_get(root, "signature");
    Tf__SignatureDef *found;
    if (signature == NULL) signature = json_object_get(json_object_get(root, "userDefinedMetadata"), "signature");
    if (!json_is_object(json_object_get(signature, "outputs"))) return FT_OK;
    if (json_object_size(json_object_get(signature, "outputs")) > GD_MAX_OUTPUTS)
        return ft_fail(error, FT_ERR_LIMIT, "the signature has more than %d outputs", GD_MAX_OUTPUTS);
    FT_TRY(tfjs_signature(signature, memory, &found, error));
    bool fits = false;
    FT_TRY(check_names(found, model->graph, memory, &fits, error));
    if (fits) model->signature = found;
    return FT_OK;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static ft_status set_meta(const json_t *root, ft_graph *graph, ft_error *error) {
    static const char *const keys[] = {"generatedBy", "convertedBy"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *text = json_string_value(json_object_get(root, keys[i]));
        if (text != NULL && text[0] != '\0') FT_TRY(graph_set_meta(graph, i == 0 ? "producer" : keys[i], text, error));
    }
    return FT_OK;
}

static ft_status read_root(const json_t *root, const read_origin *origin, arena *memory, ft_graph **graph,
                           ft_error *error) {
    const json_t *topology = json_object_get(root, "modelTopology"),
                 *version = json_object_get(topology, "keras_version");
    tfjs_weights weights;
    Tf__Graph *decoded;
    bool is_keras = version != NULL || json_object_get(topology, "model_config") != NULL ||
                    json_object_get(topology, "class_name") != NULL;
    if (is_keras)
        return ft_fail(
            error, FT_ERR_UNSUPPORTED,
            "a TensorFlow.js layers model (a Keras topology) is not supported, only graph models: convert it "
            "with tensorflowjs_converter --input_format=tfjs_layers_model "
            "--output_format=tfjs_graph_model");
    if (!json_is_object(topology) || !json_is_array(json_object_get(topology, "node")))
        return ft_fail(error, FT_ERR_DAMAGED, "modelTopology is not an object with a list of nodes");
    FT_TRY(tfjs_weights_open(json_object_get(root, "weightsManifest"), origin, memory, &weights, error));
    FT_TRY(tfjs_graph(topology, memory, &decoded, error));
    gd_model model = {.graph = decoded,
                      .name = base_name(origin->path),
                      .format = FT_FORMAT_TFJS,
                      .scratch = memory,
                      .find_stored = tfjs_find_stored,
                      .context = &weights};
    FT_TRY(find_signature(root, memory, &model, error));
    FT_TRY(gd_build(&model, graph, error));
    ft_status status = set_meta(root, *graph, error);
    if (status == FT_OK) return FT_OK;
    ft_graph_free(*graph);
    *graph = NULL;
    return status;
}

static ft_status read_text(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    arena memory;
    json_t *root;
    FT_TRY(json_scan_check(bytes, size, error));
    FT_TRY(json_parse(bytes, size, &root, error));
    arena_init(&memory, FT_MAX_GRAPH_BYTES / 2);
    ft_status status = read_root(root, origin, &memory, graph, error);
    arena_free(&memory);
    json_decref(root);
    return status;
}

static ft_status read_tfjs(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    ft_status status = read_text(bytes, size, origin, graph, error);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader tfjs_reader = {.format = FT_FORMAT_TFJS, .matches = matches, .read = read_tfjs};
