/* seernet_net.c - the network of SeerNet, one block.
 *
 * Encoders are linear, and their outputs only enter further linear maps: the hidden layers of the edge and node
 * networks, and the weighted mean that initialises the global node. So nodes are not encoded: the matrices are
 * multiplied first, and node features (49 columns instead of a hidden width of 256) by the product. Likewise the mean
 * over edges is taken before the second layer of the edge network, since both are linear. Function and parameters are
 * those of the paper, with a fifth of the arithmetic. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/peers/seernet.h"

enum { NODE_IN = SEERNET_NODE_VALUES + SEERNET_NODE_MARKS + SEERNET_KINDS + 1, EDGE_IN = SEERNET_EDGE_VALUES + 1 };
enum { GRAPH_IN = SEERNET_GRAPH_VALUES + SEERNET_GRAPH_MARKS + 1, GLOBAL_LAYERS = 3 };

/* Products of weight matrices, the same for all graphs: computed in every pass of training, and once after it
 * (seernet_finalize). */
typedef enum fixed {
    FIXED_ENCODER,  /* encoder of nodes, and a row of zeros */
    FIXED_SCORE,    /* encoder * score */
    FIXED_SOURCE,   /* encoder * block of edge_in for the source */
    FIXED_TARGET,   /* encoder * block of edge_in for the target */
    FIXED_OWN,      /* encoder * block of node_in for the node; below it the bias of nodes with edges */
    FIXED_EDGE,     /* encoder of edges * block of edge_in for the edge */
    FIXED_MESSAGES, /* second layer of the edge network * block of node_in for the edges */
    FIXED_COUNT
} fixed;

/* The second layer of an MLP is a layer_linear; the first has a matrix with a block of rows for each of its inputs. */
struct gnn_net {
    uint32_t hidden;
    param_id node, edge, graph;    /* encoders; the last row is the bias */
    param_id score, score_after;   /* attention scores of nodes in the weighted means of the global node */
    param_id edge_in, edge_bias;   /* [edge; source; target; graph] */
    param_id node_in, node_bias;   /* [edges that come in; node + global node; graph] */
    param_id graph_in, graph_bias; /* [nodes; global node; graph] */
    param_id join, join_bias;      /* [maximum; mean] over the nodes */
    layer_linear edge_out, node_out, graph_out;
    layer_linear global[GLOBAL_LAYERS];
    layer_linear head, out;
    bool is_final;
    size_t fixed_start[FIXED_COUNT + 1];
    float fixed[];
};

static uint32_t fixed_rows(uint32_t hidden, fixed which) {
    return which == FIXED_EDGE ? EDGE_IN : which == FIXED_MESSAGES ? hidden : NODE_IN + 1;
}

static uint32_t fixed_cols(uint32_t hidden, fixed which) {
    return which == FIXED_SCORE ? 1 : hidden;
}

static gnn_net *new_net(uint32_t hidden) {
    size_t start[FIXED_COUNT + 1] = {0};
    for (int i = 0; i < FIXED_COUNT; i++)
        start[i + 1] = start[i] + (size_t)fixed_rows(hidden, (fixed)i) * fixed_cols(hidden, (fixed)i);
    gnn_net *n = calloc(1, sizeof *n + start[FIXED_COUNT] * sizeof(float));
    if (n == NULL) return NULL;
    n->hidden = hidden;
    memcpy(n->fixed_start, start, sizeof start);
    return n;
}

