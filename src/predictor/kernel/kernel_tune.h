/* kernel_tune.h - trains the networks of a kernel-sum predictor further, on a few models of a new kind.
 *
 * Dozens of models could be learned by heart. Three things stand against that: few steps, an anchor that holds the last
 * layers where they were, and the central moment discrepancy (CMD): moments one to five of what the hidden layers make
 * of the measured kernels have to stay near what they were, so that other devices and models find the features that
 * they were trained with. */
#ifndef PREDICTOR_KERNEL_TUNE_H
#define PREDICTOR_KERNEL_TUNE_H

#include "predictor/core/family.h"

ft_status kernel_tune(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                      void **out, ft_error *error);

#endif
