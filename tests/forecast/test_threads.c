/* test_threads.c - eight threads share a predictor set and a model, and each gets the results of a single thread.
 *
 * `make thread-check` runs it under ThreadSanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/onnx_model.h"

enum { THREADS = 8, ROUNDS = 3, REQUESTS = 12 };

static ft_predictor_set *set;
static ft_graph *model;
static ft_request requests[REQUESTS];
static ft_results expected;

static int set_up(void **state) {
    (void)state;
    static const char *const files[] = {"predictors/phone.ftm", "predictors/torch.ftm", "predictors/memory.ftm"};
    static const char *const devices[] = {"adreno-640", "rtx-4090", "i9-10940x"};
    ft_error error;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,3,32,32");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "16,3,3,3");
    onnx_initializer(m, m->graph, "v", ONNX_FLOAT, "16,10");
    onnx_node(m, m->graph, "Conv", "x w", "c");
    onnx_node(m, m->graph, "Relu", "c", "r");
    onnx_node(m, m->graph, "GlobalAveragePool", "r", "p");
    onnx_node(m, m->graph, "Flatten", "p", "f");
    onnx_node(m, m->graph, "MatMul", "f v", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    model = onnx_model_read(m);
    onnx_model_free(m);
    for (uint32_t i = 0; i < REQUESTS; i++)
        requests[i] = (ft_request){.device = devices[i % 3], .batch = 1 << i / 3, .mode = FT_INFER};
    if (ft_predictor_set_open(files, sizeof files / sizeof *files, &set, &error) != FT_OK) return -1;
    return ft_predict(set, model, NULL, requests, REQUESTS, &expected, &error) != FT_OK;
}

static int tear_down(void **state) {
    (void)state;
    ft_results_free(&expected);
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return 0;
}

static bool is_same(const ft_result *a, const ft_result *b) {
    if (a->metric_count != b->metric_count) return false;
    for (uint32_t i = 0; i < a->metric_count; i++) {
        const ft_metric_result *x = &a->metrics[i], *y = &b->metrics[i];
        if (memcmp(&x->value, &y->value, sizeof x->value) != 0 || memcmp(&x->lo, &y->lo, sizeof x->lo) != 0 ||
            memcmp(&x->hi, &y->hi, sizeof x->hi) != 0 || x->provenance != y->provenance)
            return false;
    }
    return true;
}

/* Returns NULL, or the first difference. Assertions of cmocka belong to the main thread. */
static void *predict_often(void *user) {
    (void)user;
    for (int round = 0; round < ROUNDS; round++) {
        ft_results found;
        if (ft_predict(set, model, NULL, requests, REQUESTS, &found, NULL) != FT_OK) return "a request failed";
        bool is_equal = true;
        for (uint32_t i = 0; i < REQUESTS; i++) is_equal = is_equal && is_same(&found.items[i], &expected.items[i]);
        ft_results_free(&found);
        if (!is_equal) return "a result differs from that of a single thread";
    }
    return NULL;
}

static void threads_share_a_predictor_set(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, predict_often, NULL), 0);
    const char *difference = NULL;
    for (int i = 0; i < THREADS; i++) {
        void *found = NULL;
        assert_int_equal(pthread_join(threads[i], &found), 0);
        if (found != NULL) difference = found;
    }
    if (difference != NULL) fail_msg("%s", difference);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_predictor_set)};
    return cmocka_run_group_tests_name("forecast/threads", tests, set_up, tear_down);
}
