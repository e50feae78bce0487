/* kmeans.h - k-means clustering with k-means++ seeding; deterministic for given points, count and seed. */
#ifndef NN_KMEANS_H
#define NN_KMEANS_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct kmeans {
    uint32_t count, width;
    double *centers;   /* (count, width) */
    uint32_t *cluster; /* (rows): of each point */
    uint32_t *members; /* (count): points of each cluster */
    double inertia;    /* sum of the squared distances to the centers */
    uint32_t iterations;
} kmeans;

/* points: (rows, width), finite. `count`: 1 to rows. An empty cluster gets the point farthest from its center, so none
 * is empty unless points are equal. */
ft_status kmeans_fit(const double *points, uint32_t rows, uint32_t width, uint32_t count, uint64_t seed, kmeans *out,
                     ft_error *error);
void kmeans_free(kmeans *k);

/* Squared distance of a and b, (width) each. */
double kmeans_distance(const double *a, const double *b, uint32_t width);

#endif
