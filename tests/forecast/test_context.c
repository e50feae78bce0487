/* test_context.c - results do not depend on the other requests of a call, although these share work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "forecast/job.h"
#include "support/onnx_model.h"
#include "support/toy.h"

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

/* --- Shared data --------------------------------------------------------------------------------------------- */

/* A product of 1x16 by 16xWIDTH, exported at batch 1 and not bound: with WIDTH 1, its output has one element. */
static ft_graph *make_product(int width) {
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 1, 16), w = toy_weight(graph, 16, width);
    toy_finish(graph, toy_op(graph, "MatMul", x, w, FT_NONE, toy_value(graph, 1, width)), 1, 1);
    graph->is_bound = false;
    return graph;
}

static model_view *find_view(forecast_context *c, ft_request request) {
    model_view *view = NULL;
    ft_error error;
    if (request.setting == NULL) request.setting = "";
    if (context_find_view(c, &request, &view, &error) != FT_OK) fail_msg("%s", error.message);
    return view;
}

/* Every batch shares the kernels of the first view, unless a tensor has one element at one of them only. */
static void batches_share_kernels_unless_fusion_may_differ(void **state) {
    (void)state;
    for (int width = 1; width <= 2; width++) {
        forecast_context c;
        ft_graph *product = make_product(width);
        context_init(&c, set, product, NULL);
        const model_view *two = find_view(&c, (ft_request){.batch = 2});
        assert_non_null(c.first);
        assert_int_equal(ft_graph_batch(c.first->bound), 1);
        assert_int_equal(ft_graph_batch(two->bound), 2);
        assert_ptr_equal(two->twin, width == 1 ? NULL : c.first);
        assert_ptr_equal(find_view(&c, (ft_request){.batch = 1, .mode = FT_TRAIN})->twin, c.first);
        context_free(&c);
        ft_graph_free(product);
    }
}

static void equal_requests_share_a_view(void **state) {
    (void)state;
    forecast_context c;
    ft_graph *product = make_product(8);
    context_init(&c, set, product, NULL);
    const ft_request request = {.batch = 2, .dtype = FT_FLOAT32, .setting = "a=1"};
    const model_view *view = find_view(&c, request);
    ft_request same = request, others[5] = {request, request, request, request, request};
    same.device = "rtx-4090"; /* views are the same on all devices */
    assert_ptr_equal(find_view(&c, same), view);
    others[0].batch = 3;
    others[1].dtype = FT_FLOAT16;
    others[2].mode = FT_TRAIN;
    others[3].optimizer = FT_ADAM;
    others[4].setting = "a=2";
    for (int i = 0; i < 5; i++) assert_ptr_not_equal(find_view(&c, others[i]), view);
    for (int i = 1; i < 5; i++) assert_ptr_equal(find_view(&c, others[i])->bound, view->bound);
    assert_ptr_equal(find_view(&c, request), view);
    context_free(&c);
    ft_graph_free(product);
}

static void sheets_and_rules_are_opened_once(void **state) {
    (void)state;
    forecast_context c;
    const ft_device *sheet = NULL, *again = NULL;
    const ft_rules *rules = NULL, *same = NULL;
    context_init(&c, set, model, NULL);
    assert_int_equal(context_find_sheet(&c, "h100-sxm", &sheet, NULL), FT_OK); /* not a device of the set */
    assert_int_equal(context_find_sheet(&c, "h100-sxm", &again, NULL), FT_OK);
    assert_true(sheet != NULL && sheet == again);
    assert_int_equal(context_find_sheet(&c, "rtx4090", &sheet, NULL), FT_OK);
    assert_int_equal(context_find_sheet(&c, "rtx-4090", &again, NULL), FT_OK);
    assert_true(sheet == again && strcmp(ft_device_name(sheet), "rtx-4090") == 0);
    for (uint32_t i = 0; i < set->device_count; i++) { /* the set has them already */
        assert_int_equal(context_find_sheet(&c, set->devices[i], &sheet, NULL), FT_OK);
        assert_ptr_equal(sheet, set->sheets[i]);
    }
    assert_int_equal(context_find_sheet(&c, "abacus", &sheet, NULL), FT_OK);
    assert_null(sheet);
    assert_int_equal(context_find_rules(&c, "tflite-gpu", &rules, NULL), FT_OK);
    assert_int_equal(context_find_rules(&c, "tflite-gpu", &same, NULL), FT_OK);
    assert_ptr_equal(rules, same);
    assert_string_equal(ft_rules_name(rules), "tflite-gpu");
    assert_int_equal(context_find_rules(&c, "no-such-runtime", &rules, NULL), FT_OK);
    assert_string_equal(ft_rules_name(rules), "torch-eager");
    context_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_other_requests),
        cmocka_unit_test(results_do_not_depend_on_the_order),
        cmocka_unit_test(batches_share_kernels_unless_fusion_may_differ),
        cmocka_unit_test(equal_requests_share_a_view),
        cmocka_unit_test(sheets_and_rules_are_opened_once),
    };
    return cmocka_run_group_tests_name("forecast/context", tests, set_up, tear_down);
}
