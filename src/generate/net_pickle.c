/* net_pickle.c - a network as a pickled networkx DiGraph: its members and the features of its nodes.
 *
 * As in the published files, edges have no attributes, and some numbers are strings. */
#include "generate/net.h"

#include <stdio.h>

#include "base/error.h"
#include "generate/pickle_writer.h"

static const int64_t ELEM_BYTES = 4;

typedef struct net_writer {
    pickle_writer pickle;
    const net *net;
    int64_t batch;
    uint32_t *edge_memos; /* by node and input index */
    uint32_t *first_user; /* start of each node's range in `users`; one more at the end */
    uint32_t *users;      /* NET_MAX_INPUTS * node + input */
} net_writer;

/* --- Features ---------------------------------------------------------------------------------------------------- */

static void put_int(pickle_writer *p, const char *key, int64_t value) {
    pickle_put_interned(p, key);
    pickle_put_int(p, value);
}

/* A number that the data set stores as a string. */
static void put_digits(pickle_writer *p, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    pickle_put_interned(p, key);
    pickle_put_string(p, text);
}

static void put_args(pickle_writer *p, const net_node *n) {
    bool is_conv = n->op == NET_CONV, is_gemm = n->op == NET_GEMM, is_pool = n->op == NET_MAX || n->op == NET_AVERAGE;
    pickle_put_interned(p, "args");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    put_int(p, "conv_kernel_size", is_conv ? n->kernel : 0);
    put_int(p, "conv_stride", is_conv ? n->stride : 0);
    put_int(p, "conv_padding", is_conv ? n->padding : 0);
    put_int(p, "conv_dilation", is_conv);
    put_int(p, "conv_groups", n->groups);
    put_int(p, "conv_bias", is_conv);
    put_int(p, "linear_in_features", is_gemm ? n->in_channels : 0);
    put_int(p, "linear_out_features", is_gemm ? n->channels : 0);
    put_int(p, "linear_bias", is_gemm);
    put_int(p, "pool_kernel_size", is_pool ? n->kernel : 0);
    put_int(p, "pool_stride", is_pool ? n->stride : 0);
    put_int(p, "pool_padding", is_pool ? n->padding : 0);
    put_int(p, "pool_ceil_mode", 0);
    pickle_put_items_end(p);
}

static int64_t bytes_of(const net_node *n, int64_t batch) {
    return ELEM_BYTES * (batch * (net_in_elems(n) + net_out_elems(n)) + net_weights(n));
}

/* For several inputs, the data set stores the mean of their channels, as a float. */
static void put_channels(pickle_writer *p, const net_node *n) {
    pickle_put_interned(p, "input_channels");
    if (n->input_count > 1)
        pickle_put_float(p, (double)n->in_channels / n->input_count);
    else
        pickle_put_int(p, n->in_channels);
}

static void put_memory(pickle_writer *p, const net_node *n, int64_t batch) {
    int64_t in = batch * net_in_elems(n), weights = net_weights(n);
    pickle_put_interned(p, "memory_info");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    put_digits(p, "bytes", bytes_of(n, batch));
    put_digits(p, "weight_size", weights);
    put_digits(p, "batch_size", batch);
    put_int(p, "input_size_with_weight", in + weights);
    put_int(p, "input_size", ELEM_BYTES * in);
    put_channels(p, n);
    put_int(p, "input_w", n->in_side);
    put_int(p, "input_h", n->in_side);
    put_int(p, "output_size", ELEM_BYTES * batch * net_out_elems(n));
    put_int(p, "output_channels", n->channels);
    put_int(p, "output_w", n->side);
    put_int(p, "output_h", n->side);
    pickle_put_items_end(p);
}

static void put_node(net_writer *w, const net_node *n) {
    pickle_writer *p = &w->pickle;
    int64_t flops = w->batch * net_flops(n);
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    pickle_put_interned(p, "feature");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    pickle_put_interned(p, "type");
    pickle_put_interned(p, net_op_name(n->op));
    put_args(p, n);
    put_memory(p, n, w->batch);
    put_int(p, "flops", flops);
    pickle_put_interned(p, "arith_intensity");
    pickle_put_float(p, (double)flops / (double)bytes_of(n, w->batch));
    pickle_put_items_end(p);
    pickle_put_items_end(p);
}

