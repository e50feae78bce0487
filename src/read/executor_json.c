/* executor_json.c - reader of the JSON of TVM's graph executor (docs/formats/executor.md).
 *
 * jansson parses the text. Lists are accepted with and without TVM's wrapping, ["list_shape", [...]]. Fields that
 * replay does not need (hashes, layouts, device indices) are ignored. */
#include "read/executor_json.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "foretell/graph.h"

enum { MAX_TEXT_BYTES = 256 * 1024 * 1024 };

static bool has_key(const uint8_t *bytes, size_t size, const char *key) {
    size_t length = strlen(key);
    return size >= length && memmem(bytes, size, key, length) != NULL;
}

bool executor_matches(const uint8_t *bytes, size_t size) {
    size_t at = 0;
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\t' || bytes[at] == '\r')) at++;
    return at < size && bytes[at] == '{' && has_key(bytes, size, "\"nodes\"") &&
           (has_key(bytes, size, "\"arg_nodes\"") || has_key(bytes, size, "\"heads\""));
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

typedef struct decoding {
    executor_graph *graph;
    ft_error *error;
} decoding;

static ft_status copy_string(const decoding *d, const json_t *value, const char **copy) {
    const char *text;
    FT_TRY(json_read_string(value, &text, d->error));
    *copy = arena_string(&d->graph->memory, text, strlen(text));
    return *copy ? FT_OK : FT_NOMEM(d->error);
}

/* A number that TVM writes as a string: "num_outputs": "1". */
static ft_status read_count(const decoding *d, const json_t *attrs, const char *key, uint32_t *count) {
    const json_t *value = json_object_get(attrs, key);
    int64_t number = 1;
    if (json_is_string(value)) {
        if (!text_int(json_string_value(value), json_string_length(value), &number) || number < 1 ||
            number > EXECUTOR_MAX_NODES)
            return ft_fail(d->error, FT_ERR_DAMAGED, "is \"%s\", but a count from 1 to %d is expected",
                           json_string_value(value), EXECUTOR_MAX_NODES);
    } else if (value != NULL) {
        FT_TRY(json_read_int(value, 1, EXECUTOR_MAX_NODES, &number, d->error));
    }
    *count = (uint32_t)number;
    return FT_OK;
}

static ft_status read_inputs(const decoding *d, const json_t *list, uint32_t id, executor_node *node) {
    assert(id < EXECUTOR_MAX_NODES);
    size_t count = json_array_size(list);
    if (list != NULL && !json_is_array(list))
        return ft_fail(d->error, FT_ERR_DAMAGED, "\"inputs\" is %s, but a list is expected", json_kind(list));
    if (count > EXECUTOR_MAX_NODES) return ft_fail(d->error, FT_ERR_LIMIT, "more than %d inputs", EXECUTOR_MAX_NODES);
    uint32_t *inputs = ARENA_ARRAY(&d->graph->memory, uint32_t, count);
    if (inputs == NULL && count > 0) return FT_NOMEM(d->error);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        if (json_is_array(entry)) entry = json_array_get(entry, 0);
        int64_t from;
        FT_TRY(json_read_int(entry, 0, EXECUTOR_MAX_NODES, &from, d->error));
        if (from >= id)
            return ft_fail(d->error, FT_ERR_GRAPH, "reads node %lld, which does not precede it: a cycle",
                           (long long)from);
        inputs[i] = (uint32_t)from;
    }
    node->inputs = inputs;
    node->input_count = (uint32_t)count;
    return FT_OK;
}

static ft_status read_node(const decoding *d, const json_t *from, uint32_t id, executor_node *node) {
    if (!json_is_object(from))
        return ft_fail(d->error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(from));
    const char *op;
    if (json_read_string(json_object_get(from, "op"), &op, d->error) != FT_OK)
        return ft_fail_prefix(d->error, FT_ERR_DAMAGED, "\"op\"");
    ft_status status = copy_string(d, json_object_get(from, "name"), &node->name);
    if (status != FT_OK) return ft_fail_prefix(d->error, status, "\"name\"");
    FT_TRY(read_inputs(d, json_object_get(from, "inputs"), id, node));
    node->output_count = 1;
    if (strcmp(op, "null") == 0) return FT_OK;
    if (strcmp(op, "tvm_op") != 0)
        return ft_fail(d->error, FT_ERR_UNSUPPORTED, "\"op\" is \"%s\"; only \"tvm_op\" and \"null\" are supported",
                       op);
    const json_t *attrs = json_object_get(from, "attrs");
    if (attrs == NULL) attrs = json_object_get(from, "attr");
    status = copy_string(d, json_object_get(attrs, "func_name"), &node->func_name);
    if (status != FT_OK) return ft_fail_prefix(d->error, status, "\"func_name\"");
    status = read_count(d, attrs, "num_outputs", &node->output_count);
    return status == FT_OK ? FT_OK : ft_fail_prefix(d->error, status, "\"num_outputs\"");
}

