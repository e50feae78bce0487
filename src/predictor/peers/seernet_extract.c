/* seernet_extract.c - feature extraction of SeerNet, for any graph.
 *
 * The paper has ten kinds of operators. Any other operator has the kind of its class in the operator table, an unknown
 * one kind 0. FLOPs are those of cost/; bytes are those of inputs, outputs and weights, as in the paper ("memory access
 * cost"); weights are elements. Amounts x are log(1 + x). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/geometry.h"
#include "graph/graph.h"
#include "graph/opdef.h"
#include "predictor/peers/seernet.h"

enum { AMOUNTS = 3 }; /* FLOPs, bytes, weights */

typedef struct extraction {
    const ft_graph *graph;
    const ft_cost *cost;
    arena *memory;
    uint32_t *node_of_op; /* or FT_NONE */
    uint32_t *ops;        /* of nodes */
    double *amounts[AMOUNTS];
    double totals[AMOUNTS];
    uint32_t nodes;
} extraction;

gnn_widths seernet_widths(const void *own) {
    (void)own;
    return (gnn_widths){.kinds = SEERNET_KINDS,
                        .node_values = SEERNET_NODE_VALUES,
                        .node_marks = SEERNET_NODE_MARKS,
                        .edge_values = SEERNET_EDGE_VALUES,
                        .global_values = SEERNET_GRAPH_VALUES,
                        .global_marks = SEERNET_GRAPH_MARKS};
}

/* --- Kinds --------------------------------------------------------------------------------------------------- */

/* Kernel names, which are the same for all formats. */
static const char *const words[SEERNET_TYPES] = {"conv", "relu", "bn", "concat",  "avgpool",
                                                 "gap",  "",     "fc", "maxpool", "add"};
enum { TYPE_FLATTEN = 6 };

static uint32_t kind_of(const ft_opdef *def) {
    if (!ft_opdef_is_known(def)) return 0;
    if (strcmp(def->name, "Flatten") == 0) return 1 + TYPE_FLATTEN;
    const char *word = def->kernel != NULL ? def->kernel : "";
    if (strcmp(word, "dwconv") == 0) word = "conv";
    for (uint32_t i = 0; word[0] != '\0' && i < SEERNET_TYPES; i++)
        if (strcmp(word, words[i]) == 0) return 1 + i;
    return (uint32_t)def->op_class < SEERNET_CLASSES ? 1 + SEERNET_TYPES + (uint32_t)def->op_class : 0;
}

/* --- Arguments ----------------------------------------------------------------------------------------------- */

/* The paper has square kernels only; others are replaced by the square of the same area. */
static float side_of(const int64_t *sizes, int32_t count) {
    double product = 1;
    for (int32_t i = 0; i < count; i++) product *= (double)sizes[i];
    return count > 0 && product > 0 ? (float)pow(product, 1.0 / count) : 0;
}

static float mean_pad(const ft_op *op) {
    uint32_t count;
    double sum = 0;
    const int64_t *pads = op_attr_ints(op, "pads", &count);
    for (uint32_t i = 0; i < count; i++) sum += (double)pads[i];
    return count > 0 ? (float)(sum / count) : 0;
}

static void extract_args(const ft_graph *graph, const ft_op *op, float *args) {
    conv_geometry conv;
    matmul_geometry product;
    pool_geometry pool;
    if (op->def->op_class == FT_CLASS_CONV && conv_geometry_of(graph, op, &conv)) {
        const float values[] = {side_of(conv.kernel, conv.spatial),
                                side_of(conv.stride, conv.spatial),
                                mean_pad(op),
                                side_of(conv.dilation, conv.spatial),
                                (float)conv.groups,
                                conv.bias != NULL};
        memcpy(args, values, sizeof values);
    } else if (op->def->op_class == FT_CLASS_MATMUL && matmul_geometry_of(graph, op, &product)) {
        args[6] = (float)product.k;
        args[7] = (float)product.n;
        args[8] = product.bias != NULL;
    } else if (op->def->op_class == FT_CLASS_POOL && pool_geometry_of(graph, op, &pool)) {
        bool is_global = op->def->kernel != NULL && strcmp(op->def->kernel, "gap") == 0;
        args[9] = is_global ? 0 : side_of(pool.kernel, pool.spatial);
        args[10] = is_global ? 0 : side_of(pool.stride, pool.spatial);
        args[11] = mean_pad(op);
        args[12] = (float)op_attr_int(op, "ceil_mode", 0);
    }
}

