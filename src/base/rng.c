/* rng.c - xoshiro256** (Blackman and Vigna), seeded through splitmix64.
 *
 * Of libm only the square root is used, which is exact: logarithms of libm differ in the last bit between machines, and
 * a training run that starts from different weights ends in a different predictor. */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

/* Seed and stream are mixed separately, so that seed 1, stream 2 is independent of seed 2, stream 1. */
void rng_init(rng *r, uint64_t seed, uint64_t stream) {
    uint64_t from_stream = stream ^ UINT64_C(0xd1b54a32d192ed03);
    uint64_t state = splitmix(&seed) ^ rotate_left(splitmix(&from_stream), 17);
    for (int i = 0; i < 4; i++) r->state[i] = splitmix(&state);
}

uint64_t rng_next(rng *r) {
    uint64_t *s = r->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_uniform(rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* log(x) for 0 < x < infinity, by the series of 2 atanh((m - 1) / (m + 1)), accurate to 1e-15. */
static double natural_log(double x) {
    assert(x > 0);
    static const double LN2 = 0.69314718055994530942;
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double z = (m - 1) / (m + 1), square = z * z, sum = 0;
    for (int k = 23; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return exponent * LN2 + 2 * z * sum;
}

/* Marsaglia's polar method. Its second number is discarded, so that `state` is the whole state of a generator. */
double rng_normal(rng *r) {
    for (;;) {
        double u = 2 * rng_uniform(r) - 1, v = 2 * rng_uniform(r) - 1, s = u * u + v * v;
        if (s > 0 && s < 1) return u * sqrt(-2 * natural_log(s) / s);
    }
}

/* Lemire's method: the few products that would bias the result are drawn again. */
uint32_t rng_below(rng *r, uint32_t limit) {
    if (limit == 0) return 0;
    uint32_t biased = -limit % limit;
    for (;;) {
        uint64_t product = (rng_next(r) >> 32) * limit;
        if ((uint32_t)product >= biased) return (uint32_t)(product >> 32);
    }
}

void rng_shuffle(rng *r, uint32_t *items, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = rng_below(r, i), kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}