static ft_status read_nodes(const decoding *d, const json_t *list) {
    executor_graph *g = d->graph;
    if (!json_is_array(list))
        return ft_fail(d->error, FT_ERR_DAMAGED, "\"nodes\" is %s, but a list is expected", json_kind(list));
    size_t count = json_array_size(list);
    if (count > EXECUTOR_MAX_NODES) return ft_fail(d->error, FT_ERR_LIMIT, "more than %d nodes", EXECUTOR_MAX_NODES);
    g->nodes = ARENA_ARRAY(&g->memory, executor_node, count);
    if (g->nodes == NULL && count > 0) return FT_NOMEM(d->error);
    uint64_t outputs = 0;
    for (size_t i = 0; i < count; i++) {
        executor_node *node = &g->nodes[i];
        ft_status status = read_node(d, json_array_get(list, i), (uint32_t)i, node);
        g->node_count = (uint32_t)i; /* nodes read so far: the error is about the next one */
        if (status != FT_OK) return ft_fail_prefix(d->error, status, "node %zu", i);
        node->first_output = (uint32_t)outputs;
        outputs += node->output_count;
        if (outputs > EXECUTOR_MAX_NODES)
            return ft_fail(d->error, FT_ERR_LIMIT, "more than %d outputs", EXECUTOR_MAX_NODES);
    }
    g->node_count = (uint32_t)count;
    g->output_count = (uint32_t)outputs;
    return FT_OK;
}

/* --- Outputs ----------------------------------------------------------------------------------------------------- */

/* ["list_shape", [[1, 3], ...]], or the list itself. NULL when it is absent. */
static const json_t *attr_list(const json_t *attrs, const char *key) {
    const json_t *value = json_object_get(attrs, key);
    if (json_array_size(value) == 2 && json_is_string(json_array_get(value, 0))) value = json_array_get(value, 1);
    return json_is_array(value) ? value : NULL;
}

static ft_status read_shape(const decoding *d, const json_t *list, executor_output *output) {
    size_t dims = json_array_size(list);
    if (!json_is_array(list) || dims > EXECUTOR_MAX_DIMS)
        return ft_fail(d->error, FT_ERR_DAMAGED, "expected a list of at most %d numbers", EXECUTOR_MAX_DIMS);
    for (size_t i = 0; i < dims; i++)
        FT_TRY(json_read_int(json_array_get(list, i), -1, INT64_MAX, &output->shape[i], d->error));
    output->dims = (uint32_t)dims;
    output->has_shape = true;
    return FT_OK;
}

/* Shape, dtype and storage of an output. Lists that are too short leave the remaining outputs unknown. */
static ft_status read_output(const decoding *d, const json_t *const lists[3], uint32_t row) {
    assert(row < d->graph->output_count);
    executor_output *output = &d->graph->outputs[row];
    const json_t *shape = json_array_get(lists[0], row), *dtype = json_array_get(lists[1], row),
                 *storage = json_array_get(lists[2], row);
    ft_status status = FT_OK;
    output->storage_id = -1;
    if (shape != NULL) status = read_shape(d, shape, output);
    if (status != FT_OK) return ft_fail_prefix(d->error, status, "\"shape\" %u", row);
    if (dtype != NULL) status = copy_string(d, dtype, &output->dtype);
    if (status != FT_OK) return ft_fail_prefix(d->error, status, "\"dltype\" %u", row);
    if (storage != NULL) status = json_read_int(storage, -1, INT32_MAX, &output->storage_id, d->error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(d->error, status, "\"storage_id\" %u", row);
}

static ft_status read_outputs(const decoding *d, const json_t *attrs) {
    executor_graph *g = d->graph;
    g->outputs = ARENA_ARRAY(&g->memory, executor_output, g->output_count);
    if (g->outputs == NULL && g->output_count > 0) return FT_NOMEM(d->error);
    const json_t *const lists[3] = {attr_list(attrs, "shape"), attr_list(attrs, "dltype"),
                                    attr_list(attrs, "storage_id")};
    for (uint32_t i = 0; i < g->output_count; i++) FT_TRY(read_output(d, lists, i));
    return FT_OK;
}

static ft_status read_heads(const decoding *d, const json_t *list) {
    executor_graph *g = d->graph;
    size_t count = json_array_size(list);
    g->heads = ARENA_ARRAY(&g->memory, uint32_t, count);
    if (g->heads == NULL && count > 0) return FT_NOMEM(d->error);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        if (json_is_array(entry)) entry = json_array_get(entry, 0);
        int64_t id;
        ft_status status = json_read_int(entry, 0, (int64_t)g->node_count - 1, &id, d->error);
        if (status != FT_OK) return ft_fail_prefix(d->error, status, "\"heads\" %zu", i);
        g->heads[i] = (uint32_t)id;
    }
    g->head_count = (uint32_t)count;
    return FT_OK;
}

static ft_status read_root(const decoding *d, const json_t *root) {
    if (!json_is_object(root))
        return ft_fail(d->error, FT_ERR_DAMAGED, "the text is %s, but an object is expected", json_kind(root));
    FT_TRY(read_nodes(d, json_object_get(root, "nodes")));
    FT_TRY(read_outputs(d, json_object_get(root, "attrs")));
    return read_heads(d, json_object_get(root, "heads"));
}

ft_status executor_read(const uint8_t *bytes, size_t size, executor_graph *graph, ft_error *error) {
    *graph = (executor_graph){0};
    arena_init(&graph->memory, FT_MAX_GRAPH_BYTES);
    if (size > MAX_TEXT_BYTES) return ft_fail(error, FT_ERR_LIMIT, "the text has more than %d bytes", MAX_TEXT_BYTES);
    json_t *root = NULL;
    FT_TRY(json_parse(bytes, size, &root, error));
    ft_status status = read_root(&(decoding){.graph = graph, .error = error}, root);
    json_decref(root);
    return status;
}

void executor_free(executor_graph *graph) {
    if (graph == NULL) return;
    arena_free(&graph->memory);
    *graph = (executor_graph){0};
}
