/* network.h - times a graph network of a given kind on synthetic samples, and dumps it for comparison with PyTorch.
 *
 * Prints one line for each measurement: name,threads,nodes,edges,median_ms,p25_ms,min_ms. */
#ifndef BENCH_NETWORK_H
#define BENCH_NETWORK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "base/text.h"
#include "nn/optim.h"
#include "nn/parallel.h"
#include "predictor/gnn/gnn.h"

enum { MAX_SAMPLES = 256, PART_NODES = 768, MAX_PARTS = 64, WARM_UP = 5, MAX_COUNT = 1000000 };
static const size_t MEMORY = (size_t)1 << 31;

/* The network that is timed. */
typedef struct timed_kind {
    const char *sample; /* name of a sample: "graph" */
    uint32_t samples;   /* in a batch */
    gnn_net *(*build)(const gnn_plan *plan, params *p);
    ft_status (*finalize)(gnn_net *net, const params *values, ft_error *error); /* NULL: nothing */
    tensor *(*forward)(const gnn_net *net, tape *t, const gnn_batch *batch);
    void (*make)(rng *r, arena *memory, gnn_sample *sample);
    const float *column_values; /* device features; NULL where the network has none */
} timed_kind;

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "bench: %s\n", error->message);
    exit(1);
}

/* A number of threads, steps or columns from the command line. */
static int count_of(const char *text) {
    int64_t count = 0;
    if (!text_int(text, strlen(text), &count) || count < 1 || count > MAX_COUNT) {
        fprintf(stderr, "bench: '%s' is not a number from 1 to %d\n", text, MAX_COUNT);
        exit(2);
    }
    return (int)count;
}

/* Room for the times of all steps. */
static double *new_times(int steps) {
    double *ms = calloc((size_t)steps, sizeof *ms);
    if (ms != NULL) return ms;
    fputs("bench: out of memory\n", stderr);
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
    const timed_kind *kind;
    gnn_plan plan;
    params values;
    gnn_net *net;
} network;

static void network_init(network *n, const timed_kind *kind, const gnn_plan *plan) {
    ft_error error;
    *n = (network){.kind = kind, .plan = *plan};
    params_init(&n->values);
    n->net = kind->build(&n->plan, &n->values);
    must(params_finish(&n->values, 1, &error), &error);
}

/* --- The data ------------------------------------------------------------------------------------------------ */

static void fill(rng *r, size_t count, float *values) {
    for (size_t i = 0; i < count; i++) values[i] = (float)rng_normal(r);
}

typedef struct part {
    gnn_batch batch;
    float *targets; /* samples x outputs */
} part;

typedef struct data {
    arena memory;
    gnn_sample samples[MAX_SAMPLES];
    part parts[MAX_PARTS];
    uint32_t part_count;
    const network *net;
    double checksum; /* so that nothing is optimised away */
} data;

/* Joins samples `first` .. `first + count - 1`. */
static void join(data *d, uint32_t first, uint32_t count, gnn_batch *batch) {
    const gnn_sample *list[MAX_SAMPLES];
    for (uint32_t i = 0; i < count; i++) list[i] = &d->samples[first + i];
    if (!gnn_batch_join(batch, &d->net->plan.widths, list, count, &d->memory)) abort();
    batch->columns = d->net->plan.outputs;
    batch->column_values = d->net->kind->column_values;
}

static void make_data(data *d, const network *net) {
    rng r;
    uint32_t sizes[MAX_SAMPLES], start[MAX_PARTS + 1], nodes = 0;
    *d = (data){.net = net};
    arena_init(&d->memory, UINT64_MAX);
    rng_init(&r, 7, 7);
    for (uint32_t i = 0; i < net->kind->samples; i++) {
        net->kind->make(&r, &d->memory, &d->samples[i]);
        nodes += sizes[i] = d->samples[i].nodes;
    }
    d->part_count = (nodes + PART_NODES - 1) / PART_NODES;
    parallel_split(sizes, net->kind->samples, d->part_count, start);
    for (uint32_t i = 0; i < d->part_count; i++) {
        join(d, start[i], start[i + 1] - start[i], &d->parts[i].batch);
        size_t targets = (size_t)(start[i + 1] - start[i]) * net->plan.outputs;
        d->parts[i].targets = ARENA_ARRAY(&d->memory, float, targets + 1);
        if (d->parts[i].targets == NULL) abort();
        fill(&r, targets, d->parts[i].targets);
    }
}

/* --- Measuring ----------------------------------------------------------------------------------------------- */

