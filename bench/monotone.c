/* monotone.c - whether time, memory and their intervals grow with the batch, over models, devices and modes.
 *
 *     monotone FILE...
 *
 * Predicts each model at 26 batches from 1 to 1536, some of them neighbours, on all bundled devices, in both modes, and
 * compares each batch with the next. Also finds the largest batch that fits, and counts the batches at which `fits`
 * disagrees with it. Prints lines of CSV: mode,metric,pairs,falls,worst fall. A model that cannot be predicted is left
 * out. bench/run collects them. */
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 26, CASES = 7 };

static const int64_t batches[BATCHES] = {1,  2,  3,   4,   5,   7,   8,   12,  16,  24,  31,   32,   33,
                                         48, 64, 100, 128, 200, 224, 256, 416, 420, 512, 1000, 1024, 1536};

static const char *const cases[CASES] = {"time",       "time low",    "time high", "memory",
                                         "memory low", "memory high", "fits"};

typedef struct counts {
    unsigned long pairs, falls;
    double worst; /* the smallest ratio of a value to the one at the batch before */
    char where[160];
} counts;

static void compare(counts *c, double before, double after, const char *file, const ft_result *at) {
    if (isnan(before) || isnan(after)) return;
    c->pairs++;
    if (after >= before) return;
    c->falls++;
    if (after / before >= c->worst) return;
    c->worst = after / before;
    const char *name = strrchr(file, '/');
    snprintf(c->where, sizeof c->where, "%s %s %lld", name != NULL ? name + 1 : file, at->request.device,
             (long long)at->request.batch);
}

static void compare_results(const char *file, const ft_result *items, counts *c) {
    for (int i = 1; i < BATCHES; i++) {
        const ft_metric_result *a[] = {ft_result_time(&items[i - 1]), ft_result_memory(&items[i - 1])},
                               *b[] = {ft_result_time(&items[i]), ft_result_memory(&items[i])};
        for (int m = 0; m < 2; m++) {
            compare(&c[3 * m], a[m]->value, b[m]->value, file, &items[i]);
            compare(&c[3 * m + 1], a[m]->lo, b[m]->lo, file, &items[i]);
            compare(&c[3 * m + 2], a[m]->hi, b[m]->hi, file, &items[i]);
        }
    }
}

static void compare_fits(const ft_predictor_set *set, const ft_graph *model, const ft_request *request,
                         const ft_result *items, const char *file, counts *c) {
    ft_max_batch_result found;
    ft_error error;
    const ft_batch_search search = {.free_bytes = 24.0 * 1024 * 1024 * 1024, .max_batch = 65536};
    if (ft_max_batch(set, model, NULL, request, &search, &found, &error) != FT_OK) return;
    for (int i = 0; i < BATCHES; i++) {
        ft_fit fit = ft_result_fit(&items[i], search.free_bytes);
        bool agrees =
            (fit == FT_FITS) == (batches[i] <= found.certain) && (fit == FT_FITS_NOT) == (batches[i] > found.possible);
        compare(c, 1, agrees ? 1 : 0, file, &items[i]);
    }
}

static void check(const ft_predictor_set *set, const char *file, counts (*c)[CASES], unsigned long *models) {
    ft_graph *model;
    ft_error error;
    if (ft_graph_read(file, &model, &error) != FT_OK) return;
    (*models)++;
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        for (uint32_t d = 0; d < ft_device_count(); d++) {
            ft_request requests[BATCHES];
            ft_results results;
            for (int i = 0; i < BATCHES; i++)
                requests[i] = (ft_request){.device = ft_device_name_at(d), .batch = batches[i], .mode = (ft_mode)mode};
            if (ft_predict(set, model, NULL, requests, BATCHES, &results, &error) != FT_OK) continue;
            compare_results(file, results.items, c[mode]);
            compare_fits(set, model, &requests[0], results.items, file, &c[mode][CASES - 1]);
            ft_results_free(&results);
        }
    }
    ft_graph_free(model);
}

int main(int count, char **args) {
    ft_predictor_set *set;
    ft_error error;
    counts found[2][CASES] = {0};
    unsigned long models = 0;
    if (ft_predictor_set_open(NULL, 0, &set, &error) != FT_OK) {
        fprintf(stderr, "monotone: %s\n", error.message);
        return 1;
    }
    for (int mode = 0; mode < 2; mode++)
        for (int i = 0; i < CASES; i++) found[mode][i].worst = 1;
    for (int i = 1; i < count; i++) check(set, args[i], found, &models);
    printf("mode,metric,models,pairs,falls,worst,where\n");
    for (int mode = 0; mode < 2; mode++)
        for (int i = 0; i < CASES; i++)
            printf("%s,%s,%lu,%lu,%lu,%.3f,%s\n", mode == FT_TRAIN ? "train" : "infer", cases[i], models,
                   found[mode][i].pairs, found[mode][i].falls, found[mode][i].worst, found[mode][i].where);
    ft_predictor_set_free(set);
    return 0;
}
