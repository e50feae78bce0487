/* Tests that a process which uses the library keeps what belongs to the whole process: its environment, its signals,
 * its locale, folder and mask, the threads of its own OpenBLAS, and the limits of malloc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "nn/math/gemm.h"
#include "nn/tree/boost_internal.h"
#include "support/fitted.h"
#include "support/folder.h"

enum { SIGNALS = 32, PATH_BYTES = 4096, HOST_THREADS = 3 };

/* --- The state of the process -------------------------------------------------------------------------------- */

typedef struct process {
    char **environment; /* copies, NULL at the end */
    void (*handlers[SIGNALS])(int);
    char locale[256], folder[PATH_BYTES];
    mode_t mask;
    int rounding;
} process;

static process process_now(void) {
    process p = {.rounding = fegetround()};
    size_t count = 0;
    while (environ[count] != NULL) count++;
    p.environment = calloc(count + 1, sizeof *p.environment);
    assert_non_null(p.environment);
    for (size_t i = 0; i < count; i++) assert_non_null(p.environment[i] = strdup(environ[i]));
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0) p.handlers[i] = action.sa_handler;
    }
    snprintf(p.locale, sizeof p.locale, "%s", setlocale(LC_ALL, NULL));
    assert_non_null(getcwd(p.folder, sizeof p.folder));
    p.mask = umask(0);
    umask(p.mask);
    return p;
}

static void process_free(process *p) {
    for (char **item = p->environment; *item != NULL; item++) free(*item);
    free(p->environment);
}

static void assert_unchanged(process *before) {
    process after = process_now();
    char **a = before->environment, **b = after.environment;
    for (; *a != NULL && *b != NULL; a++, b++) assert_string_equal(*b, *a);
    assert_true(*a == NULL && *b == NULL);
    assert_memory_equal(after.handlers, before->handlers, sizeof after.handlers);
    assert_string_equal(after.locale, before->locale);
    assert_string_equal(after.folder, before->folder);
    assert_int_equal(after.mask, before->mask);
    assert_int_equal(after.rounding, before->rounding);
    process_free(&after);
    process_free(before);
}

/* --- Uses of the library ------------------------------------------------------------------------------------- */

static char model_path[PATH_BYTES];
static blas host;

static void predict(void) {
    ft_predictor_set *predictors = NULL;
    ft_graph *model = NULL;
    ft_results results = {0};
    ft_error error;
    void *folder = NULL;
    folder_enter(&folder);
    if (ft_predictor_set_open(NULL, 0, &predictors, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_graph_read(model_path, &model, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_request request = {.device = ft_predictor_set_device(predictors, 0), .batch = 1};
    if (ft_predict(predictors, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_model_results drawn = {.file = "model.onnx", .model = model, .results = &results};
    if (ft_result_plot("plot.svg", &drawn, &error) != FT_OK) fail_msg("%s", error.message);
    ft_results_free(&results);
    ft_graph_free(model);
    ft_predictor_set_free(predictors);
    folder_leave(&folder);
}

static double work_and_bytes(const ft_graph *bound, const char *device) {
    ft_op_cost cost = synth_cost(bound);
    double time = 1 + 1e-3 * (double)cost.forward.macs + 2e-3 * (double)cost.forward.read_bytes;
    return device[0] == 'a' ? time : 7 * time;
}

static void train(const char *family, const char *config) {
    void *folder = NULL;
    folder_enter(&folder);
    fitted f = fit_synth(family, work_and_bytes, config);
    fitted_free(&f);
    folder_leave(&folder);
}

/* A product that is too wide for our own code. */
static void multiply_wide(void) {
    enum { SIZE = 600 };
    float *a = calloc(3 * SIZE * SIZE, sizeof *a), *scratch = calloc(GEMM_SCRATCH, sizeof *scratch);
    assert_true(a != NULL && scratch != NULL);
    const gemm_term term = {.a = a, .b = a + SIZE * SIZE, .a_stride = SIZE, .b_stride = SIZE, .k = SIZE};
    gemm(&(gemm_job){.m = SIZE, .n = SIZE, .terms = &term, .term_count = 1, .c = a + 2 * SIZE * SIZE, .c_stride = SIZE},
         scratch);
    free(a);
    free(scratch);
}

/* --- Tests --------------------------------------------------------------------------------------------------- */

static void test_predicting_and_plotting(void **state) {
    (void)state;
    process before = process_now();
    predict();
    assert_unchanged(&before);
}

static void test_training(void **state) {
    (void)state;
    boost_library l;
    process before = process_now();
    train("kernel-nnls", "{\"ridge\": 1e-9}");
    train("digraph", "{\"hidden\": 4, \"layers\": 1, \"steps\": 3, \"batch\": 16, \"encoding\": \"laplacian\"}");
    if (boost_library_open(BOOST_LIBRARY_NAME, &l, NULL) == FT_OK) train("totals-gbt", "{\"rounds\": 3}");
    assert_unchanged(&before);
}

/* The host has an OpenBLAS of its own and computes with three threads of it. */
static void test_threads_of_openblas(void **state) {
    (void)state;
    host.set_thread_count(HOST_THREADS);
    if (host.get_thread_count() != HOST_THREADS) skip(); /* a build without threads */
    multiply_wide();
    assert_int_equal(host.get_thread_count(), HOST_THREADS);
    train("kernel-nnls", "{\"ridge\": 1e-9}");
    train("digraph", "{\"hidden\": 4, \"layers\": 1, \"steps\": 3, \"batch\": 16, \"encoding\": \"laplacian\"}");
    predict();
    assert_int_equal(host.get_thread_count(), HOST_THREADS);
}

#if defined(__SANITIZE_ADDRESS__)
#define HAS_OTHER_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_OTHER_MALLOC 1
#endif
#endif

/* glibc maps blocks of megabytes one by one; its limit rises to the largest such block that was freed. */
static void test_limits_of_malloc(void **state) {
    (void)state;
#if defined(HAS_OTHER_MALLOC) || !defined(__GLIBC__)
    skip();
#else
    ft_predictor_set *predictors = NULL;
    assert_int_equal(ft_predictor_set_open(NULL, 0, &predictors, NULL), FT_OK);
    ft_predictor_set_free(predictors);
    size_t before = mallinfo2().hblks;
    void *volatile block = malloc(2 << 20);
    assert_int_equal(mallinfo2().hblks, before + 1);
    free(block);
#endif
}

static int begin(void **state) {
    (void)state;
    if (blas_open((const char *const[]){"libopenblas.so.0"}, 1, &host, NULL) != FT_OK) return -1;
    const char *build = getenv("BUILD");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/models/mobilenet_v2.onnx", build != NULL ? build : "build");
    return system("scripts/make-models mobilenet_v2") != 0 || realpath(path, model_path) == NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_of_malloc), /* before others free large blocks */
        cmocka_unit_test(test_predicting_and_plotting),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_threads_of_openblas),
    };
    return cmocka_run_group_tests_name("repo/host", tests, begin, NULL);
}
