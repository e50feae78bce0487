/* tpe.h - where to look next, by what was seen: a tree-structured Parzen estimator.
 *
 * The best points seen are taken for a sample of where good points are, the others for a sample of where bad ones are;
 * each sample becomes a density, a mixture of bumps around its points and of an even part. Candidates are drawn from
 * the first density, and the one for which it is largest relative to the second is taken. A bump spans all keys at
 * once, so that keys that only go together are found together. */
#ifndef LEARN_TPE_H
#define LEARN_TPE_H

#include "learn/search/space.h"

enum { TPE_LEAST = 8 }; /* points seen before the densities are worth anything: until then it draws evenly */

/* `seen`: `count` points from the best to the worst, then `waiting` ones that nothing is known of yet. Those count as
 * bad, so that points that are chosen together are not all the same. */
void tpe_suggest(const space *s, const double *const *seen, uint32_t count, uint32_t waiting, rng *random,
                 double *values);

#endif
