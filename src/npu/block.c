/* block.c - the search for the block that moves the least data.
 *
 * A block of the output needs a piece of the input; both, twice over, have to fit the banks of the shared buffer. Of
 * those that fit, the compiler takes the one that fetches the fewest inputs and weights for each output, and so do we,
 * ties included. The search walks depths, heights and widths in the order that the compiler does. */
#include "npu/block.h"

#include <math.h>

enum { SPLIT_DEPTH = 16, MOST_W = 64, MOST_H = 32, MOST_D = 128, SUB_KERNEL = 8, RESERVED_BANKS = 2, BANK = 1024 };
enum { DEPTH_UNIT = 8 }; /* all depths are multiples of it */

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

/* What a side of the output is cut into: inputs that a piece needs, pieces, and pieces without rounding up. */
typedef struct side {
    int64_t ifm;
    double across, share;
} side;

/* What stays the same during the search, and the best so far. */
typedef struct search {
    const npu_arch *arch;
    const npu_pass *pass;
    npu_shape ofm, ifm;
    int32_t bytes;
    bool is_elementwise, has_scalar, is_equal_depth, is_depthwise, is_flat;
    int64_t ifm_depth, weight_area, repeats, ifm_elems, border_w, border_h;
    int64_t most_h, most_w, least_d, most_d;
    double ofm_elems, per_elem;
    side widths[MOST_W + 2], heights[MOST_H + 2];
    double least_share[MOST_W + 2]; /* the least columns that are read, by the most columns of a block */
    int32_t widest[MOST_D / DEPTH_UNIT + 1][MOST_H + 2]; /* block that fits, by depth and height; 0: none */
    double best_cost, best_coverage;
    npu_blocking *found;
} search;

static side side_of(int64_t size, int64_t block, int64_t ifm) {
    return (side){ifm, (double)npu_div_up(size, block), (double)size / (double)block};
}

static int64_t columns_of(const search *s, int64_t w) {
    return npu_round_up(needed(s->pass, w, s->pass->stride_x, s->border_w), s->arch->ublock_w);
}

static int64_t rows_of(const search *s, int64_t h) {
    return npu_round_up(needed(s->pass, h, s->pass->stride_y, s->border_h), s->arch->ublock_h);
}

static int64_t used_height(const search *s, int64_t h) {
    return s->is_flat ? min64(h, s->ofm.h) : h;
}

static void tabulate(search *s) {
    double least = INFINITY;
    for (int64_t w = s->arch->ublock_w; w <= s->most_w; w += s->arch->ublock_w) {
        s->widths[w] = side_of(s->ofm.w, w, columns_of(s, w));
        double share = (double)s->widths[w].ifm * s->widths[w].share;
        if (share < least) least = share;
        s->least_share[w] = least;
    }
    for (int64_t h = s->arch->ublock_h; h <= s->most_h; h += s->arch->ublock_h)
        s->heights[h] = side_of(s->ofm.h, used_height(s, h), rows_of(s, h));
}

/* --- One block ----------------------------------------------------------------------------------------------- */

/* Blocks of one depth. */
typedef struct layer {
    int64_t depth, ifm_depth;
    int64_t ifm_bytes, sum_bytes; /* that an element of the area takes */
    double across, share;
} layer;

static layer layer_of(const search *s, int64_t depth) {
    side cut = side_of(s->ofm.c, depth, 0);
    int64_t ifm_depth = s->is_equal_depth ? depth : s->ifm_depth;
    return (layer){.depth = depth,
                   .ifm_depth = ifm_depth,
                   .ifm_bytes = npu_round_up(ifm_depth * s->bytes, 8),
                   .sum_bytes = npu_round_up(depth, 8) * (s->found->has_sum40 ? 5 : 4),
                   .across = cut.across,
                   .share = cut.share};
}

/* Banks for two buffers of so many bytes, in whole granules. */
static int32_t banks_of(const npu_arch *a, int64_t bytes, int32_t granule) {
    int64_t banks = npu_div_up(bytes, BANK) * 2;
    if (banks > a->banks) return a->banks; /* as good as any number that is too large */
    return ((int32_t)banks + granule - 1) / granule * granule;
}

static bool fits(const search *s, const layer *l, int64_t ifm_area, int64_t ofm_area) {
    const npu_arch *a = s->arch;
    int32_t room = a->banks - 2 * RESERVED_BANKS;
    int32_t maps = banks_of(a, ifm_area * l->ifm_bytes, s->bytes == 4 ? a->granule_map32 : a->granule_map);
    if (s->is_elementwise) return (s->has_scalar ? maps : 2 * maps) <= room;
    if (maps > room) return false;
    int32_t sums = banks_of(a, ofm_area * l->sum_bytes, s->found->has_sum40 ? a->granule_sum40 : a->granule_sum32);
    return maps + sums <= room;
}

static bool block_fits(const search *s, const layer *l, int64_t h, int64_t w) {
    return fits(s, l, s->heights[h].ifm * s->widths[w].ifm, used_height(s, h) * w);
}

static bool holds_all(const search *s, const layer *l, int64_t h, int64_t w) {
    return s->ifm_elems < s->heights[h].ifm * s->widths[w].ifm * l->ifm_depth * 2;
}

