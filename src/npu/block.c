/* block.c - the search for the block that moves the least data.
 *
 * A block of the output needs a piece of the input; both, twice over, have to fit the banks of the shared buffer. Of
 * those that fit, the compiler takes the one that fetches the fewest inputs and weights for each output, and so do we,
 * ties included. The search walks depths, heights and widths in the order that the compiler does. */
#include "npu/block.h"

#include <math.h>
#include <string.h>

enum { SPLIT_DEPTH = 16, MOST_W = 64, MOST_H = 32, MOST_D = 128, SUB_KERNEL = 8, RESERVED_BANKS = 2, BANK = 1024 };
enum { DEPTH_UNIT = 8 }; /* all depths are multiples of it */
enum { DEPTHS = MOST_D / DEPTH_UNIT + 1 };

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t area(int32_t kernel, int32_t dilation) {
    return (int64_t)(kernel - 1) * dilation + 1;
}

/* Input that `count` outputs in a row need. */
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

/* What a side of the output is cut into: outputs and inputs of a piece, pieces, and pieces without rounding up. */
typedef struct side {
    int64_t ofm, ifm;
    double across, share;
    double least_reads; /* columns that a block reads which is at most so wide */
} side;

/* Banks that are handed out together. Counts of them are small: a product and a shift divide them exactly. */
typedef struct granule {
    int32_t banks, inverse;
} granule;
enum { INVERSE_BITS = 16 };

static granule granule_of(int32_t banks) {
    return (granule){banks, (1 << INVERSE_BITS) / banks + 1};
}

/* The shared buffer, and what is to be in it. */
typedef struct room {
    int32_t banks;
    granule maps, sums;
    int32_t inputs; /* buffers of maps */
    bool has_sums;
} room;

/* What stays the same during the search, and the best so far. */
typedef struct search {
    const npu_arch *arch;
    const npu_pass *pass;
    npu_shape ofm, ifm;
    int32_t bytes;
    room room;
    bool is_elementwise, is_equal_depth, is_depthwise, is_flat;
    int64_t ifm_depth, repeats, ifm_elems, border_w, border_h;
    int64_t most_h, most_w, least_d, most_d;
    double ofm_elems, per_elem, kernel_elems;
    side widths[MOST_W + 2], heights[MOST_H + 2];
    int32_t widest[DEPTHS][MOST_H + 2]; /* block that fits, by depth and height; 0: none */
    double least[DEPTHS][MOST_H + 2];   /* what it costs at least, by depth and height; [0]: at any height */
    double best_cost, best_coverage;
    npu_blocking *found;
} search;

/* Blocks are small: what a share is more than whole, it is by far more than rounding. */
static side side_of(int64_t size, int64_t block, int64_t ifm) {
    double share = (double)size / (double)block, whole = (double)(int64_t)share;
    return (side){.ofm = block, .ifm = ifm, .across = whole + (whole < share), .share = share};
}

/* Micro-blocks have powers of two. */
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

static void tabulate(search *s) {
    double least = INFINITY;
    for (int64_t w = s->arch->ublock_w; w <= s->most_w; w += s->arch->ublock_w) {
        side *made = &s->widths[w];
        *made = side_of(s->ofm.w, w, columns_of(s, w));
        made->least_reads = least = fmin(least, (double)made->ifm * made->share);
    }
    for (int64_t h = s->arch->ublock_h; h <= s->most_h; h += s->arch->ublock_h)
        s->heights[h] = side_of(s->ofm.h, used_height(s, h), rows_of(s, h));
}

/* --- One block ----------------------------------------------------------------------------------------------- */

/* Blocks of one depth. */
typedef struct layer {
    int64_t depth, ifm_depth;
    int64_t ifm_bytes, sum_bytes; /* that an element of the area takes */
    double reads, kernels;        /* how often inputs are read; how many kernels are */
} layer;

static layer layer_of(const search *s, int64_t depth) {
    int64_t ifm_depth = s->is_equal_depth ? depth : s->ifm_depth;
    side cut = side_of(s->ofm.c, depth, 0);
    return (layer){.depth = depth,
                   .ifm_depth = ifm_depth,
                   .ifm_bytes = npu_round_up(ifm_depth * s->bytes, 8),
                   .sum_bytes = npu_round_up(depth, 8) * (s->found->has_sum40 ? 5 : 4),
                   .reads = s->is_equal_depth ? 1 : cut.across,
                   .kernels = s->is_depthwise ? 1 : (double)depth * cut.share};
}

