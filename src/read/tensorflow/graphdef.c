/* graphdef.c - the reader of TensorFlow's protobuf files: a GraphDef (frozen or not), and saved_model.pb of a
 * SavedModel, whose signature names inputs and outputs.
 *
 * protobuf-c generates the decoder from graphdef.proto. It reads a validated copy of the file without its weights
 * (graphdef_strip.c), and allocates from an arena with a limit. */
#include <stdio.h>
#include <string.h>

#include "read/decoder.h"
#include "read/read.h"
#include "read/tensorflow/tfjs.h"
#include "read/wire.h"

/* --- Recognition ------------------------------------------------------------------------------------------------- */

/* Neither file has a magic number. A GraphDef begins with a node: a message of short texts (name, operator, inputs)
 * and attributes. A SavedModel begins with its schema version, 1, and a meta graph. A truncated file still matches, so
 * that the error says "truncated" and not "unknown format". */

enum { MAX_NAME_BYTES = 4096, MAX_FIELDS_CHECKED = 4, SAVED_MODEL_SCHEMA = 1 };

static bool is_text(const wire_field *field) {
    if (field->type != WIRE_BYTES || field->size == 0 || field->size > MAX_NAME_BYTES) return false;
    for (size_t i = 0; i < field->size; i++)
        if (field->data[i] < 0x21 || field->data[i] >= 0x7f) return false;
    return true;
}

/* A node: a name, then an operator, both texts without blanks. */
static bool begins_like_node(const uint8_t *at, const uint8_t *end) {
    for (uint32_t number = 1; number <= 2; number++) {
        wire_field field;
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_TRUNCATED && number == 2) return true;
        if (step != WIRE_FIELD || field.number != number || !is_text(&field)) return false;
    }
    return true;
}

static bool matches_graph(const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    for (int i = 0; i < MAX_FIELDS_CHECKED; i++) {
        wire_field field;
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END) return i > 0;
        if (step == WIRE_INVALID || field.type != WIRE_BYTES || field.number > 4) return i > 0 && step != WIRE_INVALID;
        if (field.number != 1) return i > 0;
        if (field.data == NULL) return false;
        const uint8_t *last = step == WIRE_TRUNCATED ? end : field.data + field.size;
        if (!begins_like_node(field.data, last)) return false;
        if (step == WIRE_TRUNCATED) return true;
    }
    return true;
}

static bool matches_saved(const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    wire_field version, graph;
    if (wire_next(&at, end, &version) != WIRE_FIELD || version.number != 1 || version.type != WIRE_VARINT) return false;
    wire_step step = wire_next(&at, end, &graph);
    if (version.varint != SAVED_MODEL_SCHEMA || graph.number != 2 || graph.type != WIRE_BYTES) return false;
    if (step == WIRE_TRUNCATED) return true;
    wire_field first; /* ONNX has a text here, the name of a program */
    const uint8_t *inner = graph.data;
    step = wire_next(&inner, graph.data + graph.size, &first);
    return (step == WIRE_FIELD || step == WIRE_END) && first.number <= 2;
}

static bool matches(const uint8_t *bytes, size_t size) {
    return matches_graph(bytes, size) || matches_saved(bytes, size);
}

/* --- The SavedModel ---------------------------------------------------------------------------------------------- */

/* The graph for serving, else the first. */
static const Tf__MetaGraph *choose_graph(const Tf__SavedModel *saved) {
    for (size_t i = 0; i < saved->n_meta_graphs; i++) {
        const Tf__MetaInfo *info = saved->meta_graphs[i]->meta_info_def;
        for (size_t k = 0; info != NULL && k < info->n_tags; k++)
            if (strcmp(info->tags[k], "serve") == 0) return saved->meta_graphs[i];
    }
    return saved->n_meta_graphs > 0 ? saved->meta_graphs[0] : NULL;
}

