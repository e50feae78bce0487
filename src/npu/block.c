/* block.c - the search for the block that moves the least data.
 *
 * A block of the output needs a piece of the input; both, twice over, have to fit the banks of the shared buffer. Of
 * those that fit, the compiler takes the one that fetches the fewest inputs and weights for each output, and so do we,
 * ties included. The search walks depths, heights and widths in the order that the compiler does. */
#include "npu/block.h"

#include <math.h>

enum { SPLIT_DEPTH = 16, MOST_W = 64, MOST_H = 32, MOST_D = 128, SUB_KERNEL = 8, RESERVED_BANKS = 2, BANK = 1024 };

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

/* What stays the same during the search. */
typedef struct search {
    const npu_arch *arch;
    const npu_pass *pass;
    npu_shape ofm, ifm;
    int32_t bytes;
    bool is_elementwise, has_scalar, is_equal_depth, is_depthwise, is_flat;
    int64_t ifm_depth, weight_area, repeats;
    double ofm_elems;
    /* Of each width: columns of input, blocks that it takes, and the same without rounding up. */
    int64_t ifm_w[MOST_W + 2];
    double across_w[MOST_W + 2], share_w[MOST_W + 2];
    double best_cost, best_coverage;
    npu_blocking *found;
} search;

static bool fits(const search *s, int64_t ifm_area, int64_t ifm_depth, int64_t ofm_area, int64_t ofm_depth) {
    const npu_arch *a = s->arch;
    int32_t granule = s->bytes == 4 ? a->granule_map32 : a->granule_map;
    int64_t ifm_banks = npu_div_up(ifm_area * npu_round_up(ifm_depth * s->bytes, 8), BANK) * 2;
    int64_t end = a->banks - RESERVED_BANKS, used = RESERVED_BANKS + npu_round_up(ifm_banks, granule);
    if (s->is_elementwise) return used + (s->has_scalar ? 0 : used - RESERVED_BANKS) <= end;
    int64_t bits = s->found->has_sum40 ? 40 : 32;
    int64_t banks = npu_div_up(ofm_area * npu_round_up(ofm_depth, 8) * bits / 8, BANK) * 2;
    return used <= end - npu_round_up(banks, s->found->has_sum40 ? a->granule_sum40 : a->granule_sum32);
}

/* How a height or a depth divides the output. */
typedef struct division {
    double across, share;
} division;

static division divide(int64_t size, int64_t block) {
    return (division){(double)npu_div_up(size, block), (double)size / (double)block};
}

static double fetches(const search *s, npu_shape ifm, division rows, division depths, npu_shape block) {
    double across = rows.across * s->across_w[block.w];
    double share = rows.share * s->share_w[block.w];
    double weights = (double)(s->weight_area * s->ifm.c) * across;
    if (!s->is_depthwise) weights *= (double)block.c * depths.share;
    double inputs = (double)(ifm.h * ifm.w * s->ifm.c * s->repeats) * share;
    if (!s->is_equal_depth) inputs *= depths.across;
    return inputs + weights;
}

static void weigh(search *s, npu_shape ifm, division rows, division depths, npu_shape block) {
    double cost = s->is_elementwise ? fmax(s->ofm_elems / (double)(block.h * block.w * block.c), 1)
                                    : fetches(s, ifm, rows, depths, block) / s->ofm_elems;
    if (npu_elems(s->ifm) < npu_elems(ifm) * 2) cost /= 2; /* both buffers hold all of the input */
    if (cost > s->best_cost) return;
    if (cost == s->best_cost) {
        double coverage = (double)(s->ifm.h * s->ifm.w) / (double)(min64(s->ifm.h, ifm.h) * min64(s->ifm.w, ifm.w));
        if (coverage > s->best_coverage || block.h > 4 || block.w > 4) return;
        s->best_coverage = coverage;
    } else {
        s->best_coverage = INFINITY;
    }
    s->best_cost = cost;
    s->found->ifm = ifm;
    s->found->ofm = block;
}

