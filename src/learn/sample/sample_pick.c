/* sample_pick.c - selection by variance, k-means, central moments, uncertainty, or at random. */
#include "learn/sample/sample_pick.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "nn/math/kmeans.h"

static const double *point(const sample_space *s, uint32_t i) {
    return s->points + (size_t)i * s->width;
}

static bool is_picked(const sample_picks *p, uint32_t item) {
    uint32_t i = 0;
    while (i < p->count && p->items[i] != item) i++;
    return i < p->count;
}

static void add(sample_picks *p, uint32_t item, double value) {
    assert(item != FT_NONE && !is_picked(p, item));
    p->items[p->count] = item;
    p->values[p->count++] = value;
}

/* --- Variance: optimal design of a ridge regression over all points ------------------------------------------- */

/* The variance of measurements, about (3 %)^2. */
static const double NOISE = 1e-3;

typedef struct covariance {
    uint32_t width;
    double *c;               /* of the weights, given the picks */
    double *moment;          /* sum over points of x x' */
    double *product, *value; /* c * moment * c; scratch space */
} covariance;

static void multiply(const double *a, const double *b, uint32_t n, double *c) {
    memset(c, 0, (size_t)n * n * sizeof *c);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t j = 0; j < n; j++) c[(size_t)i * n + j] += a[(size_t)i * n + k] * b[(size_t)k * n + j];
}

/* x' a x for a symmetric matrix a. */
static double quadratic(const double *a, const double *x, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double row = 0;
        for (uint32_t j = 0; j < i; j++) row += a[(size_t)i * n + j] * x[j];
        sum += x[i] * (2 * row + a[(size_t)i * n + i] * x[i]);
    }
    return sum;
}

static double trace_product(const double *a, const double *b, uint32_t n) {
    double sum = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) sum += a[i] * b[i];
    return sum;
}

/* Updates the covariance of the weights as if x had been measured. */
static void condition(covariance *v, const double *x) {
    uint32_t n = v->width;
    double total = NOISE;
    for (uint32_t i = 0; i < n; i++) {
        v->value[i] = 0;
        for (uint32_t j = 0; j < n; j++) v->value[i] += v->c[(size_t)i * n + j] * x[j];
        total += v->value[i] * x[i];
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) v->c[(size_t)i * n + j] -= v->value[i] * v->value[j] / total;
}

/* Picks the point that lowers the total variance most. Its value is the share of the remaining variance, in percent. */
static void pick_step(const sample_space *s, covariance *v, double *scratch, sample_picks *picks) {
    uint32_t n = v->width, best = FT_NONE;
    double max = -1, before = trace_product(v->c, v->moment, n);
    multiply(v->c, v->moment, n, scratch);
    multiply(scratch, v->c, n, v->product);
    for (uint32_t i = 0; i < s->count; i++) {
        double gain = quadratic(v->product, point(s, i), n) / (quadratic(v->c, point(s, i), n) + NOISE);
        if (gain <= max || is_picked(picks, i)) continue;
        max = gain;
        best = i;
    }
    condition(v, point(s, best));
    add(picks, best, before > 0 ? 100 * max / before : 0);
}

static ft_status pick_variance(const sample_space *s, uint32_t count, uint64_t seed, sample_picks *picks,
                               ft_error *error) {
    (void)seed;
    uint32_t n = s->width;
    size_t cells = (size_t)n * n;
    double *scratch = calloc(4 * cells + n, sizeof *scratch);
    if (scratch == NULL) return FT_NOMEM(error);
    covariance v = {.width = n, .c = scratch, .moment = scratch + cells, .product = scratch + 2 * cells};
    v.value = scratch + 4 * cells;
    for (uint32_t i = 0; i < n; i++) v.c[(size_t)i * n + i] = 1;
    for (uint32_t p = 0; p < s->count; p++) {
        const double *x = point(s, p);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; x[i] != 0 && j < n; j++) v.moment[(size_t)i * n + j] += x[i] * x[j];
    }
    while (picks->count < count) pick_step(s, &v, scratch + 3 * cells, picks);
    free(scratch);
    return FT_OK;
}

/* --- k-means: the model nearest to the center of each cluster, the largest cluster first ------------------------ */

