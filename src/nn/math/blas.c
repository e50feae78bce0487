/* blas.c - loading of OpenBLAS, and its number of threads during calls. */
#include "nn/math/blas.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

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

/* Each call maps a buffer, which a later call uses again: as many are mapped as there were calls at once. OpenBLAS
 * tries for ever to map one, so no call is made that has no room for its buffer. */
static const size_t BUFFER_BYTES = (size_t)144 << 20;
/* What a thread of a build with threads takes when it starts: its stack and a buffer. */
static const size_t THREAD_BYTES = (size_t)160 << 20;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_loaded;
static blas loaded;
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
    for (size_t i = 0; i < count; i++) {
        ft_status status = library_load(names[i], all, sizeof all / sizeof all[0], &why);
        if (status == FT_OK) return FT_OK;
        if (status != FT_ERR_UNSUPPORTED) return ft_fail(error, status, "OpenBLAS: %s", why.message);
    }
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "OpenBLAS is missing: install the Debian package libopenblas0-serial (%s)", why.message);
}

/* The build with threads starts them when it is loaded, unless the environment forbids it. */
static bool has_room_for_threads(void) {
    const char *count = getenv("OPENBLAS_NUM_THREADS");
    long cores = count != NULL ? strtol(count, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    return cores <= 1 || library_has_room((size_t)cores * THREAD_BYTES);
}

/* The serial build always reports one thread. With OPENBLAS_NUM_THREADS=1 other builds report one as well, but a caller
 * may change that later: only the file name distinguishes them. */
static ft_status load(ft_error *error) {
    enum { COUNT = sizeof files / sizeof files[0] };
    if (!library_has_room(BUFFER_BYTES))
        return ft_fail(error, FT_ERR_NOMEM, "out of memory: OpenBLAS needs %zu MiB of address space",
                       BUFFER_BYTES >> 20);
    ft_status status = blas_open(files, COUNT - 1, &loaded, error);
    if (status != FT_ERR_UNSUPPORTED) return status;
    if (!has_room_for_threads())
        return ft_fail(error, FT_ERR_NOMEM,
                       "out of memory: the threads of OpenBLAS need %zu MiB of address space each; the Debian package "
                       "libopenblas0-serial needs none",
                       THREAD_BYTES >> 20);
    has_threads = true;
    return blas_open(files + COUNT - 1, 1, &loaded, error);
}

/* Maps the first buffer while there is room. */
static void map_buffer(void) {
    const double one = 1;
    double square = 0;
    loaded.dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, 1, 1, 1, &one, 1, 0, &square, 1);
}

/* What failed for want of memory may succeed later. */
ft_status blas_load(ft_error *error) {
    if (atomic_load_explicit(&is_loaded, memory_order_acquire)) return FT_OK;
    pthread_mutex_lock(&load_lock);
    bool was_loaded = atomic_load_explicit(&is_loaded, memory_order_relaxed);
    ft_status status = was_loaded ? FT_OK : load(error);
    if (status == FT_OK && !was_loaded && !library_has_room(BUFFER_BYTES))
        status =
            ft_fail(error, FT_ERR_NOMEM, "out of memory: OpenBLAS needs %zu MiB of address space", BUFFER_BYTES >> 20);
    if (status == FT_OK && !was_loaded) map_buffer();
    if (status == FT_OK) atomic_store_explicit(&is_loaded, true, memory_order_release);
    pthread_mutex_unlock(&load_lock);
    return status;
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

/* --- Calls ------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_ended = PTHREAD_COND_INITIALIZER;
static unsigned calls;       /* pairs of blas_begin and blas_end that are open */
static unsigned buffers = 1; /* as many calls at once have room for theirs: the first, by blas_load */

static const blas *begin(bool may_wait) {
    if (blas_load(NULL) != FT_OK) return NULL;
    pthread_mutex_lock(&call_lock);
    while (calls >= buffers) {
        if (library_has_room((calls + 1) * BUFFER_BYTES))
            buffers = calls + 1;
        else if (may_wait)
            pthread_cond_wait(&call_ended, &call_lock);
        else
            break;
    }
    calls++;
    pthread_mutex_unlock(&call_lock);
    if (has_threads) blas_use_one_thread(&loaded);
    return &loaded;
}

const blas *blas_begin(void) {
    return begin(false);
}

const blas *blas_begin_product(void) {
    return begin(true);
}

void blas_end(void) {
    if (has_threads) blas_restore_threads(&loaded);
    pthread_mutex_lock(&call_lock);
    assert(calls > 0);
    calls--;
    pthread_cond_signal(&call_ended);
    pthread_mutex_unlock(&call_lock);
}