/* --- Edges ------------------------------------------------------------------------------------------------------- */

static ft_status find_users(net_writer *w, arena *memory, ft_error *error) {
    const net *n = w->net;
    w->edge_memos = ARENA_ARRAY(memory, uint32_t, (size_t)n->count * NET_MAX_INPUTS);
    w->users = ARENA_ARRAY(memory, uint32_t, (size_t)n->count * NET_MAX_INPUTS);
    w->first_user = ARENA_ARRAY(memory, uint32_t, (size_t)n->count + 2);
    if (w->edge_memos == NULL || w->users == NULL || w->first_user == NULL) return FT_NOMEM(error);
    uint32_t *next = w->first_user + 1; /* becomes the start of the following node */
    for (uint32_t i = 0; i < n->count; i++)
        for (uint32_t k = 0; k < n->nodes[i].input_count; k++) next[n->nodes[i].inputs[k] + 1]++;
    for (uint32_t i = 0; i < n->count; i++) next[i + 1] += next[i];
    for (uint32_t i = 0; i < n->count; i++)
        for (uint32_t k = 0; k < n->nodes[i].input_count; k++)
            w->users[next[n->nodes[i].inputs[k]]++] = i * NET_MAX_INPUTS + k;
    return FT_OK;
}

static void put_successors(net_writer *w, uint32_t node) {
    pickle_writer *p = &w->pickle;
    pickle_put_int(p, node);
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    for (uint32_t u = w->first_user[node]; u < w->first_user[node + 1]; u++) {
        pickle_put_int(p, w->users[u] / NET_MAX_INPUTS);
        w->edge_memos[w->users[u]] = pickle_put_dict(p);
    }
    pickle_put_items_end(p);
}

/* Both directions of an edge share one dict, as in networkx. */
static void put_predecessors(net_writer *w, uint32_t node) {
    pickle_writer *p = &w->pickle;
    const net_node *n = &w->net->nodes[node];
    pickle_put_int(p, node);
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    for (uint32_t k = 0; k < n->input_count; k++) {
        pickle_put_int(p, n->inputs[k]);
        pickle_put_memo(p, w->edge_memos[node * NET_MAX_INPUTS + k]);
    }
    pickle_put_items_end(p);
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static void put_marks(pickle_writer *p) {
    pickle_put_interned(p, "graph");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    pickle_put_interned(p, "synthetic");
    pickle_put_string(p, "foretell generate: labels are computed, not measured");
    pickle_put_items_end(p);
}

static void put_members(net_writer *w) {
    pickle_writer *p = &w->pickle;
    uint32_t count = w->net->count;
    put_marks(p);
    pickle_put_interned(p, "_node");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    for (uint32_t i = 0; i < count; i++) {
        pickle_put_int(p, i);
        put_node(w, &w->net->nodes[i]);
    }
    pickle_put_items_end(p);
    pickle_put_interned(p, "_adj");
    uint32_t adjacency = pickle_put_dict(p);
    pickle_put_items_begin(p);
    for (uint32_t i = 0; i < count; i++) put_successors(w, i);
    pickle_put_items_end(p);
    pickle_put_interned(p, "_succ");
    pickle_put_memo(p, adjacency);
    pickle_put_interned(p, "_pred");
    pickle_put_dict(p);
    pickle_put_items_begin(p);
    for (uint32_t i = 0; i < count; i++) put_predecessors(w, i);
    pickle_put_items_end(p);
}

ft_status net_pickle(const net *n, int64_t batch, arena *memory, buf *out, ft_error *error) {
    net_writer w = {.net = n, .batch = batch};
    FT_TRY(find_users(&w, memory, error));
    pickle_writer_begin(&w.pickle, out);
    pickle_put_object(&w.pickle, "networkx.classes.digraph", "DiGraph");
    pickle_put_dict(&w.pickle);
    pickle_put_items_begin(&w.pickle);
    put_members(&w);
    pickle_put_items_end(&w.pickle);
    pickle_put_build(&w.pickle);
    pickle_writer_end(&w.pickle);
    return out->failed ? FT_NOMEM(error) : FT_OK;
}
