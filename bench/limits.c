/* limits.c - measured times of kernels and models against the limit that predictions are held to (src/cost/limit.h).
 *
 *     limits kernels FOLDER < LINES   kernels: set,device,operator,bits,sizes...,microseconds
 *     limits models FOLDER...         records of data sets with the time of whole models
 *
 * Prints lines of CSV: set,device,n,faster,share,worst; `faster` counts measurements that are shorter than the limit,
 * and `worst` is the largest ratio of the limit to a measurement. FOLDER has files of the devices that are not bundled.
 * bench/limit writes the lines and collects the results. */
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/job.h"
#include "graph/graph.h"

enum { MAX_CASES = 256, MAX_SIZES = 8, NAME_SIZE = 64 };

typedef struct tally {
    char set[NAME_SIZE], device[NAME_SIZE];
    limit_rates rates;
    bool is_open;
    unsigned long n, faster;
    double worst;
} tally;

static tally tallies[MAX_CASES];
static uint32_t tally_count;

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "limits: %s: %s\n", what, why);
    exit(1);
}

static void check(ft_status status, const char *what, const ft_error *error) {
    if (status != FT_OK) stop(what, error->message);
}

static tally *find_tally(const char *set, const char *device, const char *folder) {
    for (uint32_t i = 0; i < tally_count; i++)
        if (strcmp(tallies[i].set, set) == 0 && strcmp(tallies[i].device, device) == 0) return &tallies[i];
    if (tally_count == MAX_CASES) stop(set, "more sets and devices than expected");
    tally *t = &tallies[tally_count++];
    char path[512];
    ft_device *sheet = NULL;
    ft_error error;
    snprintf(t->set, sizeof t->set, "%s", set);
    snprintf(t->device, sizeof t->device, "%s", device);
    snprintf(path, sizeof path, "%s/%s.json", folder != NULL ? folder : ".", device);
    if (folder == NULL || ft_device_open(path, &sheet, &error) != FT_OK)
        check(ft_device_open(device, &sheet, &error), device, &error);
    t->rates = limit_rates_of(sheet);
    ft_device_free(sheet);
    return t;
}

static void count(tally *t, const ft_graph *bound, const ft_cost_options *options, double us) {
    ft_cost cost = {0};
    ft_error error;
    arena memory;
    limit_work work;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    check(ft_cost_compute(bound, options, &cost, &error), t->set, &error);
    if (!limit_work_make(bound, &cost, options, &memory, &work)) stop(t->set, "out of memory");
    double ratio = limit_us(&work, &t->rates) / us;
    t->n++;
    t->faster += ratio > 1;
    t->worst = fmax(t->worst, ratio);
    ft_cost_free(&cost);
    arena_free(&memory);
}

static void print_tallies(void) {
    printf("set,device,n,faster,share,worst\n");
    for (uint32_t i = 0; i < tally_count; i++) {
        const tally *t = &tallies[i];
        printf("%s,%s,%lu,%lu,%.5f,%.4f\n", t->set, t->device, t->n, t->faster, (double)t->faster / (double)t->n,
               t->worst);
    }
}

/* --- Kernels --------------------------------------------------------------------------------------------------- */

static uint32_t add_tensor(ft_graph *g, ft_role role, int rank, const double *dims) {
    char name[24];
    uint32_t index;
    ft_error error;
    snprintf(name, sizeof name, "t%u", g->tensor_count);
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = role, .rank = rank, .is_batched = role != FT_CONSTANT};
    for (int i = 0; i < rank; i++) spec.dims[i] = (int64_t)dims[i];
    check(graph_add_tensor(g, &spec, &index, &error), name, &error);
    if (role == FT_INPUT) check(graph_add_input(g, index, &error), name, &error);
    return index;
}

static uint32_t add_op(ft_graph *g, const char *type, uint32_t a, uint32_t b, uint32_t out) {
    uint32_t inputs[] = {a, b};
    ft_error error;
    ft_op spec = {.name = type, .type = type, .inputs = inputs, .outputs = &out, .output_count = 1};
    spec.input_count = b != FT_NONE ? 2 : 1;
    check(graph_add_op(g, &spec, &error), type, &error);
    return out;
}

/* batch, m, n, k, and whether the second operand is a weight */
static uint32_t matmul(ft_graph *g, const double *s) {
    bool is_weight = s[4] != 0;
    uint32_t a = add_tensor(g, FT_INPUT, 3, (double[]){s[0], s[1], s[3]});
    uint32_t b = is_weight ? add_tensor(g, FT_CONSTANT, 2, (double[]){s[3], s[2]})
                           : add_tensor(g, FT_INPUT, 3, (double[]){s[0], s[3], s[2]});
    return add_op(g, "MatMul", a, b, add_tensor(g, FT_ACTIVATION, 3, (double[]){s[0], s[1], s[2]}));
}

/* batch, input channels, output channels, kernel, size, stride, padding */
static uint32_t conv(ft_graph *g, const double *s) {
    double out = floor((s[4] + 2 * s[6] - s[3]) / s[5]) + 1;
    uint32_t x = add_tensor(g, FT_INPUT, 4, (double[]){s[0], s[1], s[4], s[4]});
    uint32_t w = add_tensor(g, FT_CONSTANT, 4, (double[]){s[2], s[1], s[3], s[3]});
    uint32_t y = add_op(g, "Conv", x, w, add_tensor(g, FT_ACTIVATION, 4, (double[]){s[0], s[2], out, out}));
    ft_attr attrs[2] = {0};
    ft_error error;
    const int64_t strides[] = {(int64_t)s[5], (int64_t)s[5]},
                  pads[] = {(int64_t)s[6], (int64_t)s[6], (int64_t)s[6], (int64_t)s[6]};
    check(graph_attr_ints(g, &attrs[0], "strides", strides, 2, &error), "conv", &error);
    check(graph_attr_ints(g, &attrs[1], "pads", pads, 4, &error), "conv", &error);
    g->ops[g->op_count - 1].attrs = arena_copy(&g->memory, attrs, sizeof attrs);
    g->ops[g->op_count - 1].attr_count = 2;
    return y;
}

