/* Tests of eigenvalues of Hermitian matrices. Cholesky factors are tested with nnls. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nn/math/linalg.h"
#include "support/failing.h"

enum { SIZE = 12, WANTED = 5 };

/* Every vector is an eigenvector of its value, of norm 1, and orthogonal to the others. */
static void test_vectors_are_orthonormal_eigenvectors(void **state) {
    (void)state;
    float matrix[2 * SIZE * SIZE], kept[2 * SIZE * SIZE], values[WANTED], vectors[2 * SIZE * WANTED];
    rng random;
    rng_init(&random, 3, 0);
    for (int c = 0; c < SIZE; c++)
        for (int r = c; r < SIZE; r++) {
            float re = (float)rng_normal(&random), im = r == c ? 0 : (float)rng_normal(&random);
            matrix[2 * (r + c * SIZE)] = matrix[2 * (c + r * SIZE)] = re;
            matrix[2 * (r + c * SIZE) + 1] = im;
            matrix[2 * (c + r * SIZE) + 1] = -im;
        }
    memcpy(kept, matrix, sizeof matrix);
    assert_int_equal(hermitian_smallest(matrix, SIZE, WANTED, values, vectors, NULL), FT_OK);
    for (int k = 0; k < WANTED; k++) {
        const float *x = vectors + 2 * SIZE * k;
        if (k > 0) assert_true(values[k - 1] <= values[k]);
        for (int r = 0; r < SIZE; r++) {
            double re = 0, im = 0;
            for (int c = 0; c < SIZE; c++) {
                const float *a = kept + 2 * (r + c * SIZE);
                re += (double)a[0] * x[2 * c] - (double)a[1] * x[2 * c + 1];
                im += (double)a[0] * x[2 * c + 1] + (double)a[1] * x[2 * c];
            }
            assert_true(fabs(re - (double)values[k] * x[2 * r]) < 1e-4);
            assert_true(fabs(im - (double)values[k] * x[2 * r + 1]) < 1e-4);
        }
        for (int j = 0; j <= k; j++) {
            double re = 0, im = 0;
            for (int c = 0; c < SIZE; c++) {
                const float *y = vectors + 2 * SIZE * j + 2 * c, *z = x + 2 * c;
                re += (double)z[0] * y[0] + (double)z[1] * y[1];
                im += (double)z[1] * y[0] - (double)z[0] * y[1];
            }
            assert_true(fabs(re - (j == k)) < 1e-4 && fabs(im) < 1e-4);
        }
    }
}

static void test_known_matrix(void **state) {
    (void)state;
    float one[2] = {3, 0}, value, vector[2];
    assert_int_equal(hermitian_smallest(one, 1, 1, &value, vector, NULL), FT_OK);
    assert_true(fabsf(value - 3) < 1e-6F && fabsf(hypotf(vector[0], vector[1]) - 1) < 1e-6F);
    ft_error error;
    assert_int_equal(hermitian_smallest(one, 1 << 15, 1, &value, vector, &error), FT_ERR_LIMIT);
    for (long n = 0; n < 5; n++) {
        failing_start(n);
        ft_status status = hermitian_smallest(one, 1, 1, &value, vector, &error);
        failing_stop();
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors_are_orthonormal_eigenvectors),
                                       cmocka_unit_test(test_known_matrix)};
    return cmocka_run_group_tests_name("nn/linalg", tests, NULL, NULL);
}
