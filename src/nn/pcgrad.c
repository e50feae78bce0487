/* pcgrad.c - gradients of several tasks without conflicts (PCGrad).
 *
 * A projected gradient is a weighted sum of the original ones, and the weights depend only on the dot products of the
 * gradients. So no gradient is copied: one pass computes the dot products, one the result. */
#include <assert.h>
#include <string.h>

#include "nn/descent.h"
#include "nn/math/loops.h"

enum { STRIDE = 4096 }; /* floats per pair of gradients at a time: they stay in the cache */

typedef struct products {
    double of[PCGRAD_MAX_TASKS][PCGRAD_MAX_TASKS];
} products;

static void find_products(float *const *gradients, uint32_t tasks, size_t count, products *p) {
    memset(p, 0, sizeof *p);
    for (size_t first = 0; first < count; first += STRIDE) {
        size_t some = count - first < STRIDE ? count - first : STRIDE;
        for (uint32_t i = 0; i < tasks; i++)
            for (uint32_t j = 0; j <= i; j++)
                p->of[i][j] += (double)loop_dot(some, gradients[i] + first, gradients[j] + first);
    }
    for (uint32_t i = 0; i < tasks; i++)
        for (uint32_t j = 0; j < i; j++) p->of[j][i] = p->of[i][j];
}

/* weights (tasks): the projected gradient of task i as a combination of all gradients. */
static void project(const products *p, uint32_t tasks, uint32_t i, rng *random, double *weights) {
    uint32_t order[PCGRAD_MAX_TASKS];
    for (uint32_t j = 0; j < tasks; j++) {
        weights[j] = i == j;
        order[j] = j;
    }
    rng_shuffle(random, order, tasks);
    for (uint32_t k = 0; k < tasks; k++) {
        uint32_t j = order[k];
        double along = 0;
        for (uint32_t m = 0; m < tasks; m++) along += weights[m] * p->of[m][j];
        if (j != i && along < 0 && p->of[j][j] > 0) weights[j] -= along / p->of[j][j];
    }
}

void pcgrad(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result) {
    assert(tasks > 0);
    products p;
    double sums[PCGRAD_MAX_TASKS] = {0}, weights[PCGRAD_MAX_TASKS];
    bool is_plain = tasks > PCGRAD_MAX_TASKS;
    if (!is_plain) find_products(gradients, tasks, count, &p);
    for (uint32_t i = 0; !is_plain && i < tasks; i++) {
        project(&p, tasks, i, random, weights);
        for (uint32_t j = 0; j < tasks; j++) sums[j] += weights[j];
    }
    loop_fill(count, 0, result);
    for (uint32_t j = 0; j < tasks; j++)
        loop_add_scaled(count, (float)((is_plain ? 1 : sums[j]) / tasks), gradients[j], result);
}
