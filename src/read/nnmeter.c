/* nnmeter.c - reader of nn-Meter's IR: a JSON object from node names to {inbounds, outbounds, attr}
 * (docs/formats/nnmeter.md).
 *
 * A scan of the text bounds depth and number of values first, as jansson has no such limits; then jansson parses it.
 * tfgraph.c interprets the nodes. Unknown keys are ignored; known keys of a wrong type are errors. Weights are not
 * in the file: inbounds that name no node are omitted variables. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "read/json_scan.h"
#include "read/read.h"
#include "read/tfgraph.h"

/* --- Scanning the text ------------------------------------------------------------------------------------------- */

static bool is_node_key(const uint8_t *key, size_t length) {
    const char *const keys[] = {"inbounds", "outbounds", "attr"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (length == strlen(keys[i]) && memcmp(key, keys[i], length) == 0) return true;
    }
    return false;
}

/* An object whose first value is an object with one of the keys of a node. */
static bool matches(const uint8_t *bytes, size_t size) {
    size_t at = json_scan_space(bytes, size, 0), depth = 0;
    if (at == size || bytes[at] != '{') return false;
    for (; at < size; at++) {
        if (bytes[at] == '{' || bytes[at] == '[') {
            depth++;
        } else if (bytes[at] == '}' || bytes[at] == ']') {
            if (--depth < 2) return false;
        } else if (bytes[at] == '"') {
            size_t end = json_scan_string(bytes, size, at + 1), next = json_scan_space(bytes, size, end + (end < size));
            bool is_key = next < size && bytes[next] == ':';
            if (depth == 2 && is_key && is_node_key(bytes + at + 1, end - at - 1)) return true;
            at = end;
        } else if (depth == 1 && bytes[at] != ':' && json_scan_space(bytes, at + 1, at) == at) {
            return false; /* the first value is not an object */
        }
    }
    return false;
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

typedef struct ir {
    arena memory; /* scratch memory while reading */
    map index;    /* from names to nodes */
    tf_node *nodes;
    uint32_t count;
    ft_error *error;
} ir;

static ft_status wrong_type(const ir *in, const char *node, const char *key, const char *expected) {
    return ft_fail(in->error, FT_ERR_DAMAGED, "node '%s': \"%s\" is not %s", node, key, expected);
}

/* A list of integers, of which at most `max` are stored. *count is their number; 0 when the key is absent. */
static ft_status read_ints(const ir *in, const char *node, const json_t *from, const char *key, int64_t *ints,
                           size_t max, size_t *count) {
    const json_t *list = json_object_get(from, key);
    *count = json_array_size(list);
    if (list == NULL) return FT_OK;
    if (!json_is_array(list)) return wrong_type(in, node, key, "a list of integers");
    for (size_t i = 0; i < *count && i < max; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(item)) return wrong_type(in, node, key, "a list of integers");
        ints[i] = json_integer_value(item);
    }
    return FT_OK;
}

/* Height and width; TensorFlow also writes them as [1, h, w, 1]. */
static ft_status read_pair(const ir *in, const char *node, const json_t *from, const char *key, int64_t pair[2]) {
    int64_t ints[4] = {0};
    size_t count;
    FT_TRY(read_ints(in, node, from, key, ints, 4, &count));
    if (count == 0) return FT_OK;
    if (count != 2 && count != 4) return wrong_type(in, node, key, "a list of two or four integers");
    for (int i = 0; i < 2; i++) {
        int64_t value = ints[count == 4 ? i + 1 : i];
        if (value < 0 || value > FT_MAX_DIM) return wrong_type(in, node, key, "a list of valid sizes");
        pair[i] = value;
    }
    return FT_OK;
}

