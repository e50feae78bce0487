/* seernet.c - times SeerNet: a training step, and one graph with and without its features.
 *
 *     seernet train THREADS STEPS [HIDDEN]   a step on a batch of 128 graphs of about 100 nodes, MSE, Adam
 *     seernet infer STEPS [HIDDEN]           a forward pass on one graph of 100 nodes
 *     seernet predict MODEL STEPS [HIDDEN]       a model from a file: costs, features, network; without reading and
 * binding seernet dump FILE [HIDDEN]             batch, parameters and outputs, for torch_seernet.py
 *
 * Prints the lines of network.h. bench/seernet_turns runs it and PyTorch alternately, so that both have the same load.
 */
#include <string.h>

#include "network.h"
#include "predictor/peers/seernet.h"

enum { NODES = 100 };

/* A chain with 30 % more edges, from even to odd positions so that no edge is there twice: like an operator graph. */
static void make_sample(rng *r, arena *memory, gnn_sample *s) {
    gnn_widths w = seernet_widths(NULL);
    uint32_t nodes = NODES * 4 / 5 + rng_below(r, NODES * 2 / 5), edges = nodes - 1, extra = nodes * 3 / 10;
    if (!gnn_sample_open(s, &w, nodes, edges + extra, memory)) abort();
    for (uint32_t i = 0; i < nodes; i++) s->kinds[i] = rng_below(r, SEERNET_KINDS);
    fill(r, (size_t)nodes * w.node_values, s->node_values);
    fill(r, (size_t)nodes * w.node_marks, s->node_marks);
    fill(r, (size_t)(edges + extra) * w.edge_values, s->edge_values);
    fill(r, w.global_values, s->global_values);
    fill(r, w.global_marks, s->global_marks);
    for (uint32_t i = 0; i < edges; i++) {
        s->from[i] = i;
        s->to[i] = i + 1;
    }
    for (uint32_t i = 0; i < extra; i++) {
        s->from[edges + i] = i * 3;
        s->to[edges + i] = i * 3 + 2 < nodes ? i * 3 + 2 : nodes - 1;
    }
}

static const timed_kind kind = {.sample = "graph",
                                .samples = 128,
                                .build = seernet_build,
                                .finalize = seernet_finalize,
                                .forward = seernet_forward,
                                .make = make_sample};

/* A predictor file predicts a model from a file: costs, features, scaling, network, interval. Nothing is
 * kept from one time to the next but what the predictor itself keeps. */
static void time_model(const char *predictor_path, const char *path, int steps) {
    ft_error error;
    ft_graph *graph, *bound;
    ft_predictor *predictor;
    ft_result result;
    double *ms = new_times(steps);
    must(ft_predictor_open(predictor_path, &predictor, &error), &error);
    must(ft_graph_read(path, &graph, &error), &error);
    must(ft_graph_bind(graph, NULL, &bound, &error), &error);
    gnn_batch size = {.nodes = ft_graph_op_count(bound), .edges = ft_graph_tensor_count(bound)};
    ft_request request = {.device = ft_predictor_device(predictor, 0), .mode = FT_INFER};
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        must(ft_predictor_predict(predictor, bound, &request, &result, &error), &error);
        if (i >= 0) ms[i] = now_ms() - started;
        ft_result_free(&result);
    }
    say("features and network of 1 graph", 1, &size, ms, steps);
    ft_graph_free(bound);
    ft_graph_free(graph);
    ft_predictor_free(predictor);
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    int hidden_at = strcmp(what, "train") == 0 ? 4 : 3;
    network n;
    if (strcmp(what, "predict") == 0 && argc > 4) return time_model(argv[2], argv[3], count_of(argv[4])), 0;
    uint32_t hidden = argc > hidden_at ? (uint32_t)count_of(argv[hidden_at]) : 256;
    const gnn_plan plan = {.shared = {.hidden = hidden, .layers = 1}, .widths = seernet_widths(NULL), .outputs = 1};
    network_init(&n, &kind, &plan);
    return network_run(
        &n, argc, argv,
        "usage: seernet train THREADS STEPS | infer STEPS | predict PREDICTOR MODEL STEPS | dump FILE\n");
}
