/* metrics.c - computes the error scores of predictions. */
#include "learn/score/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/score/rank.h"

#define FIELD(name, title, aim, decimals, drop)                                                                        \
    { #name, title, offsetof(ft_score, name), aim, decimals, drop }

const score_field score_fields[SCORE_FIELDS] = {
    FIELD(mape, "MAPE", AIM_LOW, 2, 0),        FIELD(rmspe, "RMSPE", AIM_LOW, 2, 5),
    FIELD(acc5, "<=5 %", AIM_HIGH, 1, 4),      FIELD(acc10, "<=10 %", AIM_HIGH, 1, 0),
    FIELD(rmse, "RMSE", AIM_LOW, 3, 8),        FIELD(spearman, "Spearman", AIM_HIGH, 4, 7),
    FIELD(kendall, "Kendall", AIM_HIGH, 4, 9), FIELD(coverage90, "Cover", AIM_NINETY, 1, 2),
    FIELD(width90, "Width", AIM_LOW, 1, 6),    FIELD(bias, "Bias", AIM_ZERO, 2, 3),
    FIELD(acc20, "<=20 %", AIM_HIGH, 1, 10),
};

double score_value(const ft_score *score, const score_field *field) {
    double value;
    memcpy(&value, (const char *)score + field->offset, sizeof value);
    return value;
}

void score_set(ft_score *score, const score_field *field, double value) {
    memcpy((char *)score + field->offset, &value, sizeof value);
}

/* 1.05 against 1 is within 5 %, although the computed quotient is a rounding error above 0.05. */
static const double ROUNDING = 1 + 1e-12;

double metrics_relative_error(const ft_case *c) {
    return fabs(c->predicted - c->measured) / c->measured;
}

static void score_errors(const ft_case *cases, uint32_t count, ft_score *score) {
    double sum = 0, squares = 0, absolute = 0, within[3] = {0};
    for (uint32_t i = 0; i < count; i++) {
        double error = metrics_relative_error(&cases[i]), difference = cases[i].predicted - cases[i].measured;
        sum += error;
        squares += error * error;
        absolute += difference * difference;
        within[0] += error <= 0.05 * ROUNDING;
        within[1] += error <= 0.10 * ROUNDING;
        within[2] += error <= 0.20 * ROUNDING;
    }
    double n = count; /* without cases 0 / 0: NaN */
    score->mape = 100 * (sum / n);
    score->rmspe = 100 * sqrt(squares / n);
    score->acc5 = 100 * (within[0] / n);
    score->acc10 = 100 * (within[1] / n);
    score->acc20 = 100 * (within[2] / n);
    score->rmse = sqrt(absolute / n);
}

static void score_intervals(const ft_case *cases, uint32_t count, ft_score *score) {
    double inside = 0, width = 0;
    for (uint32_t i = 0; i < count; i++) {
        const ft_case *c = &cases[i];
        inside += c->measured >= c->lo && c->measured <= c->hi;
        width += (c->hi - c->lo) / c->measured;
    }
    double n = count;
    score->width90 = 100 * (width / n);
    score->coverage90 = isnan(width) ? (double)NAN : 100 * (inside / n);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count) {
    if (count == 0) return (double)NAN;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The scores that need sorting: rank correlations and the median. `columns` has room for two numbers per case. */
static ft_status score_orders(const ft_case *cases, uint32_t count, double *columns, ft_score *score, ft_error *error) {
    double *measured = columns, *predicted = columns + count;
    for (uint32_t i = 0; i < count; i++) {
        measured[i] = cases[i].measured;
        predicted[i] = cases[i].predicted;
    }
    FT_TRY(rank_spearman(measured, predicted, count, &score->spearman, error));
    FT_TRY(rank_kendall(measured, predicted, count, &score->kendall, error));
    for (uint32_t i = 0; i < count; i++) columns[i] = cases[i].predicted / cases[i].measured - 1;
    score->bias = 100 * median(columns, count);
    return FT_OK;
}

ft_status metrics_score(const ft_case *cases, uint32_t count, ft_score *score, ft_error *error) {
    assert(count == 0 || cases != NULL);
    ft_score made = *score;
    double *columns = calloc(count > 0 ? count : 1, 2 * sizeof *columns);
    if (columns == NULL) return FT_NOMEM(error);
    made.n = count;
    score_errors(cases, count, &made);
    score_intervals(cases, count, &made);
    ft_status status = score_orders(cases, count, columns, &made, error);
    free(columns);
    if (status == FT_OK) *score = made;
    return status;
}

void metrics_mean(const ft_score *scores, uint32_t count, ft_score *mean) {
    mean->n = 0;
    for (uint32_t i = 0; i < count; i++) mean->n += scores[i].n;
    for (size_t f = 0; f < SCORE_FIELDS; f++) {
        double sum = 0, known = 0;
        for (uint32_t i = 0; i < count; i++) {
            double value = score_value(&scores[i], &score_fields[f]);
            if (isnan(value)) continue;
            sum += value;
            known++;
        }
        score_set(mean, &score_fields[f], sum / known);
    }
}
