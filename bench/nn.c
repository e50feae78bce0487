/* nn.c - times the network of ../shared/bench/torch_gnn.py here: three layers of GraphSAGE, a head, MSE, Adam.
 *
 *     nn train THREADS STEPS [NODES]    a step on a batch of 64 graphs of about NODES (100) nodes each
 *     nn infer STEPS [NODES]            a forward pass on one graph, and on the batch, with one thread
 *
 * Prints one line for each measurement: name,threads,nodes,edges,median_ms,p25_ms,min_ms. bench/nn_turns runs it
 * and PyTorch alternately, so that both have the same load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "nn/layer.h"
#include "nn/optim.h"
#include "nn/parallel.h"

enum { FEATURES = 32, HIDDEN = 128, GRAPHS = 64, PART_ROWS = 400, WARM_UP = 10, MEMORY = 1 << 30 };

/* --- The network --------------------------------------------------------------------------------------------- */

typedef struct network {
    params p;
    layer_sage sage[3];
    layer_linear first, last;
} network;

static void network_init(network *n) {
    params_init(&n->p);
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "sage%d", i);
        n->sage[i] = layer_sage_add(&n->p, name, i == 0 ? FEATURES : HIDDEN, HIDDEN);
    }
    n->first = layer_linear_add(&n->p, "first", 2 * HIDDEN, HIDDEN, true);
    n->last = layer_linear_add(&n->p, "last", HIDDEN, 1, true);
    if (params_finish(&n->p, 0, NULL) != FT_OK) abort();
}

/* The graphs of one part of the batch, one after the other. */
typedef struct graphs {
    uint32_t count, rows, edge_count;
    float *x;
    uint32_t *start;      /* of each graph's rows */
    uint32_t *edge_start; /* of each row's edges */
    uint32_t *edge_from;
    float target[GRAPHS];
} graphs;

static tensor *forward(const network *n, tape *t, const graphs *g) {
    tensor *x = tape_input(t, g->rows, FEATURES, g->x);
    neighbours edges = {g->rows, g->edge_start, g->edge_from};
    for (int i = 0; i < 3; i++) x = layer_sage_apply(t, &n->sage[i], x, edges, ACT_RELU);
    segments whole = {g->count, g->start};
    tensor *pooled[] = {nn_segment_sum(t, x, whole), nn_segment_mean(t, x, whole)};
    return layer_linear_apply(t, &n->last, layer_linear_apply(t, &n->first, nn_concat_columns(t, 2, pooled), ACT_RELU),
                              ACT_NONE);
}

/* --- The data ------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A chain with 30 % more edges that skip up to nine nodes, after `first`; edges as (to, from) in one number. */
static uint32_t make_edges(rng *r, uint32_t nodes, uint32_t first, uint64_t *edges) {
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < nodes; i++) edges[count++] = (uint64_t)(first + i + 1) << 32 | (first + i);
    for (uint32_t i = 0; i < nodes * 3 / 10; i++) {
        uint32_t from = rng_below(r, nodes - 1), to = from + 1 + rng_below(r, 9);
        if (to > nodes - 1) to = nodes - 1;
        edges[count++] = (uint64_t)(first + to) << 32 | (first + from);
    }
    return count;
}

static void *take(size_t count, size_t size) {
    void *block = calloc(count, size);
    if (block == NULL) abort();
    return block;
}

static void make_graphs(graphs *g, rng *r, uint32_t count, const uint32_t *nodes) {
    *g = (graphs){.count = count, .start = take(count + 1, sizeof(uint32_t))};
    for (uint32_t i = 0; i < count; i++) g->start[i + 1] = g->start[i] + nodes[i];
    g->rows = g->start[count];
    g->x = take((size_t)g->rows * FEATURES, sizeof(float));
    for (size_t i = 0; i < (size_t)g->rows * FEATURES; i++) g->x[i] = (float)rng_normal(r);
    uint64_t *edges = take(2 * (size_t)g->rows, sizeof *edges);
    for (uint32_t i = 0; i < count; i++) {
        g->edge_count += make_edges(r, nodes[i], g->start[i], edges + g->edge_count);
        g->target[i] = (float)rng_normal(r);
    }
    qsort(edges, g->edge_count, sizeof *edges, by_value);
    g->edge_start = take(g->rows + 1, sizeof(uint32_t));
    g->edge_from = take(g->edge_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < g->edge_count; i++) {
        g->edge_from[i] = (uint32_t)edges[i];
        g->edge_start[(edges[i] >> 32) + 1]++;
    }
    for (uint32_t i = 0; i < g->rows; i++) g->edge_start[i + 1] += g->edge_start[i];
    free(edges);
}

static void free_graphs(graphs *g) {
    free(g->x);
    free(g->start);
    free(g->edge_start);
    free(g->edge_from);
}

typedef struct batch {
    network net;
    uint32_t rows, edges, part_count;
    graphs parts[GRAPHS];
} batch;

