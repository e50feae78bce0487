/* kmeans.h - k-means with the seeding of k-means++: the same points, count and seed give the same clusters. */
#ifndef NN_KMEANS_H
#define NN_KMEANS_H

#include <stdint.h>

#include "foretell/status.h"

typedef struct kmeans {
    uint32_t count, width;
    double *centers;   /* count x width */
    uint32_t *cluster; /* per point */
    uint32_t *members; /* per cluster */
    double inertia;    /* squared distances to the centers, added up */
    uint32_t iterations;
} kmeans;

/* `points`: rows x width, finite. `count` is 1 to rows. A cluster that loses all its points takes the one that is
 * farthest from its own center, so none is empty unless points are equal. */
ft_status kmeans_fit(const double *points, uint32_t rows, uint32_t width, uint32_t count, uint64_t seed, kmeans *out,
                     ft_error *error);
void kmeans_free(kmeans *k);

double kmeans_distance(const double *a, const double *b, uint32_t width); /* squared */

#endif
