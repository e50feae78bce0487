/* perfseer.c - reader of graphs of the PerfSeer / GAPP data set: a pickled networkx DiGraph
 * (docs/formats/perfseer.md).
 *
 * A node has a 'feature': the ONNX operator, thirteen numbers on kernel and width, twelve on sizes in memory, and
 * its FLOPs. Shapes come from the sizes, weights from the arguments (and, where the two disagree about a bias, from
 * the stored weight size). Costs stored in the file become attributes that start with "stored_".
 *
 * Any number may be written as a string. Three forms are read: the graph object of networkx, the dict of its
 * members, and a plain dict of dicts, from nodes to their successors. */
#include "read/perfseer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "graph/opdef.h"
#include "read/pickle/pickle.h"

/* Values may be shared, so a small file can claim many nodes and edges: these limits bound the run time. */
enum { MAX_NODES = 500000, MAX_EDGES = 2000000, MAX_WEIGHTS = 4, MAX_ATTRS = 12, NAME_SIZE = 256 };

typedef struct op_node {
    const pickle_value *feature; /* NULL: none */
    const pickle_value *successors;
    const char *name, *type;
    uint32_t tensor;
    uint32_t *inputs; /* nodes */
    uint32_t input_count, reader_count;
} op_node;

typedef struct builder {
    arena memory; /* scratch memory while building */
    ft_graph *graph;
    op_node *nodes;
    uint32_t count;
    map index; /* from the text of a key to its node */
    int64_t batch;
    double stored_flops, stored_bytes;
    uint32_t *inputs; /* of the current operator */
    uint32_t input_count;
    ft_attr attrs[MAX_ATTRS];
    uint32_t attr_count;
    ft_error *error;
} builder;

/* --- Nodes and edges --------------------------------------------------------------------------------------------- */

/* Keys of nodes are compared as text, prefixed by their kind, as 1 and "1" are two nodes. Other kinds give "". */
static const char *key_text(const pickle_value *key, char *text, size_t size) {
    text[0] = '\0';
    if (key->kind == PICKLE_BOOL || key->kind == PICKLE_INT) snprintf(text, size, "i%lld", (long long)key->i);
    if (key->kind == PICKLE_FLOAT) snprintf(text, size, "f%.17g", key->f);
    if (key->kind == PICKLE_STRING) snprintf(text, size, "s%s", key->s);
    return text;
}

static ft_status add_node(builder *b, const pickle_value *key, const pickle_value *attrs) {
    assert(attrs != NULL);
    char text[NAME_SIZE];
    uint32_t unused;
    if (key_text(key, text, sizeof text)[0] == '\0')
        return ft_fail(b->error, FT_ERR_UNSUPPORTED, "the key of node %u is neither a number nor a string", b->count);
    if (map_get(&b->index, text, &unused))
        return ft_fail(b->error, FT_ERR_GRAPH, "two nodes have the key '%s'", text + 1);
    op_node *node = &b->nodes[b->count];
    node->feature = pickle_get(attrs, "feature");
    if (node->feature == NULL && pickle_get(attrs, "type") != NULL) node->feature = attrs;
    const pickle_value *type = pickle_get(node->feature, "type");
    node->type = type != NULL && type->kind == PICKLE_STRING ? type->s : "unknown";
    node->name = arena_format(&b->memory, "%s:%.*s", text + 1, NAME_SIZE, node->type);
    const char *copy = arena_string(&b->memory, text, strlen(text));
    if (node->name == NULL || copy == NULL || !map_set(&b->index, copy, b->count++)) return FT_NOMEM(b->error);
    return FT_OK;
}

static ft_status add_nodes(builder *b, const pickle_value *nodes) {
    if (nodes->count > MAX_NODES) return ft_fail(b->error, FT_ERR_LIMIT, "more than %d nodes", MAX_NODES);
    b->nodes = ARENA_ARRAY(&b->memory, op_node, nodes->count);
    if (b->nodes == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < nodes->count; i++) FT_TRY(add_node(b, nodes->items[2 * i], nodes->items[2 * i + 1]));
    return FT_OK;
}

