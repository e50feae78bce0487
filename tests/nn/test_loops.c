/* Tests of the inner loops at every length, so that ends of vectors are covered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "nn/math/loops.h"

enum { MAX_FLOATS = 70 };

static float a[MAX_FLOATS + 1], b[MAX_FLOATS + 1], y[MAX_FLOATS + 1], old[MAX_FLOATS + 1];

/* New numbers; the one after the last must not change. */
static void fill(size_t n) {
    rng r;
    rng_init(&r, n, 0);
    for (size_t i = 0; i <= MAX_FLOATS; i++) {
        a[i] = (float)rng_normal(&r);
        b[i] = (float)rng_normal(&r);
        y[i] = old[i] = (float)rng_normal(&r);
    }
}

#define EACH(call, expected)                                                                                           \
    do {                                                                                                               \
        fill(n);                                                                                                       \
        call;                                                                                                          \
        for (size_t i = 0; i < n; i++) assert_float_equal(y[i], expected, 1e-6);                                       \
        assert_true(y[n] == old[n]);                                                                                   \
    } while (0)

static void test_elements(void **state) {
    (void)state;
    for (size_t n = 0; n < MAX_FLOATS; n++) {
        EACH(loop_fill(n, 3, y), 3);
        EACH(loop_silu(n, y), old[i] / (1 + expf(-old[i])));
        EACH(loop_add(n, a, y), old[i] + a[i]);
        EACH(loop_add_scaled(n, 0.5f, a, y), old[i] + 0.5f * a[i]);
        EACH(loop_add_product(n, a, b, y), old[i] + a[i] * b[i]);
        EACH(loop_scale(n, -2, a, y), -2 * a[i]);
        EACH(loop_scale(n, -2, y, y), -2 * old[i]);
        EACH(loop_sum_of(n, a, b, y), a[i] + b[i]);
        EACH(loop_difference(n, a, b, y), a[i] - b[i]);
        EACH(loop_product(n, a, b, y), a[i] * b[i]);
        EACH(loop_relu_backward(n, a, y), a[i] > 0 ? old[i] : 0);
    }
}

static void test_bounded(void **state) {
    (void)state;
    static const float wrong[] = {INFINITY, -INFINITY, NAN, 1.01e18F, -1.01e18F};
    const float bound = 1e18F;
    for (size_t n = 0; n < MAX_FLOATS; n++) {
        fill(n);
        a[n] = NAN; /* after the last */
        assert_true(loop_is_bounded(n, bound, a));
        for (size_t i = 0; i < n; i++) {
            float kept = a[i];
            a[i] = wrong[i % 5];
            assert_false(loop_is_bounded(n, bound, a));
            a[i] = i % 2 == 0 ? 1e18F : -0.0F;
            assert_true(loop_is_bounded(n, bound, a));
            a[i] = kept;
        }
    }
}

static void test_sums(void **state) {
    (void)state;
    for (size_t n = 0; n < MAX_FLOATS; n++) {
        fill(n);
        double sum = 0, dot = 0, most = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            sum += a[i];
            dot += (double)a[i] * b[i];
            most = fmax(most, a[i]);
        }
        assert_float_equal(loop_sum(n, a), sum, 1e-4);
        assert_float_equal(loop_dot(n, a, b), dot, 1e-4);
        assert_true(loop_max(n, a) == (float)most);
    }
}

static void test_columns(void **state) {
    (void)state;
    for (size_t cols = 1; cols < 20; cols++) {
        size_t rows = MAX_FLOATS / cols;
        float sums[20] = {0}, masked[20] = {0};
        fill(cols);
        loop_add_column_sums(rows, cols, y, sums);
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++) sum += y[r * cols + c];
            assert_float_equal(sums[c], sum, 1e-4);
        }
        loop_relu_backward_sums(rows, cols, a, y, masked);
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++) sum += a[r * cols + c] > 0 ? old[r * cols + c] : 0;
            assert_float_equal(masked[c], sum, 1e-4);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests_name("nn/loops", tests, NULL, NULL);
}
