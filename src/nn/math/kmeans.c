/* kmeans.c - k-means++ seeding, then Lloyd's algorithm. points: (rows, width), nearest: (rows), squared distances. */
#include "nn/math/kmeans.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "base/rng.h"

enum { MAX_ITERATIONS = 100 };

double kmeans_distance(const double *a, const double *b, uint32_t width) {
    double sum = 0;
    for (uint32_t i = 0; i < width; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

void kmeans_free(kmeans *k) {
    free(k->centers);
    free(k->cluster);
    free(k->members);
    *k = (kmeans){0};
}

/* --- Seeding ------------------------------------------------------------------------------------------------- */

/* A random row with probability proportional to its weight (rows); any row when all weights are 0. */
static uint32_t draw(rng *random, const double *weights, uint32_t rows) {
    double total = 0, left;
    for (uint32_t i = 0; i < rows; i++) total += weights[i];
    if (!(total > 0)) return rng_below(random, rows);
    left = rng_uniform(random) * total;
    for (uint32_t i = 0; i < rows; i++) {
        left -= weights[i];
        if (left < 0) return i;
    }
    uint32_t last = rows - 1;
    while (last > 0 && weights[last] == 0) last--;
    return last;
}

/* Each center is a point, drawn with probability proportional to its squared distance from those before. */
static void seed_centers(const double *points, uint32_t rows, kmeans *k, uint64_t seed, double *nearest) {
    rng random;
    rng_init(&random, seed, 0);
    for (uint32_t c = 0; c < k->count; c++) {
        uint32_t chosen = c == 0 ? rng_below(&random, rows) : draw(&random, nearest, rows);
        double *center = k->centers + (size_t)c * k->width;
        memcpy(center, points + (size_t)chosen * k->width, k->width * sizeof *center);
        for (uint32_t i = 0; i < rows; i++) {
            double distance = kmeans_distance(points + (size_t)i * k->width, center, k->width);
            nearest[i] = c == 0 ? distance : fmin(nearest[i], distance);
        }
    }
}

/* --- Iterating ----------------------------------------------------------------------------------------------- */

/* Assigns every point to its nearest center; true when one changed its cluster. */
static bool assign(const double *points, uint32_t rows, kmeans *k, double *nearest) {
    bool has_moved = false;
    memset(k->members, 0, k->count * sizeof *k->members);
    k->inertia = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t best = 0;
        nearest[i] = INFINITY;
        for (uint32_t c = 0; c < k->count; c++) {
            double distance =
                kmeans_distance(points + (size_t)i * k->width, k->centers + (size_t)c * k->width, k->width);
            if (distance >= nearest[i]) continue;
            nearest[i] = distance;
            best = c;
        }
        has_moved = has_moved || k->cluster[i] != best;
        k->cluster[i] = best;
        k->members[best]++;
        k->inertia += nearest[i];
    }
    return has_moved;
}

/* Centers become the means of their points; an empty cluster gets the point farthest from its center. */
static void move_centers(const double *points, uint32_t rows, kmeans *k, double *nearest) {
    memset(k->centers, 0, (size_t)k->count * k->width * sizeof *k->centers);
    for (uint32_t i = 0; i < rows; i++) {
        double *center = k->centers + (size_t)k->cluster[i] * k->width;
        for (uint32_t j = 0; j < k->width; j++)
            center[j] += points[(size_t)i * k->width + j] / k->members[k->cluster[i]];
    }
    for (uint32_t c = 0; c < k->count; c++) {
        if (k->members[c] > 0) continue;
        uint32_t farthest = 0;
        for (uint32_t i = 1; i < rows; i++)
            if (nearest[i] > nearest[farthest]) farthest = i;
        memcpy(k->centers + (size_t)c * k->width, points + (size_t)farthest * k->width, k->width * sizeof *k->centers);
        nearest[farthest] = 0;
    }
}

ft_status kmeans_fit(const double *points, uint32_t rows, uint32_t width, uint32_t count, uint64_t seed, kmeans *out,
                     ft_error *error) {
    assert(count > 0 && count <= rows);
    size_t cells;
    kmeans k = {.count = count, .width = width};
    if (!num_mul_size(count, (size_t)width + 1, &cells) || !num_mul_size(cells, sizeof(double), &cells))
        return ft_fail(error, FT_ERR_LIMIT, "k-means: %u clusters of %u values do not fit memory", count, width);
    k.centers = malloc(cells);
    k.cluster = malloc(rows * sizeof *k.cluster);
    k.members = calloc(count, sizeof *k.members);
    double *nearest = malloc(rows * sizeof *nearest);
    if (k.centers == NULL || k.cluster == NULL || k.members == NULL || nearest == NULL) {
        kmeans_free(&k);
        free(nearest);
        return FT_NOMEM(error);
    }
    memset(k.cluster, 0xff, rows * sizeof *k.cluster);
    seed_centers(points, rows, &k, seed, nearest);
    while (assign(points, rows, &k, nearest) && ++k.iterations < MAX_ITERATIONS)
        move_centers(points, rows, &k, nearest);
    free(nearest);
    *out = k;
    return FT_OK;
}