static ft_status add_successors(builder *b, const pickle_value *adjacency) {
    for (uint32_t i = 0; i < adjacency->count; i++) {
        char text[NAME_SIZE];
        uint32_t from;
        if (!map_get(&b->index, key_text(adjacency->items[2 * i], text, sizeof text), &from))
            return ft_fail(b->error, FT_ERR_GRAPH, "edge list %u starts at an unknown node", i);
        b->nodes[from].successors = adjacency->items[2 * i + 1];
        if (b->nodes[from].successors->kind != PICKLE_DICT)
            return ft_fail(b->error, FT_ERR_DAMAGED, "the successors of node '%s' are not a dict", b->nodes[from].name);
    }
    return FT_OK;
}

/* Visits every edge. In a plain dict of dicts, 'feature' is listed among the successors and is skipped. */
static ft_status visit_edges(builder *b, void (*visit)(op_node *from, op_node *to, uint32_t from_index)) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const pickle_value *to = b->nodes[i].successors;
        for (uint32_t k = 0; to != NULL && k < to->count; k++) {
            if (++total > MAX_EDGES) return ft_fail(b->error, FT_ERR_LIMIT, "more than %d edges", MAX_EDGES);
            char text[NAME_SIZE];
            uint32_t index;
            if (strcmp(key_text(to->items[2 * k], text, sizeof text), "sfeature") == 0) continue;
            if (!map_get(&b->index, text, &index))
                return ft_fail(b->error, FT_ERR_GRAPH, "edge %u of node '%s' leads to an unknown node", k,
                               b->nodes[i].name);
            visit(&b->nodes[i], &b->nodes[index], i);
        }
    }
    return FT_OK;
}

static void count_edge(op_node *from, op_node *to, uint32_t from_index) {
    (void)from_index;
    from->reader_count++;
    to->input_count++;
}

static void store_edge(op_node *from, op_node *to, uint32_t from_index) {
    (void)from;
    to->inputs[to->input_count++] = from_index;
}

static ft_status connect(builder *b) {
    uint32_t max = 0;
    FT_TRY(visit_edges(b, count_edge));
    for (uint32_t i = 0; i < b->count; i++) {
        op_node *node = &b->nodes[i];
        if (node->input_count > max) max = node->input_count;
        node->inputs = ARENA_ARRAY(&b->memory, uint32_t, node->input_count);
        if (node->inputs == NULL) return FT_NOMEM(b->error);
        node->input_count = 0;
    }
    b->inputs = ARENA_ARRAY(&b->memory, uint32_t, (size_t)max + MAX_WEIGHTS + 1);
    if (b->inputs == NULL) return FT_NOMEM(b->error);
    return visit_edges(b, store_edge);
}

/* The members of a networkx graph, under the names of any of its versions. */
static const pickle_value *find_member(const pickle_value *state, const char *newer, const char *older) {
    const pickle_value *found = pickle_get(state, newer);
    if (found == NULL) found = pickle_get(state, older);
    return found != NULL && found->kind == PICKLE_DICT ? found : NULL;
}

static bool is_dict_of_dicts(const pickle_value *value) {
    if (value->kind != PICKLE_DICT || value->count == 0) return false;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->items[2 * i + 1]->kind != PICKLE_DICT) return false;
    }
    return true;
}

static ft_status read_structure(builder *b, const pickle_value *root) {
    const pickle_value *state = pickle_is_graph(root) ? root->object->state : root;
    const pickle_value *nodes = find_member(state, "_node", "node"), *adjacency = find_member(state, "_succ", "succ");
    if (adjacency == NULL) adjacency = find_member(state, "_adj", "adj");
    if (nodes == NULL && adjacency == NULL && is_dict_of_dicts(root)) nodes = adjacency = root;
    if (nodes == NULL || adjacency == NULL)
        return ft_fail(b->error, FT_ERR_FORMAT, "a pickle that is neither a networkx graph nor a dict of dicts");
    FT_TRY(add_nodes(b, nodes));
    FT_TRY(add_successors(b, adjacency));
    return connect(b);
}

/* --- Features ---------------------------------------------------------------------------------------------------- */