gnn_net *seernet_build(const gnn_plan *plan, params *p) {
    uint32_t h = (uint32_t)plan->shared.hidden;
    assert(h > 0);
    gnn_net *n = new_net(h);
    if (n == NULL) return NULL;
    n->node = params_add(p, NODE_IN, h, PARAM_FAN_IN, "node.encoder");
    n->edge = params_add(p, EDGE_IN, h, PARAM_FAN_IN, "edge.encoder");
    n->graph = params_add(p, GRAPH_IN, h, PARAM_FAN_IN, "graph.encoder");
    n->score = params_add(p, h, 1, PARAM_FAN_IN, "score");
    n->score_after = params_add(p, h, 1, PARAM_FAN_IN, "score.after");
    n->edge_in = params_add(p, 4 * h, h, PARAM_FAN_IN, "edge.in");
    n->edge_bias = params_add(p, 1, h, PARAM_ZEROS, "edge.bias");
    n->node_in = params_add(p, 3 * h, h, PARAM_FAN_IN, "node.in");
    n->node_bias = params_add(p, 1, h, PARAM_ZEROS, "node.bias");
    n->graph_in = params_add(p, 3 * h, h, PARAM_FAN_IN, "graph.in");
    n->graph_bias = params_add(p, 1, h, PARAM_ZEROS, "graph.bias");
    n->join = params_add(p, 2 * h, h, PARAM_FAN_IN, "join");
    n->join_bias = params_add(p, 1, h, PARAM_ZEROS, "join.bias");
    n->edge_out = layer_linear_add(p, "edge.out", h, h, true);
    n->node_out = layer_linear_add(p, "node.out", h, h, true);
    n->graph_out = layer_linear_add(p, "graph.out", h, h, true);
    for (int i = 0; i < GLOBAL_LAYERS; i++) {
        char name[24] = "global.0";
        name[7] = (char)('0' + i);
        n->global[i] = layer_linear_add(p, name, h, h, true);
    }
    n->head = layer_linear_add(p, "head", h, h, true);
    n->out = layer_linear_add(p, "out", h, plan->outputs, true);
    return n;
}

/* --- Inputs -------------------------------------------------------------------------------------------------- */

/* Values, marks, the kind as one-hot, 1 for the bias; and 1 for nodes with incoming edges. */
static tensor *node_input(tape *t, const gnn_batch *b) {
    const size_t cols = NODE_IN + 1;
    assert(b->widths.node_values == SEERNET_NODE_VALUES && b->widths.node_marks == SEERNET_NODE_MARKS);
    float *rows = tape_alloc(t, b->nodes * cols, sizeof *rows);
    if (rows == NULL) return NULL;
    memset(rows, 0, b->nodes * cols * sizeof *rows);
    for (size_t i = 0; i < b->nodes; i++) {
        float *row = rows + i * cols;
        memcpy(row, b->node_values + i * SEERNET_NODE_VALUES, SEERNET_NODE_VALUES * sizeof *row);
        row += SEERNET_NODE_VALUES;
        memcpy(row, b->node_marks + i * SEERNET_NODE_MARKS, SEERNET_NODE_MARKS * sizeof *row);
        row += SEERNET_NODE_MARKS;
        row[b->kinds[i]] = 1;
        row[SEERNET_KINDS] = 1;
        row[SEERNET_KINDS + 1] = b->edges_into.start[i + 1] > b->edges_into.start[i];
    }
    return tape_input(t, b->nodes, (uint32_t)cols, rows);
}

/* Two blocks of columns and a column of ones. */
static tensor *input_with_one(tape *t, uint32_t rows, const float *first, size_t first_cols, const float *second,
                              size_t second_cols) {
    size_t cols = first_cols + second_cols + 1;
    float *made = tape_alloc(t, rows * cols + 1, sizeof *made);
    for (size_t i = 0; made != NULL && i < rows; i++) {
        memcpy(made + i * cols, first + i * first_cols, first_cols * sizeof *made);
        if (second_cols > 0) memcpy(made + i * cols + first_cols, second + i * second_cols, second_cols * sizeof *made);
        made[i * cols + cols - 1] = 1;
    }
    return made != NULL ? tape_input(t, rows, (uint32_t)cols, made) : NULL;
}

/* --- The network --------------------------------------------------------------------------------------------- */

typedef struct pass {
    const gnn_net *net;
    tape *t;
    const gnn_batch *batch;
    tensor *nodes;              /* nodes x NODE_IN + 1 */
    tensor *graph;              /* encoded: samples x hidden */
    tensor *global;             /* samples x hidden */
    tensor *fixed[FIXED_COUNT]; /* computed in this pass */
} pass;

