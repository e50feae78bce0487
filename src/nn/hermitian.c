#include "nn/hermitian.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "nn/blas.h"

enum { MAX_SIZE = 1 << 12 }; /* some seconds */

static ft_status no_eigenvalues(ft_error *error) {
    return ft_fail(error, FT_ERR_LIMIT, "the eigenvalues of the graph cannot be found");
}

ft_status hermitian_smallest(float *matrix, uint32_t n, uint32_t count, float *values, float *vectors,
                             ft_error *error) {
    assert(count > 0 && count <= n);
    if (n > MAX_SIZE) return ft_fail(error, FT_ERR_LIMIT, "a graph of %u nodes is too large for eigenvalues", n);
    FT_TRY(blas_load(error));
    const int size = (int)n, first = 1, last = (int)count;
    const float none = 0;
    /* Workspaces as LAPACK asks for at least. */
    const int work_size = 40 * size, real_size = 24 * size, int_size = 10 * size;
    float *work = malloc(2 * (size_t)work_size * sizeof *work), *real = malloc((size_t)real_size * sizeof *real);
    float *all = malloc(n * sizeof *all);
    int *whole = malloc((size_t)int_size * sizeof *whole), *support = malloc(2 * (size_t)n * sizeof *support);
    ft_status status =
        work != NULL && real != NULL && all != NULL && whole != NULL && support != NULL ? FT_OK : FT_NOMEM(error);
    int found = 0, info = 0;
    if (status == FT_OK) {
        blas_begin()->cheevr("V", "I", "L", &size, matrix, &size, &none, &none, &first, &last, &none, &found, all,
                             vectors, &size, support, work, &work_size, real, &real_size, whole, &int_size, &info);
        blas_end();
    }
    if (status == FT_OK && (info != 0 || found != last)) status = no_eigenvalues(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) values[i] = all[i];
    free(work);
    free(real);
    free(all);
    free(whole);
    free(support);
    return status;
}
