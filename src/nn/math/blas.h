/* blas.h - the functions of OpenBLAS that nn/ calls, loaded when the first one is needed.
 *
 * OpenBLAS takes 2 ms to load, which is longer than a prediction, and most predictions need none of it (gemm.h).
 *
 * Sums are to have one order, and threads belong to the caller, so each call runs on one thread. Debian's
 * single-threaded build (libopenblas0-serial) is preferred: it is loaded by its path, beside any OpenBLAS that the
 * process uses otherwise, and starts no threads. Without it the default libopenblas.so.0 is loaded, whose number of
 * threads belongs to the whole process: it is set to 1 between blas_begin and blas_end and then restored. Both give the
 * same bits.
 *
 * The loader knows both builds by one name: a library that the process loads later and that needs libopenblas.so.0 gets
 * the build that is loaded here. A host that wants threads for products of its own loads its OpenBLAS first. */
#ifndef NN_BLAS_H
#define NN_BLAS_H

#include <cblas.h>
#include <stddef.h>

#include "foretell/status.h"

/* LAPACK's cheevr (Fortran; OpenBLAS has no header for it). A complex number is two floats. */
typedef void blas_cheevr(const char *jobz, const char *range, const char *uplo, const int *n, float *a, const int *lda,
                         const float *vl, const float *vu, const int *il, const int *iu, const float *abstol, int *m,
                         float *w, float *z, const int *ldz, int *isuppz, float *work, const int *lwork, float *rwork,
                         const int *lrwork, int *iwork, const int *liwork, int *info);

typedef struct blas {
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&cblas_sgemv) sgemv;
    __typeof__(&cblas_dsymv) dsymv;
    __typeof__(&cblas_daxpy) daxpy;
    __typeof__(&cblas_dtrsm) dtrsm;
    __typeof__(&cblas_dsyrk) dsyrk;
    __typeof__(&cblas_dtrsv) dtrsv;
    blas_cheevr *cheevr;
    __typeof__(&openblas_get_num_threads) get_thread_count;
    __typeof__(&openblas_set_num_threads) set_thread_count;
} blas;

/* FT_ERR_UNSUPPORTED where OpenBLAS is not installed, FT_ERR_NOMEM where the process may not map what it needs. */
ft_status blas_load(ft_error *error);

/* The functions, to be called until blas_end; pairs may be nested, and any number of threads may be in one. NULL when
 * blas_load fails. */
const blas *blas_begin(void);
/* The same for a product that any number of threads may compute at once, outside of other pairs: where there is no
 * memory for one more buffer of OpenBLAS, it waits until another product is done. */
const blas *blas_begin_product(void);
void blas_end(void);

/* The parts of these, for tests: the first of some libraries that is an OpenBLAS; and the number of threads of one. */
ft_status blas_open(const char *const *names, size_t count, blas *functions, ft_error *error);
void blas_use_one_thread(const blas *functions);
void blas_restore_threads(const blas *functions);

#endif
