/* test_context.c - results do not depend on the other requests of a call, although these share work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/onnx_model.h"

/* The bundled predictors: each caches other data with the model. */
static const char *const files[] = {"predictors/phone.ftm", "predictors/torch.ftm", "predictors/memory.ftm"};

enum { MAX_REQUESTS = 128 };

static ft_predictor_set *set;
static ft_graph *model;
static ft_request requests[MAX_REQUESTS];
static uint32_t request_count;

/* A convolution, an activation, a pool and a product; at a batch of one, some of its tensors have one element. */
static ft_graph *make_model(void) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,3,32,32");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "1,3,3,3");
    onnx_initializer(m, m->graph, "v", ONNX_FLOAT, "1,10");
    onnx_node(m, m->graph, "Conv", "x w", "c");
    onnx_node(m, m->graph, "Relu", "c", "r");
    onnx_node(m, m->graph, "GlobalAveragePool", "r", "p");
    onnx_node(m, m->graph, "Flatten", "p", "f");
    onnx_node(m, m->graph, "MatMul", "f v", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *graph = onnx_model_read(m);
    onnx_model_free(m);
    return graph;
}

/* All combinations of the fields of a request. */
static void make_requests(void) {
    static const char *const devices[] = {"adreno-640", "rtx-4090", "i9-10940x", "a100-40gb"};
    static const int64_t batches[] = {8, 1, 64};
    static const struct {
        ft_mode mode;
        ft_dtype dtype;
        ft_optimizer optimizer;
        const char *setting;
    } settings[] = {{FT_INFER, FT_DTYPE_UNKNOWN, FT_SGD, NULL},
                    {FT_INFER, FT_BFLOAT16, FT_SGD, "compile=yes"},
                    {FT_INFER, FT_FLOAT32, FT_SGD, NULL},
                    {FT_TRAIN, FT_FLOAT16, FT_SGD, NULL},
                    {FT_TRAIN, FT_FLOAT32, FT_ADAM, "layout=nhwc"}};
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++)
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++)
            for (size_t w = 0; w < sizeof settings / sizeof settings[0]; w++)
                requests[request_count++] = (ft_request){.device = devices[d],
                                                         .batch = batches[b],
                                                         .mode = settings[w].mode,
                                                         .dtype = settings[w].dtype,
                                                         .optimizer = settings[w].optimizer,
                                                         .setting = settings[w].setting};
}

static int set_up(void **state) {
    (void)state;
    ft_error error;
    if (ft_predictor_set_open(files, sizeof files / sizeof files[0], &set, &error) != FT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    model = make_model();
    make_requests();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return 0;
}

static ft_results predict(const ft_request *given, uint32_t count) {
    ft_results results = {0};
    ft_error error;
    if (ft_predict(set, model, NULL, given, count, &results, &error) != FT_OK) fail_msg("%s", error.message);
    return results;
}

static bool is_same_metric(const ft_metric_result *a, const ft_metric_result *b) {
    return memcmp(&a->value, &b->value, sizeof a->value) == 0 && memcmp(&a->lo, &b->lo, sizeof a->lo) == 0 &&
           memcmp(&a->hi, &b->hi, sizeof a->hi) == 0 && a->provenance == b->provenance;
}

static bool is_same_parts(const ft_part *a, uint32_t a_count, const ft_part *b, uint32_t b_count) {
    if (a_count != b_count) return false;
    for (uint32_t i = 0; i < a_count; i++)
        if (strcmp(a[i].type, b[i].type) != 0 || memcmp(&a[i].value, &b[i].value, sizeof a[i].value) != 0) return false;
    return true;
}

static void check_same(const ft_result *a, const ft_result *b) {
    const char *what =
        !is_same_metric(ft_result_time(a), ft_result_time(b))       ? "the time"
        : !is_same_metric(ft_result_memory(a), ft_result_memory(b)) ? "the memory"
        : !is_same_parts(ft_result_time(a)->parts, ft_result_time(a)->part_count, ft_result_time(b)->parts,
                         ft_result_time(b)->part_count)
            ? "the kernels"
        : !is_same_parts(ft_result_memory(a)->parts, ft_result_memory(a)->part_count, ft_result_memory(b)->parts,
                         ft_result_memory(b)->part_count)
            ? "the parts of the memory"
        : a->bound != b->bound || a->note_count != b->note_count || a->coverage_ratio != b->coverage_ratio
            ? "the bound, the notes or the coverage"
            : NULL;
    if (what != NULL)
        fail_msg("%s at batch %lld, mode %d: %s is %g us and %g bytes alone, %g us and %g bytes among others",
                 a->request.device, (long long)a->request.batch, (int)a->request.mode, what, ft_result_time(a)->value,
                 ft_result_memory(a)->value, ft_result_time(b)->value, ft_result_memory(b)->value);
}

static void check_all(const ft_request *given) {
    ft_results together = predict(given, request_count);
    assert_int_equal(together.count, request_count);
    for (uint32_t i = 0; i < request_count; i++) {
        ft_results alone = predict(&given[i], 1);
        assert_true(ft_result_time(&alone.items[0])->value > 0);
        check_same(&alone.items[0], &together.items[i]);
        ft_results_free(&alone);
    }
    ft_results_free(&together);
}

static void results_do_not_depend_on_other_requests(void **state) {
    (void)state;
    check_all(requests);
}

static void results_do_not_depend_on_the_order(void **state) {
    (void)state;
    ft_request reversed[MAX_REQUESTS];
    for (uint32_t i = 0; i < request_count; i++) reversed[i] = requests[request_count - 1 - i];
    check_all(reversed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_do_not_depend_on_other_requests),
                                       cmocka_unit_test(results_do_not_depend_on_the_order)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
