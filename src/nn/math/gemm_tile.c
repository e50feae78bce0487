/* gemm_tile.c - register tiles with AVX2 and with AVX-512. */
#include "nn/math/gemm_tile.h"

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

/* In both versions `rows` and `panels` are constants wherever tile_of is called, so that all loops over them unroll and
 * `sum` lives in registers. */

#define CASE(version, rows_, panels_)                                                                                  \
    case (rows_) + PANELS *(panels_):                                                                                  \
        tile_of_##version(t, rows_, panels_);                                                                          \
        break;
#define CASES_TO_3(version, panels)                                                                                    \
    CASE(version, 1, panels)                                                                                           \
    CASE(version, 2, panels)                                                                                           \
    CASE(version, 3, panels)
#define CASES_TO_6(version, panels)                                                                                    \
    CASES_TO_3(version, panels)                                                                                        \
    CASE(version, 4, panels)                                                                                           \
    CASE(version, 5, panels)                                                                                           \
    CASE(version, 6, panels)
#define CASES_TO_12(version, panels)                                                                                   \
    CASES_TO_6(version, panels)                                                                                        \
    CASE(version, 7, panels)                                                                                           \
    CASE(version, 8, panels)                                                                                           \
    CASE(version, 9, panels)                                                                                           \
    CASE(version, 10, panels)                                                                                          \
    CASE(version, 11, panels)                                                                                          \
    CASE(version, 12, panels)

enum { PANELS = 16 }; /* rows + PANELS * panels is one number for a pair */

static INLINE const float *panel_bias(const tile *t, uint32_t panel) {
    return t->bias != NULL ? t->bias + (size_t)panel * TILE_COLS : NULL;
}

/* --- AVX2: two registers a row and panel --------------------------------------------------------------------- */

static AVX2 INLINE void finish_avx2(const tile *t, float *c, const float *bias, __m256 low, __m256 high) {
    if (t->adds_to_c) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(c));
        high = _mm256_add_ps(high, _mm256_loadu_ps(c + 8));
    }
    if (bias != NULL) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(bias));
        high = _mm256_add_ps(high, _mm256_loadu_ps(bias + 8));
    }
    if (t->has_relu) {
        low = _mm256_max_ps(low, _mm256_setzero_ps());
        high = _mm256_max_ps(high, _mm256_setzero_ps());
    }
    _mm256_storeu_ps(c, low);
    _mm256_storeu_ps(c + 8, high);
}

static AVX2 INLINE void tile_of_avx2(const tile *t, uint32_t rows, uint32_t panels) {
    __m256 sum[6][2][2];
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t p = 0; p < panels; p++) sum[i][p][0] =
        sum[i][p][1] = _mm256_setzero_ps();
    for (const span *s = t->spans, *end = s + t->span_count; s < end; s++) {
        const float *a = s->a, *b = s->b;
        for (uint32_t k = s->depth; k > 0; k--, a += s->k_step, b += s->b_step) {
            __m256 all[2][2];
            UNROLL for (uint32_t p = 0; p < panels; p++) {
                all[p][0] = _mm256_loadu_ps(b + p * s->b_panel);
                all[p][1] = _mm256_loadu_ps(b + p * s->b_panel + 8);
            }
            UNROLL for (uint32_t i = 0; i < rows; i++) {
                __m256 x = _mm256_broadcast_ss(a + i * s->row_step);
                UNROLL for (uint32_t p = 0; p < panels; p++) {
                    sum[i][p][0] = _mm256_fmadd_ps(x, all[p][0], sum[i][p][0]);
                    sum[i][p][1] = _mm256_fmadd_ps(x, all[p][1], sum[i][p][1]);
                }
            }
        }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t p = 0; p < panels; p++)
        finish_avx2(t, t->c + i * t->c_stride + (size_t)p * TILE_COLS, panel_bias(t, p), sum[i][p][0], sum[i][p][1]);
}

static AVX2 void make_avx2(const tile *t, uint32_t rows, uint32_t panels) {
    switch (rows + PANELS * panels) {
        CASES_TO_6(avx2, 1)
        CASES_TO_3(avx2, 2)
    }
}

const gemm_tiles gemm_avx2 = {.rows = 6, .panels = 2, .sums = 6, .make = make_avx2};

/* --- AVX-512: one register a row and panel ------------------------------------------------------------------- */

static AVX512 INLINE void finish_avx512(const tile *t, float *c, const float *bias, __m512 sum) {
    if (t->adds_to_c) sum = _mm512_add_ps(sum, _mm512_loadu_ps(c));
    if (bias != NULL) sum = _mm512_add_ps(sum, _mm512_loadu_ps(bias));
    if (t->has_relu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
    _mm512_storeu_ps(c, sum);
}

static AVX512 INLINE void tile_of_avx512(const tile *t, uint32_t rows, uint32_t panels) {
    __m512 sum[TILE_ROWS_MAX][TILE_PANELS_MAX];
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t p = 0; p < panels; p++) sum[i][p] =
        _mm512_setzero_ps();
    for (const span *s = t->spans, *end = s + t->span_count; s < end; s++) {
        const float *a = s->a, *b = s->b;
        for (uint32_t k = s->depth; k > 0; k--, a += s->k_step, b += s->b_step) {
            __m512 all[TILE_PANELS_MAX];
            UNROLL for (uint32_t p = 0; p < panels; p++) all[p] = _mm512_loadu_ps(b + p * s->b_panel);
            UNROLL for (uint32_t i = 0; i < rows; i++) {
                __m512 x = _mm512_set1_ps(a[i * s->row_step]);
                UNROLL for (uint32_t p = 0; p < panels; p++) sum[i][p] = _mm512_fmadd_ps(x, all[p], sum[i][p]);
            }
        }
    }
    UNROLL for (uint32_t i = 0; i < rows; i++) UNROLL for (uint32_t p = 0; p < panels; p++)
        finish_avx512(t, t->c + i * t->c_stride + (size_t)p * TILE_COLS, panel_bias(t, p), sum[i][p]);
}

static AVX512 void make_avx512(const tile *t, uint32_t rows, uint32_t panels) {
    switch (rows + PANELS * panels) {
        CASES_TO_12(avx512, 1)
        CASES_TO_12(avx512, 2)
        CASES_TO_6(avx512, 4)
    }
}

const gemm_tiles gemm_avx512 = {.rows = 12, .panels = 4, .sums = 24, .make = make_avx512};

#endif
