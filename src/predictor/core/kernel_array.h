/* kernel_array.h - how long an array of multipliers takes for a convolution, counted in its own steps.
 *
 * A runtime whose rules say "convolutions": "array" hands convolutions to such an array. What it takes is no matter of
 * multiply-accumulates alone: channels that do not fill it leave multipliers idle. */
#ifndef PREDICTOR_KERNEL_ARRAY_H
#define PREDICTOR_KERNEL_ARRAY_H

enum {
    ARRAY_MULTIPLIERS = 256,
    ARRAY_COEFFICIENTS = 512, /* that it holds for one output and one way */
    ARRAY_WAYS = 5,           /* inputs are split 1, 2, 4, 8 or 16 ways */
    ARRAY_OUTPUTS = 1 << 18   /* elements of an output that stay on chip: half a megabyte in float16 */
};

/* Steps for one pixel of the output: of as many input channels, output channels and elements of the window. */
double array_steps(double inputs, double outputs, double window);

/* How often weights are read again: once for each part beyond the first that an output is made in. */
double array_rereads(double output_elements);

#endif
