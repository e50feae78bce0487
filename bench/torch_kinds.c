/* torch_kinds.c - refits the factors by kind of kernel on CPUs of torch_amounts.c.
 *
 *     build/bench/torch_kinds FOLDER [SPLIT...] > bench/results/torch_kinds.csv
 *
 * FOLDER is a data set of timm. Fits the unit costs of a product, a launch, a byte of weights and a moved byte in every
 * kind of kernel to times of whole models on each processor, by least squares of the relative error, on the training
 * part of each SPLIT (the five of fold:family:5). Prints the fitted factors and those in use, except for kinds with
 * hardly any time; then errors on training and test part: with a factor of 1 for all kinds, with those in use, and with
 * the fitted ones. */
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/math/nnls.h"
#include "predictor/torch/torch_setting.h"

/* Columns: of each kind its products, then launches, weights and moved bytes; then other arithmetic, and stalls.
 */
enum {
    PRODUCTS,
    LAUNCHES,
    WEIGHTS,
    MOVED,
    BLOCKS,
    FLOPS = BLOCKS * TORCH_KINDS,
    SERIAL,
    COLUMNS,
    SHARED = TORCH_KINDS + 5, /* columns when kinds share launches, weights and moved bytes */
    DEVICES = 2
};

static const char *const devices[DEVICES] = {"i9-10940x", "i7-12700h"};
static const char *const block_names[BLOCKS] = {"products", "launches", "weights", "moved"};
static const char *const kind_names[TORCH_KINDS] = {
#define KIND_NAME(name, words) &#name[sizeof "TORCH_" - 1],
    TORCH_KIND_LIST(KIND_NAME)
#undef KIND_NAME
};

static const double RIDGE = 1e-4, MIN_SHARE = 0.003;

typedef struct sample {
    double amounts[COLUMNS], us;
    bool is_test;
} sample;

typedef struct samples {
    sample *items;
    uint32_t count;
} samples;

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "torch_kinds: %s: %s\n", what, why);
    exit(1);
}

static void check(ft_status status, const char *what, const ft_error *error) {
    if (status != FT_OK) stop(what, error->message);
}

static void *need(void *memory) {
    if (memory == NULL) stop("memory", "there is none left");
    return memory;
}

/* --- Amounts ------------------------------------------------------------------------------------------------- */

static void add_row(const torch_row *row, double amounts[static COLUMNS]) {
    static const double I9_FLOPS = 2.957e12;
    double anchors[TORCH_ANCHORS] = {[TORCH_FLOPS] = 1e6 / I9_FLOPS};
    float stalls[TORCH_TERMS];
    torch_kind kind = torch_row_kind(row);
    torch_amounts(row, TORCH_CPU, anchors, 1, 1, stalls);
    amounts[PRODUCTS * TORCH_KINDS + kind] +=
        row->terms[TORCH_PRODUCTS] + row->terms[TORCH_VECTOR_PRODUCTS] + row->terms[TORCH_ATTENDED];
    amounts[LAUNCHES * TORCH_KINDS + kind] += row->terms[TORCH_LAUNCHES];
    amounts[WEIGHTS * TORCH_KINDS + kind] += row->terms[TORCH_WEIGHTS];
    amounts[MOVED * TORCH_KINDS + kind] += row->terms[TORCH_MOVED];
    amounts[FLOPS] += row->terms[TORCH_FLOPS];
    amounts[SERIAL] += stalls[TORCH_SERIAL];
}

/* Of a graph, as compiled, in float32, for one image. */
static void add_graph(const ft_dataset *data, uint32_t index, const ft_rules *rules, double amounts[static COLUMNS]) {
    ft_error error;
    ft_graph *graph, *bound;
    model_view s;
    arena memory;
    torch_kernel *kernels;
    uint32_t count;
    check(ft_dataset_graph(data, index, &graph, &error), "graph", &error);
    check(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, &error), "graph", &error);
    arena_init(&memory, UINT64_MAX);
    model_view_init(&s, bound, &(ft_request){.mode = FT_INFER});
    check(torch_kernels_of(&s, rules, &memory, &kernels, &count, &error), "kernels", &error);
    for (uint32_t i = 0; i < count; i++) {
        torch_row row;
        torch_row_of(&kernels[i], 1, (torch_precision){.bytes = 4}, &row);
        add_row(&row, amounts);
    }
    model_view_free(&s);
    arena_free(&memory);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* Records of a device with PyTorch 2.4, compiled. */