/* The first of a list of shapes. An open batch counts as 1, any other open dimension as unknown. */
static ft_status read_shape(const ir *in, const char *node, const json_t *attr, const char *key, tf_shape *shape) {
    const json_t *list = json_object_get(attr, key), *first = json_array_get(list, 0);
    shape->rank = -1;
    if (list != NULL && !json_is_array(list)) return wrong_type(in, node, key, "a list of shapes");
    if (first == NULL || json_is_null(first)) return FT_OK;
    if (!json_is_array(first)) return wrong_type(in, node, key, "a list of shapes");
    size_t rank = json_array_size(first);
    if (rank > FT_MAX_RANK)
        return ft_fail(in->error, FT_ERR_LIMIT, "node '%s': \"%s\" has %zu dimensions; at most %d are supported", node,
                       key, rank, FT_MAX_RANK);
    shape->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(first, i);
        if (!json_is_integer(dim) && !json_is_null(dim)) return wrong_type(in, node, key, "a list of shapes");
        bool is_open = json_is_null(dim) || json_integer_value(dim) == -1;
        shape->dims[i] = is_open ? (i == 0 ? 1 : FT_DIM_UNKNOWN) : json_integer_value(dim);
        if (shape->dims[i] < 0 && shape->dims[i] != FT_DIM_UNKNOWN)
            return wrong_type(in, node, key, "a list of valid shapes");
    }
    for (size_t i = 0; i < rank; i++) {
        if (shape->dims[i] == FT_DIM_UNKNOWN) shape->rank = -1;
    }
    return FT_OK;
}

static ft_status read_padding(const ir *in, const char *name, const json_t *options, tf_node *node) {
    size_t count;
    FT_TRY(read_ints(in, name, options, "pads", node->pads, 4, &count));
    const char *mode = json_string_value(json_object_get(options, "padding"));
    if (mode == NULL) mode = json_string_value(json_object_get(options, "auto_pad"));
    if (mode != NULL && strstr(mode, "SAME") != NULL)
        node->padding = TF_PAD_SAME;
    else if (mode != NULL && strstr(mode, "VALID") != NULL)
        node->padding = TF_PAD_VALID;
    else if (count == 4)
        node->padding = TF_PAD_EXPLICIT;
    for (size_t i = 0; i < 4; i++) {
        if (node->pads[i] < 0 || node->pads[i] > FT_MAX_DIM) return wrong_type(in, name, "pads", "a list of sizes");
    }
    return FT_OK;
}

static ft_status read_options(const ir *in, const char *name, const json_t *options, tf_node *node) {
    FT_TRY(read_pair(in, name, options, "ksize", node->kernel));
    FT_TRY(read_pair(in, name, options, "kernel_shape", node->kernel));
    FT_TRY(read_pair(in, name, options, "strides", node->strides));
    FT_TRY(read_pair(in, name, options, "dilations", node->dilations));
    FT_TRY(read_padding(in, name, options, node));
    size_t count;
    int64_t weight[4] = {0};
    FT_TRY(read_ints(in, name, options, "weight_shape", weight, 4, &count));
    for (size_t i = 0; i < 4 && count == 4; i++) {
        if (weight[i] < 0 || weight[i] > FT_MAX_DIM) return wrong_type(in, name, "weight_shape", "a valid shape");
        node->kernel[i] = weight[i];
    }
    const json_t *group = json_object_get(options, "group");
    if (group != NULL && (!json_is_integer(group) || json_integer_value(group) < 0))
        return wrong_type(in, name, "group", "a count");
    node->group = json_integer_value(group);
    return FT_OK;
}

/* TensorFlow's files write dilations [1, 1] where the CG tables write nothing; both mean no dilation. */
static void drop_plain_dilations(tf_node *node) {
    if (node->dilations[0] == 1 && node->dilations[1] == 1) node->dilations[0] = node->dilations[1] = 0;
}