/* inputs, rows, columns */
static uint32_t vector(ft_graph *g, const double *s) {
    uint32_t a = add_tensor(g, FT_INPUT, 2, s + 1), b = s[0] == 2 ? add_tensor(g, FT_INPUT, 2, s + 1) : FT_NONE;
    return add_op(g, s[0] == 2 ? "Mul" : "Relu", a, b, add_tensor(g, FT_ACTIVATION, 2, s + 1));
}

/* batch, queries, heads, heads of keys, head size, keys, and whether it is masked */
static uint32_t attention(ft_graph *g, const double *s) {
    double rows = s[1] * s[2] / s[3], scores[] = {s[0], s[3], rows, s[5]};
    uint32_t q = add_tensor(g, FT_INPUT, 4, (double[]){s[0], s[3], rows, s[4]});
    uint32_t k = add_tensor(g, FT_INPUT, 4, (double[]){s[0], s[3], s[4], s[5]});
    uint32_t v = add_tensor(g, FT_INPUT, 4, (double[]){s[0], s[3], s[5], s[4]});
    uint32_t at = add_op(g, "MatMul", q, k, add_tensor(g, FT_ACTIVATION, 4, scores));
    if (s[6] != 0)
        at = add_op(g, "Add", at, add_tensor(g, FT_CONSTANT, 1, &s[5]), add_tensor(g, FT_ACTIVATION, 4, scores));
    at = add_op(g, "Softmax", at, FT_NONE, add_tensor(g, FT_ACTIVATION, 4, scores));
    return add_op(g, "MatMul", at, v, add_tensor(g, FT_ACTIVATION, 4, (double[]){s[0], s[3], rows, s[4]}));
}

typedef uint32_t make_kernel(ft_graph *g, const double *sizes);

static make_kernel *kernel_of(const char *name) {
    static const struct {
        const char *name;
        make_kernel *make;
    } kernels[] = {{"matmul", matmul}, {"conv", conv}, {"vector", vector}, {"attention", attention}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0) return kernels[i].make;
    stop(name, "unknown operator");
}

static void count_kernel(const char *folder, char *line) {
    char *fields[4 + MAX_SIZES + 1], *at = line;
    double numbers[MAX_SIZES + 1];
    uint32_t n = 0;
    for (char *field = strsep(&at, ","); field != NULL && n < sizeof fields / sizeof fields[0];
         field = strsep(&at, ","))
        fields[n++] = field;
    if (n < 6) stop(line, "too few fields");
    for (uint32_t i = 4; i < n; i++) numbers[i - 4] = strtod(fields[i], NULL);
    ft_graph *g = NULL, *bound = NULL;
    ft_error error;
    ft_cost_options options = ft_cost_options_default();
    options.dtype = strtol(fields[3], NULL, 10) == 16 ? FT_FLOAT16 : FT_FLOAT32;
    check(graph_new(FT_FORMAT_ONNX, FT_NCHW, "kernel", &g, &error), line, &error);
    check(graph_add_output(g, kernel_of(fields[2])(g, numbers), &error), line, &error);
    check(graph_finish(g, &error), line, &error);
    check(ft_graph_bind(g, NULL, &bound, &error), line, &error);
    count(find_tally(fields[0], fields[1], folder), bound, &options, numbers[n - 5]);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void count_kernels(const char *folder) {
    char line[512];
    while (fgets(line, sizeof line, stdin) != NULL) count_kernel(folder, line);
}

/* --- Models ---------------------------------------------------------------------------------------------------- */

static void count_models(const char *folder) {
    ft_dataset *data;
    ft_error error;
    check(ft_dataset_open(folder, &data, &error), folder, &error);
    uint32_t metric = ft_dataset_metric(data, "time_us");
    const char *name = strrchr(folder, '/') != NULL ? strrchr(folder, '/') + 1 : folder;
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        const ft_record *r = &ft_dataset_records(data)[i];
        ft_graph *model, *bound;
        double us = metric != FT_NONE ? r->metrics[metric] : NAN;
        if (!(us > 0) || strcmp(r->part, "support") == 0) continue;
        const ft_binding binding = {.batch = r->batch};
        ft_cost_options options = ft_cost_options_default();
        options.mode = r->mode;
        options.dtype = r->dtype;
        check(ft_dataset_graph(data, r->graph, &model, &error), folder, &error);
        check(ft_graph_bind(model, &binding, &bound, &error), folder, &error);
        count(find_tally(name, r->device, NULL), bound, &options, us);
        ft_graph_free(bound);
        ft_graph_free(model);
    }
    ft_dataset_free(data);
}

int main(int argc, char **argv) {
    if (argc < 3) stop("usage", "limits kernels FOLDER < LINES, limits models FOLDER...");
    if (strcmp(argv[1], "kernels") == 0)
        count_kernels(argv[2]);
    else
        for (int i = 2; i < argc; i++) count_models(argv[i]);
    print_tallies();
    return 0;
}