/* Blocks of one depth and height. */
typedef struct row {
    int64_t inputs, held; /* of a column; in both buffers */
    double across, share;
    int64_t elems; /* of the output */
} row;

static inline row row_of(const search *s, const layer *l, int64_t h) {
    const side *rows = &s->heights[h];
    return (row){.inputs = rows->ifm * s->ifm.c * s->repeats,
                 .held = rows->ifm * l->ifm_depth * 2,
                 .across = rows->across,
                 .share = rows->share,
                 .elems = h * l->depth};
}

/* Banks for two buffers of so many bytes, in whole granules. */
static inline int32_t banks_of(const room *all, int64_t bytes, granule g) {
    uint64_t banks = ((uint64_t)bytes + BANK - 1) / BANK * 2;
    if (banks > (uint64_t)all->banks) return all->banks; /* as good as any number that is too large */
    return (((int32_t)banks + g.banks - 1) * g.inverse >> INVERSE_BITS) * g.banks;
}

static inline bool fits(const room *all, int64_t ifm_bytes, int64_t sum_bytes) {
    int32_t left = all->banks - 2 * RESERVED_BANKS - all->inputs * banks_of(all, ifm_bytes, all->maps);
    return left >= 0 && (!all->has_sums || banks_of(all, sum_bytes, all->sums) <= left);
}

/* Both buffers may hold all of the input. */
static inline double with_held(const search *s, const row *r, const side *columns, double cost) {
    return s->ifm_elems < r->held * columns->ifm ? cost / 2 : cost;
}

static inline double cost_of(const search *s, const layer *l, const row *r, int64_t w) {
    const side *columns = &s->widths[w];
    if (s->is_elementwise) {
        double cost = s->ofm_elems / (double)(r->elems * w);
        return with_held(s, r, columns, cost > 1 ? cost : 1);
    }
    double weights = s->kernel_elems * (r->across * columns->across) * l->kernels;
    double inputs = (double)(r->inputs * columns->ifm) * (r->share * columns->share) * l->reads;
    return with_held(s, r, columns, (inputs + weights) / s->ofm_elems);
}

/* No block of this height that is at most so wide costs less. */
static inline double least_cost(const search *s, const layer *l, const row *r, int64_t widest) {
    const double rounding = 1 - 1e-9; /* of sums that are the same but for their order */
    const side *columns = &s->widths[widest];
    if (s->is_elementwise) return cost_of(s, l, r, widest) * rounding;
    double weights = s->kernel_elems * r->across * columns->across * l->kernels;
    double inputs = (double)r->inputs * r->share * columns->least_reads * l->reads;
    return with_held(s, r, columns, (inputs + weights) * s->per_elem) * rounding;
}

