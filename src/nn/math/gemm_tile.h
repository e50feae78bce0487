/* gemm_tile.h - register tiles of a matrix product, on x86-64.
 *
 * A tile is one or more panels of 16 columns wide and as many rows high as there are registers for: six with AVX2,
 * twelve with AVX-512. Its sums stay in registers over the whole inner sum, with one load of B per panel and one
 * broadcast of A per row. Fewer rows leave registers for more panels: more independent sums, and longer reads of B.
 * Each element is summed in the same order in any tile, so that all processors, and any number of rows, give the same
 * bits. */
#ifndef NN_GEMM_TILE_H
#define NN_GEMM_TILE_H

#include "nn/math/gemm.h"

enum { TILE_COLS = 16, TILE_ROWS_MAX = 12, TILE_PANELS_MAX = 4, MAX_SPANS = 2 };

/* A range of the inner sum. */
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
    const float *bias; /* (16 per panel), added with the last block of the sum; or NULL */
    bool adds_to_c, has_relu;
} tile;

/* Tiles of one instruction set: at most `rows` rows, 1, 2 or 4 panels up to `panels`, and rows times panels at most
 * `sums`. All 16 columns of each panel exist. */
typedef struct gemm_tiles {
    uint32_t rows, panels, sums;
    void (*make)(const tile *t, uint32_t rows, uint32_t panels);
} gemm_tiles;

#if defined(__x86_64__)
extern const gemm_tiles gemm_avx2, gemm_avx512;
#endif

/* For tests: gemm with these tiles instead of the best of the processor; NULL: through CBLAS. */
void gemm_with(const gemm_tiles *tiles, const gemm_job *job, float *scratch);

#endif
