#include "learn/evaluate/spread.h"

#include <math.h>

static uint32_t bin_of(double value) {
    double at = floor((log2(value) - SPREAD_LOWEST) * SPREAD_PER_OCTAVE);
    return at < 0 ? 0 : at > SPREAD_BINS - 1 ? SPREAD_BINS - 1 : (uint32_t)at;
}

void spread_add(spread *s, double value) {
    if (!(value > 0) || !isfinite(value)) return;
    if (s->count == 0 || value < s->least) s->least = value;
    if (s->count == 0 || value > s->most) s->most = value;
    spread_bin *bin = &s->bins[bin_of(value)];
    s->count++;
    bin->count++;
    bin->sum += value;
}

static double mean_of(const spread_bin *bin) {
    return bin->sum / (double)bin->count;
}

double spread_quantile(const spread *s, double share) {
    if (s->count == 0) return NAN;
    if (share <= 0) return s->least;
    if (share >= 1) return s->most;
    double wanted = share * (double)(s->count - 1);
    uint64_t before = 0;
    for (uint32_t i = 0; i < SPREAD_BINS; i++) {
        before += s->bins[i].count;
        if ((double)before > wanted) return mean_of(&s->bins[i]);
    }
    return s->most;
}

double spread_share(const spread *s, double from, double to) {
    uint64_t inside = 0;
    for (uint32_t i = 0; i < SPREAD_BINS; i++)
        if (s->bins[i].count > 0 && mean_of(&s->bins[i]) >= from && mean_of(&s->bins[i]) < to)
            inside += s->bins[i].count;
    return s->count > 0 ? (double)inside / (double)s->count : NAN;
}

double spread_outside(const spread *s, const spread *known) {
    if (s->count == 0 || known->count == 0) return NAN;
    double lo = spread_quantile(known, SPREAD_RARE), hi = spread_quantile(known, 1 - SPREAD_RARE);
    /* what is the same in both may differ in the last bits of its sums */
    return 1 - spread_share(s, lo * (1 - 1e-9), hi * (1 + 1e-9));
}
