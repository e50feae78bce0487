/* seernet.c - times SeerNet: a training step, and one graph with and without its features.
 *
 *     seernet train THREADS STEPS [HIDDEN]   a step on a batch of 128 graphs of about 100 nodes, MSE, Adam
 *     seernet infer STEPS [HIDDEN]           a forward pass on one graph of 100 nodes
 *     seernet ask MODEL STEPS [HIDDEN]       a model from a file: costs, features, network; reading and binding are
 * apart seernet dump FILE [HIDDEN]             batch, parameters and what the network says of it, for torch_seernet.py
 *
 * Prints one line for each measurement: name,threads,nodes,edges,median_ms,p25_ms,min_ms. bench/seernet_turns lets it
 * take turns with PyTorch, so that both see the same machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "nn/optim.h"
#include "nn/parallel.h"
#include "predictor/seernet.h"

enum { GRAPHS = 128, NODES = 100, PART_NODES = 768, MAX_PARTS = 64, WARM_UP = 5 };
static const size_t MEMORY = (size_t)1 << 31;

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "seernet: %s\n", error->message);
    exit(1);
}

/* --- Times --------------------------------------------------------------------------------------------------- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void say(const char *name, int threads, const gnn_batch *b, double *ms, int count) {
    qsort(ms, (size_t)count, sizeof *ms, by_value);
    printf("%s,%d,%u,%u,%.4f,%.4f,%.4f\n", name, threads, b->nodes, b->edges, ms[count / 2], ms[count / 4], ms[0]);
}

/* --- The network --------------------------------------------------------------------------------------------- */

typedef struct network {
    gnn_plan plan;
    params values;
    gnn_net *net;
} network;

static void network_init(network *n, uint32_t hidden) {
    ft_error error;
    *n = (network){.plan = {.shared = {.hidden = hidden, .layers = 1}, .widths = seernet_widths(NULL), .outputs = 1}};
    params_init(&n->values);
    n->net = seernet_build(&n->plan, &n->values);
    must(params_finish(&n->values, 1, &error), &error);
}

/* --- The data ------------------------------------------------------------------------------------------------ */

static void fill(rng *r, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) values[i] = (float)rng_normal(r);
}

/* A chain with 30 % more edges, from even to odd places so that none is there twice: like an operator graph. */
static void make_sample(rng *r, uint32_t nodes, arena *memory, gnn_sample *s) {
    gnn_widths w = seernet_widths(NULL);
    uint32_t edges = nodes - 1, extra = nodes * 3 / 10;
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

typedef struct part {
    gnn_batch batch;
    float targets[GRAPHS];
} part;

typedef struct data {
    arena memory;
    gnn_sample samples[GRAPHS];
    part parts[MAX_PARTS];
    uint32_t part_count;
    const network *net;
    double said; /* so that nothing is optimised away */
} data;

/* Joins samples `first` .. `first + count - 1`. */
static void join(data *d, uint32_t first, uint32_t count, gnn_batch *batch) {
    const gnn_sample *list[GRAPHS];
    for (uint32_t i = 0; i < count; i++) list[i] = &d->samples[first + i];
    if (!gnn_batch_join(batch, &d->net->plan.widths, list, count, &d->memory)) abort();
}

static void make_data(data *d, const network *net) {
    rng r;
    uint32_t sizes[GRAPHS], start[MAX_PARTS + 1], nodes = 0;
    *d = (data){.net = net};
    arena_init(&d->memory, UINT64_MAX);
    rng_init(&r, 7, 7);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        make_sample(&r, NODES * 4 / 5 + rng_below(&r, NODES * 2 / 5), &d->memory, &d->samples[i]);
        nodes += sizes[i] = d->samples[i].nodes;
    }
    d->part_count = (nodes + PART_NODES - 1) / PART_NODES;
    parallel_cut(sizes, GRAPHS, d->part_count, start);
    for (uint32_t i = 0; i < d->part_count; i++) {
        join(d, start[i], start[i + 1] - start[i], &d->parts[i].batch);
        fill(&r, start[i + 1] - start[i], d->parts[i].targets);
    }
}

/* --- Measuring ----------------------------------------------------------------------------------------------- */

static tensor *part_loss(void *user, tape *t, uint32_t number) {
    const data *d = user;
    const loss_options options = {.kind = LOSS_MSE, .scale = 1.0f / GRAPHS};
    return nn_loss(t, seernet_forward(d->net->net, t, &d->parts[number].batch), d->parts[number].targets, &options);
}

static void time_training(network *n, int threads, int steps) {
    static data d;
    ft_error error;
    pool *workers = NULL;
    parallel *p;
    optim *adam;
    optim_options options = optim_options_default(OPTIM_ADAM);
    gnn_batch all;
    double *ms = calloc((size_t)steps, sizeof *ms), total;
    make_data(&d, n);
    join(&d, 0, GRAPHS, &all);
    if (threads > 1) must(pool_new((uint32_t)threads, &workers, &error), &error);
    must(parallel_new(&n->values, 4, workers, MEMORY, &p, &error), &error);
    must(optim_new(&options, n->values.trained_count, NULL, 0, &adam, &error), &error);
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        must(parallel_train(p, d.part_count, part_loss, &d, (uint64_t)(i + WARM_UP), &total, &error), &error);
        optim_step(adam, n->values.values, parallel_gradient(p), 1e-3, workers);
        if (i >= 0) ms[i] = now_ms() - started;
    }
    say("train step (128 graphs)", threads, &all, ms, steps);
    fprintf(stderr, "loss %g\n", total);
}