static inline void weigh(search *s, const layer *l, const row *r, int64_t h, int64_t w) {
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

/* --- All of them --------------------------------------------------------------------------------------------- */

static int64_t next_depth(const search *s, int64_t depth) {
    return depth < s->ofm.c ? npu_round_up(depth, SPLIT_DEPTH) : depth;
}

/* Fills in the widest blocks that fit, by depth and height, and what the cheapest costs at least; what is deeper or
 * higher is no wider. Most blocks are hopeless once a good one is known, so the cost of the best of these is where the
 * search begins, and what costs just as much has still to be found. Only those that are no higher than wide count, as
 * the search never passes them over. */
static void survey(search *s) {
    const int64_t step = s->arch->ublock_h, step_w = s->arch->ublock_w;
    const room all = s->room;
    double least = INFINITY;
    s->widest[0][0] = (int32_t)s->most_w;
    for (int64_t h = 1; h <= s->most_h; h++) s->widest[0][h] = (int32_t)s->most_w;
    const int32_t *above = s->widest[0];
    for (int64_t depth = s->least_d; depth <= s->most_d; depth = next_depth(s, depth + s->arch->ublock_d)) {
        layer l = layer_of(s, depth);
        int32_t *widest = s->widest[depth / DEPTH_UNIT], w = above[0];
        double *bounds = s->least[depth / DEPTH_UNIT];
        widest[0] = w;
        bounds[0] = INFINITY;
        for (int64_t h = step; h <= s->most_h; h += step) {
            if (above[h] < w) w = above[h];
            int64_t ifm_bytes = s->heights[h].ifm * l.ifm_bytes, sum_bytes = s->heights[h].ofm * l.sum_bytes;
            while (w > 0 && !fits(&all, ifm_bytes * s->widths[w].ifm, sum_bytes * w)) w -= (int32_t)step_w;
            widest[h] = w;
            if (w == 0) continue;
            row r = row_of(s, &l, h);
            bounds[h] = least_cost(s, &l, &r, w);
            if (!(bounds[h] >= bounds[0])) bounds[0] = bounds[h];
            if (w < h || bounds[h] >= least) continue;
            double cost = cost_of(s, &l, &r, w);
            if (cost < least) least = cost;
        }
        above = widest;
    }
    s->best_cost = nextafter(least, INFINITY);
}

static void try_depth(search *s, int64_t depth) {
    const int64_t step = s->arch->ublock_w;
    const double *bounds = s->least[depth / DEPTH_UNIT];
    if (bounds[0] > s->best_cost) return;
    layer l = layer_of(s, depth);
    uint8_t too_wide[MOST_W + 2]; /* the first width that did not fit, by height */
    memset(too_wide, UINT8_MAX, sizeof too_wide);
    for (int64_t h = s->arch->ublock_h; h <= s->most_h; h += s->arch->ublock_h) {
        int64_t widest = s->widest[depth / DEPTH_UNIT][h];
        bool is_hopeless = widest == 0 || bounds[h] > s->best_cost;
        row r = row_of(s, &l, h);
        for (int64_t w = is_hopeless ? widest + step : step; w <= s->most_w; w += step) {
            if (too_wide[w] <= h) continue; /* the compiler takes it that this does not fit either */
            if (w > widest) {
                too_wide[h] = (uint8_t)w;
                break;
            }
            weigh(s, &l, &r, h, w);
        }
    }
}

static void begin(search *s, const npu_arch *arch, const npu_pass *p, const npu_extent *e, npu_blocking *found) {
    npu_shape ofm = e->ofm, ifm = e->ifm;
    bool is_conv = p->block == BLOCK_CONV || p->block == BLOCK_DEPTHWISE;
    *found = (npu_blocking){.is_part_kernel = is_conv && prefers_part_kernel(p, ifm, e->ifm_bytes),
                            .has_sum40 = e->ifm_bytes == 2 && p->block != BLOCK_POOL};
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
    s->most_h = npu_round_up(min64(ofm.h, MOST_H), arch->ublock_h);
    s->most_w = npu_round_up(min64(ofm.w, MOST_W), arch->ublock_w);
    s->most_d = npu_round_up(min64(ofm.c, MOST_D), arch->ublock_d);
    s->least_d = next_depth(s, max64(arch->ublock_d, min64(s->most_d, SPLIT_DEPTH)));
    s->room = (room){.banks = arch->banks,
                     .maps = granule_of(s->bytes == 4 ? arch->granule_map32 : arch->granule_map),
                     .sums = granule_of(found->has_sum40 ? arch->granule_sum40 : arch->granule_sum32),
                     .inputs = s->is_elementwise && e->has_scalar == 0 ? 2 : 1,
                     .has_sums = !s->is_elementwise};
    s->best_cost = s->best_coverage = INFINITY;
    s->found = found;
}

bool npu_find_blocking(const npu_arch *arch, const npu_pass *p, const npu_extent *e, npu_blocking *found) {
    search s;
    begin(&s, arch, p, e, found);
    tabulate(&s);
    survey(&s);
    for (int64_t depth = s.least_d; depth <= s.most_d; depth = next_depth(&s, depth + arch->ublock_d))
        try_depth(&s, depth);
    return !isinf(s.best_cost);
}

/* Larger blocks take no less room than the smallest. */
bool npu_can_block(const npu_arch *arch, const npu_pass *p, const npu_extent *e) {
    search s;
    npu_blocking found;
    begin(&s, arch, p, e, &found);
    if (arch->ublock_h > s.most_h || arch->ublock_w > s.most_w || s.least_d > s.most_d) return false;
    layer l = layer_of(&s, s.least_d);
    int64_t h = arch->ublock_h, w = arch->ublock_w;
    return fits(&s.room, rows_of(&s, h) * columns_of(&s, w) * l.ifm_bytes, used_height(&s, h) * w * l.sum_bytes);
}
