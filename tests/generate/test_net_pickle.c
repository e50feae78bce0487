/* Tests of generated pickles: our reader and (if installed) real networkx find the network that was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "generate/net.h"
#include "graph/graph.h"
#include "support/failing.h"
#include "support/folder.h"

enum { BATCH = 16 };

typedef struct written {
    arena memory;
    net net;
    buf bytes;
} written;

static written write_net(uint64_t stream) {
    written w = {0};
    rng random;
    arch a;
    ft_error error;
    arena_init(&w.memory, UINT64_MAX);
    rng_init(&random, 9, stream);
    arch_draw(&random, &a);
    assert_int_equal(net_build(&a, false, &w.memory, &w.net, &error), FT_OK);
    assert_int_equal(net_pickle(&w.net, BATCH, &w.memory, &w.bytes, &error), FT_OK);
    return w;
}

static void written_free(written *w) {
    arena_free(&w->memory);
    buf_free(&w->bytes);
}

static void check_op(const ft_graph *graph, uint32_t at, const net_node *node) {
    const ft_op *op = &graph->ops[at];
    const ft_tensor *out = op_output(graph, op, 0);
    assert_string_equal(op->type, net_op_name(node->op));
    assert_int_equal(out->rank, node->side > 0 ? 4 : 2);
    assert_int_equal(out->dims[0], BATCH);
    assert_int_equal(out->dims[1], node->channels);
    if (node->side > 0) assert_true(out->dims[2] == node->side && out->dims[3] == node->side);
    uint32_t made = 0;
    for (uint32_t k = 0; k < op->input_count; k++) made += op_input(graph, op, k)->role == FT_ACTIVATION;
    assert_int_equal(made, node->input_count);
    if (node->op == NET_CONV) assert_int_equal(op_attr_int(op, "group", 0), node->groups);
    assert_true(op_attr_float(op, "stored_flops", -1) == (double)(BATCH * net_flops(node)));
    assert_true(op_attr_float(op, "stored_weights", -1) == (double)net_weights(node));
}

/* Also by the library's own counts: parameters, and work (which it counts without the two FLOPs of a bias). */
static void check_cost(const ft_graph *graph, const net *n) {
    ft_graph *bound;
    ft_cost cost;
    ft_error error;
    ft_cost_options options = ft_cost_options_default();
    double weights = 0, flops = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        weights += (double)net_weights(&n->nodes[i]);
        flops += (double)(BATCH * net_flops(&n->nodes[i]));
    }
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_true((double)(cost.total.params + cost.buffers) == weights);
    assert_true((double)cost.total.forward.flops > 0.9 * flops && (double)cost.total.forward.flops < 1.1 * flops);
    ft_cost_free(&cost);
    ft_graph_free(bound);
}

static void test_read_back(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        written w = write_net(i);
        ft_graph *graph;
        ft_error error;
        assert_int_equal(ft_graph_read_memory(w.bytes.data, w.bytes.length, "x.pkl", &graph, &error), FT_OK);
        assert_int_equal(graph->op_count, w.net.count);
        for (uint32_t k = 0; k < w.net.count; k++) check_op(graph, k, &w.net.nodes[k]);
        assert_non_null(ft_graph_meta(graph, "synthetic"));
        check_cost(graph, &w.net);
        ft_graph_free(graph);
        written_free(&w);
    }
}

static const char script[] =
    "import pickle, networkx as nx\n"
    "g = nx.DiGraph(pickle.load(open('net.pkl', 'rb')))\n"
    "assert type(pickle.load(open('net.pkl', 'rb'))) is nx.DiGraph\n"
    "assert nx.is_directed_acyclic_graph(g) and nx.is_weakly_connected(g)\n"
    "assert 'synthetic' in g.graph\n"
    "assert all(d == {} for _, _, d in g.edges(data=True))\n"
    "assert all(g.pred[v][u] is g.succ[u][v] for u, v in g.edges)\n"
    "f = [d['feature'] for _, d in g.nodes(data=True)]\n"
    "assert all(len(x['args']) == 13 and len(x['memory_info']) == 12 for x in f)\n"
    "assert all(isinstance(x['memory_info']['bytes'], str) for x in f)\n"
    "print(len(g), g.number_of_edges(), sum(x['flops'] for x in f), sum(int(x['memory_info']['bytes']) for x in f))\n";

static bool has_networkx(void) {
    return system("/usr/bin/python3 -c 'import networkx' 2>/dev/null") == 0;
}

static void test_networkx(void **state) {
    (void)state;
    if (!has_networkx()) {
        print_message("# python3-networkx is not installed: only our own reader is tested\n");
        skip();
    }
    written w = write_net(3);
    unsigned long long nodes = 0, edges = 0, flops = 0, bytes = 0, said[4] = {0};
    for (uint32_t i = 0; i < w.net.count; i++) {
        const net_node *n = &w.net.nodes[i];
        nodes++;
        edges += n->input_count;
        flops += (unsigned long long)(BATCH * net_flops(n));
        bytes += 4 * (unsigned long long)(BATCH * (net_in_elems(n) + net_out_elems(n)) + net_weights(n));
    }
    FILE *file = fopen("net.pkl", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w.bytes.data, 1, w.bytes.length, file), w.bytes.length);
    fclose(file);
    file = fopen("check.py", "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    file = popen("/usr/bin/python3 check.py", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %llu %llu %llu", &said[0], &said[1], &said[2], &said[3]), 4);
    assert_int_equal(pclose(file), 0);
    assert_true(said[0] == nodes && said[1] == edges && said[2] == flops && said[3] == bytes);
    written_free(&w);
}

static void test_out_of_memory(void **state) {
    (void)state;
    written w = write_net(0);
    for (long n = 0;; n++) {
        arena memory;
        buf out = {0};
        ft_error error;
        arena_init(&memory, UINT64_MAX);
        failing_start(n);
        ft_status status = net_pickle(&w.net, 1, &memory, &out, &error);
        bool has_failed = failing_stop();
        arena_free(&memory);
        buf_free(&out);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    written_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_back),
        cmocka_unit_test_setup_teardown(test_networkx, folder_enter, folder_leave),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("generate/net_pickle", tests, NULL, NULL);
}
