/* util_anchor.h - utilisation of a step by arithmetic: times of kernels over the time of the step.
 *
 * A few constants, all of them positive, say how much slower kernels are than the data sheet allows, what a launch
 * takes on the GPU and on the host, and what the batches cost that the training process makes. They are found by least
 * absolute errors. Nothing else is known of a model than its kernels, so the same constants serve all kinds of models.
 */
#ifndef PREDICTOR_UTILISATION_UTIL_ANCHOR_H
#define PREDICTOR_UTILISATION_UTIL_ANCHOR_H

#include "predictor/utilisation/util_step.h"

/* What is predicted, in the order of the names. */
typedef enum util_output { UTIL_BUSY, UTIL_ACTIVE, UTIL_OCCUPANCY, UTIL_OUTPUTS } util_output;
extern const char *const util_output_names[UTIL_OUTPUTS]; /* "gpu_util_ratio", ... */

enum {
    UTIL_RATE,                             /* by kind: time of a kernel over that of the data sheet */
    UTIL_FIXED = UTIL_RATE + UTIL_KINDS,   /* by kind: microseconds of a launch on the GPU */
    UTIL_LOADER = UTIL_FIXED + UTIL_KINDS, /* microseconds of a batch on the host, */
    UTIL_LOADER_SAMPLE,                    /* of a sample */
    UTIL_LOADER_ELEM,                      /* and nanoseconds of an element of the input */
    UTIL_LAUNCH,                           /* microseconds of a launch on the host */
    UTIL_LAUNCH_TENSOR,                    /* and of a tensor that the optimiser updates */
    UTIL_FILLED,                           /* factors of what is filled and resident */
    UTIL_RESIDENT,
    UTIL_RUNNING, /* share of a measured run in which steps run */
    UTIL_CONSTANTS
};

/* The step in microseconds, and what follows from it. */
typedef struct util_anchor {
    double kernels_us, launch_us, loader_us, step_us;
    double values[UTIL_OUTPUTS]; /* ratios of the step */
} util_anchor;

void util_anchor_of(const util_totals *totals, const double constants[static UTIL_CONSTANTS], util_anchor *anchor);
/* The highest of the phases (forward pass, backward pass, optimiser), each by itself; the last is the share of the
 * bandwidth of the memory. */
void util_anchor_peaks(const util_totals *totals, const double constants[static UTIL_CONSTANTS],
                       double peaks[static UTIL_OUTPUTS + 1]);

/* Measured values of a row; NaN: not measured. */
typedef struct util_sample {
    util_totals totals;
    double labels[UTIL_OUTPUTS];
} util_sample;

void util_anchor_fit(const util_sample *const *samples, uint32_t count, double constants[static UTIL_CONSTANTS]);

/* Numbers about a step that do not depend on its size, for trees and for its distance to what was measured. */
enum { UTIL_FEATURES = 14 };
void util_features_of(const util_totals *totals, const util_anchor *anchor, float features[static UTIL_FEATURES]);

#endif
