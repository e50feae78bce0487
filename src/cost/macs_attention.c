/* macs_attention.c - multiply-accumulates of attention, of linear attention and of mixtures of experts. */
#include <string.h>

#include "base/num.h"
#include "cost/macs.h"
#include "cost/sizes.h"
#include "graph/geometry.h"

enum {
    ROTATION_FLOPS = 3, /* two products and a sum per element */
    GATE_FLOPS = 8,     /* activation and product per element between the layers of an expert */
};

static uint64_t elems_of(const ft_tensor *t) {
    return t == NULL ? 0 : (uint64_t)shape_elems(t->dims, t->rank);
}

static uint64_t product(int64_t a, int64_t b, int64_t c) {
    return num_mul_sat((uint64_t)a, num_mul_sat((uint64_t)b, (uint64_t)c));
}

/* Every token through the matrix of a projection; the keys of another sequence through that of keys and values. */
static uint64_t projection_macs(const attention_geometry *g) {
    uint64_t macs = 0, tokens = g->is_tokens ? (uint64_t)g->tokens : product(g->batch, g->queries, 1);
    for (int i = 0; i < 3; i++) {
        bool is_of_keys = g->is_time_first && i == 1;
        uint64_t rows = is_of_keys ? product(g->batch, g->added, 1) : tokens;
        macs = num_add_sat(macs, num_mul_sat(rows, elems_of(g->weights[i])));
    }
    return macs;
}

/* Latent attention either expands the cached rows to heads again, or projects queries and results instead (which costs
 * as much as the expansion of the new rows that it saves) and attends to the rows themselves: whichever is less. */
static uint64_t latent_macs(const attention_geometry *g, int64_t row, uint64_t scores, uint64_t expanded) {
    int64_t nope = g->head_size - (row - g->kv_rank), past = g->keys > g->added ? g->keys - g->added : 0;
    uint64_t width = num_mul_sat((uint64_t)g->heads, (uint64_t)((nope > 0 ? nope : 0) + g->value_size));
    uint64_t again = num_mul_sat(product(g->batch, past, g->kv_rank), width);
    uint64_t absorbed = num_mul_sat(scores, (uint64_t)(row + g->kv_rank));
    expanded = num_add_sat(expanded, again);
    return absorbed < expanded ? absorbed : expanded;
}

bool macs_of_attention(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    attention_geometry g;
    if (!attention_geometry_of(graph, op, &g)) return false;
    uint64_t pairs = product(g.batch, g.queries, g.keys), scores = num_mul_sat(pairs, (uint64_t)g.heads);
    macs->with_weights = projection_macs(&g);
    macs->between_data = num_mul_sat(scores, (uint64_t)(g.head_size + g.value_size));
    const ft_tensor *latent = g.kv_rank > 0 ? op_input(graph, op, 2) : NULL;
    if (latent != NULL && latent->rank == 3)
        macs->between_data = latent_macs(&g, latent->dims[2], scores, macs->between_data);
    macs->extra_flops = num_mul_sat(scores, SOFTMAX_FLOPS);
    if (op_attr_int(op, "do_rotary", 0) != 0) {
        uint64_t rotated = num_mul_sat(product(g.batch, g.queries, g.head_size), (uint64_t)(g.heads + g.kv_heads));
        macs->extra_flops = num_add_sat(macs->extra_flops, num_mul_sat(rotated, ROTATION_FLOPS));
    }
    return true;
}

/* Per token and head of the state (k x v): its update, the retrieval that the delta rule subtracts, and the product
 * with the query. */
bool macs_of_linear_attention(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    const ft_tensor *q = op_input(graph, op, 0), *v = op_input(graph, op, 2);
    if (q == NULL || v == NULL || !shape_is_known(q) || !shape_is_known(v) || q->rank != 3 || v->rank != 3)
        return false;
    bool is_apart = op_is(op, "GatedDeltaNet"); /* tokens x heads x size, else batch x tokens x all heads */
    int64_t heads = is_apart ? q->dims[1] : op_attr_int(op, "q_num_heads", 0);
    int64_t states = is_apart ? v->dims[1] : op_attr_int(op, "kv_num_heads", 0);
    if (heads <= 0 || states <= 0) return false;
    int64_t key_size = is_apart ? q->dims[2] : q->dims[2] / heads;
    int64_t value_size = is_apart ? v->dims[2] : v->dims[2] / states;
    uint64_t tokens = is_apart ? (uint64_t)q->dims[0] : product(q->dims[0], q->dims[1], 1);
    bool has_delta = strstr(op_attr_string(op, "update_rule", "gated_delta"), "delta") != NULL;
    uint64_t passes =
        num_add_sat(num_mul_sat((uint64_t)states, has_delta ? 2 : 1), (uint64_t)(heads > states ? heads : states));
    macs->between_data = num_mul_sat(num_mul_sat(tokens, product(key_size, value_size, 1)), passes);
    macs->extra_flops = num_mul_sat(tokens, product(states, key_size, value_size)); /* decay of the state */
    return true;
}

/* The layers of an expert, the first of which is input 2: weights of all experts, experts first. */
bool macs_of_experts(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    const ft_tensor *x = op_input(graph, op, 0), *first = op_input(graph, op, 2);
    uint32_t step = op_is(op, "QMoE") ? 3 : 2; /* weights, scales, bias; or weights, bias */
    int64_t chosen = op_attr_int(op, "k", 1);
    if (x == NULL || first == NULL || !shape_is_known(x) || !shape_is_known(first) || x->rank < 2 || first->rank != 3 ||
        x->dims[x->rank - 1] <= 0 || first->dims[0] <= 0 || chosen <= 0)
        return false;
    uint64_t tokens = elems_of(x) / (uint64_t)x->dims[x->rank - 1], experts = (uint64_t)first->dims[0];
    uint64_t runs = num_mul_sat(tokens, (uint64_t)chosen < experts ? (uint64_t)chosen : experts);
    for (uint32_t i = 2; i < 2 + 3 * step; i += step)
        macs->with_weights = num_add_sat(macs->with_weights, num_mul_sat(runs, packed_elems(graph, op, i) / experts));
    macs->extra_flops = num_add_sat(num_mul_sat(num_mul_sat(tokens, experts), SOFTMAX_FLOPS),
                                    num_mul_sat(num_mul_sat(runs, (uint64_t)first->dims[1]), GATE_FLOPS));
    return true;
}
