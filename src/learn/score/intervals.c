/* intervals.c - conformal quantiles by device, and the bootstrap. */
#include "learn/score/intervals.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"

/* Slightly more than 0.9: coverage measured on a few thousand rows fluctuates by a percent, and too narrow an interval
 * is worse than too wide a one. */
static const double LEVEL = 0.905;
/* A predictor that is exact on every calibration row still gets an interval of positive width. */
static const double MIN_Q90 = 1e-6;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double calibrate_quantile(double *scores, uint32_t count, double level) {
    assert(count > 0 && level > 0 && level <= 1);
    qsort(scores, count, sizeof *scores, by_value);
    /* 0.9 in binary is slightly more than nine tenths: without the margin (9 + 1) * 0.9 could be rounded up to 10. */
    double rank = ceil(((double)count + 1) * level - 1e-9);
    if (rank < 1) rank = 1;
    return scores[rank < (double)count ? (uint32_t)rank - 1 : count - 1];
}

enum { MANY_SCORES = 30 };

/* The 0.95 quantile of Student's distribution. */
static double student(double freedom) {
    static const double QUANTILES[] = {6.314, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
                                       1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721,
                                       1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697};
    enum { KNOWN = sizeof QUANTILES / sizeof QUANTILES[0] };
    assert(freedom >= 0);
    return QUANTILES[freedom < KNOWN ? (uint32_t)freedom : KNOWN - 1];
}

static int by_score(const void *a, const void *b) {
    double x = ((const interval_score *)a)->value, y = ((const interval_score *)b)->value;
    return (x > y) - (x < y);
}

/* The mean square of sorted scores, of which the largest tenth count like the one before them. *is_cut: there are such
 * scores. */
static double mean_square(const interval_score *scores, uint32_t count, double total, bool *is_cut) {
    static const double TAIL = 0.1;
    double above = 0, sum = 0;
    uint32_t last = count - 1;
    while (last > 0 && above + scores[last].weight <= TAIL * total * (1 + 1e-9)) above += scores[last--].weight;
    *is_cut = last + 1 < count;
    for (uint32_t i = 0; i < count; i++) {
        double value = scores[i < last ? i : last].value;
        sum += scores[i].weight * value * value;
    }
    return sum / total;
}

static double few_quantile(const interval_score *scores, uint32_t count, double total, double expected) {
    static const double EXPECTED_SCORES = 3, DEVIATIONS = 1.645, WIDER = 1.1;
    bool is_cut, has_expected = expected > 0 && isfinite(expected);
    double mean = mean_square(scores, count, total, &is_cut), prior = has_expected ? EXPECTED_SCORES : 0,
           deviation = has_expected ? expected / DEVIATIONS : 0;
    double square = (count * mean + prior * deviation * deviation) / (count + prior);
    double freedom = count + prior > 2 ? count + prior - 1 : 1;
    return (is_cut ? WIDER : 1) * student(freedom) * sqrt((1 + 1.0 / count) * square);
}

double interval_quantile(interval_score *scores, uint32_t count, double expected) {
    static const double SHARE = 0.9;
    double total = 0, below = 0;
    assert(count > 0);
    qsort(scores, count, sizeof *scores, by_score);
    for (uint32_t i = 0; i < count; i++) total += scores[i].weight;
    if (count < MANY_SCORES) return few_quantile(scores, count, total, expected);
    for (uint32_t i = 0; i < count; i++) {
        below += scores[i].weight;
        if (below >= SHARE * total * (1 + 1.0 / count) - 1e-9) return scores[i].value;
    }
    return scores[count - 1].value;
}

static bool is_positive(double value) {
    return isfinite(value) && value > 0;
}

/* Collects the scores of a device, or of all of them (device == device_count), in the order of the rows. */
static uint32_t gather(const calibrate_row *rows, uint32_t count, uint32_t device, uint32_t device_count,
                       double *scores) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (device != device_count && rows[i].device != device) continue;
        scores[found++] = fabs(log(rows[i].measured / rows[i].predicted)) / rows[i].spread;
    }
    return found;
}

static ft_status check_rows(const calibrate_row *rows, uint32_t count, uint32_t device_count, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        const calibrate_row *row = &rows[i];
        if (row->device < device_count && is_positive(row->measured) && is_positive(row->predicted) &&
            is_positive(row->spread))
            continue;
        return ft_fail(error, FT_ERR_INTERNAL,
                       "calibration: predicted %g with spread %g, measured %g: values and spreads must be positive",
                       row->predicted, row->spread, row->measured);
    }
    return FT_OK;
}

/* The wider quantile of a sample without one of the rank; 0 for others. */
static double small_quantile(const double *scores, uint32_t count) {
    interval_score few[8];
    if (count > sizeof few / sizeof few[0]) return 0;
    for (uint32_t i = 0; i < count; i++) few[i] = (interval_score){scores[i], 1};
    return interval_quantile(few, count, 0);
}

ft_status calibrate(const calibrate_row *rows, uint32_t count, uint32_t device_count, double *q90, ft_error *error) {
    if (count == 0) return ft_fail(error, FT_ERR_INTERNAL, "calibration: no rows");
    FT_TRY(check_rows(rows, count, device_count, error));
    double *scores = malloc(count * sizeof *scores);
    if (scores == NULL) return FT_NOMEM(error);
    gather(rows, count, device_count, device_count, scores);
    double pooled = fmax(fmax(calibrate_quantile(scores, count, LEVEL), small_quantile(scores, count)), MIN_Q90);
    for (uint32_t d = 0; d < device_count; d++) {
        uint32_t found = gather(rows, count, d, device_count, scores);
        q90[d] = found < CALIBRATE_MIN_ROWS ? pooled : fmax(calibrate_quantile(scores, found, LEVEL), MIN_Q90);
    }
    free(scores);
    return FT_OK;
}

/* --- Bootstrap ----------------------------------------------------------------------------------------------- */

/* A thousand resamples locate the ends of the interval well enough; many values need fewer of them. MAX_WORK bounds the
 * values drawn in total. */
enum { MAX_DRAWS = 1000, MIN_DRAWS = 200, MAX_WORK = 50000000 };

static uint32_t count_draws(uint64_t value_count) {
    uint64_t draws = value_count > 0 ? MAX_WORK / value_count : MAX_DRAWS;
    return draws > MAX_DRAWS ? MAX_DRAWS : draws < MIN_DRAWS ? MIN_DRAWS : (uint32_t)draws;
}

/* The mean of the group means, of the values themselves (generator NULL) or of a resample. */
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

ft_status bootstrap(const double *values, const uint32_t *groups, uint32_t group_count, uint64_t seed, uint64_t stream,
                    bootstrap_result *result, ft_error *error) {
    uint64_t value_count = 0;
    rng generator;
    assert(group_count > 0);
    for (uint32_t g = 0; g < group_count; g++) {
        assert(groups[g] > 0);
        value_count += groups[g];
    }
    uint32_t draws = count_draws(value_count);
    double *means = calloc(draws, sizeof *means);
    if (means == NULL) return FT_NOMEM(error);
    rng_init(&generator, seed, stream);
    for (uint32_t i = 0; i < draws; i++) means[i] = mean_of(values, groups, group_count, &generator);
    qsort(means, draws, sizeof *means, by_value);
    *result = (bootstrap_result){
        .mean = mean_of(values, groups, group_count, NULL),
        .lo = means[(uint32_t)(0.025 * draws)],
        .hi = means[draws - 1 - (uint32_t)(0.025 * draws)],
    };
    free(means);
    return FT_OK;
}