/* The rows of the first matrix of an MLP that belong to one of its inputs. */
static tensor *block(const pass *p, param_id id, uint32_t number) {
    return nn_slice_rows(p->t, tape_param(p->t, id), number * p->net->hidden, p->net->hidden);
}

static tensor *product(pass *p, fixed which);

static tensor *make_product(pass *p, fixed which) {
    tape *t = p->t;
    const gnn_net *n = p->net;
    switch (which) {
    case FIXED_ENCODER:
        return nn_concat_rows(t, tape_param(t, n->node), tape_zeros(t, 1, n->hidden));
    case FIXED_SCORE:
        return nn_matmul(t, product(p, FIXED_ENCODER), tape_param(t, n->score));
    case FIXED_SOURCE:
        return nn_matmul(t, product(p, FIXED_ENCODER), block(p, n->edge_in, 1));
    case FIXED_TARGET:
        return nn_matmul(t, product(p, FIXED_ENCODER), block(p, n->edge_in, 2));
    case FIXED_OWN: /* nodes without edges have no edge bias: the flag is the last column */
        return nn_concat_rows(t, nn_matmul(t, tape_param(t, n->node), block(p, n->node_in, 1)),
                              nn_matmul(t, tape_param(t, n->edge_out.bias), block(p, n->node_in, 0)));
    case FIXED_EDGE:
        return nn_matmul(t, tape_param(t, n->edge), block(p, n->edge_in, 0));
    default:
        return nn_matmul(t, tape_param(t, n->edge_out.weight), block(p, n->node_in, 0));
    }
}

static bool is_final(const pass *p) {
    return p->net->is_final && p->t->mode == TAPE_INFER;
}

static tensor *product(pass *p, fixed which) {
    uint32_t hidden = p->net->hidden;
    if (is_final(p))
        return tape_input(p->t, fixed_rows(hidden, which), fixed_cols(hidden, which),
                          p->net->fixed + p->net->fixed_start[which]);
    assert(which < FIXED_COUNT);
    if (p->fixed[which] == NULL) p->fixed[which] = make_product(p, which);
    return p->fixed[which];
}

