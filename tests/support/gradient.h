/* gradient.h - gradients of the tape beside finite differences.
 *
 * A test registers parameters, and gives a function that makes some tensor of them. It is weighed with fixed numbers
 * and added up, so that every element of it matters; then each parameter is moved a little, and the change of the sum
 * has to be what the gradient says. */
#ifndef TESTS_GRADIENT_H
#define TESTS_GRADIENT_H

#include "nn/ops.h"

typedef tensor *gradient_case(tape *t, const void *user);

/* Parameters with normal values of deviation 0.5 around `centre`: "p0", "p1", ... of the shapes given as pairs. */
void gradient_params(params *p, float centre, uint32_t count, const uint32_t (*shapes)[2]);

/* Fails the test when a gradient is off by more than `tolerance` of the largest one, or an operation does not give the
 * same when nothing is recorded (unless it is meant to: dropout, batch norms). Frees the parameters. */
void gradient_check(params *p, gradient_case *make, const void *user, double tolerance);
void gradient_check_train_only(params *p, gradient_case *make, const void *user, double tolerance);

/* `make` on a new tape: its result as a copy that the caller frees. */
float *gradient_forward(const params *p, tape_mode mode, gradient_case *make, const void *user);

/* Each allocation of a step with `make` fails in turn; the tape has to say so. Frees the parameters. */
void gradient_check_memory(params *p, gradient_case *make, const void *user);

#endif
