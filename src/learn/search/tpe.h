/* tpe.h - a tree-structured Parzen estimator: proposes the next point of a search from the points evaluated so far.
 *
 * The best points are one sample, the others a second one; each sample becomes a density, a mixture of Gaussian kernels
 * around its points and a uniform part. Candidates are drawn from the first density, and the one with the largest
 * ratio of the first density to the second is chosen. A kernel spans all keys at once, so that dependencies between
 * keys are found. */
#ifndef LEARN_TPE_H
#define LEARN_TPE_H

#include "learn/search/space.h"

enum { TPE_MIN_POINTS = 8 }; /* with fewer evaluated points the proposal is uniform */

/* The logarithm of the density of a sample of points at `values`, relative to a uniform draw. */
double tpe_log_density(const space *s, const double *const *points, uint32_t count, const double *values);

/* `seen`: `count` evaluated points from the best to the worst, followed by `waiting` points that are not evaluated yet.
 * Those count as bad, so that points proposed together differ. */
void tpe_suggest(const space *s, const double *const *seen, uint32_t count, uint32_t waiting, rng *random,
                 double *values);

#endif
