/* gemm_tile.c - see gemm_tile.h. */
#include "nn/gemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
#define INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif

/* In both versions `rows` is a constant wherever tile_of is called, so that all loops over rows unroll and `sum` lives
 * in registers. */

/* --- AVX2: two registers a row ------------------------------------------------------------------------------- */

static AVX2 INLINE void finish_row_avx2(const tile *t, float *c, __m256 low, __m256 high) {
    if (t->adds_to_c) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(c));
        high = _mm256_add_ps(high, _mm256_loadu_ps(c + 8));
    }
    if (t->bias != NULL) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(t->bias));
        high = _mm256_add_ps(high, _mm256_loadu_ps(t->bias + 8));
    }
    if (t->has_relu) {
        low = _mm256_max_ps(low, _mm256_setzero_ps());
        high = _mm256_max_ps(high, _mm256_setzero_ps());
    }
    _mm256_storeu_ps(c, low);
    _mm256_storeu_ps(c + 8, high);
}

static AVX2 INLINE void tile_of_avx2(const tile *t, uint32_t rows) {
    __m256 sum[6][2];
    UNROLL for (uint32_t i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_ps();
    for (const span *s = t->spans, *end = s + t->span_count; s < end; s++) {
        const float *a = s->a, *b = s->b;
        for (uint32_t k = s->depth; k > 0; k--, a += s->k_step, b += s->b_step) {
            __m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + 8);
            UNROLL for (uint32_t i = 0; i < rows; i++) {
                __m256 x = _mm256_broadcast_ss(a + i * s->row_step);
                sum[i][0] = _mm256_fmadd_ps(x, low, sum[i][0]);
                sum[i][1] = _mm256_fmadd_ps(x, high, sum[i][1]);
            }
        }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) finish_row_avx2(t, t->c + i * t->c_stride, sum[i][0], sum[i][1]);
}

#define CASE(version, count)                                                                                           \
    case count:                                                                                                        \
        tile_of_##version(t, count);                                                                                   \
        break;

static AVX2 void make_avx2(const tile *t, uint32_t rows) {
    switch (rows) {
        CASE(avx2, 1)
        CASE(avx2, 2)
        CASE(avx2, 3)
        CASE(avx2, 4)
        CASE(avx2, 5)
    default:
        tile_of_avx2(t, 6);
    }
}

const gemm_tiles gemm_avx2 = {6, make_avx2};

/* --- AVX-512: one register a row ----------------------------------------------------------------------------- */

static AVX512 INLINE void finish_row_avx512(const tile *t, float *c, __m512 sum) {
    if (t->adds_to_c) sum = _mm512_add_ps(sum, _mm512_loadu_ps(c));
    if (t->bias != NULL) sum = _mm512_add_ps(sum, _mm512_loadu_ps(t->bias));
    if (t->has_relu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
    _mm512_storeu_ps(c, sum);
}

static AVX512 INLINE void tile_of_avx512(const tile *t, uint32_t rows) {
    __m512 sum[12];
    UNROLL for (uint32_t i = 0; i < rows; i++) sum[i] = _mm512_setzero_ps();
    for (const span *s = t->spans, *end = s + t->span_count; s < end; s++) {
        const float *a = s->a, *b = s->b;
        for (uint32_t k = s->depth; k > 0; k--, a += s->k_step, b += s->b_step) {
            __m512 all = _mm512_loadu_ps(b);
            UNROLL for (uint32_t i = 0; i < rows; i++) sum[i] =
                _mm512_fmadd_ps(_mm512_set1_ps(a[i * s->row_step]), all, sum[i]);
        }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) finish_row_avx512(t, t->c + i * t->c_stride, sum[i]);
}

static AVX512 void make_avx512(const tile *t, uint32_t rows) {
    switch (rows) {
        CASE(avx512, 1)
        CASE(avx512, 2)
        CASE(avx512, 3)
        CASE(avx512, 4)
        CASE(avx512, 5)
        CASE(avx512, 6)
        CASE(avx512, 7)
        CASE(avx512, 8)
        CASE(avx512, 9)
        CASE(avx512, 10)
        CASE(avx512, 11)
    default:
        tile_of_avx512(t, 12);
    }
}

const gemm_tiles gemm_avx512 = {12, make_avx512};

#endif
