/* spread.h - how positive numbers are distributed, however many there are: counted in bins of equal ratio.
 *
 * Quantiles are good to about two percent, and exact where all numbers of a bin are the same (small whole numbers). */
#ifndef LEARN_SPREAD_H
#define LEARN_SPREAD_H

#include <stdint.h>

enum { SPREAD_BINS = 2048, SPREAD_PER_OCTAVE = 32, SPREAD_LOWEST = -16 /* octaves: 2^-16 .. 2^48 */ };

#define SPREAD_RARE 0.005 /* the share at each end that nobody learns much from */

typedef struct spread_bin {
    uint64_t count;
    double sum;
} spread_bin;

typedef struct spread {
    uint64_t count;
    double least, most;
    spread_bin bins[SPREAD_BINS];
} spread;

/* Numbers that are not positive and finite are left out. */
void spread_add(spread *s, double value);
/* NaN when there is none. */
double spread_quantile(const spread *s, double share);
/* The share of `s` that is smaller or larger than 99 of 100 in `known`; NaN when either is empty. */
double spread_outside(const spread *s, const spread *known);
/* The share of `s` in from <= value < to, by the means of the bins. */
double spread_share(const spread *s, double from, double to);

#endif
