/* rng.h - pseudo-random numbers, identical on every machine: xoshiro256**, seeded through splitmix64. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

/* `stream` selects independent sequences of one seed: per graph, per layer, per epoch. */
void rng_init(rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *r);
double rng_uniform(rng *r);                 /* [0, 1) */
double rng_normal(rng *r);                  /* mean 0, deviation 1 */
uint32_t rng_below(rng *r, uint32_t limit); /* 0 .. limit-1, without bias */
void rng_shuffle(rng *r, uint32_t *items, uint32_t count);

#endif
