/* gemm.c - the packed product for narrow matrices (see gemm.h).
 *
 * The result is made in tiles of 6 x 16 floats: twelve registers of AVX2 that stay put over a block of up to 256 terms
 * of the inner sum, fed by two loads of B and six broadcasts of A. B is packed once per block into panels of 16
 * columns, so that a panel lies densely in the first cache; A is read where it is. */
#include "nn/gemm.h"

#include <cblas.h>
#include <string.h>

enum { TILE_ROWS = 6, TILE_COLS = 16, BLOCK_K = 256, BLOCK_ROWS = 132, BLOCK_COLS = 256, FAR = 512, MAX_SPANS = 2 };

/* --- CBLAS --------------------------------------------------------------------------------------------------- */

void gemm_use_one_thread(void) {
    openblas_set_num_threads(1);
}

static void blas_term(const gemm_job *j, const gemm_term *t, float beta) {
    if (j->m == 1 && !t->a_transposed) {
        CBLAS_TRANSPOSE turned = t->b_transposed ? CblasNoTrans : CblasTrans;
        int rows = (int)(t->b_transposed ? j->n : t->k), cols = (int)(t->b_transposed ? t->k : j->n);
        cblas_sgemv(CblasRowMajor, turned, rows, cols, 1, t->b, (int)t->b_stride, t->a, 1, beta, j->c, 1);
        return;
    }
    cblas_sgemm(CblasRowMajor, t->a_transposed ? CblasTrans : CblasNoTrans, t->b_transposed ? CblasTrans : CblasNoTrans,
                (int)j->m, (int)j->n, (int)t->k, 1, t->a, (int)t->a_stride, t->b, (int)t->b_stride, beta, j->c,
                (int)j->c_stride);
}

/* Rows as they are before the first term. */
static void start(const gemm_job *j) {
    for (uint32_t i = 0; i < j->m; i++) {
        float *row = j->c + i * j->c_stride;
        if (!j->adds_to_c) memset(row, 0, j->n * sizeof *row);
        if (j->bias != NULL)
            for (uint32_t k = 0; k < j->n; k++) row[k] += j->bias[k];
    }
}

static void apply_relu(const gemm_job *j) {
    for (uint32_t i = 0; i < j->m; i++) {
        float *row = j->c + i * j->c_stride;
        for (uint32_t k = 0; k < j->n; k++) row[k] = row[k] > 0 ? row[k] : 0;
    }
}

void gemm_blas(const gemm_job *j) {
    if (j->m == 0 || j->n == 0) return;
    bool is_started = j->adds_to_c && j->bias == NULL;
    if (j->bias != NULL || j->term_count == 0 || j->terms[0].k == 0) {
        start(j);
        is_started = true;
    }
    for (uint32_t i = 0; i < j->term_count; i++)
        if (j->terms[i].k > 0) blas_term(j, &j->terms[i], i > 0 || is_started ? 1 : 0);
    if (j->has_relu) apply_relu(j);
}

#if !defined(__x86_64__)

void gemm(const gemm_job *job, float *scratch) {
    (void)scratch;
    gemm_blas(job);
}

#else
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 6")
#endif

/* --- Packing ------------------------------------------------------------------------------------------------- */

/* B's rows k0.. and columns j0.. as panels [k][16]; columns past the last are zero. */
static AVX2 void pack_b(const gemm_term *t, uint32_t k0, uint32_t depth, uint32_t j0, uint32_t cols, float *packed) {
    for (uint32_t p = 0; p < cols; p += TILE_COLS, packed += (size_t)depth * TILE_COLS) {
        uint32_t width = cols - p < TILE_COLS ? cols - p : TILE_COLS;
        if (width < TILE_COLS) memset(packed, 0, (size_t)depth * TILE_COLS * sizeof *packed);
        if (t->b_transposed) {
            const float *from = t->b + (size_t)(j0 + p) * t->b_stride + k0;
            for (uint32_t k = 0; k < depth; k++)
                for (uint32_t j = 0; j < width; j++) packed[k * TILE_COLS + j] = from[j * t->b_stride + k];
        } else {
            const float *from = t->b + (size_t)k0 * t->b_stride + j0 + p;
            for (uint32_t k = 0; k < depth; k++, from += t->b_stride)
                memcpy(packed + k * TILE_COLS, from, width * sizeof *from);
        }
    }
}

