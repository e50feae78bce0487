/* block.c - search for the block that moves the least data.
 *
 * A block of the output needs a part of the input; both, double-buffered, must fit the banks of the shared buffer. Of
 * the blocks that fit, Vela takes the one that reads the fewest inputs and weights per output; this search returns the
 * same one, ties included, by visiting depths, heights and widths in the same order. */
#include "npu/block.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SPLIT_DEPTH = 16, MAX_W = 64, MAX_H = 32, MAX_D = 128, SUB_KERNEL = 8, RESERVED_BANKS = 2, BANK = 1024 };
enum { DEPTH_UNIT = 8 }; /* all depths are multiples of it */
enum { DEPTHS = MAX_D / DEPTH_UNIT + 1 };

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t area(int32_t kernel, int32_t dilation) {
    return (int64_t)(kernel - 1) * dilation + 1;
}

/* Inputs along one axis for `count` consecutive outputs. */
static int64_t needed(const npu_pass *p, int64_t count, int32_t stride, int64_t border) {
    int64_t size = (count - 1) * stride + border + (p->upscale == UPSCALE_NEAREST);
    return p->upscale == UPSCALE_NONE ? size : npu_div_up(size, 2);
}

void npu_input_area(const npu_pass *p, npu_shape ofm, int64_t *w, int64_t *h) {
    *w = needed(p, ofm.w, p->stride_x, area(p->kernel_w, p->dilation_x));
    *h = needed(p, ofm.h, p->stride_y, area(p->kernel_h, p->dilation_y));
}

static bool prefers_part_kernel(const npu_pass *p, npu_shape ifm, int32_t bytes) {
    if (ifm.c <= 8) return true;
    int64_t kernel = (int64_t)p->kernel_w * p->kernel_h;
    double depth = (double)ifm.c / (double)npu_round_up(ifm.c, bytes == 1 ? 32 : 16);
    double part =
        (double)(ifm.c * kernel) / (double)(npu_round_up(ifm.c, 8) * npu_round_up(kernel, bytes == 1 ? 4 : 2));
    return part > depth;
}

/* One axis of the output cut into blocks: outputs and inputs of a block, number of blocks, rounded up and not. */
typedef struct side {
    int64_t ofm, ifm;
    double across, share;
    double min_columns; /* lower bound of the columns read, over all blocks up to this width */
} side;

/* Banks are allocated in granules. Counts are small, so that a product and a shift divide by a granule exactly. */
typedef struct granule {
    int32_t banks, inverse;
} granule;
enum { INVERSE_BITS = 16 };

static granule granule_of(int32_t banks) {
    assert(banks > 0);
    return (granule){banks, (1 << INVERSE_BITS) / banks + 1};
}

/* The shared buffer and its contents. */
typedef struct shared_buffer {
    int32_t banks;
    granule maps, accumulators;
    int32_t inputs; /* feature maps that are buffered */
    bool has_accumulators;
} shared_buffer;

/* Constants of a search, and the best block so far. */
typedef struct search {
    const npu_arch *arch;
    const npu_pass *pass;
    npu_shape ofm, ifm;
    int32_t bytes;
    shared_buffer buffer;
    bool is_elementwise, is_equal_depth, is_depthwise, is_flat;
    int64_t ifm_depth, repeats, ifm_elems, border_w, border_h;
    int64_t max_h, max_w, min_d, max_d;
    double ofm_elems, per_elem, kernel_elems;
    side widths[MAX_W + 2], heights[MAX_H + 2];
    int32_t widest[DEPTHS][MAX_H + 2];  /* widest block that fits, by depth and height; 0: none */
    double min_cost[DEPTHS][MAX_H + 2]; /* lower bound of the cost, by depth and height; [0]: over all heights */
    double best_cost, best_coverage;
    npu_block_config *found;
} search;

/* Sizes are small integers: a quotient with a fraction exceeds its floor by far more than a rounding error. */
static side make_side(int64_t size, int64_t block, int64_t ifm) {
    double share = (double)size / (double)block, whole = (double)(int64_t)share;
    return (side){.ofm = block, .ifm = ifm, .across = whole + (whole < share), .share = share};
}

/* Micro-block sizes are powers of two. */
static int64_t whole_ublocks(int64_t size, int32_t ublock) {
    return (size + ublock - 1) & -(int64_t)ublock;
}

