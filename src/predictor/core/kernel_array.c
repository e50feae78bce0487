/* kernel_array.c - the array of the Myriad X, as the open compiler of OpenVINO reckons with it.
 *
 * In one step, each of 256 multipliers takes one coefficient. They serve 256 outputs of one input channel, or 128
 * outputs of two, and so on to 16 outputs of 16; the compiler takes the split that needs the fewest steps. Adding up
 * the ways of a split takes steps too. */
#include "predictor/core/kernel_array.h"

#include <math.h>

static const double ADDING_STEPS[ARRAY_WAYS] = {0, 5, 11, 19, 31};

/* Steps when the inputs are taken in so many parts, one after the other; infinite when coefficients do not fit. */
static double steps_in_parts(double inputs, double outputs, double window, double parts) {
    double best = INFINITY;
    for (int i = 0; i < ARRAY_WAYS; i++) {
        double ways = (double)(1 << i), depth = ceil(ceil(inputs / parts) / ways) * window;
        double steps = parts * ceil(outputs * ways / ARRAY_MULTIPLIERS) * (depth + ADDING_STEPS[i]);
        if (depth <= ARRAY_COEFFICIENTS) best = fmin(best, steps);
    }
    return best;
}

double array_steps(double inputs, double outputs, double window) {
    enum { MOST_PARTS = 64 };
    for (int parts = 1; parts <= MOST_PARTS; parts++) {
        double steps = steps_in_parts(inputs, outputs, window, parts);
        if (isfinite(steps)) return steps;
    }
    return inputs * outputs * window / ARRAY_MULTIPLIERS; /* larger than any the compiler would give to the array */
}

double array_rereads(double output_elements) {
    return fmax(0, output_elements / ARRAY_OUTPUTS - 1);
}