static void try_depth(search *s, int64_t depth, int64_t most_h, int64_t most_w) {
    const npu_arch *a = s->arch;
    const npu_pass *p = s->pass;
    int64_t border_h = min64(area(p->kernel_h, p->dilation_y), SUB_KERNEL);
    int64_t ifm_depth = s->is_equal_depth ? depth : s->ifm_depth;
    division depths = divide(s->ofm.c, depth);
    int64_t too_wide[MOST_H + 1]; /* the first width that did not fit, by height */
    for (int h = 0; h <= MOST_H; h++) too_wide[h] = INT64_MAX;
    for (int64_t h = a->ublock_h; h <= most_h; h += a->ublock_h) {
        int64_t ifm_h = npu_round_up(needed(p, h, p->stride_y, border_h), a->ublock_h);
        int64_t fit_h = s->is_flat ? min64(h, s->ofm.h) : h;
        division rows = divide(s->ofm.h, fit_h);
        for (int64_t w = a->ublock_w; w <= most_w; w += a->ublock_w) {
            if (w <= MOST_H && too_wide[w] <= h) continue; /* the compiler takes it that this does not fit either */
            int64_t ifm_w = s->ifm_w[w];
            if (!fits(s, ifm_h * ifm_w, ifm_depth, fit_h * w, depth)) {
                too_wide[h] = w;
                break; /* nor does a wider one */
            }
            weigh(s, (npu_shape){1, ifm_h, ifm_w, ifm_depth}, rows, depths, (npu_shape){1, h, w, depth});
        }
    }
}

static void tabulate_widths(search *s, int64_t most_w) {
    const npu_pass *p = s->pass;
    int64_t border = min64(area(p->kernel_w, p->dilation_x), SUB_KERNEL);
    for (int64_t w = s->arch->ublock_w; w <= most_w; w += s->arch->ublock_w) {
        division columns = divide(s->ofm.w, w);
        s->ifm_w[w] = npu_round_up(needed(p, w, p->stride_x, border), s->arch->ublock_w);
        s->across_w[w] = columns.across;
        s->share_w[w] = columns.share;
    }
}

bool npu_find_blocking(const npu_arch *arch, const npu_pass *p, int32_t ifm_bytes, npu_shape ofm, npu_shape ifm,
                       const npu_shape *ifm2, bool has_scalar, npu_blocking *found) {
    if (ifm2 != NULL && npu_elems(*ifm2) > npu_elems(ifm)) ifm = *ifm2;
    bool is_conv = p->block == BLOCK_CONV || p->block == BLOCK_DEPTHWISE;
    *found = (npu_blocking){.is_part_kernel = is_conv && prefers_part_kernel(p, ifm, ifm_bytes),
                            .has_sum40 = ifm_bytes == 2 && p->block != BLOCK_POOL};
    search s = {.arch = arch,
                .pass = p,
                .ofm = ofm,
                .ifm = ifm,
                .bytes = ifm_bytes,
                .is_elementwise = p->block == BLOCK_ELEMENTWISE,
                .has_scalar = has_scalar,
                .is_depthwise = p->block == BLOCK_DEPTHWISE,
                .is_flat = ofm.h == 1 && p->kernel_h == 1 && arch->ublock_h == 2,
                .ofm_elems = (double)npu_elems(ofm),
                .best_cost = INFINITY,
                .best_coverage = INFINITY,
                .found = found};
    s.is_equal_depth = s.is_elementwise || s.is_depthwise || p->block == BLOCK_POOL;
    int64_t kernel_w = area(p->kernel_w, p->dilation_x), kernel_h = area(p->kernel_h, p->dilation_y);
    s.repeats = npu_div_up(kernel_w, SUB_KERNEL) * npu_div_up(kernel_h, SUB_KERNEL);
    s.weight_area = is_conv ? kernel_w * kernel_h : 0;
    s.ifm_depth = ifm_bytes == 2 ? npu_round_up(min64(ifm.c, 16), 4)
                                 : npu_round_up(min64(ifm.c, found->is_part_kernel ? 16 : 32), 8);
    int64_t most_h = npu_round_up(min64(ofm.h, MOST_H), arch->ublock_h);
    int64_t most_w = npu_round_up(min64(ofm.w, MOST_W), arch->ublock_w);
    int64_t most_d = npu_round_up(min64(ofm.c, MOST_D), arch->ublock_d);
    tabulate_widths(&s, most_w);
    int64_t depth = max64(arch->ublock_d, min64(most_d, SPLIT_DEPTH));
    if (depth < ofm.c) depth = npu_round_up(depth, SPLIT_DEPTH);
    while (depth <= most_d) {
        try_depth(&s, depth, most_h, most_w);
        depth += arch->ublock_d;
        if (depth < ofm.c) depth = npu_round_up(depth, SPLIT_DEPTH);
    }
    return !isinf(s.best_cost);
}
