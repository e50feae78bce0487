/* line.h - a network of one weight and one bias that is trained to y = 2 x + 1, for tests of training. */
#ifndef TESTS_LINE_H
#define TESTS_LINE_H

#include "nn/descent.h"
#include "nn/layer.h"

enum { LINE_PARTS = 3, LINE_ROWS = 8 };

typedef struct line {
    params values;
    layer_linear layer;
    float x[LINE_PARTS][LINE_ROWS], y[LINE_PARTS][LINE_ROWS];
    descent steps;
} line;

void line_init(line *l, uint64_t seed);
void line_free(line *l); /* closes the descent, if open */
ft_status line_begin(line *l, uint32_t steps, uint64_t seed, ft_error *error);
ft_status line_step(line *l, double *loss, ft_error *error);
/* The absolute errors of slope and intercept, summed. */
double line_error(const line *l);

#endif