static int64_t columns_of(const search *s, int64_t w) {
    return whole_ublocks(needed(s->pass, w, s->pass->stride_x, s->border_w), s->arch->ublock_w);
}

static int64_t rows_of(const search *s, int64_t h) {
    return whole_ublocks(needed(s->pass, h, s->pass->stride_y, s->border_h), s->arch->ublock_h);
}

static int64_t used_height(const search *s, int64_t h) {
    return s->is_flat ? min64(h, s->ofm.h) : h;
}

static void fill_sides(search *s) {
    double lowest = INFINITY;
    for (int64_t w = s->arch->ublock_w; w <= s->max_w; w += s->arch->ublock_w) {
        side *made = &s->widths[w];
        *made = make_side(s->ofm.w, w, columns_of(s, w));
        made->min_columns = lowest = fmin(lowest, (double)made->ifm * made->share);
    }
    for (int64_t h = s->arch->ublock_h; h <= s->max_h; h += s->arch->ublock_h)
        s->heights[h] = make_side(s->ofm.h, used_height(s, h), rows_of(s, h));
}

/* --- One block ----------------------------------------------------------------------------------------------- */

/* Blocks of one depth. */
typedef struct layer {
    int64_t depth, ifm_depth;
    int64_t ifm_bytes, acc_bytes; /* per element of the block's area */
    double reads, kernels;        /* times the input is read; kernels that are read */
} layer;

static layer make_layer(const search *s, int64_t depth) {
    int64_t ifm_depth = s->is_equal_depth ? depth : s->ifm_depth;
    side cut = make_side(s->ofm.c, depth, 0);
    return (layer){.depth = depth,
                   .ifm_depth = ifm_depth,
                   .ifm_bytes = npu_round_up(ifm_depth * s->bytes, 8),
                   .acc_bytes = npu_round_up(depth, 8) * (s->found->has_acc40 ? 5 : 4),
                   .reads = s->is_equal_depth ? 1 : cut.across,
                   .kernels = s->is_depthwise ? 1 : (double)depth * cut.share};
}

/* Blocks of one depth and height. */
typedef struct row {
    int64_t inputs, held; /* per column: inputs read; inputs held in both buffers */
    double across, share;
    int64_t elems; /* of the output */
} row;

static inline row make_row(const search *s, const layer *l, int64_t h) {
    const side *rows = &s->heights[h];
    return (row){.inputs = rows->ifm * s->ifm.c * s->repeats,
                 .held = rows->ifm * l->ifm_depth * 2,
                 .across = rows->across,
                 .share = rows->share,
                 .elems = h * l->depth};
}

/* Banks for two buffers of `bytes` bytes, in whole granules. */
static inline int32_t banks_of(const shared_buffer *all, int64_t bytes, granule g) {
    uint64_t banks = ((uint64_t)bytes + BANK - 1) / BANK * 2;
    if (banks > (uint64_t)all->banks) return all->banks; /* any number that does not fit */
    return (((int32_t)banks + g.banks - 1) * g.inverse >> INVERSE_BITS) * g.banks;
}

static inline bool fits(const shared_buffer *all, int64_t ifm_bytes, int64_t acc_bytes) {
    int32_t left = all->banks - 2 * RESERVED_BANKS - all->inputs * banks_of(all, ifm_bytes, all->maps);
    return left >= 0 && (!all->has_accumulators || banks_of(all, acc_bytes, all->accumulators) <= left);
}

/* When both buffers hold the whole input, it is read once. */
static inline double reuse_input(const search *s, const row *r, const side *columns, double cost) {
    return s->ifm_elems < r->held * columns->ifm ? cost / 2 : cost;
}

static inline double cost_of(const search *s, const layer *l, const row *r, int64_t w) {
    const side *columns = &s->widths[w];
    if (s->is_elementwise) {
        double cost = s->ofm_elems / (double)(r->elems * w);
        return reuse_input(s, r, columns, cost > 1 ? cost : 1);
    }
    double weights = s->kernel_elems * (r->across * columns->across) * l->kernels;
    double inputs = (double)(r->inputs * columns->ifm) * (r->share * columns->share) * l->reads;
    return reuse_input(s, r, columns, (inputs + weights) / s->ofm_elems);
}