static samples gather(const ft_dataset *data, const ft_split *split, const ft_rules *rules, const char *device) {
    samples all = {.items = need(calloc((size_t)ft_dataset_record_count(data) + 1, sizeof *all.items))};
    const ft_record *records = ft_dataset_records(data);
    uint32_t time = ft_dataset_metric(data, "time_us");
    if (time == FT_NONE) stop("data set", "it has no times");
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        const ft_record *r = &records[i];
        if (strcmp(r->device, device) != 0 || strstr(r->setting, "compile=yes;layout=nchw;torch=2.4") == NULL) continue;
        sample *one = &all.items[all.count++];
        *one = (sample){.us = r->metrics[time], .is_test = split->parts[i] == FT_PART_TEST};
        add_graph(data, r->graph, rules, one->amounts);
    }
    return all;
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

typedef void map_amounts(const double *amounts, double *columns);

/* Unit costs of the `count` columns that `map` computes from amounts; those with little data are pulled towards `prior`
 * (NULL: 0). */
static void fit(const samples *all, map_amounts *map, uint32_t count, const double *prior, double *unit_costs) {
    double *gram = need(calloc((size_t)count * count, sizeof *gram)), moment[COLUMNS] = {0}, ridge[COLUMNS];
    uint32_t learned = 0;
    ft_error error;
    for (uint32_t s = 0; s < all->count; s++) {
        double columns[COLUMNS];
        if (all->items[s].is_test) continue;
        map(all->items[s].amounts, columns);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < count; j++)
                gram[(size_t)i * count + j] += columns[i] * columns[j] / (all->items[s].us * all->items[s].us);
            moment[i] += columns[i] / all->items[s].us;
        }
        learned++;
    }
    for (uint32_t i = 0; i < count; i++) { /* as strong as samples in which the column has its mean share */
        double mean = learned > 0 ? moment[i] / learned : 0;
        ridge[i] = RIDGE * learned * mean * mean + (prior != NULL && prior[i] > 0 ? 1e-2 / (prior[i] * prior[i]) : 0);
    }
    const nnls_problem problem = {.count = count, .gram = gram, .moment = moment, .ridge = ridge, .prior = prior};
    check(nnls_solve(&problem, unit_costs, &error), "unit costs", &error);
    free(gram);
}

static void map_each(const double *amounts, double *columns) {
    memcpy(columns, amounts, COLUMNS * sizeof *columns);
}

/* Sums over kinds, with a factor for each. */
static void share(const double *amounts, bool has_factors, double *columns) {
    const double ones[TORCH_ANCHORS] = {[TORCH_LAUNCHES] = 1, [TORCH_WEIGHTS] = 1, [TORCH_MOVED] = 1};
    for (uint32_t i = TORCH_KINDS; i < SHARED; i++) columns[i] = 0;
    for (uint32_t kind = 0; kind < TORCH_KINDS; kind++) {
        torch_row row = {.terms = {[TORCH_LAUNCHES] = 1, [TORCH_WEIGHTS] = 1, [TORCH_MOVED] = 1}};
        float factors[TORCH_TERMS];
        row.features[TORCH_FLAG_KIND + kind] = 1;
        torch_amounts(&row, has_factors ? TORCH_CPU : TORCH_GPU, ones, 1, 1, factors);
        columns[kind] = amounts[PRODUCTS * TORCH_KINDS + kind];
        columns[TORCH_KINDS] += factors[TORCH_LAUNCHES] * amounts[LAUNCHES * TORCH_KINDS + kind];
        columns[TORCH_KINDS + 1] += factors[TORCH_WEIGHTS] * amounts[WEIGHTS * TORCH_KINDS + kind];
        columns[TORCH_KINDS + 2] += factors[TORCH_MOVED] * amounts[MOVED * TORCH_KINDS + kind];
    }
    columns[TORCH_KINDS + 3] = amounts[FLOPS];
    columns[TORCH_KINDS + 4] = amounts[SERIAL];
}

static void map_shared(const double *amounts, double *columns) {
    share(amounts, true, columns);
}

static void map_equal(const double *amounts, double *columns) {
    share(amounts, false, columns);
}

/* Factors in use, of launches, weights and moved bytes. */
static double in_use(uint32_t block, uint32_t kind) {
    double amounts[COLUMNS] = {0}, columns[SHARED];
    amounts[block * TORCH_KINDS + kind] = 1;
    map_shared(amounts, columns);
    return columns[TORCH_KINDS + block - LAUNCHES];
}