static void batch_init(batch *b, uint32_t nodes) {
    network_init(&b->net);
    rng r;
    rng_init(&r, 0, 0);
    uint32_t sizes[GRAPHS], start[GRAPHS + 1];
    for (int i = 0; i < GRAPHS; i++) sizes[i] = (uint32_t)(nodes * (0.8 + 0.4 * rng_uniform(&r)));
    b->part_count = nodes * GRAPHS / PART_ROWS < GRAPHS ? nodes * GRAPHS / PART_ROWS : GRAPHS;
    parallel_split(sizes, GRAPHS, b->part_count, start);
    b->rows = b->edges = 0;
    for (uint32_t i = 0; i < b->part_count; i++) {
        make_graphs(&b->parts[i], &r, start[i + 1] - start[i], sizes + start[i]);
        b->rows += b->parts[i].rows;
        b->edges += b->parts[i].edge_count;
    }
}

static void batch_free(batch *b) {
    for (uint32_t i = 0; i < b->part_count; i++) free_graphs(&b->parts[i]);
    params_free(&b->net.p);
}

/* --- Timing -------------------------------------------------------------------------------------------------- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, uint32_t threads, uint32_t rows, uint32_t edges, double *ms, int count) {
    qsort(ms, (size_t)count, sizeof *ms, ascending);
    printf("%s,%u,%u,%u,%.4f,%.4f,%.4f\n", name, threads, rows, edges, ms[count / 2], ms[count / 4], ms[0]);
}

static tensor *loss_of(void *user, tape *t, uint32_t part) {
    const batch *b = user;
    loss_options options = {.kind = LOSS_MSE, .scale = 1.0f / GRAPHS};
    return nn_loss(t, forward(&b->net, t, &b->parts[part]), b->parts[part].target, &options);
}

static void time_training(batch *b, uint32_t threads, int steps) {
    pool *workers = NULL;
    parallel *p = NULL;
    optim *adam = NULL;
    optim_options options = optim_options_default(OPTIM_ADAM);
    if (pool_new(threads, &workers, NULL) != FT_OK ||
        parallel_new(&b->net.p, PARALLEL_SHARDS, workers, MEMORY, &p, NULL) != FT_OK ||
        optim_new(&options, b->net.p.trained_count, NULL, 0, &adam, NULL) != FT_OK)
        abort();
    double *ms = take((size_t)steps, sizeof *ms), loss = 0;
    for (int i = 0; i < steps + WARM_UP; i++) {
        double started = now_ms();
        if (parallel_train(p, b->part_count, loss_of, b, (uint64_t)i, &loss, NULL) != FT_OK) abort();
        optim_step(adam, b->net.p.values, parallel_gradient(p), 1e-3, workers);
        if (i >= WARM_UP) ms[i - WARM_UP] = now_ms() - started;
    }
    print("train step (64 graphs)", threads, b->rows, b->edges, ms, steps);
    optim_free(adam);
    free(ms);
    parallel_free(p);
    pool_free(workers);
}

static void time_inference(batch *b, int steps) {
    tape *t = NULL;
    if (tape_new(&b->net.p, MEMORY, &t, NULL) != FT_OK) abort();
    double *ms = take((size_t)steps, sizeof *ms), sum = 0;
    graphs one;
    rng r;
    rng_init(&r, 1, 0);
    make_graphs(&one, &r, 1, (uint32_t[]){b->rows / GRAPHS});
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        tape_begin(t, TAPE_INFER, 0, 0);
        sum += (double)forward(&b->net, t, &one)->data[0];
        if (i >= 0) ms[i] = now_ms() - started;
    }
    print("infer 1 graph", 1, one.rows, one.edge_count, ms, steps);
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        for (uint32_t k = 0; k < b->part_count; k++) {
            tape_begin(t, TAPE_INFER, 0, 0);
            sum += (double)forward(&b->net, t, &b->parts[k])->data[0];
        }
        if (i >= 0) ms[i] = now_ms() - started;
    }
    print("infer 64 graphs", 1, b->rows, b->edges, ms, steps);
    if (!isfinite(sum)) abort();
    free_graphs(&one);
    free(ms);
    tape_free(t);
}

static int usage(void) {
    fprintf(stderr, "usage: nn train THREADS STEPS [NODES] | nn infer STEPS [NODES]\n");
    return 2;
}

/* Argument i as a number from 1 to 100000; the default when it is missing, 0 when it is no number. */
static uint32_t number(int argc, char **argv, int i, uint32_t otherwise) {
    if (i >= argc) return otherwise;
    char *end;
    long value = strtol(argv[i], &end, 10);
    return *end == '\0' && value > 0 && value <= 100000 ? (uint32_t)value : 0;
}

int main(int argc, char **argv) {
    static batch b;
    bool trains = argc > 1 && strcmp(argv[1], "train") == 0;
    if (!trains && (argc < 2 || strcmp(argv[1], "infer") != 0)) return usage();
    int next = trains ? 3 : 2;
    uint32_t threads = trains ? number(argc, argv, 2, 0) : 1;
    uint32_t steps = number(argc, argv, next, 0), nodes = number(argc, argv, next + 1, 100);
    if (threads == 0 || steps == 0 || nodes < 10) return usage();
    batch_init(&b, nodes);
    if (trains)
        time_training(&b, threads, (int)steps);
    else
        time_inference(&b, (int)steps);
    batch_free(&b);
    return 0;
}
