/* line.h - the smallest network there is, on its way to y = 2 x + 1: for tests of what trains networks. */
#ifndef TESTS_LINE_H
#define TESTS_LINE_H

#include "nn/descent.h"
#include "nn/layer.h"

enum { LINE_PARTS = 3, LINE_ROWS = 8 };

typedef struct line {
    params values;
    layer_linear layer;
    float x[LINE_PARTS][LINE_ROWS], y[LINE_PARTS][LINE_ROWS];
    descent way;
} line;

void line_init(line *l, uint64_t seed);
void line_free(line *l); /* the descent, if open, first */
ft_status line_begin(line *l, uint32_t steps, uint64_t seed, ft_error *error);
ft_status line_step(line *l, double *loss, ft_error *error);
/* How far slope and intercept are off, together. */
double line_error(const line *l);

#endif
