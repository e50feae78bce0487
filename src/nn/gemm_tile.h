/* gemm_tile.h - pieces of a product that stay in registers, on x86-64.
 *
 * A tile is one or more panels of 16 columns wide and as many rows high as there are registers for: six with AVX2,
 * twelve with AVX-512. Its sums stay put over the whole inner sum, fed by a load of B for each panel and a broadcast of
 * A for each row. Few rows leave registers for more panels: their sums do not wait for each other, and B is read in
 * longer stretches. Each element is added up in one and the same order whatever the tile, so that all processors, and
 * any number of rows, give the same bits. */
#ifndef NN_GEMM_TILE_H
#define NN_GEMM_TILE_H

#include "nn/gemm.h"

enum { TILE_COLS = 16, TILE_ROWS_MAX = 12, TILE_PANELS_MAX = 4, MAX_SPANS = 2 };

/* A stretch of the inner sum. */
typedef struct span {
    const float *a; /* element (i, k) at a[i * row_step + k * k_step] */
    size_t row_step, k_step;
    const float *b;         /* element (k, j) at b[k * b_step + j] */
    size_t b_step, b_panel; /* b_panel: from one panel of 16 columns to the next */
    const float *narrow;    /* the last panel, when it has fewer columns and is packed; or NULL */
    uint32_t depth;
} span;

typedef struct tile {
    span spans[MAX_SPANS];
    uint32_t span_count;
    float *c;
    size_t c_stride;
    const float *bias; /* with the last block of the sum; or NULL */
    bool adds_to_c, has_relu;
} tile;

/* How a processor makes them: at most `rows` at a time; of 1, 2 or 4 panels at most `panels`, and rows times panels at
 * most `sums`. All 16 columns of each panel are there. */
typedef struct gemm_tiles {
    uint32_t rows, panels, sums;
    void (*make)(const tile *t, uint32_t rows, uint32_t panels);
} gemm_tiles;

#if defined(__x86_64__)
extern const gemm_tiles gemm_avx2, gemm_avx512;
#endif

/* For tests: with these tiles instead of the best of the processor; NULL is through CBLAS. */
void gemm_with(const gemm_tiles *tiles, const gemm_job *job, float *scratch);

#endif
