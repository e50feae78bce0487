/* line.c - a network of one weight and one bias. */
#include "support/line.h"

#include <math.h>

void line_init(line *l, uint64_t seed) {
    *l = (line){0};
    params_init(&l->values);
    l->layer = layer_linear_add(&l->values, "line", 1, 1, true);
    (void)params_finish(&l->values, seed, NULL);
    for (int i = 0; i < LINE_PARTS * LINE_ROWS; i++) {
        float x = (float)i / (LINE_PARTS * LINE_ROWS);
        l->x[i / LINE_ROWS][i % LINE_ROWS] = x;
        l->y[i / LINE_ROWS][i % LINE_ROWS] = 2 * x + 1;
    }
}

void line_free(line *l) {
    descent_close(&l->steps);
    params_free(&l->values);
}

ft_status line_begin(line *l, uint32_t steps, uint64_t seed, ft_error *error) {
    descent_options options = {.rate = 0.2, .steps = steps, .parts = LINE_PARTS, .seed = seed};
    return descent_open(&l->steps, &l->values, &options, error);
}

static tensor *part_loss(void *user, tape *t, uint32_t part) {
    const line *l = user;
    tensor *y = layer_linear_apply(t, &l->layer, tape_input(t, LINE_ROWS, 1, l->x[part]), ACT_NONE);
    loss_options mean = {.kind = LOSS_MSE, .scale = 1.0F / (LINE_PARTS * LINE_ROWS)};
    return nn_loss(t, y, l->y[part], &mean);
}

ft_status line_step(line *l, double *loss, ft_error *error) {
    return descent_step(&l->steps, LINE_PARTS, part_loss, l, loss, error);
}

double line_error(const line *l) {
    return fabs((double)l->values.values[0] - 2) + fabs((double)l->values.values[1] - 1);
}
