/* gradient.h - compares gradients of the tape with finite differences.
 *
 * A test registers parameters and passes a function that computes a tensor from them. The loss is the sum of its
 * elements with fixed weights, so that every element counts; each parameter is then varied, and the change of the loss
 * is compared with the gradient. */
#ifndef TESTS_GRADIENT_H
#define TESTS_GRADIENT_H

#include "nn/ops.h"

typedef tensor *gradient_case(tape *t, const void *user);

/* Parameters with normal values of deviation 0.5 around `centre`: "p0", "p1", ... of the shapes given as pairs. */
void gradient_params(params *p, float centre, uint32_t count, const uint32_t (*shapes)[2]);

/* Fails the test when a gradient is off by more than `tolerance` of the largest one, or when the result differs
 * between training and inference (_train_only: for dropout and batch norms, where it should). Frees the parameters. */
void gradient_check(params *p, gradient_case *make, const void *user, double tolerance);
void gradient_check_train_only(params *p, gradient_case *make, const void *user, double tolerance);

/* The result of `make` on a new tape, as a copy that the caller frees. */
float *gradient_forward(const params *p, tape_mode mode, gradient_case *make, const void *user);

/* Runs a step with `make` under growing memory limits: each failure must be reported. Frees the parameters. */
void gradient_check_memory(params *p, gradient_case *make, const void *user);

#endif