/* --- Output -------------------------------------------------------------------------------------------------- */

static double mape(const samples *all, map_amounts *map, uint32_t count, const double *unit_costs, bool is_test) {
    double sum = 0, columns[COLUMNS];
    uint32_t tested = 0;
    for (uint32_t s = 0; s < all->count; s++) {
        double us = 0;
        if (all->items[s].is_test != is_test) continue;
        map(all->items[s].amounts, columns);
        for (uint32_t i = 0; i < count; i++) us += columns[i] * unit_costs[i];
        sum += fabs(us / all->items[s].us - 1);
        tested++;
    }
    return tested > 0 ? 100 * sum / tested : NAN;
}

/* The mean share of a column in the time. */
static double share_of(const samples *all, uint32_t column, double unit_cost) {
    double sum = 0;
    for (uint32_t s = 0; s < all->count; s++) sum += all->items[s].amounts[column] * unit_cost / all->items[s].us;
    return all->count > 0 ? sum / all->count : 0;
}

static void tell_error(const char *title, const char *factors, const samples *all, map_amounts *map, uint32_t count,
                       const double *unit_costs) {
    printf("%s,error,%s,,,,%.2f,%.2f\n", title, factors, mape(all, map, count, unit_costs, false),
           mape(all, map, count, unit_costs, true));
}

static void tell_device(const char *title, const samples *all) {
    double equal[SHARED], shared[SHARED], each[COLUMNS], prior[COLUMNS] = {0};
    fit(all, map_equal, SHARED, NULL, equal);
    fit(all, map_shared, SHARED, NULL, shared);
    for (uint32_t block = LAUNCHES; block < BLOCKS; block++)
        for (uint32_t kind = 0; kind < TORCH_KINDS; kind++)
            prior[block * TORCH_KINDS + kind] = in_use(block, kind) * shared[TORCH_KINDS + block - LAUNCHES];
    fit(all, map_each, COLUMNS, prior, each);
    for (uint32_t i = LAUNCHES * TORCH_KINDS; i < BLOCKS * TORCH_KINDS; i++) {
        double base = shared[TORCH_KINDS + i / TORCH_KINDS - LAUNCHES], of_time = share_of(all, i, each[i]);
        if (!(of_time >= MIN_SHARE) || !(base > 0)) continue;
        printf("%s,%s,%s,%.2f,%.2f,%.2f,,\n", title, block_names[i / TORCH_KINDS], kind_names[i % TORCH_KINDS],
               100 * of_time, in_use(i / TORCH_KINDS, i % TORCH_KINDS), each[i] / base);
    }
    tell_error(title, "all 1", all, map_equal, SHARED, equal);
    tell_error(title, "in use", all, map_shared, SHARED, shared);
    tell_error(title, "fitted", all, map_each, COLUMNS, each);
}

static void tell_split(const ft_dataset *data, const ft_rules *rules, const char *spec) {
    ft_error error;
    ft_split split;
    check(ft_split_make(data, spec, 0, &split, &error), spec, &error);
    for (uint32_t i = 0; i < DEVICES; i++) {
        char title[256];
        samples all = gather(data, &split, rules, devices[i]);
        snprintf(title, sizeof title, "%s,%s", spec, devices[i]);
        if (all.count > 0) tell_device(title, &all);
        free(all.items);
    }
    ft_split_free(&split);
}

int main(int argc, char **argv) {
    static const char *const folds[] = {"fold:family:5:1", "fold:family:5:2", "fold:family:5:3", "fold:family:5:4",
                                        "fold:family:5:5"};
    ft_error error;
    ft_dataset *data;
    ft_rules *rules;
    if (argc < 2) stop("usage", "torch_kinds FOLDER [SPLIT...]");
    check(ft_dataset_open(argv[1], &data, &error), argv[1], &error);
    check(ft_rules_open("torch-compile", &rules, &error), "rules", &error);
    puts("split,device,term,kind,share_percent,factor_in_use,factor_fitted,mape_train,mape_test");
    for (int i = 2; i < argc; i++) tell_split(data, rules, argv[i]);
    for (size_t i = 0; argc == 2 && i < sizeof folds / sizeof folds[0]; i++) tell_split(data, rules, folds[i]);
    ft_rules_free(rules);
    ft_dataset_free(data);
    return 0;
}