/* A number of one of the three dicts of a node; 0 when it is absent or invalid as a size. */
static int64_t size_of(const op_node *node, const char *group, const char *key) {
    const pickle_value *dict = group != NULL ? pickle_get(node->feature, group) : node->feature;
    double number;
    if (!pickle_number(pickle_get(dict, key), &number)) return 0;
    return number >= 0 && number <= (double)FT_MAX_DIM ? (int64_t)llround(number) : 0;
}

static int64_t argument(const op_node *node, const char *key) {
    return size_of(node, "args", key);
}

static int64_t memory_info(const op_node *node, const char *key) {
    return size_of(node, "memory_info", key);
}

static double stored_number(const op_node *node, const char *group, const char *key) {
    const pickle_value *dict = group != NULL ? pickle_get(node->feature, group) : node->feature;
    double number;
    return pickle_number(pickle_get(dict, key), &number) && isfinite(number) ? number : 0;
}

/* N,C,H,W, or N,C when there is no map. */
static void set_shape(ft_tensor *t, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    t->rank = channels <= 0 ? -1 : height > 0 && width > 0 ? 4 : 2;
    t->dims[0] = batch;
    t->dims[1] = channels;
    t->dims[2] = t->rank == 4 ? height : 0;
    t->dims[3] = t->rank == 4 ? width : 0;
}

static int64_t batch_of(const builder *b, const op_node *node) {
    int64_t batch = memory_info(node, "batch_size");
    return batch > 0 ? batch : b->batch;
}

static ft_status add_output(builder *b, op_node *node) {
    ft_tensor spec = {.name = node->name, .dtype = FT_FLOAT32, .role = FT_ACTIVATION};
    set_shape(&spec, batch_of(b, node), memory_info(node, "output_channels"), memory_info(node, "output_h"),
              memory_info(node, "output_w"));
    FT_TRY(graph_add_tensor(b->graph, &spec, &node->tensor, b->error));
    return node->reader_count == 0 ? graph_add_output(b->graph, node->tensor, b->error) : FT_OK;
}

/* A node without producers reads the input of the model. */
static ft_status add_input(builder *b, const op_node *node) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.200s/input", node->name);
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = FT_INPUT};
    set_shape(&spec, batch_of(b, node), memory_info(node, "input_channels"), memory_info(node, "input_h"),
              memory_info(node, "input_w"));
    uint32_t tensor;
    FT_TRY(graph_add_tensor(b->graph, &spec, &tensor, b->error));
    b->inputs[b->input_count++] = tensor;
    return graph_add_input(b->graph, tensor, b->error);
}

static ft_status add_weight(builder *b, const op_node *node, const char *suffix, int32_t rank, const int64_t *dims) {
    assert(rank >= 1 && rank <= FT_MAX_RANK);
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.200s/%s", node->name, suffix);
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = FT_CONSTANT, .rank = rank};
    memcpy(spec.dims, dims, (size_t)rank * sizeof dims[0]);
    uint32_t tensor;
    FT_TRY(graph_add_tensor(b->graph, &spec, &tensor, b->error));
    b->inputs[b->input_count++] = tensor;
    return FT_OK;
}

/* The stored weight size overrides the argument when it is one of the two possible ones. */
static bool has_bias(const op_node *node, int64_t weights, int64_t width, int64_t declared) {
    int64_t size = memory_info(node, "weight_size");
    if (size == weights) return false;
    return size == weights + width || declared != 0;
}

static ft_status attr_int(builder *b, const char *name, int64_t value) {
    assert(b->attr_count < MAX_ATTRS);
    return graph_attr_int(b->graph, &b->attrs[b->attr_count++], name, value, b->error);
}

/* The same number for height and width (`count` 2) or for all four sides (4); omitted when it is below `min`. */
static ft_status attr_square(builder *b, const char *name, int64_t value, size_t count, int64_t min) {
    assert(b->attr_count < MAX_ATTRS);
    assert(count == 2 || count == 4);
    int64_t values[4] = {value, value, value, value};
    if (value < min) return FT_OK;
    return graph_attr_ints(b->graph, &b->attrs[b->attr_count++], name, values, count, b->error);
}

