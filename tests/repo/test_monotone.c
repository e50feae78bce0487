/* test_monotone.c - time, memory and their intervals never fall when the batch grows, and `fits` agrees with the
 * largest batch that `max-batch` finds.
 *
 * For the networks of tools/makemodel, and some of ../shared/data (image models of timm, TFLite files) when they are
 * there: about 110 models. Each is predicted on some of the devices, which take turns, in both modes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <foretell/foretell.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "forecast/job.h"

enum { BATCHES = 12, DEVICES_EACH = 3, MAX_BATCH = 3000, TIMM_MODELS = 90, TFLITE_MODELS = 20 };

static ft_predictor_set *set;
static uint64_t seed = 27;
static uint32_t next_device;
static unsigned long pairs, models, limited;

static int set_up(void **state) {
    (void)state;
    static const char *const files[] = {"predictors/ethos-u.ftm", "predictors/memory.ftm", "predictors/phone.ftm",
                                        "predictors/torch.ftm"};
    ft_error error;
    if (ft_predictor_set_open(files, sizeof files / sizeof files[0], &set, &error) != FT_OK)
        fail_msg("%s", error.message);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    print_message("# %lu models, %lu pairs of batches, %lu times against their limits\n", models, pairs, limited);
    ft_predictor_set_free(set);
    return 0;
}

static double draw(void) { /* 0 to 1 */
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Fine steps: some neighbours, around powers of two and elsewhere, and the rest anywhere. */
static void draw_batches(int64_t batches[static BATCHES]) {
    for (int i = 0; i < BATCHES; i += 3) {
        int64_t at = (int64_t)exp(draw() * log(MAX_BATCH)) + 1;
        if (i % 2 == 0) at = INT64_C(1) << (int)(draw() * 11);
        batches[i] = at;
        batches[i + 1] = at + 1;
        batches[i + 2] = at > 1 ? at - 1 : 3;
    }
    qsort(batches, BATCHES, sizeof *batches, ascending);
}

static bool falls(double before, double after) {
    return after < before || isnan(before) != isnan(after);
}

static void check_pair(const char *file, const ft_result *a, const ft_result *b) {
    const ft_metric_result *x[] = {ft_result_time(a), ft_result_memory(a)},
                           *y[] = {ft_result_time(b), ft_result_memory(b)};
    for (int m = 0; m < 2; m++) {
        pairs++;
        assert_true(!(x[m]->lo > x[m]->value) && !(x[m]->hi < x[m]->value));
        if (!falls(x[m]->value, y[m]->value) && !falls(x[m]->lo, y[m]->lo) && !falls(x[m]->hi, y[m]->hi)) continue;
        fail_msg("%s on %s, %s: %s of batch %lld is %.9g (%.9g to %.9g), of %lld %.9g (%.9g to %.9g)", file,
                 a->request.device, a->request.mode == FT_TRAIN ? "training" : "inference", x[m]->metric,
                 (long long)a->request.batch, x[m]->value, x[m]->lo, x[m]->hi, (long long)b->request.batch, y[m]->value,
                 y[m]->lo, y[m]->hi);
    }
}

/* With as much free memory as one of the batches needs, so that the border is among them. */
static void check_fits(const char *file, const ft_graph *model, const ft_results *results) {
    const ft_result *middle = &results->items[(uint32_t)(draw() * results->count)];
    const ft_batch_search search = {.free_bytes = ft_result_memory(middle)->hi, .max_batch = 2 * MAX_BATCH};
    ft_request request = middle->request;
    ft_max_batch_result found;
    ft_error error;
    if (isnan(search.free_bytes)) return;
    request.batch = 0;
    if (ft_max_batch(set, model, NULL, &request, &search, &found, &error) != FT_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < results->count; i++) {
        const ft_result *r = &results->items[i];
        ft_fit fit = ft_result_fit(r, search.free_bytes);
        if ((fit == FT_FITS) == (r->request.batch <= found.certain) &&
            (fit == FT_FITS_NOT) == (r->request.batch > found.possible))
            continue;
        fail_msg("%s on %s: batch %lld fits: %s, but the largest batches are %lld and %lld", file, r->request.device,
                 (long long)r->request.batch, ft_fit_name(fit), (long long)found.certain, (long long)found.possible);
    }
}