/* Lower bound of the cost of blocks of this height up to this width. */
static inline double lower_bound(const search *s, const layer *l, const row *r, int64_t widest) {
    const double rounding = 1 - 1e-9; /* the sums below are taken in another order than in cost_of */
    const side *columns = &s->widths[widest];
    if (s->is_elementwise) return cost_of(s, l, r, widest) * rounding;
    double weights = s->kernel_elems * r->across * columns->across * l->kernels;
    double inputs = (double)r->inputs * r->share * columns->min_columns * l->reads;
    return reuse_input(s, r, columns, (inputs + weights) * s->per_elem) * rounding;
}

static inline void try_block(search *s, const layer *l, const row *r, int64_t h, int64_t w) {
    double cost = cost_of(s, l, r, w);
    if (cost > s->best_cost) return;
    npu_shape ifm = {1, s->heights[h].ifm, s->widths[w].ifm, l->ifm_depth};
    if (cost == s->best_cost) {
        double coverage = (double)(s->ifm.h * s->ifm.w) / (double)(min64(s->ifm.h, ifm.h) * min64(s->ifm.w, ifm.w));
        if (coverage > s->best_coverage || h > 4 || w > 4) return;
        s->best_coverage = coverage;
    } else {
        s->best_coverage = INFINITY;
    }
    s->best_cost = cost;
    s->found->ifm = ifm;
    s->found->ofm = (npu_shape){1, h, w, l->depth};
}

/* --- All blocks ---------------------------------------------------------------------------------------------- */

static int64_t next_depth(const search *s, int64_t depth) {
    return depth < s->ofm.c ? npu_round_up(depth, SPLIT_DEPTH) : depth;
}

/* Fills in the widest blocks that fit and lower bounds of their costs, by depth and height; a block that is deeper or
 * higher is no wider. Most blocks are too costly once a good one is known, so the search starts from the cost of the
 * best of these, and must still find blocks of equal cost. Only blocks no higher than wide count, as the search always
 * visits those. */
static void bound_costs(search *s) {
    const int64_t step = s->arch->ublock_h, step_w = s->arch->ublock_w;
    const shared_buffer all = s->buffer;
    double lowest = INFINITY;
    s->widest[0][0] = (int32_t)s->max_w;
    for (int64_t h = 1; h <= s->max_h; h++) s->widest[0][h] = (int32_t)s->max_w;
    const int32_t *above = s->widest[0];
    for (int64_t depth = s->min_d; depth <= s->max_d; depth = next_depth(s, depth + s->arch->ublock_d)) {
        layer l = make_layer(s, depth);
        int32_t *widest = s->widest[depth / DEPTH_UNIT], w = above[0];
        double *bounds = s->min_cost[depth / DEPTH_UNIT];
        widest[0] = w;
        bounds[0] = INFINITY;
        for (int64_t h = step; h <= s->max_h; h += step) {
            if (above[h] < w) w = above[h];
            int64_t ifm_bytes = s->heights[h].ifm * l.ifm_bytes, acc_bytes = s->heights[h].ofm * l.acc_bytes;
            while (w > 0 && !fits(&all, ifm_bytes * s->widths[w].ifm, acc_bytes * w)) w -= (int32_t)step_w;
            widest[h] = w;
            if (w == 0) continue;
            row r = make_row(s, &l, h);
            bounds[h] = lower_bound(s, &l, &r, w);
            if (!(bounds[h] >= bounds[0])) bounds[0] = bounds[h];
            if (w < h || bounds[h] >= lowest) continue;
            double cost = cost_of(s, &l, &r, w);
            if (cost < lowest) lowest = cost;
        }
        above = widest;
    }
    s->best_cost = nextafter(lowest, INFINITY);
}

static void try_depth(search *s, int64_t depth) {
    const int64_t step = s->arch->ublock_w;
    const double *bounds = s->min_cost[depth / DEPTH_UNIT];
    if (bounds[0] > s->best_cost) return;
    layer l = make_layer(s, depth);
    uint8_t too_wide[MAX_W + 2]; /* first width that did not fit, by height */
    memset(too_wide, UINT8_MAX, sizeof too_wide);
    for (int64_t h = s->arch->ublock_h; h <= s->max_h; h += s->arch->ublock_h) {
        int64_t widest = s->widest[depth / DEPTH_UNIT][h];
        bool is_too_costly = widest == 0 || bounds[h] > s->best_cost;
        row r = make_row(s, &l, h);
        for (int64_t w = is_too_costly ? widest + step : step; w <= s->max_w; w += step) {
            if (too_wide[w] <= h) continue; /* Vela skips a block whose transpose did not fit */
            if (w > widest) {
                too_wide[h] = (uint8_t)w;
                break;
            }
            try_block(s, &l, &r, h, w);
        }
    }
}