/* Clusters the points weighted by their members: points are repeated, MAX_POINTS in total. */
static ft_status cluster(const sample_space *s, uint32_t count, uint64_t seed, kmeans *k, ft_error *error) {
    enum { MAX_POINTS = 4000 };
    double members = 0;
    uint32_t copies = 0;
    for (uint32_t i = 0; i < s->count; i++) members += s->members[i];
    if (members == s->count) return kmeans_fit(s->points, s->count, s->width, count, seed, k, error);
    double each = fmax(1, members / MAX_POINTS);
    double *points = malloc(((size_t)MAX_POINTS + s->count) * s->width * sizeof *points);
    if (points == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t times = (uint32_t)fmax(1, floor(s->members[i] / each));
        for (uint32_t c = 0; c < times; c++)
            memcpy(points + (size_t)copies++ * s->width, point(s, i), s->width * sizeof *points);
    }
    assert(copies <= MAX_POINTS + s->count);
    ft_status status = kmeans_fit(points, copies, s->width, count, seed, k, error);
    free(points);
    return status;
}

static ft_status pick_kmeans(const sample_space *s, uint32_t count, uint64_t seed, sample_picks *picks,
                             ft_error *error) {
    kmeans k;
    FT_TRY(cluster(s, count, seed, &k, error));
    while (picks->count < count) {
        uint32_t largest = 0, best = FT_NONE;
        double nearest = INFINITY;
        for (uint32_t c = 1; c < count; c++)
            if (k.members[c] > k.members[largest]) largest = c;
        for (uint32_t i = 0; i < s->count; i++) {
            double distance = kmeans_distance(point(s, i), k.centers + (size_t)largest * k.width, k.width);
            if (distance >= nearest || is_picked(picks, i)) continue;
            nearest = distance;
            best = i;
        }
        add(picks, best, k.members[largest]);
        k.members[largest] = 0;
    }
    kmeans_free(&k);
    return FT_OK;
}

/* --- Central moment discrepancy ------------------------------------------------------------------------------- */

enum { MOMENTS = 5 };

/* Columns scaled to a range of 1 around their mean, and their central moments. */
typedef struct moments {
    uint32_t width;
    double *points; /* count x width */
    double *all;    /* MOMENTS x width */
} moments;

static ft_status moments_make(const sample_space *s, moments *m, ft_error *error) {
    uint32_t n = s->width;
    m->width = n;
    m->points = malloc(((size_t)s->count + MOMENTS) * n * sizeof *m->points);
    if (m->points == NULL) return FT_NOMEM(error);
    m->all = m->points + (size_t)s->count * n;
    memset(m->all, 0, (size_t)MOMENTS * n * sizeof *m->all);
    for (uint32_t k = 0; k < n; k++) {
        double min = INFINITY, max = -INFINITY, mean = 0;
        for (uint32_t i = 0; i < s->count; i++) {
            double x = point(s, i)[k];
            min = fmin(min, x);
            max = fmax(max, x);
            mean += x / s->count;
        }
        for (uint32_t i = 0; i < s->count; i++) {
            double x = max > min ? (point(s, i)[k] - mean) / (max - min) : 0, power = 1;
            m->points[(size_t)i * n + k] = x;
            for (uint32_t j = 0; j < MOMENTS; j++) {
                power *= x;
                m->all[(size_t)j * n + k] += power / s->count;
            }
        }
    }
    return FT_OK;
}

/* The distance between the moments of all points and those of `count` points (given as sums), plus `more` unless NULL.
 */
static double distance_of(const moments *m, const double *sums, uint32_t count, const double *more) {
    double total = 0;
    for (uint32_t j = 0; j < MOMENTS; j++) {
        double squares = 0;
        for (uint32_t k = 0; k < m->width; k++) {
            double sum = sums[(size_t)j * m->width + k], power = more != NULL ? more[k] : 0, x = power;
            for (uint32_t i = 0; i < j; i++) power *= x;
            double off = (sum + power) / (count + (more != NULL)) - m->all[(size_t)j * m->width + k];
            squares += off * off;
        }
        total += sqrt(squares);
    }
    return total;
}

