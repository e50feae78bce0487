/* block.h - what is done to whole blocks of parameters or gradients: plain arrays of floats. */
#ifndef NN_BLOCK_H
#define NN_BLOCK_H

#include <stddef.h>

/* `count` floats, unset, on a cache line; to be freed with free(). NULL when out of memory. */
float *block_new(size_t count);

/* The length of the block as a vector; the sum is made in the same order everywhere. */
double block_norm(const float *x, size_t count);
/* Scales a block that is longer than `limit` down to it; returns what it was. A limit of 0 changes nothing. A length
 * that is no number or infinite stays as it is: whoever steps has to look. */
double block_clip(float *x, size_t count, double limit);
/* average = decay average + (1 - decay) x: the moving average of parameters that predicts better than the last. */
void block_average(float *average, const float *x, size_t count, double decay);

#endif