static void begin_search(search *s, const npu_arch *arch, const npu_pass *p, const npu_extent *e,
                         npu_block_config *found) {
    npu_shape ofm = e->ofm, ifm = e->ifm;
    bool is_conv = p->block == BLOCK_CONV || p->block == BLOCK_DEPTHWISE;
    *found = (npu_block_config){.is_part_kernel = is_conv && prefers_part_kernel(p, ifm, e->ifm_bytes),
                                .has_acc40 = e->ifm_bytes == 2 && p->block != BLOCK_POOL};
    s->arch = arch;
    s->pass = p;
    s->ofm = ofm;
    s->ifm = ifm;
    s->bytes = e->ifm_bytes;
    s->is_elementwise = p->block == BLOCK_ELEMENTWISE;
    s->is_depthwise = p->block == BLOCK_DEPTHWISE;
    s->is_equal_depth = s->is_elementwise || s->is_depthwise || p->block == BLOCK_POOL;
    s->is_flat = ofm.h == 1 && p->kernel_h == 1 && arch->ublock_h == 2;
    s->ofm_elems = (double)npu_elems(ofm);
    s->per_elem = 1 / s->ofm_elems;
    s->ifm_elems = npu_elems(ifm);
    int64_t kernel_w = area(p->kernel_w, p->dilation_x), kernel_h = area(p->kernel_h, p->dilation_y);
    s->border_w = min64(kernel_w, SUB_KERNEL);
    s->border_h = min64(kernel_h, SUB_KERNEL);
    s->repeats = npu_div_up(kernel_w, SUB_KERNEL) * npu_div_up(kernel_h, SUB_KERNEL);
    s->kernel_elems = is_conv ? (double)(kernel_w * kernel_h * ifm.c) : 0;
    s->ifm_depth = s->bytes == 2 ? npu_round_up(min64(ifm.c, 16), 4)
                                 : npu_round_up(min64(ifm.c, found->is_part_kernel ? 16 : 32), 8);
    s->max_h = npu_round_up(min64(ofm.h, MAX_H), arch->ublock_h);
    s->max_w = npu_round_up(min64(ofm.w, MAX_W), arch->ublock_w);
    s->max_d = npu_round_up(min64(ofm.c, MAX_D), arch->ublock_d);
    s->min_d = next_depth(s, max64(arch->ublock_d, min64(s->max_d, SPLIT_DEPTH)));
    s->buffer =
        (shared_buffer){.banks = arch->banks,
                        .maps = granule_of(s->bytes == 4 ? arch->granule_ifm32 : arch->granule_ifm),
                        .accumulators = granule_of(found->has_acc40 ? arch->granule_acc40 : arch->granule_acc32),
                        .inputs = s->is_elementwise && e->has_scalar == 0 ? 2 : 1,
                        .has_accumulators = !s->is_elementwise};
    s->best_cost = s->best_coverage = INFINITY;
    s->found = found;
}

bool npu_block_find(const npu_arch *arch, const npu_pass *p, const npu_extent *e, npu_block_config *found) {
    search s;
    assert(e->ifm_bytes > 0 && e->ofm.c > 0);
    begin_search(&s, arch, p, e, found);
    assert(s.max_h <= MAX_H && s.max_w <= MAX_W && s.max_d <= MAX_D);
    fill_sides(&s);
    bound_costs(&s);
    for (int64_t depth = s.min_d; depth <= s.max_d; depth = next_depth(&s, depth + arch->ublock_d))
        try_depth(&s, depth);
    return !isinf(s.best_cost);
}

/* No block fits when the smallest does not. */
bool npu_block_fits(const npu_arch *arch, const npu_pass *p, const npu_extent *e) {
    search s;
    npu_block_config found;
    begin_search(&s, arch, p, e, &found);
    if (arch->ublock_h > s.max_h || arch->ublock_w > s.max_w || s.min_d > s.max_d) return false;
    layer l = make_layer(&s, s.min_d);
    int64_t h = arch->ublock_h, w = arch->ublock_w;
    return fits(&s.buffer, rows_of(&s, h) * columns_of(&s, w) * l.ifm_bytes, used_height(&s, h) * w * l.acc_bytes);
}