static void add_moments(const moments *m, const double *x, double *sums) {
    for (uint32_t k = 0; k < m->width; k++) {
        double power = 1;
        for (uint32_t j = 0; j < MOMENTS; j++) {
            power *= x[k];
            sums[(size_t)j * m->width + k] += power;
        }
    }
}

static ft_status pick_cmd(const sample_space *s, uint32_t count, uint64_t seed, sample_picks *picks, ft_error *error) {
    (void)seed;
    moments m;
    double *sums = calloc((size_t)MOMENTS * s->width, sizeof *sums);
    ft_status status = sums != NULL ? moments_make(s, &m, error) : FT_NOMEM(error);
    while (status == FT_OK && picks->count < count) {
        uint32_t best = FT_NONE;
        double min = INFINITY;
        for (uint32_t i = 0; i < s->count; i++) {
            if (is_picked(picks, i)) continue;
            double distance = distance_of(&m, sums, picks->count, m.points + (size_t)i * m.width);
            if (distance >= min) continue;
            min = distance;
            best = i;
        }
        add_moments(&m, m.points + (size_t)best * m.width, sums);
        add(picks, best, min);
    }
    if (status == FT_OK) free(m.points);
    free(sums);
    return status;
}

ft_status sample_discrepancy(const sample_space *s, const uint32_t *items, uint32_t count, double *discrepancy,
                             ft_error *error) {
    moments m;
    double *sums = calloc((size_t)MOMENTS * s->width, sizeof *sums);
    ft_status status = sums != NULL ? moments_make(s, &m, error) : FT_NOMEM(error);
    if (status == FT_OK) {
        for (uint32_t i = 0; i < count; i++) add_moments(&m, m.points + (size_t)items[i] * m.width, sums);
        *discrepancy = distance_of(&m, sums, count, NULL);
        free(m.points);
    }
    free(sums);
    return status;
}

/* --- Uncertainty, and random ------------------------------------------------------------------------------------ */

static ft_status pick_uncertainty(const sample_space *s, uint32_t count, uint64_t seed, sample_picks *picks,
                                  ft_error *error) {
    (void)seed;
    (void)error;
    while (picks->count < count) {
        uint32_t best = FT_NONE;
        for (uint32_t i = 0; i < s->count; i++)
            if (!is_picked(picks, i) && (best == FT_NONE || s->uncertainty[i] > s->uncertainty[best])) best = i;
        add(picks, best, 100 * (exp(s->uncertainty[best]) - 1));
    }
    return FT_OK;
}

static ft_status pick_random(const sample_space *s, uint32_t count, uint64_t seed, sample_picks *picks,
                             ft_error *error) {
    uint32_t *order = malloc(s->count * sizeof *order);
    rng random;
    if (order == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < s->count; i++) order[i] = i;
    rng_init(&random, seed, 0);
    rng_shuffle(&random, order, s->count);
    for (uint32_t i = 0; i < count; i++) add(picks, order[i], 0);
    free(order);
    return FT_OK;
}

/* --- List of methods --------------------------------------------------------------------------------------------- */

const sample_method sample_methods[] = {
    {"variance", "greedily, the model that lowers the variance of predictions over the pool most; the default",
     "lowers the remaining variance by %.3g %%", pick_variance},
    {"kmeans", "the model nearest to the center of each k-means cluster, as in CDMPP",
     "represents a cluster of %.0f models", pick_kmeans},
    {"cmd", "greedily, the model that brings the central moments of the sample nearest to those of the pool",
     "central moment discrepancy %.3g", pick_cmd},
    {"uncertainty", "the models with the widest intervals", "its time may be %.0f %% off", pick_uncertainty},
    {"random", "at random", "at random", pick_random},
};
const uint32_t sample_method_total = sizeof sample_methods / sizeof sample_methods[0];

ft_status sample_method_find(const char *name, const sample_method **method, ft_error *error) {
    for (uint32_t i = 0; i < sample_method_total; i++) {
        if (name != NULL && strcmp(name, sample_methods[i].name) != 0) continue;
        *method = &sample_methods[i];
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE, "no method '%s'; the methods are variance, kmeans, cmd, uncertainty and random",
                   name);
}