/* "serving_default", else the first that is not for loading the model. */
static const Tf__SignatureDef *choose_signature(const Tf__MetaGraph *graph, const char **name) {
    const Tf__SignatureDef *found = NULL;
    *name = "";
    for (size_t i = 0; i < graph->n_signature_def; i++) {
        const Tf__NamedSignature *s = graph->signature_def[i];
        const char *key = gd_text(s->key);
        bool is_default = strcmp(key, "serving_default") == 0;
        if (s->value == NULL || s->value->n_outputs == 0 || strncmp(key, "__", 2) == 0) continue;
        if (found != NULL && !is_default) continue;
        found = s->value;
        *name = key;
        if (is_default) break;
    }
    return found;
}

/* --- The model --------------------------------------------------------------------------------------------------- */

static ft_status set_meta(const Tf__MetaGraph *saved, const char *signature, ft_graph *graph, ft_error *error) {
    const char *version = saved->meta_info_def != NULL ? gd_text(saved->meta_info_def->tensorflow_version) : "";
    char producer[128];
    if (signature[0] != '\0') FT_TRY(graph_set_meta(graph, "signature", signature, error));
    if (version[0] == '\0') return FT_OK;
    snprintf(producer, sizeof producer, "TensorFlow %.64s", version);
    return graph_set_meta(graph, "producer", producer, error);
}

static ft_status read_model(const uint8_t *bytes, size_t size, decoder *d, gd_model *model, ft_graph **graph,
                            ft_error *error) {
    bool is_saved = matches_saved(bytes, size);
    uint8_t *stripped;
    size_t stripped_size;
    const void *message;
    const Tf__MetaGraph *meta = NULL;
    const char *signature = "";
    FT_TRY(gd_strip(bytes, size, is_saved, &stripped, &stripped_size, error));
    FT_TRY(decoder_unpack(d, is_saved ? &tf__saved_model__descriptor : &tf__graph__descriptor, stripped, stripped_size,
                          &message, error));
    model->graph = message;
    if (is_saved) {
        meta = choose_graph(message);
        if (meta == NULL || meta->graph_def == NULL)
            return ft_fail(error, FT_ERR_DAMAGED, "damaged: the saved model has no graph; the file may be truncated");
        model->graph = meta->graph_def;
        model->signature = choose_signature(meta, &signature);
    }
    FT_TRY(gd_build(model, graph, error));
    ft_status status = meta != NULL ? set_meta(meta, signature, *graph, error) : FT_OK;
    if (status != FT_OK) {
        ft_graph_free(*graph);
        *graph = NULL;
    }
    return status;
}

/* "a/b/net.pb" -> "net.pb"; "a/net/saved_model.pb" -> "net" */
static const char *model_name(const char *path, char *text, size_t size) {
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    if (slash == NULL || strncmp(base, "saved_model.pb", 14) != 0) return base;
    const char *begin = slash;
    while (begin > path && begin[-1] != '/') begin--;
    snprintf(text, size, "%.*s", (int)(slash - begin < 255 ? slash - begin : 255), begin);
    return text;
}

static ft_status read_graphdef(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                               ft_error *error) {
    decoder d;
    char name[256];
    decoder_init(&d);
    gd_model model = {
        .name = model_name(origin->path, name, sizeof name), .format = FT_FORMAT_TENSORFLOW, .scratch = &d.memory};
    tfjs_weights weights;
    json_t *manifest;
    ft_status status = tfjs_weights_beside(origin, &d.memory, &weights, &manifest, error);
    if (status == FT_OK && manifest != NULL) {
        model.find_stored = tfjs_find_stored;
        model.context = &weights;
    }
    if (status == FT_OK) status = read_model(bytes, size, &d, &model, graph, error);
    json_decref(manifest);
    arena_free(&d.memory);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", origin->path);
}

const reader tensorflow_reader = {.format = FT_FORMAT_TENSORFLOW, .matches = matches, .read = read_graphdef};