static double fetches(const search *s, const layer *l, int64_t h, int64_t w) {
    const side *rows = &s->heights[h], *columns = &s->widths[w];
    double weights = (double)(s->weight_area * s->ifm.c) * (rows->across * columns->across);
    if (!s->is_depthwise) weights *= (double)l->depth * l->share;
    double inputs = (double)(rows->ifm * columns->ifm * s->ifm.c * s->repeats) * (rows->share * columns->share);
    if (!s->is_equal_depth) inputs *= l->across;
    return inputs + weights;
}

static double cost_of(const search *s, const layer *l, int64_t h, int64_t w) {
    double cost =
        s->is_elementwise ? fmax(s->ofm_elems / (double)(h * w * l->depth), 1) : fetches(s, l, h, w) / s->ofm_elems;
    return holds_all(s, l, h, w) ? cost / 2 : cost; /* both buffers hold all of the input */
}

/* No block of this height that is at most so wide costs less. */
static double least_cost(const search *s, const layer *l, int64_t h, int64_t widest) {
    const double rounding = 1 - 1e-9; /* of sums that are the same but for their order */
    const side *rows = &s->heights[h];
    double cost;
    if (s->is_elementwise) {
        cost = s->ofm_elems / (double)(h * widest * l->depth);
        if (cost < 1) cost = 1;
    } else {
        double weights = (double)(s->weight_area * s->ifm.c) * rows->across * s->widths[widest].across;
        if (!s->is_depthwise) weights *= (double)l->depth * l->share;
        double inputs = (double)(rows->ifm * s->ifm.c * s->repeats) * rows->share * s->least_share[widest];
        if (!s->is_equal_depth) inputs *= l->across;
        cost = (inputs + weights) * s->per_elem;
    }
    return (holds_all(s, l, h, widest) ? cost / 2 : cost) * rounding;
}

static void weigh(search *s, const layer *l, int64_t h, int64_t w) {
    double cost = cost_of(s, l, h, w);
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

/* Fills in the widest blocks that fit, by depth and height; what is deeper or higher is no wider. Most blocks are
 * hopeless once a good one is known, so the cost of the best of these is where the search begins, and what costs just
 * as much has still to be found. Only those that are no higher than wide count, as the search never passes them over.
 */
static void survey(search *s) {
    double least = INFINITY;
    s->widest[0][0] = (int32_t)s->most_w;
    for (int64_t h = 1; h <= s->most_h; h++) s->widest[0][h] = (int32_t)s->most_w;
    const int32_t *above = s->widest[0];
    for (int64_t depth = s->least_d; depth <= s->most_d; depth = next_depth(s, depth + s->arch->ublock_d)) {
        layer l = layer_of(s, depth);
        int32_t *widest = s->widest[depth / DEPTH_UNIT], w = above[0];
        widest[0] = w;
        for (int64_t h = s->arch->ublock_h; h <= s->most_h; h += s->arch->ublock_h) {
            if (above[h] < w) w = above[h];
            while (w > 0 && !block_fits(s, &l, h, w)) w -= s->arch->ublock_w;
            widest[h] = w;
            if (w < h || w == 0) continue;
            double cost = cost_of(s, &l, h, w);
            if (cost < least) least = cost;
        }
        above = widest;
    }
    s->best_cost = nextafter(least, INFINITY);
}

static void try_depth(search *s, int64_t depth) {
    const int64_t step = s->arch->ublock_w;
    layer l = layer_of(s, depth);
    int64_t too_wide[MOST_H + 1]; /* the first width that did not fit, by height */
    for (int h = 0; h <= MOST_H; h++) too_wide[h] = INT64_MAX;
    for (int64_t h = s->arch->ublock_h; h <= s->most_h; h += s->arch->ublock_h) {
        int64_t widest = s->widest[depth / DEPTH_UNIT][h];
        bool is_hopeless = widest == 0 || least_cost(s, &l, h, widest) > s->best_cost;
        for (int64_t w = is_hopeless ? widest + step : step; w <= s->most_w; w += step) {
            if (w <= MOST_H && too_wide[w] <= h) continue; /* the compiler takes it that this does not fit either */
            if (w > widest) {
                too_wide[h] = w;
                break;
            }
            weigh(s, &l, h, w);
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
    s->has_scalar = e->has_scalar != 0;
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
    s->weight_area = is_conv ? kernel_w * kernel_h : 0;
    s->ifm_depth = s->bytes == 2 ? npu_round_up(min64(ifm.c, 16), 4)
                                 : npu_round_up(min64(ifm.c, found->is_part_kernel ? 16 : 32), 8);
    s->most_h = npu_round_up(min64(ofm.h, MOST_H), arch->ublock_h);
    s->most_w = npu_round_up(min64(ofm.w, MOST_W), arch->ublock_w);
    s->most_d = npu_round_up(min64(ofm.c, MOST_D), arch->ublock_d);
    s->least_d = next_depth(s, max64(arch->ublock_d, min64(s->most_d, SPLIT_DEPTH)));
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
    return fits(&s, &l, rows_of(&s, h) * columns_of(&s, w), used_height(&s, h) * w);
}