static ft_status attr_float(builder *b, const char *name, double value) {
    assert(b->attr_count < MAX_ATTRS);
    return graph_attr_float(b->graph, &b->attrs[b->attr_count++], name, value, b->error);
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

/* Channels of the producer: those stored for a node with several inputs are a mean. */
static int64_t input_channels(const builder *b, const op_node *node) {
    const ft_tensor *t = b->input_count > 0 ? &b->graph->tensors[b->inputs[0]] : NULL;
    return t != NULL && t->rank >= 2 ? t->dims[1] : memory_info(node, "input_channels");
}

static ft_status add_conv(builder *b, const op_node *node) {
    int64_t kernel = argument(node, "conv_kernel_size"), group = argument(node, "conv_groups");
    int64_t in = input_channels(b, node), out = memory_info(node, "output_channels");
    if (group <= 0) group = 1;
    FT_TRY(attr_square(b, "kernel_shape", kernel, 2, 1));
    FT_TRY(attr_square(b, "strides", argument(node, "conv_stride"), 2, 1));
    FT_TRY(attr_square(b, "pads", argument(node, "conv_padding"), 4, 0));
    FT_TRY(attr_square(b, "dilations", argument(node, "conv_dilation"), 2, 1));
    FT_TRY(attr_int(b, "group", group));
    if (kernel <= 0 || in <= 0 || out <= 0 || in % group != 0) return FT_OK;
    int64_t dims[] = {out, in / group, kernel, kernel};
    FT_TRY(add_weight(b, node, "weight", 4, dims));
    int64_t weights = shape_elems(dims, 4);
    return has_bias(node, weights, out, argument(node, "conv_bias")) ? add_weight(b, node, "bias", 1, &out) : FT_OK;
}

static ft_status add_norm(builder *b, const op_node *node) {
    const char *const names[] = {"scale", "bias", "mean", "variance"};
    int64_t channels = input_channels(b, node);
    for (size_t i = 0; channels > 0 && i < sizeof names / sizeof names[0]; i++)
        FT_TRY(add_weight(b, node, names[i], 1, &channels));
    return FT_OK;
}

static ft_status add_gemm(builder *b, const op_node *node) {
    int64_t dims[] = {argument(node, "linear_out_features"), argument(node, "linear_in_features")};
    if (dims[0] <= 0) dims[0] = memory_info(node, "output_channels");
    if (dims[1] <= 0) dims[1] = input_channels(b, node);
    FT_TRY(attr_int(b, "transB", 1));
    if (dims[0] <= 0 || dims[1] <= 0) return FT_OK;
    FT_TRY(add_weight(b, node, "weight", 2, dims));
    int64_t weights = shape_elems(dims, 2);
    bool is_biased = has_bias(node, weights, dims[0], argument(node, "linear_bias"));
    return is_biased ? add_weight(b, node, "bias", 1, &dims[0]) : FT_OK;
}

static ft_status add_pool(builder *b, const op_node *node) {
    FT_TRY(attr_square(b, "kernel_shape", argument(node, "pool_kernel_size"), 2, 1));
    FT_TRY(attr_square(b, "strides", argument(node, "pool_stride"), 2, 1));
    FT_TRY(attr_square(b, "pads", argument(node, "pool_padding"), 4, 0));
    return attr_int(b, "ceil_mode", argument(node, "pool_ceil_mode") != 0);
}

static ft_status add_axis(builder *b, const op_node *node) {
    (void)node;
    return attr_int(b, "axis", 1);
}

typedef struct operator_rule {
    const char *type;
    ft_status (*add)(builder *b, const op_node *node);
} operator_rule;

static const operator_rule rules[] = {
    {"Conv", add_conv},    {"BatchNormalization", add_norm}, {"Gemm", add_gemm},
    {"MaxPool", add_pool}, {"AveragePool", add_pool},        {"Concat", add_axis},
    {"Flatten", add_axis},
};

/* Costs of the operator as stored in the file, for comparison with the computed ones. */
static ft_status add_stored(builder *b, const op_node *node) {
    double flops = stored_number(node, NULL, "flops"), bytes = stored_number(node, "memory_info", "bytes");
    b->stored_flops += flops;
    b->stored_bytes += bytes;
    FT_TRY(attr_float(b, "stored_flops", flops));
    FT_TRY(attr_float(b, "stored_bytes", bytes));
    FT_TRY(attr_float(b, "stored_weights", stored_number(node, "memory_info", "weight_size")));
    return attr_float(b, "stored_intensity", stored_number(node, NULL, "arith_intensity"));
}

static ft_status add_op(builder *b, const op_node *node) {
    b->input_count = b->attr_count = 0;
    for (uint32_t k = 0; k < node->input_count; k++) b->inputs[b->input_count++] = b->nodes[node->inputs[k]].tensor;
    if (node->input_count == 0 && memory_info(node, "input_channels") > 0) FT_TRY(add_input(b, node));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].type, node->type) == 0) FT_TRY(rules[i].add(b, node));
    }
    if (node->feature != NULL) FT_TRY(add_stored(b, node));
    ft_op spec = {
        .name = node->name,
        .type = node->type,
        .inputs = b->inputs,
        .input_count = b->input_count,
        .outputs = &node->tensor,
        .output_count = 1,
        .attrs = arena_copy(&b->graph->memory, b->attrs, b->attr_count * sizeof b->attrs[0]),
        .attr_count = b->attr_count,
    };
    if (spec.attrs == NULL) return FT_NOMEM(b->error);
    return graph_add_op(b->graph, &spec, b->error);
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

