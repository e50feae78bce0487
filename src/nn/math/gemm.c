/* gemm.c - matrix products: tiled for narrow matrices, CBLAS for others.
 *
 * The result is computed in tiles (gemm_tile.h) over blocks of up to 256 steps of the inner sum. Panels of 16 columns
 * of B that are not contiguous, or far apart, are packed once per block, so that they are dense in the L1 cache; A is
 * read in place. */
#include "nn/math/gemm.h"

#include <assert.h>
#include <string.h>

#include "nn/math/blas.h"
#include "nn/math/gemm_tile.h"

enum { BLOCK_K = 256, BLOCK_ROWS = 132, BLOCK_COLS = 256, MAX_STRIDE = 512 };

/* --- CBLAS --------------------------------------------------------------------------------------------------- */

static void blas_term(const blas *b, const gemm_job *j, const gemm_term *t, float beta) {
    if (j->m == 1 && !t->a_transposed) {
        CBLAS_TRANSPOSE transpose = t->b_transposed ? CblasNoTrans : CblasTrans;
        int rows = (int)(t->b_transposed ? j->n : t->k), cols = (int)(t->b_transposed ? t->k : j->n);
        b->sgemv(CblasRowMajor, transpose, rows, cols, 1, t->b, (int)t->b_stride, t->a, 1, beta, j->c, 1);
        return;
    }
    b->sgemm(CblasRowMajor, t->a_transposed ? CblasTrans : CblasNoTrans, t->b_transposed ? CblasTrans : CblasNoTrans,
             (int)j->m, (int)j->n, (int)t->k, 1, t->a, (int)t->a_stride, t->b, (int)t->b_stride, beta, j->c,
             (int)j->c_stride);
}