static ft_status read_node(ir *in, const char *name, const json_t *entry, tf_node *node) {
    if (!json_is_object(entry))
        return ft_fail(in->error, FT_ERR_DAMAGED, "node '%s' is not an object with inbounds, outbounds and attr", name);
    const json_t *attr = json_object_get(entry, "attr"), *options = json_object_get(attr, "attr");
    const json_t *type = json_object_get(attr, "type");
    if (attr == NULL || !json_is_object(attr)) return wrong_type(in, name, "attr", "an object");
    if (options != NULL && !json_is_object(options)) return wrong_type(in, name, "attr.attr", "an object");
    if (type != NULL && !json_is_string(type)) return wrong_type(in, name, "type", "a string");
    /* nn-Meter writes an empty attr for operators whose shapes it could not find. */
    node->type = tf_type_of(type != NULL ? json_string_value(type) : "unknown");
    node->name = name;
    FT_TRY(read_shape(in, name, attr, "input_shape", &node->in));
    FT_TRY(read_shape(in, name, attr, "output_shape", &node->out));
    FT_TRY(read_options(in, name, options, node));
    drop_plain_dilations(node);
    return FT_OK;
}

static ft_status read_inbounds(ir *in, const char *name, const json_t *entry, tf_node *node) {
    const json_t *list = json_object_get(entry, "inbounds"), *outbounds = json_object_get(entry, "outbounds");
    if (outbounds != NULL && !json_is_array(outbounds)) return wrong_type(in, name, "outbounds", "a list of names");
    if (list == NULL) return FT_OK;
    if (!json_is_array(list)) return wrong_type(in, name, "inbounds", "a list of names");
    size_t count = json_array_size(list);
    uint32_t *inputs = ARENA_ARRAY(&in->memory, uint32_t, count);
    if (inputs == NULL) return FT_NOMEM(in->error);
    for (size_t i = 0; i < count; i++) {
        const char *from = json_string_value(json_array_get(list, i));
        if (from == NULL) return wrong_type(in, name, "inbounds", "a list of names");
        if (map_get(&in->index, from, &inputs[node->input_count])) node->input_count++;
    }
    node->inputs = inputs;
    return FT_OK;
}

static ft_status read_nodes(ir *in, json_t *root) {
    if (json_object_size(root) > FT_MAX_OPS) return ft_fail(in->error, FT_ERR_LIMIT, "more than %d nodes", FT_MAX_OPS);
    in->nodes = ARENA_ARRAY(&in->memory, tf_node, json_object_size(root));
    if (in->nodes == NULL) return FT_NOMEM(in->error);
    map_init(&in->index, &in->memory);
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry) {
        FT_TRY(read_node(in, name, entry, &in->nodes[in->count]));
        if (!map_set(&in->index, name, in->count++)) return FT_NOMEM(in->error);
    }
    uint32_t i = 0;
    json_object_foreach(root, name, entry) {
        FT_TRY(read_inbounds(in, name, entry, &in->nodes[i]));
        i++;
    }
    return FT_OK;
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

/* "a/b/net.json.gz" -> "net" */
static void graph_name(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strstr(name, ".json");
    if (dot != NULL && dot != name) *dot = '\0';
}

static ft_status build(json_t *root, const char *path, ft_graph **graph, ft_error *error) {
    ir in = {.error = error};
    arena_init(&in.memory, FT_MAX_GRAPH_BYTES);
    char name[256];
    graph_name(path, name, sizeof name);
    ft_graph *made = NULL;
    ft_status status = graph_new(FT_FORMAT_NNMETER, FT_NHWC, name, &made, error);
    if (status == FT_OK) status = read_nodes(&in, root);
    if (status == FT_OK) status = tf_build(in.nodes, in.count, made, error);
    arena_free(&in.memory);
    if (status == FT_OK)
        *graph = made;
    else
        ft_graph_free(made);
    return status;
}

static ft_status read_text(const uint8_t *bytes, size_t size, const char *path, ft_graph **graph, ft_error *error) {
    FT_TRY(json_scan_check(bytes, size, error));
    json_t *root;
    FT_TRY(json_parse(bytes, size, &root, error));
    ft_status status = json_is_object(root)
                           ? build(root, path, graph, error)
                           : ft_fail(error, FT_ERR_FORMAT, "is JSON, but not an object from node names to nodes");
    json_decref(root);
    return status;
}

static ft_status read_ir(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                         ft_error *error) {
    ft_status status = read_text(bytes, size, origin->path, graph, error);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader nnmeter_reader = {.format = FT_FORMAT_NNMETER, .matches = matches, .read = read_ir};