/* The limit of the request is computed anew, from the graph bound at its batch. */
static void check_limit(const char *file, const ft_graph *model, const ft_result *r) {
    const ft_binding binding = {.batch = r->request.batch};
    ft_cost_options options = ft_cost_options_default();
    const limit_rates rates = limit_rates_of(r->request.sheet);
    const ft_metric_result *time = ft_result_time(r);
    ft_graph *bound = NULL;
    ft_cost cost = {0};
    ft_error error;
    arena memory;
    limit_work work;
    options.mode = r->request.mode;
    options.dtype = r->request.dtype;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    assert_int_equal(ft_graph_bind(model, &binding, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_true(limit_work_make(bound, &cost, &options, &memory, &work));
    double limit = limit_us(&work, &rates);
    limited++;
    if (time->value < limit * (1 - 1e-9) || time->lo < limit * (1 - 1e-9))
        fail_msg("%s on %s: %g us (from %g) for batch %lld, but %g is the least", file, r->request.device, time->value,
                 time->lo, (long long)r->request.batch, limit);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    arena_free(&memory);
}

static void check_requests(const char *file, const ft_graph *model, const char *device, ft_mode mode,
                           const int64_t batches[static BATCHES]) {
    ft_request requests[BATCHES];
    ft_results results;
    ft_error error;
    for (int i = 0; i < BATCHES; i++) requests[i] = (ft_request){.device = device, .batch = batches[i], .mode = mode};
    ft_status status = ft_predict(set, model, NULL, requests, BATCHES, &results, &error);
    if (status == FT_ERR_LIMIT) return; /* files without any work */
    if (status != FT_OK) fail_msg("%s: %s", file, error.message);
    for (int i = 1; i < BATCHES; i++) check_pair(file, &results.items[i - 1], &results.items[i]);
    check_fits(file, model, &results);
    for (int i = 0; i < BATCHES; i += 4) check_limit(file, model, &results.items[i]);
    ft_results_free(&results);
}

static void check_model(const char *file) {
    ft_graph *model;
    ft_error error;
    int64_t batches[BATCHES];
    if (ft_graph_read(file, &model, &error) != FT_OK) fail_msg("%s: %s", file, error.message);
    draw_batches(batches);
    for (int i = 0; i < DEVICES_EACH; i++) {
        const char *device = ft_device_name_at(next_device++ % ft_device_count());
        check_requests(file, model, device, FT_INFER, batches);
        check_requests(file, model, device, FT_TRAIN, batches);
    }
    models++;
    ft_graph_free(model);
}

static void made_networks(void **state) {
    (void)state;
    static const char *const names[] = {"resnet50", "mobilenet_v2", "vit_base", "fixed_batch", "detector", "custom_op"};
    const char *build = getenv("BUILD");
    char path[512], command[512];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(command, sizeof command, "scripts/make-models %s", names[i]);
        snprintf(path, sizeof path, "%s/models/%s.onnx", build != NULL ? build : "build", names[i]);
        assert_int_equal(system(command), 0);
        check_model(path);
    }
}

/* As many as wanted, evenly spread over the folder. */
static void check_folder(const char *pattern, size_t wanted) {
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) {
        print_message("# %s is missing: skipped\n", pattern);
        skip();
    }
    for (size_t i = 0; i < wanted && i < files.gl_pathc; i++) check_model(files.gl_pathv[i * files.gl_pathc / wanted]);
    globfree(&files);
}

static void image_models(void **state) {
    (void)state;
    check_folder("../shared/data/timm/graphs/*.onnx.gz", TIMM_MODELS);
}

static void tflite_files(void **state) {
    (void)state;
    check_folder("../shared/data/npu/tflite/*.tflite.gz", TFLITE_MODELS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_networks),
        cmocka_unit_test(image_models),
        cmocka_unit_test(tflite_files),
    };
    return cmocka_run_group_tests_name("repo/monotone", tests, set_up, tear_down);
}
