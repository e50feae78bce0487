#include "learn/score/bootstrap.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"

/* A thousand draws place the ends of the interval well enough; of very many values, fewer draws do. */
enum { MOST_DRAWS = 1000, LEAST_DRAWS = 200, WORK = 50000000 };

static uint32_t count_draws(uint64_t value_count) {
    uint64_t draws = value_count > 0 ? WORK / value_count : MOST_DRAWS;
    return draws > MOST_DRAWS ? MOST_DRAWS : draws < LEAST_DRAWS ? LEAST_DRAWS : (uint32_t)draws;
}

/* The mean of the means of groups, of the values as they are (no generator) or as drawn. */
static double mean_of(const double *values, const uint32_t *groups, uint32_t group_count, rng *generator) {
    double total = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        double sum = 0;
        for (uint32_t i = 0; i < groups[g]; i++) sum += values[generator != NULL ? rng_below(generator, groups[g]) : i];
        total += sum / groups[g];
        values += groups[g];
    }
    return total / group_count;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

ft_status bootstrap(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed, uint64_t stream,
                    bootstrap_result *result, ft_error *error) {
    uint64_t value_count = 0;
    rng generator;
    for (uint32_t g = 0; g < group_count; g++) value_count += groups[g];
    uint32_t draws = count_draws(value_count);
    double *means = calloc(draws, sizeof *means);
    if (means == NULL) return FT_NOMEM(error);
    rng_init(&generator, seed, stream);
    for (uint32_t i = 0; i < draws; i++) means[i] = mean_of(values, groups, group_count, &generator);
    qsort(means, draws, sizeof *means, by_size);
    *result = (bootstrap_result){
        .mean = mean_of(values, groups, group_count, NULL),
        .lo = means[(uint32_t)(0.025 * draws)],
        .hi = means[draws - 1 - (uint32_t)(0.025 * draws)],
    };
    free(means);
    return FT_OK;
}