/* --- The tile ------------------------------------------------------------------------------------------------ */

/* A stretch of the inner sum. */
typedef struct span {
    const float *a; /* element (i, k) at a[i * row_step + k * k_step] */
    size_t row_step, k_step;
    const float *b;         /* element (k, j) at b[k * b_step + j] */
    size_t b_step, b_panel; /* b_panel: from one panel of 16 columns to the next */
    uint32_t depth;
} span;

typedef struct tile {
    span spans[MAX_SPANS];
    uint32_t span_count;
    float *c;
    size_t c_stride;
    const float *bias; /* with the last block of the sum; or NULL */
    bool adds_to_c, has_relu;
    uint32_t width; /* columns that exist, 1..16 */
} tile;

static inline AVX2 __attribute__((always_inline)) void finish_row(const tile *t, float *c, __m256 low, __m256 high) {
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

/* `rows` is a constant wherever this is called, so that all loops over rows unroll and `sum` lives in registers. */
static inline AVX2 __attribute__((always_inline)) void do_tile(const tile *t, uint32_t rows) {
    __m256 sum[TILE_ROWS][2];
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
    UNROLL for (uint32_t i = 0; i < rows; i++) finish_row(t, t->c + i * t->c_stride, sum[i][0], sum[i][1]);
}

static AVX2 void any_tile(const tile *t, uint32_t rows) {
    switch (rows) {
    case 1:
        do_tile(t, 1);
        break;
    case 2:
        do_tile(t, 2);
        break;
    case 3:
        do_tile(t, 3);
        break;
    case 4:
        do_tile(t, 4);
        break;
    case 5:
        do_tile(t, 5);
        break;
    default:
        do_tile(t, 6);
    }
}

/* A tile at the right edge works on a copy that has all 16 columns. */
static AVX2 void edge_tile(const tile *t, uint32_t rows) {
    float c[TILE_ROWS * TILE_COLS] = {0}, bias[TILE_COLS] = {0};
    tile whole = *t;
    whole.c = c;
    whole.c_stride = TILE_COLS;
    size_t bytes = t->width * sizeof(float);
    if (t->bias != NULL) {
        memcpy(bias, t->bias, bytes);
        whole.bias = bias;
    }
    if (t->adds_to_c)
        for (uint32_t i = 0; i < rows; i++) memcpy(c + i * TILE_COLS, t->c + i * t->c_stride, bytes);
    any_tile(&whole, rows);
    for (uint32_t i = 0; i < rows; i++) memcpy(t->c + i * t->c_stride, c + i * TILE_COLS, bytes);
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

/* Up to BLOCK_K steps of the inner sum, for up to BLOCK_COLS columns from j0 on. */
typedef struct block {
    const gemm_job *job;
    uint32_t j0, cols;
    span spans[MAX_SPANS]; /* for row 0 */
    uint32_t span_count, depth;
    bool is_first, is_last; /* of the blocks that add up to the result */
    float *scratch;
} block;

static AVX2 void do_rows(const block *s, uint32_t i0, uint32_t rows) {
    const gemm_job *j = s->job;
    tile t = {.span_count = s->span_count, .c_stride = j->c_stride};
    t.adds_to_c = j->adds_to_c || !s->is_first;
    t.has_relu = j->has_relu && s->is_last;
    float *c = j->c + i0 * j->c_stride + s->j0;
    for (uint32_t p = 0; p < s->cols; p += TILE_COLS) {
        memcpy(t.spans, s->spans, sizeof t.spans);
        for (uint32_t k = 0; k < t.span_count; k++) {
            t.spans[k].a += i0 * t.spans[k].row_step;
            t.spans[k].b += p / TILE_COLS * t.spans[k].b_panel;
        }
        t.width = s->cols - p < TILE_COLS ? s->cols - p : TILE_COLS;
        t.bias = j->bias != NULL && s->is_last ? j->bias + s->j0 + p : NULL;
        for (uint32_t i = 0; i < rows; i += TILE_ROWS) {
            uint32_t height = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;
            t.c = c + i * j->c_stride + p;
            if (t.width < TILE_COLS)
                edge_tile(&t, height);
            else
                any_tile(&t, height);
            for (uint32_t k = 0; k < t.span_count; k++) t.spans[k].a += TILE_ROWS * t.spans[k].row_step;
        }
    }
}

static AVX2 void do_block(block *s) {
    for (uint32_t i = 0; i < s->job->m; i += BLOCK_ROWS)
        do_rows(s, i, s->job->m - i < BLOCK_ROWS ? s->job->m - i : BLOCK_ROWS);
    s->is_first = false;
    s->span_count = s->depth = 0;
}

static AVX2 void add_span(block *s, const gemm_term *t, uint32_t k0, uint32_t depth) {
    bool is_packed = t->b_transposed || s->cols % TILE_COLS != 0 || t->b_stride > FAR;
    span *n = &s->spans[s->span_count++];
    n->row_step = t->a_transposed ? 1 : t->a_stride;
    n->k_step = t->a_transposed ? t->a_stride : 1;
    n->a = t->a + k0 * n->k_step;
    n->depth = depth;
    n->b_step = is_packed ? TILE_COLS : t->b_stride;
    n->b_panel = is_packed ? (size_t)depth * TILE_COLS : TILE_COLS;
    n->b = is_packed ? s->scratch + (size_t)s->depth * BLOCK_COLS : t->b + k0 * t->b_stride + s->j0;
    if (is_packed) pack_b(t, k0, depth, s->j0, s->cols, s->scratch + (size_t)s->depth * BLOCK_COLS);
    s->depth += depth;
}

static AVX2 void gemm_avx2(const gemm_job *j, float *scratch) {
    const gemm_term *last = &j->terms[j->term_count - 1];
    block s = {.job = j, .scratch = scratch};
    for (s.j0 = 0; s.j0 < j->n; s.j0 += BLOCK_COLS) {
        s.cols = j->n - s.j0 < BLOCK_COLS ? j->n - s.j0 : BLOCK_COLS;
        s.is_first = true;
        for (const gemm_term *t = j->terms; t <= last; t++)
            for (uint32_t k0 = 0, depth; k0 < t->k; k0 += depth) {
                uint32_t room = BLOCK_K - s.depth;
                depth = t->k - k0 < room ? t->k - k0 : room;
                add_span(&s, t, k0, depth);
                s.is_last = t == last && k0 + depth == t->k;
                if (s.is_last || s.depth == BLOCK_K || s.span_count == MAX_SPANS) do_block(&s);
            }
    }
}

/* A whose rows are long has to be packed to be read fast, which CBLAS does. */
static bool is_narrow(const gemm_term *t) {
    return t->k > 0 && (t->a_transposed ? t->a_stride <= BLOCK_K : t->k <= 2 * BLOCK_K);
}

/* Products with a vector are bound by memory and gain nothing; empty ones are left to the simple code. */
static bool is_ours(const gemm_job *j) {
    if (j->m < 4 || j->n < 8 || j->term_count == 0) return false;
    for (uint32_t i = 0; i < j->term_count; i++)
        if (!is_narrow(&j->terms[i])) return false;
    return true;
}

void gemm(const gemm_job *job, float *scratch) {
    if (is_ours(job) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        gemm_avx2(job, scratch);
    else
        gemm_blas(job);
}

#endif