/* Initialises C before the first term: zero or its old value, plus bias. */
static void begin_result(const gemm_job *j) {
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

/* The same, in plain C. */
static void plain_term(const gemm_job *j, const gemm_term *t, float beta) {
    size_t row_step = t->a_transposed ? 1 : t->a_stride, a_step = t->a_transposed ? t->a_stride : 1;
    size_t b_step = t->b_transposed ? 1 : t->b_stride, col_step = t->b_transposed ? t->b_stride : 1;
    for (uint32_t i = 0; i < j->m; i++) {
        float *row = j->c + i * j->c_stride;
        for (uint32_t n = 0; n < j->n; n++) {
            float sum = beta != 0 ? row[n] : 0;
            for (uint32_t k = 0; k < t->k; k++)
                sum += t->a[i * row_step + k * a_step] * t->b[k * b_step + n * col_step];
            row[n] = sum;
        }
    }
}

void gemm_blas(const blas *b, const gemm_job *j) {
    if (j->m == 0 || j->n == 0) return;
    bool is_started = j->adds_to_c && j->bias == NULL;
    if (j->bias != NULL || j->term_count == 0 || j->terms[0].k == 0) {
        begin_result(j);
        is_started = true;
    }
    for (uint32_t i = 0; i < j->term_count; i++) {
        float beta = i > 0 || is_started ? 1 : 0;
        if (j->terms[i].k == 0) continue;
        if (b != NULL)
            blas_term(b, j, &j->terms[i], beta);
        else
            plain_term(j, &j->terms[i], beta);
    }
    if (j->has_relu) apply_relu(j);
}

static void with_blas(const gemm_job *job) {
    const blas *b = blas_begin_product();
    gemm_blas(b, job);
    if (b != NULL) blas_end();
}

#if !defined(__x86_64__)

void gemm(const gemm_job *job, float *scratch) {
    (void)scratch;
    with_blas(job);
}

#else

#define AVX2 __attribute__((target("avx2,fma")))

/* --- Packing ------------------------------------------------------------------------------------------------- */

/* Packs `depth` rows of B from k0 on and `width` <= 16 columns from j0 on as a panel packed[depth][16], padded with
 * zeros. */
static AVX2 void pack_panel(const gemm_term *t, uint32_t k0, uint32_t depth, uint32_t j0, uint32_t width,
                            float *packed) {
    size_t along = t->b_transposed ? 1 : t->b_stride, across = t->b_transposed ? t->b_stride : 1;
    const float *from = t->b + k0 * along + j0 * across;
    if (width == TILE_COLS && across == 1) {
        for (uint32_t k = 0; k < depth; k++) memcpy(packed + k * TILE_COLS, from + k * along, TILE_COLS * sizeof *from);
        return;
    }
    if (width < TILE_COLS) memset(packed, 0, (size_t)depth * TILE_COLS * sizeof *packed);
    for (uint32_t k = 0; k < depth; k++)
        for (uint32_t j = 0; j < width; j++) packed[k * TILE_COLS + j] = from[k * along + j * across];
}

/* Packs the panels of `cols` columns from j0 on; with only_last just the narrow one at the end. */
static AVX2 void pack_b(const gemm_term *t, uint32_t k0, uint32_t depth, uint32_t j0, uint32_t cols, bool only_last,
                        float *packed) {
    uint32_t first = only_last ? cols / TILE_COLS * TILE_COLS : 0;
    for (uint32_t p = first; p < cols; p += TILE_COLS) {
        uint32_t width = cols - p < TILE_COLS ? cols - p : TILE_COLS;
        pack_panel(t, k0, depth, j0 + p, width, packed + (size_t)p * depth);
    }
}

/* --- Tiles at the edge --------------------------------------------------------------------------------------- */

/* A tile at the right edge, of which `width` columns exist, works on a copy that has all 16. */
static AVX2 void edge_tile(const gemm_tiles *tiles, const tile *t, uint32_t rows, uint32_t width) {
    float c[TILE_ROWS_MAX * TILE_COLS] = {0}, bias[TILE_COLS] = {0};
    tile whole = *t;
    whole.c = c;
    whole.c_stride = TILE_COLS;
    size_t bytes = width * sizeof(float);
    if (t->bias != NULL) {
        memcpy(bias, t->bias, bytes);
        whole.bias = bias;
    }
    if (t->adds_to_c)
        for (uint32_t i = 0; i < rows; i++) memcpy(c + i * TILE_COLS, t->c + i * t->c_stride, bytes);
    tiles->make(&whole, rows, 1);
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
    const gemm_tiles *tiles;
} block;

/* Moves from the first panel to another. */
static inline void move_to_panel(span *s, uint32_t panel, bool is_narrow) {
    if (is_narrow && s->narrow != NULL) {
        s->b = s->narrow;
        s->b_step = TILE_COLS;
    } else {
        s->b += panel * s->b_panel;
    }
}

/* One column of tiles, of (nearly) equal height. */
static AVX2 void run_column(const block *s, tile *t, uint32_t rows, uint32_t height, uint32_t width) {
    for (uint32_t i = 0, some; i < rows; i += some) {
        some = rows - i < height ? rows - i : height;
        if (width < TILE_COLS)
            edge_tile(s->tiles, t, some, width);
        else
            s->tiles->make(t, some, width / TILE_COLS);
        for (uint32_t k = 0; k < t->span_count; k++) t->spans[k].a += some * t->spans[k].row_step;
        t->c += some * s->job->c_stride;
    }
}

static AVX2 void run_rows(const block *s, uint32_t i0, uint32_t rows) {
    const gemm_job *j = s->job;
    const gemm_tiles *tiles = s->tiles;
    tile t = {.span_count = s->span_count, .c_stride = j->c_stride};
    t.adds_to_c = j->adds_to_c || !s->is_first;
    t.has_relu = j->has_relu && s->is_last;
    uint32_t count = (rows + tiles->rows - 1) / tiles->rows, height = (rows + count - 1) / count;
    uint32_t panels = tiles->panels;
    while (panels * height > tiles->sums) panels /= 2;
    for (uint32_t p = 0, width; p < s->cols; p += width) {
        width = s->cols - p;
        while (panels > 1 && panels * TILE_COLS > width) panels /= 2;
        if (width > panels * TILE_COLS) width = panels * TILE_COLS;
        memcpy(t.spans, s->spans, sizeof t.spans);
        for (uint32_t k = 0; k < t.span_count; k++) {
            t.spans[k].a += i0 * t.spans[k].row_step;
            move_to_panel(&t.spans[k], p / TILE_COLS, width < TILE_COLS);
        }
        t.bias = j->bias != NULL && s->is_last ? j->bias + s->j0 + p : NULL;
        t.c = j->c + i0 * j->c_stride + s->j0 + p;
        run_column(s, &t, rows, height, width);
    }
}

static AVX2 void run_block(block *s) {
    for (uint32_t i = 0; i < s->job->m; i += BLOCK_ROWS)
        run_rows(s, i, s->job->m - i < BLOCK_ROWS ? s->job->m - i : BLOCK_ROWS);
    s->is_first = false;
    s->span_count = s->depth = 0;
}

static AVX2 void add_span(block *s, const gemm_term *t, uint32_t k0, uint32_t depth) {
    bool is_packed = t->b_transposed || t->b_stride > MAX_STRIDE, has_narrow = s->cols % TILE_COLS != 0;
    assert(s->span_count < MAX_SPANS && s->depth + depth <= BLOCK_K);
    span *n = &s->spans[s->span_count++];
    float *packed = s->scratch + (size_t)s->depth * BLOCK_COLS;
    n->row_step = t->a_transposed ? 1 : t->a_stride;
    n->k_step = t->a_transposed ? t->a_stride : 1;
    n->a = t->a + k0 * n->k_step;
    n->depth = depth;
    n->b_step = is_packed ? TILE_COLS : t->b_stride;
    n->b_panel = is_packed ? (size_t)depth * TILE_COLS : TILE_COLS;
    n->b = is_packed ? packed : t->b + k0 * t->b_stride + s->j0;
    n->narrow = has_narrow ? packed + (size_t)(s->cols / TILE_COLS) * TILE_COLS * depth : NULL;
    if (is_packed || has_narrow) pack_b(t, k0, depth, s->j0, s->cols, !is_packed, packed);
    s->depth += depth;
}

static AVX2 void gemm_tiled(const gemm_job *j, const gemm_tiles *tiles, float *scratch) {
    const gemm_term *last = &j->terms[j->term_count - 1];
    block s = {.job = j, .scratch = scratch, .tiles = tiles};
    for (s.j0 = 0; s.j0 < j->n; s.j0 += BLOCK_COLS) {
        s.cols = j->n - s.j0 < BLOCK_COLS ? j->n - s.j0 : BLOCK_COLS;
        s.is_first = true;
        for (const gemm_term *t = j->terms; t <= last; t++)
            for (uint32_t k0 = 0, depth; k0 < t->k; k0 += depth) {
                uint32_t room = BLOCK_K - s.depth;
                depth = t->k - k0 < room ? t->k - k0 : room;
                add_span(&s, t, k0, depth);
                s.is_last = t == last && k0 + depth == t->k;
                if (s.is_last || s.depth == BLOCK_K || s.span_count == MAX_SPANS) run_block(&s);
            }
    }
}

/* Long rows of A must be packed to be read fast, which CBLAS does. */
static bool is_narrow(const gemm_term *t) {
    return t->k > 0 && (t->a_transposed ? t->a_stride <= BLOCK_K : t->k <= 2 * BLOCK_K);
}

/* Empty products are left to gemm_blas. Single rows and columns do not get faster, but a row gets the same bits in any
 * batch, which CBLAS does not guarantee. */
static bool is_tiled(const gemm_job *j) {
    if (j->m == 0 || j->n == 0 || j->term_count == 0) return false;
    for (uint32_t i = 0; i < j->term_count; i++)
        if (!is_narrow(&j->terms[i])) return false;
    return true;
}

/* Tiles of the widest vector instructions of the processor; NULL: none. */
static const gemm_tiles *best_tiles(void) {
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx512f") ? &gemm_avx512 : has_avx2 ? &gemm_avx2 : NULL;
}

void gemm_with(const gemm_tiles *tiles, const gemm_job *job, float *scratch) {
    if (tiles != NULL && is_tiled(job))
        gemm_tiled(job, tiles, scratch);
    else
        with_blas(job);
}

void gemm(const gemm_job *job, float *scratch) {
    gemm_with(best_tiles(), job, scratch);
}

#endif