static tensor *part_loss(void *user, tape *t, uint32_t number) {
    const data *d = user;
    const network *n = d->net;
    const loss_options options = {.kind = LOSS_MSE, .scale = 1.0f / (float)(n->kind->samples * n->plan.outputs)};
    return nn_loss(t, n->kind->forward(n->net, t, &d->parts[number].batch), d->parts[number].targets, &options);
}

static void time_training(network *n, int threads, int steps) {
    static data d;
    ft_error error;
    pool *workers = NULL;
    parallel *p;
    optim *adam;
    optim_options options = optim_options_default(OPTIM_ADAM);
    gnn_batch all;
    double *ms = new_times(steps), total = 0;
    make_data(&d, n);
    join(&d, 0, n->kind->samples, &all);
    if (threads > 1) must(pool_new((uint32_t)threads, &workers, &error), &error);
    must(parallel_new(&n->values, 4, workers, MEMORY, &p, &error), &error);
    must(optim_new(&options, n->values.trained_count, NULL, 0, &adam, &error), &error);
    for (int64_t i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        must(parallel_train(p, d.part_count, part_loss, &d, (uint64_t)(i + WARM_UP), &total, &error), &error);
        optim_step(adam, n->values.values, parallel_gradient(p), 1e-3, workers);
        if (i >= 0) ms[i] = now_ms() - started;
    }
    char name[64];
    snprintf(name, sizeof name, "train step (%u %ss)", n->kind->samples, n->kind->sample);
    say(name, threads, &all, ms, steps);
    fprintf(stderr, "loss %g\n", total);
}

static void time_predicting(network *n, int steps) {
    static data d;
    ft_error error;
    gnn_batch one;
    tape *t;
    double *ms = new_times(steps);
    make_data(&d, n);
    join(&d, 0, 1, &one);
    if (n->kind->finalize != NULL) must(n->kind->finalize(n->net, &n->values, &error), &error);
    must(tape_new(&n->values, MEMORY, &t, &error), &error);
    for (int i = -WARM_UP; i < steps; i++) {
        double started = now_ms();
        tape_begin(t, TAPE_INFER, 0, 0);
        const tensor *output = n->kind->forward(n->net, t, &one);
        must(tape_status(t, &error), &error);
        d.checksum += (double)output->data[0];
        if (i >= 0) ms[i] = now_ms() - started;
    }
    char name[64];
    snprintf(name, sizeof name, "infer 1 %s", n->kind->sample);
    say(name, 1, &one, ms, steps);
    tape_free(t);
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
    gnn_widths w = n->plan.widths;
    const float dropout = (float)n->plan.shared.dropout;
    FILE *f = fopen(path, "wb");
    if (f == NULL) abort();
    make_data(&d, n);
    join(&d, 0, n->kind->samples, &b);
    must(tape_new(&n->values, MEMORY, &t, &error), &error);
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *output = n->kind->forward(n->net, t, &b);
    must(tape_status(t, &error), &error);
    put_numbers(f, "kinds", b.nodes, b.kinds);
    put_numbers(f, "from", b.edges, b.from);
    put_numbers(f, "to", b.edges, b.to);
    put_numbers(f, "start", b.samples + 1, b.nodes_of.start);
    put(f, "node_values", b.nodes, w.node_values, b.node_values);
    put(f, "node_marks", b.nodes, w.node_marks, b.node_marks);
    put(f, "edge_values", b.edges, w.edge_values, b.edge_values);
    put(f, "graph_values", b.samples, w.global_values, b.global_values);
    put(f, "graph_marks", b.samples, w.global_marks, b.global_marks);
    if (w.column_values > 0) put(f, "columns", b.columns, w.column_values, b.column_values);
    put(f, "dropout", 1, 1, &dropout);
    put(f, "said", b.samples, n->plan.outputs, output->data);
    for (uint32_t i = 0; i < n->values.count; i++) {
        const param *p = &n->values.items[i];
        put(f, p->name, p->rows, p->cols, n->values.values + p->offset);
    }
    fclose(f);
    tape_free(t);
}

/* --- Commands ------------------------------------------------------------------------------------------------ */

/* Runs a command of the benchmark; returns the exit status. */
static int network_run(network *n, int argc, char **argv, const char *usage) {
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "train") == 0 && argc > 3)
        time_training(n, count_of(argv[2]), count_of(argv[3]));
    else if (strcmp(what, "infer") == 0)
        time_predicting(n, count_of(argv[2]));
    else if (strcmp(what, "dump") == 0)
        dump(n, argv[2]);
    else
        return fputs(usage, stderr), 2;
    return 0;
}

#endif