/* --- Amounts ------------------------------------------------------------------------------------------------- */

static bool is_auxiliary(const ft_op *op, uint32_t input) {
    return input < 32 && (op->def->aux_inputs >> input & 1) != 0;
}

static void extract_amounts(extraction *s, uint32_t node) {
    const ft_op *op = &s->graph->ops[s->ops[node]];
    double bytes = 0, weights = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(s->graph, op, i);
        if (t == NULL || is_auxiliary(op, i)) continue;
        bytes += (double)ft_tensor_bytes(s->graph, t);
        if (t->role == FT_CONSTANT) weights += (double)ft_tensor_elems(s->graph, t);
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(s->graph, op, i);
        if (t != NULL) bytes += (double)ft_tensor_bytes(s->graph, t);
    }
    const double amounts[AMOUNTS] = {(double)s->cost->ops[s->ops[node]].forward.flops, bytes * (double)op->repeats,
                                     weights};
    for (int i = 0; i < AMOUNTS; i++) {
        s->amounts[i][node] = amounts[i];
        s->totals[i] += amounts[i];
    }
}

static float log_of(double amount) {
    return (float)log1p(amount);
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static void extract_node(const extraction *s, uint32_t node, gnn_sample *sample) {
    const ft_op *op = &s->graph->ops[s->ops[node]];
    float *values = sample->node_values + (size_t)node * SEERNET_NODE_VALUES;
    float *marks = sample->node_marks + (size_t)node * SEERNET_NODE_MARKS;
    sample->kinds[node] = kind_of(op->def);
    assert(sample->kinds[node] < SEERNET_KINDS);
    extract_args(s->graph, op, values);
    for (int i = 0; i < AMOUNTS; i++) {
        values[SEERNET_ARGS + i] = log_of(s->amounts[i][node]);
        marks[i] = (float)ratio(s->amounts[i][node], s->totals[i]);
    }
    values[SEERNET_ARGS + AMOUNTS] = (float)ratio(s->amounts[0][node], s->amounts[1][node]);
}

static ft_status find_nodes(extraction *s, ft_error *error) {
    uint32_t count = s->graph->op_count;
    s->node_of_op = ARENA_ARRAY(s->memory, uint32_t, (size_t)count + 1);
    s->ops = ARENA_ARRAY(s->memory, uint32_t, (size_t)count + 1);
    for (int i = 0; i < AMOUNTS; i++) s->amounts[i] = ARENA_ARRAY(s->memory, double, (size_t)count + 1);
    if (s->node_of_op == NULL || s->ops == NULL || s->amounts[AMOUNTS - 1] == NULL || s->amounts[0] == NULL ||
        s->amounts[1] == NULL)
        return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        s->node_of_op[i] = s->graph->ops[i].is_folded ? FT_NONE : s->nodes;
        if (s->node_of_op[i] != FT_NONE) s->ops[s->nodes++] = i;
    }
    for (uint32_t i = 0; i < s->nodes; i++) extract_amounts(s, i);
    return FT_OK;
}

/* --- Edges --------------------------------------------------------------------------------------------------- */

typedef struct edge {
    uint32_t from, to, tensor;
} edge;

/* An edge per pair of operators: if one reads several tensors of the other, the first represents all. Uses are
 * ascending, and an operator has few outputs. */
static bool is_repeated(const edge *edges, uint32_t first, uint32_t count, uint32_t to) {
    for (uint32_t i = count; i > first; i--)
        if (edges[i - 1].to == to) return true;
    return false;
}

