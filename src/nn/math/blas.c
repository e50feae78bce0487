/* blas.c - loading of OpenBLAS, and its number of threads during calls. */
#include "nn/math/blas.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/library.h"

/* --- Loading ------------------------------------------------------------------------------------------------- */

static const char *const files[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
#endif
    "libopenblas.so.0",
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static blas loaded;
static ft_status load_status;
static ft_error load_error;
static bool has_threads;

ft_status blas_open(const char *const *names, size_t count, blas *functions, ft_error *error) {
    const library_function all[] = {
        {"cblas_sgemm", &functions->sgemm},
        {"cblas_sgemv", &functions->sgemv},
        {"cblas_dsymv", &functions->dsymv},
        {"cblas_daxpy", &functions->daxpy},
        {"cblas_dtrsm", &functions->dtrsm},
        {"cblas_dsyrk", &functions->dsyrk},
        {"cblas_dtrsv", &functions->dtrsv},
        {"cheevr_", &functions->cheevr},
        {"openblas_get_num_threads", &functions->get_thread_count},
        {"openblas_set_num_threads", &functions->set_thread_count},
    };
    ft_error why = {0};
    for (size_t i = 0; i < count; i++)
        if (library_load(names[i], all, sizeof all / sizeof all[0], &why) == FT_OK) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "OpenBLAS is missing: install the Debian package libopenblas0-serial (%s)", why.message);
}

/* The serial build always reports one thread. With OPENBLAS_NUM_THREADS=1 other builds report one as well, but a caller
 * may change that later: only the file name distinguishes them. */
static void load(void) {
    enum { COUNT = sizeof files / sizeof files[0] };
    load_status = blas_open(files, COUNT - 1, &loaded, &load_error);
    if (load_status == FT_OK) return;
    has_threads = true;
    load_status = blas_open(files + COUNT - 1, 1, &loaded, &load_error);
}

ft_status blas_load(ft_error *error) {
    pthread_once(&load_once, load);
    return load_status == FT_OK ? FT_OK : ft_fail(error, load_status, "%s", load_error.message);
}

/* --- One thread ---------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;  /* calls that need one thread */
static int outer_count; /* threads of the process before the first of them */

void blas_use_one_thread(const blas *functions) {
    pthread_mutex_lock(&lock);
    int count = functions->get_thread_count();
    if (users++ == 0) outer_count = count;
    if (count != 1) functions->set_thread_count(1);
    pthread_mutex_unlock(&lock);
}

void blas_restore_threads(const blas *functions) {
    pthread_mutex_lock(&lock);
    assert(users > 0);
    if (--users == 0 && outer_count != 1) functions->set_thread_count(outer_count);
    pthread_mutex_unlock(&lock);
}

const blas *blas_begin(void) {
    if (blas_load(NULL) != FT_OK) return NULL;
    if (has_threads) blas_use_one_thread(&loaded);
    return &loaded;
}

void blas_end(void) {
    if (has_threads) blas_restore_threads(&loaded);
}
