/* tpe.c - Parzen densities over a search space, and the candidate with the largest density ratio. */
#include "learn/search/tpe.h"

#include <assert.h>
#include <math.h>

enum { CANDIDATES = 32 };

static const double GOOD_SHARE = 0.2;   /* of the evaluated points */
static const double WIDTH = 0.25;       /* of the kernel of a single point, in units of the range */
static const double MIN_WIDTH = 0.02;   /* of any kernel */
static const double SAME_CHOICE = 0.75; /* weight of the point's own choice; the rest is shared by all choices */

/* The kernel density of a sample of points, with a uniform part that weighs as much as one point. */
typedef struct mixture {
    const space *space;
    const double *const *points;
    uint32_t count;
    double width; /* of kernels */
} mixture;

static mixture mixture_of(const space *s, const double *const *points, uint32_t count) {
    double width = WIDTH * pow(count > 0 ? count : 1, -1.0 / (s->count + 4.0));
    return (mixture){.space = s, .points = points, .count = count, .width = fmax(width, MIN_WIDTH)};
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

static double normal_cdf(double z) {
    return 0.5 * erfc(-z / sqrt(2));
}

/* The density at `at` of a normal distribution truncated to 0..1. */
static double kernel_density(double at, double center, double width) {
    assert(width > 0);
    double z = (at - center) / width;
    double inside = normal_cdf((1 - center) / width) - normal_cdf(-center / width);
    return exp(-0.5 * z * z) / (width * sqrt(2 * M_PI) * inside);
}

/* Draws from that distribution. */
static double draw_kernel(rng *random, double center, double width) {
    for (int i = 0; i < 64; i++) {
        double at = center + width * rng_normal(random);
        if (at >= 0 && at <= 1) return at;
    }
    return center;
}

/* The density of one key's value relative to a uniform draw; 1 where value or point have no value for the key. */
static double key_density(const space_key *k, double value, double of_point, double width) {
    if (isnan(value) || isnan(of_point)) return 1;
    if (k->kind == SPACE_CHOICE) return (1 - SAME_CHOICE) + (value == of_point ? SAME_CHOICE * k->choice_count : 0);
    return kernel_density(space_to_unit(k, value), space_to_unit(k, of_point), width);
}

static double log_density(const mixture *m, const double *values) {
    double sum = 1; /* the uniform part */
    for (uint32_t p = 0; p < m->count; p++) {
        double product = 1;
        for (uint32_t i = 0; i < m->space->count; i++)
            product *= key_density(&m->space->keys[i], values[i], m->points[p][i], m->width);
        sum += product;
    }
    return log(sum / (m->count + 1.0));
}

double tpe_log_density(const space *s, const double *const *points, uint32_t count, const double *values) {
    const mixture m = mixture_of(s, points, count);
    return log_density(&m, values);
}

/* --- Drawing ------------------------------------------------------------------------------------------------- */

static double draw_near(const space_key *k, double near, double width, rng *random) {
    if (isnan(near)) return space_draw_key(k, random);
    if (k->kind == SPACE_CHOICE)
        return rng_uniform(random) < SAME_CHOICE ? near : (double)rng_below(random, k->choice_count);
    return space_from_unit(k, draw_kernel(random, space_to_unit(k, near), width));
}

static void draw(const mixture *m, rng *random, double *values) {
    uint32_t p = rng_below(random, m->count + 1);
    if (p == m->count) {
        space_draw(m->space, random, values);
        return;
    }
    for (uint32_t i = 0; i < m->space->count; i++)
        values[i] = space_is_active(m->space, i, values)
                        ? draw_near(&m->space->keys[i], m->points[p][i], m->width, random)
                        : NAN;
}

void tpe_suggest(const space *s, const double *const *seen, uint32_t count, uint32_t waiting, rng *random,
                 double *values) {
    if (count < TPE_MIN_POINTS) {
        space_draw(s, random, values);
        return;
    }
    uint32_t good = (uint32_t)ceil(GOOD_SHARE * count);
    assert(good > 0 && good < count && s->count <= SPACE_MAX_KEYS);
    mixture good_points = mixture_of(s, seen, good), bad_points = mixture_of(s, seen + good, count - good + waiting);
    double best = -INFINITY;
    for (int c = 0; c < CANDIDATES; c++) {
        double candidate[SPACE_MAX_KEYS] = {0};
        draw(&good_points, random, candidate);
        double gain = log_density(&good_points, candidate) - log_density(&bad_points, candidate);
        if (!(gain > best)) continue;
        best = gain;
        for (uint32_t i = 0; i < s->count; i++) values[i] = candidate[i];
    }
}
