/* Tests of loading OpenBLAS: both builds, one that is missing, and the number of threads of the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "nn/math/blas.h"

enum { OUTER = 3, THREADS = 4, ROUNDS = 200 };

static const char *const DEFAULT[] = {"libopenblas.so.0"};

static void test_missing_library(void **state) {
    (void)state;
    blas functions;
    ft_error error = {.message = ""};
    const char *const absent[] = {"libopenblas-that-is-not-there.so", "libm.so.6"};
    assert_int_equal(blas_open(absent, 2, &functions, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "libopenblas0-serial"));
    assert_non_null(strstr(error.message, "libm.so.6: no function cblas_sgemm"));
}

static void test_first_usable_file_is_loaded(void **state) {
    (void)state;
    blas functions;
    const char *const files[] = {"/nowhere/libopenblas.so.0", DEFAULT[0]};
    assert_int_equal(blas_open(files, 2, &functions, NULL), FT_OK);
    assert_non_null(functions.cheevr);
}

static void test_calls_run_on_one_thread(void **state) {
    (void)state;
    assert_int_equal(blas_load(NULL), FT_OK);
    const blas *functions = blas_begin();
    assert_non_null(functions);
    assert_int_equal(functions->get_thread_count(), 1);
    const double x[] = {1, 2, 3};
    double y[] = {1, 1, 1};
    functions->daxpy(3, 2, x, 1, y, 1);
    blas_end();
    assert_true(y[0] == 3 && y[1] == 5 && y[2] == 7);
}

static void *use(void *user) {
    const blas *functions = user;
    for (int i = 0; i < ROUNDS; i++) {
        blas_use_one_thread(functions);
        blas_use_one_thread(functions);
        int count = functions->get_thread_count();
        blas_restore_threads(functions);
        count += functions->get_thread_count();
        blas_restore_threads(functions);
        if (count != 2) return user;
    }
    return NULL;
}

/* The number of threads that the process had set is restored when the last call ends. */
static void test_thread_count_is_restored(void **state) {
    (void)state;
    blas functions;
    pthread_t threads[THREADS];
    void *failed;
    assert_int_equal(blas_open(DEFAULT, 1, &functions, NULL), FT_OK);
    functions.set_thread_count(OUTER);
    if (functions.get_thread_count() != OUTER) skip(); /* a build without threads */
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use, &functions), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(functions.get_thread_count(), OUTER);
    const blas *own = blas_begin();
    own->get_thread_count();
    blas_end();
    assert_int_equal(functions.get_thread_count(), OUTER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_library),
        cmocka_unit_test(test_first_usable_file_is_loaded),
        cmocka_unit_test(test_calls_run_on_one_thread),
        cmocka_unit_test(test_thread_count_is_restored),
    };
    return cmocka_run_group_tests_name("nn/blas", tests, NULL, NULL);
}