static ft_status find_edges(const extraction *s, edge **found, uint32_t *count, ft_error *error) {
    size_t max_edges = 1;
    for (uint32_t i = 0; i < s->graph->tensor_count; i++) max_edges += s->graph->tensors[i].use_count;
    edge *edges = ARENA_ARRAY(s->memory, edge, max_edges);
    uint32_t kept = 0;
    if (edges == NULL) return FT_NOMEM(error);
    for (uint32_t node = 0; node < s->nodes; node++) {
        const ft_op *op = &s->graph->ops[s->ops[node]];
        uint32_t first = kept;
        for (uint32_t o = 0; o < op->output_count; o++) {
            if (op->outputs[o] == FT_NONE) continue;
            const ft_tensor *t = &s->graph->tensors[op->outputs[o]];
            for (uint32_t k = 0; k < t->use_count; k++) {
                uint32_t to = s->node_of_op[t->uses[k]];
                bool is_new = to != FT_NONE && (k == 0 || t->uses[k] != t->uses[k - 1]) &&
                              (o == 0 || !is_repeated(edges, first, kept, to));
                if (is_new) edges[kept++] = (edge){node, to, op->outputs[o]};
            }
        }
    }
    assert(kept < max_edges);
    *found = edges;
    *count = kept;
    return FT_OK;
}

/* Batch, channels, height, width; 0 where a tensor has none. */
static void extract_shape(const ft_graph *graph, const ft_tensor *t, float *values) {
    double dims[4] = {t->is_batched ? (double)ft_graph_batch(graph) : 1, 0, 0, 0};
    bool is_last = graph->layout == FT_NHWC;
    if (t->rank == 4) {
        dims[1] = (double)t->dims[is_last ? 3 : 1];
        dims[2] = (double)t->dims[is_last ? 1 : 2];
        dims[3] = (double)t->dims[is_last ? 2 : 3];
    } else if (t->rank >= 2) { /* sequences: channels last */
        dims[1] = (double)t->dims[t->rank - 1];
        for (int32_t i = 1; i + 1 < t->rank; i++) dims[2] = fmax(dims[2], 1) * (double)t->dims[i];
    }
    for (int i = 0; i < 4; i++) values[i] = log_of(dims[i]);
}

/* --- Graphs -------------------------------------------------------------------------------------------------- */

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sum, mean, median and maximum; sorts the amounts, whose order is not needed any more. */
static void extract_amount_of_graph(double *amounts, uint32_t count, double total, float *values) {
    qsort(amounts, count, sizeof *amounts, by_value);
    values[0] = log_of(total);
    values[1] = log_of(ratio(total, count));
    values[2] = count > 0 ? log_of((amounts[count / 2] + amounts[(count - 1) / 2]) / 2) : 0;
    values[3] = count > 0 ? log_of(amounts[count - 1]) : 0;
}

static void extract_graph(extraction *s, const edge *edges, gnn_sample *sample) {
    float *values = sample->global_values;
    double nodes = s->nodes, edge_bytes = 0;
    for (uint32_t i = 0; i < sample->edges; i++)
        edge_bytes += (double)ft_tensor_bytes(s->graph, &s->graph->tensors[edges[i].tensor]);
    *values++ = (float)nodes;
    *values++ = (float)sample->edges;
    for (int i = 0; i < AMOUNTS; i++, values += 4)
        extract_amount_of_graph(s->amounts[i], s->nodes, s->totals[i], values);
    *values++ = log_of(ratio(edge_bytes, sample->edges));
    *values++ = (float)ratio(s->totals[0], s->totals[1]);
    *values = (float)ft_graph_batch(s->graph);
    sample->global_marks[0] = (float)ratio(sample->edges, nodes * (nodes - 1));
}

ft_status seernet_extract(const void *own, const void *extractor, model_view *view, arena *memory, gnn_sample *sample,
                          ft_error *error) {
    (void)extractor;
    const gnn_widths widths = seernet_widths(own);
    extraction s = {.graph = view->bound, .memory = memory};
    edge *edges = NULL;
    uint32_t edge_count = 0;
    FT_TRY(model_view_cost(view, &s.cost, error));
    FT_TRY(find_nodes(&s, error));
    FT_TRY(find_edges(&s, &edges, &edge_count, error));
    if (!gnn_sample_open(sample, &widths, s.nodes, edge_count, memory)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < s.nodes; i++) extract_node(&s, i, sample);
    for (uint32_t i = 0; i < edge_count; i++) {
        const ft_tensor *t = &s.graph->tensors[edges[i].tensor];
        float *values = sample->edge_values + (size_t)i * SEERNET_EDGE_VALUES;
        sample->from[i] = edges[i].from;
        sample->to[i] = edges[i].to;
        values[0] = log_of((double)ft_tensor_bytes(s.graph, t));
        extract_shape(s.graph, t, values + 1);
    }
    extract_graph(&s, edges, sample);
    return FT_OK;
}
