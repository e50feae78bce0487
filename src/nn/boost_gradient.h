/* boost_gradient.h - what happens to gradients between the objective and the tree. */
#ifndef NN_BOOST_GRADIENT_H
#define NN_BOOST_GRADIENT_H

#include "nn/boost.h"

/* Squared error on the labels: weight * (margin - label), and weight. */
void boost_squared_error(const boost_rows *rows, const float *margins, float *gradients, float *hessians);

/* The weighted mean of label - offset, and the root of the weighted mean squared error. */
double boost_mean_label(const boost_rows *rows);
double boost_rmse(const boost_rows *rows, const float *margins);

/* Refuses gradients that are not finite and hessians below zero. */
ft_status boost_check_gradients(const float *gradients, const float *hessians, size_t count, ft_error *error);

/* Leaves a share of the rows, which seed and round choose; the others get no gradient. */
void boost_sample(double share, uint64_t seed, uint32_t round, float *gradients, float *hessians, size_t count);

/* Rounds to a multiple of 2^k, k as small as it can be for sums of any of the values, in doubles and in any order, to
 * be exact. Only values below 2^-28 of the sum of all change. */
void boost_round_to_grid(float *values, size_t count);

#endif
