/* runs.c - sums up repeated runs, and recognises noise. */
#include <math.h>
#include <stdlib.h>

#include "measure/measure.h"

#define STEADY_RATIO  1.01 /* minima that differ by less are the same */
#define WAITING_RATIO 1.10 /* wall time over processor time of one thread that had a core for itself */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double runs_minimum(const double *us, uint32_t count) {
    double minimum = INFINITY;
    for (uint32_t i = 0; i < count; i++) minimum = fmin(minimum, us[i]);
    return minimum;
}

double runs_median(double *us, uint32_t count) {
    if (count == 0) return NAN;
    qsort(us, count, sizeof *us, by_value);
    return count % 2 == 1 ? us[count / 2] : (us[count / 2 - 1] + us[count / 2]) / 2;
}

bool runs_are_steady(const double *us, uint32_t count) {
    if (count < RUNS_MIN) return false;
    return runs_minimum(us, count - count / 3) <= STEADY_RATIO * runs_minimum(us, count);
}

/* Processor time is what can be repeated on a machine that others use, so steadiness is that of processor time; a
 * minimum of wall time far above it is not the time of the model on an idle machine. */
void runs_summarize(run_series *runs, ft_measurement *m) {
    bool is_steady = runs_are_steady(runs->cpu_us, runs->count);
    m->runs = runs->count;
    m->time_us = runs_minimum(runs->wall_us, runs->count);
    m->cpu_us = runs_minimum(runs->cpu_us, runs->count);
    m->time_median_us = runs_median(runs->wall_us, runs->count);
    m->cpu_median_us = runs_median(runs->cpu_us, runs->count);
    if (m->noise != FT_NOISE_NONE) return;
    if (m->time_us * m->threads > WAITING_RATIO * m->cpu_us && m->threads == 1)
        m->noise = FT_NOISE_WAITING;
    else if (!is_steady)
        m->noise = FT_NOISE_UNSTEADY;
}