static void time_asking(network *n, int steps) {
    static data d;
    ft_error error;
    gnn_batch one;
    tape *t;
    double *ms = calloc((size_t)steps, sizeof *ms);
    make_data(&d, n);
    join(&d, 0, 1, &one);
    must(seernet_settle(n->net, &n->values, &error), &error);
    must(tape_new(&n->values, MEMORY, &t, &error), &error);
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        tape_begin(t, TAPE_INFER, 0, 0);
        const tensor *said = seernet_forward(n->net, t, &one);
        must(tape_status(t, &error), &error);
        d.said += (double)said->data[0];
        if (i >= 0) ms[i] = now_ms() - started;
    }
    say("infer 1 graph", 1, &one, ms, steps);
    tape_free(t);
}

/* A predictor from its file is asked about a model from a file: costs, features, scaling, network, interval. Nothing is
 * kept from one time to the next but what the predictor itself keeps. */
static void time_model(const char *predictor_path, const char *path, int steps) {
    ft_error error;
    ft_graph *graph, *bound;
    ft_predictor *predictor;
    ft_answer answer;
    double *ms = calloc((size_t)steps, sizeof *ms);
    must(ft_predictor_open(predictor_path, &predictor, &error), &error);
    must(ft_graph_read(path, &graph, &error), &error);
    must(ft_graph_bind(graph, NULL, &bound, &error), &error);
    gnn_batch size = {.nodes = ft_graph_op_count(bound), .edges = ft_graph_tensor_count(bound)};
    ft_query query = {.device = ft_predictor_device(predictor, 0), .mode = FT_INFER};
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        must(ft_predictor_answer(predictor, bound, &query, &answer, &error), &error);
        if (i >= 0) ms[i] = now_ms() - started;
        ft_answer_free(&answer);
    }
    say("features and network of 1 graph", 1, &size, ms, steps);
    ft_graph_free(bound);
    ft_graph_free(graph);
    ft_predictor_free(predictor);
}

/* --- For PyTorch --------------------------------------------------------------------------------------------- */

static void put(FILE *f, const char *name, size_t rows, size_t cols, const void *floats) {
    fprintf(f, "%s %zu %zu\n", name, rows, cols);
    fwrite(floats, sizeof(float), rows * cols, f);
}

static void put_numbers(FILE *f, const char *name, size_t count, const uint32_t *numbers) {
    float *floats = malloc((count + 1) * sizeof *floats);
    for (size_t i = 0; i < count; i++) floats[i] = (float)numbers[i];
    put(f, name, count, 1, floats);
    free(floats);
}

static void dump(network *n, const char *path) {
    static data d;
    ft_error error;
    gnn_batch b;
    tape *t;
    FILE *f = fopen(path, "wb");
    if (f == NULL) abort();
    make_data(&d, n);
    join(&d, 0, GRAPHS, &b);
    must(tape_new(&n->values, MEMORY, &t, &error), &error);
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = seernet_forward(n->net, t, &b);
    must(tape_status(t, &error), &error);
    put_numbers(f, "kinds", b.nodes, b.kinds);
    put_numbers(f, "from", b.edges, b.from);
    put_numbers(f, "to", b.edges, b.to);
    put_numbers(f, "start", b.samples + 1, b.nodes_of.start);
    put(f, "node_values", b.nodes, SEERNET_NODE_VALUES, b.node_values);
    put(f, "node_marks", b.nodes, SEERNET_NODE_MARKS, b.node_marks);
    put(f, "edge_values", b.edges, SEERNET_EDGE_VALUES, b.edge_values);
    put(f, "graph_values", b.samples, SEERNET_GRAPH_VALUES, b.global_values);
    put(f, "graph_marks", b.samples, SEERNET_GRAPH_MARKS, b.global_marks);
    put(f, "said", said->rows, said->cols, said->data);
    for (uint32_t i = 0; i < n->values.count; i++) {
        const param *p = &n->values.items[i];
        put(f, p->name, p->rows, p->cols, n->values.values + p->offset);
    }
    fclose(f);
    tape_free(t);
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    int hidden_at = strcmp(what, "train") == 0 ? 4 : 3;
    network n;
    if (strcmp(what, "ask") == 0 && argc > 4) return time_model(argv[2], argv[3], atoi(argv[4])), 0;
    network_init(&n, argc > hidden_at ? (uint32_t)atoi(argv[hidden_at]) : 256);
    if (strcmp(what, "train") == 0 && argc > 3)
        time_training(&n, atoi(argv[2]), atoi(argv[3]));
    else if (strcmp(what, "infer") == 0)
        time_asking(&n, atoi(argv[2]));
    else if (strcmp(what, "dump") == 0)
        dump(&n, argv[2]);
    else
        return fputs("usage: seernet train THREADS STEPS | infer STEPS | ask PREDICTOR MODEL STEPS | dump FILE\n",
                     stderr),
               2;
    return 0;
}