static ft_status add_totals(builder *b) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", b->stored_flops);
    FT_TRY(graph_set_meta(b->graph, "stored_flops", text, b->error));
    snprintf(text, sizeof text, "%.17g", b->stored_bytes);
    return graph_set_meta(b->graph, "stored_bytes", text, b->error);
}

/* Synthetic data is marked by an attribute of the graph (docs/generate.md). */
static ft_status add_synthetic_mark(builder *b, const pickle_value *root) {
    const pickle_value *state = pickle_is_graph(root) ? root->object->state : root;
    const pickle_value *attrs = find_member(state, "graph", "graph");
    const pickle_value *mark = attrs != NULL ? pickle_get(attrs, "synthetic") : NULL;
    if (mark == NULL) return FT_OK;
    return graph_set_meta(b->graph, "synthetic", mark->kind == PICKLE_STRING ? mark->s : "yes", b->error);
}

static ft_status build(builder *b, const pickle_value *root) {
    map_init(&b->index, &b->memory);
    FT_TRY(read_structure(b, root));
    for (uint32_t i = 0; i < b->count; i++) FT_TRY(add_output(b, &b->nodes[i]));
    for (uint32_t i = 0; i < b->count; i++) FT_TRY(add_op(b, &b->nodes[i]));
    FT_TRY(add_totals(b));
    FT_TRY(add_synthetic_mark(b, root));
    return graph_finish(b->graph, b->error);
}

/* "a/b/net.pkl.gz" -> "net" */
static void graph_name(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strstr(name, ".pkl");
    if (dot == NULL) dot = strstr(name, ".pickle");
    if (dot != NULL && dot != name) *dot = '\0';
}

static ft_status read_graph(const pickle_value *root, const read_origin *origin, ft_graph **graph, ft_error *error) {
    char title[NAME_SIZE];
    perfseer_name name;
    graph_name(origin->path, title, sizeof title);
    perfseer_parse_name(origin->path, &name);
    ft_graph *made;
    FT_TRY(graph_new(FT_FORMAT_PERFSEER, FT_NCHW, title, &made, error));
    builder b = {.graph = made, .batch = name.batch > 0 ? name.batch : 1, .error = error};
    arena_init(&b.memory, FT_MAX_GRAPH_BYTES);
    ft_status status = build(&b, root);
    arena_free(&b.memory);
    if (status == FT_OK) status = perfseer_add_meta(made, origin, &name, error);
    if (status == FT_OK)
        *graph = made;
    else
        ft_graph_free(made);
    return status;
}

static ft_status read_pickle(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                             ft_error *error) {
    pickle p;
    ft_status status = pickle_decode(bytes, size, &p, error);
    if (status == FT_OK) {
        status = read_graph(p.root, origin, graph, error);
        pickle_free(&p);
    }
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", origin->path) : FT_OK;
}

const reader perfseer_reader = {.format = FT_FORMAT_PERFSEER, .matches = pickle_matches, .read = read_pickle};
