/* Tests of matrix products: every shape of tile, transposes, several terms, bias and relu, against sums in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/math/gemm.h"
#include "nn/math/gemm_tile.h"

enum { MAX_FLOATS = 700 * 40, GUARD = 12345 };

static float a[2][MAX_FLOATS], b[2][MAX_FLOATS], c[MAX_FLOATS], before[MAX_FLOATS], bias[700], scratch[GEMM_SCRATCH];

static double element(const gemm_job *j, uint32_t i, uint32_t col) {
    double sum = j->adds_to_c ? before[i * j->c_stride + col] : 0;
    for (uint32_t n = 0; n < j->term_count; n++) {
        const gemm_term *t = &j->terms[n];
        for (uint32_t k = 0; k < t->k; k++) {
            double x = t->a_transposed ? t->a[k * t->a_stride + i] : t->a[i * t->a_stride + k];
            sum += x * (double)(t->b_transposed ? t->b[col * t->b_stride + k] : t->b[k * t->b_stride + col]);
        }
    }
    if (j->bias != NULL) sum += j->bias[col];
    return j->has_relu && sum < 0 ? 0 : sum;
}

static void compare(const gemm_job *j) {
    for (uint32_t i = 0; i < j->m; i++) {
        for (uint32_t k = 0; k < j->n; k++) {
            double right = element(j, i, k), got = c[i * j->c_stride + k];
            if (fabs(got - right) > 1e-4 * fmax(1, fabs(right)))
                fail_msg("%u x %u, element %u %u: %g, not %g", j->m, j->n, i, k, got, right);
        }
        for (size_t k = j->n; k < j->c_stride; k++) assert_true(c[i * j->c_stride + k] == GUARD); /* not written */
    }
}

/* Results before the product; elements between their rows must not be written. */
static void begin(const gemm_job *j) {
    for (size_t i = 0; i < j->m; i++)
        for (size_t q = 0; q < j->c_stride; q++)
            c[i * j->c_stride + q] = q < j->n ? before[i * j->c_stride + q] : GUARD;
}

/* All tiles give the same bits. */
static void compare_tiles(const gemm_job *j) {
#if defined(__x86_64__)
    static float best[MAX_FLOATS];
    size_t bytes = j->m * j->c_stride * sizeof *c;
    memcpy(best, c, bytes);
    for (int way = 0; way < 2; way++) {
        if (!(way == 0 ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                       : __builtin_cpu_supports("avx512f")))
            continue;
        begin(j);
        gemm_with(way == 0 ? &gemm_avx2 : &gemm_avx512, j, scratch);
        assert_memory_equal(c, best, bytes);
    }
#else
    (void)j;
#endif
}

static void check(uint32_t m, uint32_t n, uint32_t k, int kind) {
    gemm_term terms[2];
    for (int i = 0; i < 2; i++) {
        uint32_t depth = i == 0 ? k : 7;
        terms[i] = (gemm_term){.a = a[i], .b = b[i], .k = depth, .a_transposed = kind & 1, .b_transposed = kind & 2};
        terms[i].a_stride = (kind & 1 ? m : depth) + 1;
        terms[i].b_stride = (kind & 2 ? depth : n) + 2;
    }
    gemm_job j = {.m = m, .n = n, .terms = terms, .term_count = kind & 4 ? 2 : 1, .c = c, .c_stride = n + 3};
    if (kind & 8) j.bias = bias;
    j.adds_to_c = kind & 16;
    j.has_relu = kind & 32;
    begin(&j);
    gemm(&j, scratch);
    compare(&j);
    compare_tiles(&j);
    begin(&j);
    gemm_blas(blas_begin(), &j);
    blas_end();
    compare(&j);
    begin(&j);
    gemm_blas(NULL, &j);
    compare(&j);
}

static void fill(void) {
    rng r;
    rng_init(&r, 1, 0);
    for (int i = 0; i < MAX_FLOATS; i++) {
        for (int k = 0; k < 2; k++) {
            a[k][i] = (float)rng_normal(&r);
            b[k][i] = (float)rng_normal(&r);
        }
        before[i] = (float)rng_normal(&r);
    }
    for (int i = 0; i < 700; i++) bias[i] = (float)rng_normal(&r);
}

static void test_all_kinds(void **state) {
    (void)state;
    fill();
    for (int kind = 0; kind < 64; kind++) {
        check(13, 35, 9, kind);
        check(6, 32, 5, kind);
        check(1, 20, 11, kind);
    }
}

static void test_all_edges(void **state) {
    (void)state;
    fill();
    for (uint32_t m = 1; m <= 26; m++)
        for (uint32_t n = 1; n <= 34; n += m % 3 + 1) check(m, n, 1 + (m * n) % 6, (int)(m + n) % 64);
}

/* Few rows take several panels of columns at a time. */
static void test_several_panels(void **state) {
    (void)state;
    fill();
    for (uint32_t m = 1; m <= 14; m++)
        for (uint32_t n = 48; n <= 150; n += 17) check(m, n, 1 + (m * n) % 6, (int)(m * n) % 64);
}

/* A row gets the same bits alone and in a batch: the prediction of a model does not depend on the others in its batch.
 */
static void test_rows_alone_and_in_batches(void **state) {
    enum { ROWS = 29, DEPTH = 40 };
    static float alone[MAX_FLOATS];
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) skip(); /* CBLAS does not guarantee it */
#else
    skip();
#endif
    fill();
    for (uint32_t n = 1; n <= 300; n += 13) {
        gemm_term term = {.a = a[0], .b = b[0], .k = DEPTH, .a_stride = DEPTH, .b_stride = n};
        gemm_job j = {.m = ROWS, .n = n, .terms = &term, .term_count = 1, .c = c, .c_stride = n, .bias = bias};
        gemm(&j, scratch);
        j.m = 1;
        for (uint32_t i = 0; i < ROWS; i++) {
            term.a = a[0] + (size_t)i * DEPTH;
            j.c = alone;
            gemm(&j, scratch);
            assert_memory_equal(alone, c + (size_t)i * n, n * sizeof *c);
        }
    }
}

/* More rows, columns and depth than one block has. */
static void test_blocks(void **state) {
    (void)state;
    fill();
    for (int kind = 0; kind < 4; kind++) {
        check(20, 30, 600, kind);
        check(8, 600, 20, kind | 8);
        check(300, 17, 20, kind | 16);
    }
}

static void test_empty_products(void **state) {
    (void)state;
    fill();
    check(0, 5, 3, 0);
    check(5, 0, 3, 0);
    check(9, 16, 0, 8 | 32); /* bias alone */
    check(9, 16, 0, 0);
    check(9, 16, 0, 4); /* the first term is empty */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),      cmocka_unit_test(test_all_edges),
        cmocka_unit_test(test_several_panels), cmocka_unit_test(test_rows_alone_and_in_batches),
        cmocka_unit_test(test_blocks),         cmocka_unit_test(test_empty_products),
    };
    return cmocka_run_group_tests_name("nn/gemm", tests, NULL, NULL);
}