ft_status seernet_finalize(gnn_net *net, const params *values, ft_error *error) {
    static const size_t MEMORY = (size_t)1 << 28;
    tape *t = NULL;
    net->is_final = false;
    FT_TRY(tape_new(values, MEMORY, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    pass p = {.net = net, .t = t};
    for (int i = 0; i < FIXED_COUNT; i++) {
        const tensor *made = product(&p, (fixed)i);
        if (made != NULL) memcpy(net->fixed + net->fixed_start[i], made->data, tensor_size(made) * sizeof(float));
    }
    ft_status status = tape_status(t, error);
    net->is_final = status == FT_OK;
    tape_free(t);
    return status;
}

/* Softmax-weighted mean of rows over the nodes of each sample. */
static tensor *weighted_mean(const pass *p, tensor *scores, tensor *rows) {
    tensor *weights = nn_segment_softmax(p->t, scores, p->batch->nodes_of);
    return nn_segment_sum(p->t, nn_mul_column(p->t, rows, weights), p->batch->nodes_of);
}

static void init_global(pass *p) {
    tensor *scores = nn_matmul(p->t, p->nodes, product(p, FIXED_SCORE));
    p->global = nn_matmul(p->t, weighted_mean(p, scores, p->nodes), product(p, FIXED_ENCODER));
}

/* The mean, over the edges into each node, of the hidden layer of the edge network. */
static tensor *mean_edge_messages(pass *p) {
    tape *t = p->t;
    const gnn_batch *b = p->batch;
    if (b->edges == 0) return tape_zeros(t, b->nodes, p->net->hidden);
    tensor *edges = input_with_one(t, b->edges, b->edge_values, SEERNET_EDGE_VALUES, NULL, 0);
    tensor *graph = nn_linear(t, p->graph, block(p, p->net->edge_in, 3), tape_param(t, p->net->edge_bias), ACT_NONE);
    tensor *from = nn_matmul(t, p->nodes, product(p, FIXED_SOURCE));
    tensor *to = nn_matmul(t, p->nodes, product(p, FIXED_TARGET));
    to = nn_add(t, to, nn_segment_broadcast(t, graph, b->nodes_of));
    return nn_edge_mean(t, from, to, nn_matmul(t, edges, product(p, FIXED_EDGE)), b->sources);
}

/* Nodes after the block. Messages pass the second layer of the edge network and the first of the node network: the two
 * matrices are multiplied first where that is less work. */
static tensor *update_nodes(pass *p, tensor *messages) {
    tape *t = p->t;
    const gnn_net *n = p->net;
    tensor *weight = block(p, n->node_in, 0);
    if (is_final(p) || p->batch->nodes > 2 * n->hidden)
        weight = product(p, FIXED_MESSAGES);
    else
        messages = nn_matmul(t, messages, tape_param(t, n->edge_out.weight));
    tensor *sum = nn_linear2(t, messages, weight, p->nodes, product(p, FIXED_OWN), NULL, ACT_NONE);
    tensor *all = nn_linear2(t, p->global, block(p, n->node_in, 1), p->graph, block(p, n->node_in, 2),
                             tape_param(t, n->node_bias), ACT_NONE);
    tensor *hidden = nn_activate(t, nn_add(t, sum, nn_segment_broadcast(t, all, p->batch->nodes_of)), ACT_RELU);
    return layer_linear_apply(t, &n->node_out, hidden, ACT_NONE);
}

static tensor *update_global(const pass *p, tensor *nodes) {
    tape *t = p->t;
    tensor *x = nn_add(t, weighted_mean(p, nn_matmul(t, nodes, tape_param(t, p->net->score_after)), nodes), p->global);
    for (int i = 0; i < GLOBAL_LAYERS; i++)
        x = layer_linear_apply(t, &p->net->global[i], x, i + 1 < GLOBAL_LAYERS ? ACT_RELU : ACT_NONE);
    return x;
}

/* SynMM: maximum and mean over the nodes. */
static tensor *join_nodes(const pass *p, tensor *nodes) {
    tape *t = p->t;
    tensor *maximum = nn_segment_max(t, nodes, p->batch->nodes_of),
           *mean = nn_segment_mean(t, nodes, p->batch->nodes_of);
    return nn_linear2(t, maximum, block(p, p->net->join, 0), mean, block(p, p->net->join, 1),
                      tape_param(t, p->net->join_bias), ACT_NONE);
}

static tensor *update_graph(const pass *p, tensor *nodes, tensor *global) {
    tape *t = p->t;
    const gnn_net *n = p->net;
    tensor *from_nodes =
        nn_linear2(t, join_nodes(p, nodes), block(p, n->graph_in, 0), global, block(p, n->graph_in, 1), NULL, ACT_NONE);
    tensor *own = nn_linear(t, p->graph, block(p, n->graph_in, 2), tape_param(t, n->graph_bias), ACT_NONE);
    tensor *after =
        layer_linear_apply(t, &n->graph_out, nn_activate(t, nn_add(t, from_nodes, own), ACT_RELU), ACT_NONE);
    return nn_add(t, p->graph, after);
}

tensor *seernet_forward(const gnn_net *net, tape *t, const gnn_batch *batch) {
    pass p = {.net = net, .t = t, .batch = batch, .nodes = node_input(t, batch)};
    tensor *graphs = input_with_one(t, batch->samples, batch->global_values, SEERNET_GRAPH_VALUES, batch->global_marks,
                                    SEERNET_GRAPH_MARKS);
    if (t->has_failed) return NULL;
    p.graph = nn_matmul(t, graphs, tape_param(t, net->graph));
    init_global(&p);
    tensor *nodes = update_nodes(&p, mean_edge_messages(&p));
    tensor *graph = update_graph(&p, nodes, update_global(&p, nodes));
    return layer_linear_apply(t, &net->out, layer_linear_apply(t, &net->head, graph, ACT_RELU), ACT_NONE);
}
