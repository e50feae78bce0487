/* halving.h - successive halving: many trials get little effort, and the better ones of them more.
 *
 * A generation of trials climbs rungs together. On the first each gets a small share of the full effort; the best of
 * them go on to the next, where they get `factor` times as much; the last rung is the full effort. Who goes on depends
 * on the losses of the generation alone, never on who was ready first: so the result does not depend on timing. */
#ifndef LEARN_HALVING_H
#define LEARN_HALVING_H

#include <stdbool.h>
#include <stdint.h>

enum { HALVING_MAX_RUNGS = 8 };

/* The share of the full effort that a rung gets: 1 on the last. */
double halving_share(uint32_t rung, uint32_t rungs, uint32_t factor);

/* Which of the trials of a rung go on: one of `factor`, at least one, those with the smallest losses; of equal ones the
 * first. A trial that failed (NaN) never does. Marks them and returns how many there are. */
uint32_t halving_promote(const double *losses, uint32_t count, uint32_t factor, bool *goes_on);

#endif
