/* adjust_fit.c - ridge regression of a correction in the logarithm, by Gauss-Newton steps; see adjust_fit.h. */
#include "predictor/core/adjust_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/math/blas.h"
#include "nn/math/linalg.h"
#include "nn/math/nnls.h"

/* --- Cases --------------------------------------------------------------------------------------------------- */

void adjust_fit_scaling(adjustment *a, const explanation *made_of, uint32_t count) {
    for (uint32_t f = 0; f < a->sizes; f++) {
        double sum = 0, squares = 0, rows = 0;
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t r = 0; r < made_of[i].row_count; r++) {
                double x = made_of[i].features[(size_t)r * a->features + f];
                sum += x;
                squares += x * x;
                rows++;
            }
        }
        double mean = rows > 0 ? sum / rows : 0, variance = rows > 0 ? squares / rows - mean * mean : 0;
        a->mean[f] = (float)mean;
        a->inverse[f] = variance > 1e-6 ? (float)(1 / sqrt(variance)) : 0;
    }
}

ft_status adjust_case_make(const adjustment *a, const explanation *made_of, double measured, arena *memory,
                           adjust_case *out, ft_error *error) {
    size_t rows = made_of->row_count;
    assert(measured > 0 && made_of->feature_count == a->features && made_of->term_count == a->terms);
    *out = (adjust_case){.log_measured = log(measured), .weight = 1, .row_count = made_of->row_count};
    out->setting_count = made_of->setting_count;
    out->repeats = ARENA_ARRAY(memory, double, rows + 1);
    out->scaled = ARENA_ARRAY(memory, double, rows * a->features + 1);
    out->times = arena_copy(memory, made_of->times, rows * a->terms * sizeof *out->times);
    if (out->repeats == NULL || out->scaled == NULL || out->times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < made_of->count; i++) out->repeats[made_of->row_of != NULL ? made_of->row_of[i] : i]++;
    for (size_t i = 0; i < rows; i++)
        adjust_scale(a, made_of->features + i * a->features, out->scaled + i * a->features);
    return FT_OK;
}

double adjust_case_log(const adjustment *a, const adjust_case *c) {
    double sum = 0, times[ADJUST_MAX_TERMS], factors[ADJUST_MAX_TERMS];
    adjust_factors(a, factors);
    for (size_t i = 0; i < c->row_count; i++)
        sum += c->repeats[i] * adjust_row(a, factors, c->times + i * a->terms, c->scaled + i * a->features, times);
    return sum > 0 ? log(sum) : -INFINITY;
}

/* --- Gauss-Newton -------------------------------------------------------------------------------------------- */

/* Variances of the weights, by kind, and of the noise. */
typedef struct prior {
    double terms, sizes, flags, noise;
} prior;

static const double BIAS_VARIANCE = 0.1, SETTING_VARIANCE = 0.03;

typedef struct fitting {
    adjustment *a;
    const adjust_case *const *cases;
    uint32_t count, weights;
    uint32_t settings; /* how many features, the last ones, are of the setting */
    double *center;    /* of the prior */
    double *jacobian;  /* count x weights */
    double *residuals; /* per case: log(measured / predicted); then `weights` numbers of scratch memory */
    double *matrix, *vector;
    float *before; /* weights before a step */
} fitting;

static double variance_of(const fitting *f, const prior *p, uint32_t weight) {
    assert(weight < f->weights);
    if (weight == 0) return BIAS_VARIANCE;
    if (weight <= f->a->terms) return p->terms;
    if (weight >= f->weights - f->settings) return SETTING_VARIANCE;
    return weight <= f->a->terms + f->a->sizes ? p->sizes : p->flags;
}

/* The derivatives of the logarithm of a case's sum by each weight, and its residual. */
static void linearize(const fitting *f, uint32_t number) {
    const adjustment *a = f->a;
    const adjust_case *c = f->cases[number];
    double *slopes = f->jacobian + (size_t)number * f->weights, *of_terms = slopes + 1,
           *of_features = of_terms + a->terms;
    double total = 0, times[ADJUST_MAX_TERMS], factors[ADJUST_MAX_TERMS];
    adjust_factors(a, factors);
    memset(slopes, 0, f->weights * sizeof *slopes);
    for (size_t i = 0; i < c->row_count; i++) {
        const double *scaled = c->scaled + i * a->features;
        double sum = c->repeats[i] * adjust_row(a, factors, c->times + i * a->terms, scaled, times);
        total += sum;
        for (uint32_t k = 0; k < a->terms; k++) of_terms[k] += c->repeats[i] * times[k];
        for (uint32_t k = 0; k < a->features; k++) of_features[k] += sum * scaled[k];
    }
    for (uint32_t k = 1; k < f->weights; k++) slopes[k] /= total;
    slopes[0] = 1;
    f->residuals[number] = c->log_measured - log(total);
}

/* Residuals beyond this many deviations count by their size instead of its square. */
static const double HUBER_DEVIATIONS = 2;

/* The variance of the noise of a case, larger for outliers; the first step has no residuals to judge by. */
static double noise_of(const prior *p, double residual, bool is_first) {
    double far = is_first ? 0 : fabs(residual) / (HUBER_DEVIATIONS * sqrt(p->noise));
    return p->noise * (far > 1 ? far : 1);
}

/* One Gauss-Newton step: ridge regression around the center. Returns the negative logarithm of the evidence. */
static double step(const fitting *f, const prior *p, bool is_first) {
    uint32_t n = f->weights;
    double misfit = 0, logs = 0;
    memset(f->matrix, 0, (size_t)n * n * sizeof *f->matrix);
    memset(f->vector, 0, n * sizeof *f->vector);
    for (uint32_t i = 0; i < f->count; i++) {
        linearize(f, i);
        const double *slopes = f->jacobian + (size_t)i * n;
        double noise = noise_of(p, f->residuals[i], is_first) / f->cases[i]->weight, off = f->residuals[i];
        for (uint32_t k = 0; k < n; k++) off += slopes[k] * (f->a->weights[k] - f->center[k]);
        for (uint32_t k = 0; k < n; k++) {
            double scaled = slopes[k] / noise;
            for (uint32_t l = 0; l <= k; l++) f->matrix[(size_t)k * n + l] += scaled * slopes[l];
            f->vector[k] += scaled * off;
        }
        misfit += off * off / noise;
        logs += log(noise);
    }
    for (uint32_t k = 0; k < n; k++) {
        f->matrix[(size_t)k * n + k] += 1 / variance_of(f, p, k);
        logs += log(variance_of(f, p, k));
    }
    cholesky_factor(f->matrix, n, 1e-12);
    for (uint32_t k = 0; k < n; k++) f->residuals[f->count + k] = f->vector[k];
    cholesky_solve(f->matrix, n, f->vector);
    for (uint32_t k = 0; k < n; k++) {
        misfit -= f->vector[k] * f->residuals[f->count + k];
        logs += 2 * log(f->matrix[(size_t)k * n + k]);
        f->a->weights[k] = (float)(f->center[k] + f->vector[k]);
    }
    return (misfit + logs) / 2;
}

enum { STEPS = 4, SCALE_STEPS = 12, MAX_HALVINGS = 4 };

/* The objective of the steps: Huber loss of the residuals, and the distance of the weights to the center. */
static double cost_of(const fitting *f, const prior *p) {
    double sum = 0, edge = HUBER_DEVIATIONS * sqrt(p->noise);
    for (uint32_t i = 0; i < f->count; i++) {
        double off = fabs(f->cases[i]->log_measured - adjust_case_log(f->a, f->cases[i]));
        double squared = off < edge ? off * off / 2 : edge * (off - edge / 2);
        sum += f->cases[i]->weight * squared / p->noise;
    }
    for (uint32_t k = 0; k < f->weights; k++) {
        double moved = f->a->weights[k] - f->center[k];
        sum += moved * moved / (2 * variance_of(f, p, k));
    }
    return sum;
}

/* Gauss-Newton steps from the center; a step that does not lower the objective is halved, a few times. */
static double solve(const fitting *f, const prior *p, uint32_t steps) {
    double misfit = 0, lowest;
    for (uint32_t k = 0; k < f->weights; k++) f->before[k] = f->a->weights[k] = (float)f->center[k];
    lowest = cost_of(f, p);
    for (uint32_t i = 0; i < steps; i++) {
        misfit = step(f, p, i == 0);
        double cost = cost_of(f, p);
        for (uint32_t h = 0; !(cost <= lowest) && h < MAX_HALVINGS; h++) {
            for (uint32_t k = 0; k < f->weights; k++) f->a->weights[k] = (f->a->weights[k] + f->before[k]) / 2;
            cost = cost_of(f, p);
        }
        if (!(cost <= lowest)) {
            memcpy(f->a->weights, f->before, f->weights * sizeof *f->before);
            break;
        }
        lowest = cost;
        memcpy(f->before, f->a->weights, f->weights * sizeof *f->before);
    }
    return misfit;
}

/* --- Variances of prior and noise ---------------------------------------------------------------------------- */

enum { GRID = 5 };
static const double grids[4][GRID] = {{0.01, 0.1, 1},
                                      {0.0003, 0.003, 0.03},
                                      {0.003, 0.03, 0.3},
                                      {0.0001, 0.0004, 0.0016, 0.0064, 0.0256}}; /* 0 ends a list */

/* Maximises the evidence by coordinate search: one variance after the other, over a grid. */
static double search(const fitting *f, prior *best) {
    enum { SWEEPS = 2 };
    double *const fields[4] = {&best->terms, &best->sizes, &best->flags, &best->noise};
    double lowest = solve(f, best, STEPS);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        bool has_moved = false;
        for (uint32_t i = 0; i < 4; i++) {
            double kept = *fields[i];
            for (uint32_t j = 0; j < GRID && grids[i][j] > 0; j++) {
                double before = *fields[i];
                if (grids[i][j] == kept) continue;
                *fields[i] = grids[i][j];
                double misfit = solve(f, best, STEPS);
                if (misfit < lowest) {
                    lowest = misfit;
                    has_moved = true;
                } else {
                    *fields[i] = before;
                }
            }
        }
        if (!has_moved) break;
    }
    return lowest;
}

/* --- The center of the prior --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the logarithms of measured / predicted. */
static double median_residual(const fitting *f) {
    for (uint32_t i = 0; i < f->count; i++)
        f->residuals[i] = f->cases[i]->log_measured - adjust_case_log(f->a, f->cases[i]);
    qsort(f->residuals, f->count, sizeof *f->residuals, compare_doubles);
    return (f->residuals[(f->count - 1) / 2] + f->residuals[f->count / 2]) / 2;
}

/* A factor for each term by non-negative least squares of the relative error, with a ridge towards the common scale. */
static ft_status fit_term_factors(const fitting *f, double scale, ft_error *error) {
    static const double RIDGE = 0.003, MIN_FACTOR = 0.02;
    const adjustment *a = f->a;
    double gram[ADJUST_MAX_TERMS * ADJUST_MAX_TERMS] = {0}, moment[ADJUST_MAX_TERMS] = {0};
    double ridge[ADJUST_MAX_TERMS], ones[ADJUST_MAX_TERMS], x[ADJUST_MAX_TERMS];
    for (uint32_t i = 0; i < f->count; i++) {
        double shares[ADJUST_MAX_TERMS] = {0};
        const adjust_case *c = f->cases[i];
        for (size_t r = 0; r < c->row_count; r++)
            for (uint32_t k = 0; k < a->terms; k++) shares[k] += c->repeats[r] * c->times[r * a->terms + k];
        for (uint32_t k = 0; k < a->terms; k++) shares[k] *= exp(scale - c->log_measured);
        for (uint32_t k = 0; k < a->terms; k++) {
            for (uint32_t l = 0; l < a->terms; l++) gram[(size_t)k * a->terms + l] += shares[k] * shares[l];
            moment[k] += shares[k];
        }
    }
    for (uint32_t k = 0; k < a->terms; k++) {
        ridge[k] = RIDGE * fmax(gram[(size_t)k * a->terms + k], 1e-6 * f->count);
        ones[k] = 1;
    }
    nnls_problem problem = {.count = a->terms, .gram = gram, .moment = moment, .ridge = ridge, .prior = ones};
    FT_TRY(nnls_solve(&problem, x, error));
    for (uint32_t k = 0; k < a->terms; k++) f->center[1 + k] = log(fmax(x[k], MIN_FACTOR));
    return FT_OK;
}

static ft_status fit(const fitting *f, adjust_kind kind, double *misfit, ft_error *error) {
    adjustment *a = f->a;
    memset(a->weights, 0, f->weights * sizeof *a->weights);
    if (a->base == ADJUST_WORK) FT_TRY(adjust_fit_work(a, kind, f->cases, f->count, error));
    f->center[0] = median_residual(f);
    a->weights[0] = (float)f->center[0];
    *misfit = 0;
    if (f->count < ADJUST_MIN_REFIT || a->base == ADJUST_WORK) return FT_OK;
    if (kind == ADJUST_SCALE) {
        /* With little noise most cases count as outliers, so that the result is close to a median. */
        const prior still = {.terms = 1e-9, .sizes = 1e-9, .flags = 1e-9, .noise = 0.0004};
        if (f->settings > 0) solve(f, &still, SCALE_STEPS);
        return FT_OK;
    }
    if (kind == ADJUST_REFIT_COSTS) FT_TRY(fit_term_factors(f, f->center[0], error));
    prior best = {.terms = 0.1, .sizes = 0.003, .flags = 0.03, .noise = 0.0016};
    *misfit = search(f, &best);
    solve(f, &best, STEPS);
    for (uint32_t k = 0; k < f->weights; k++)
        if (!isfinite(a->weights[k]))
            return ft_fail(error, FT_ERR_INTERNAL, "adapting failed: a weight is not finite; check the measurements");
    return FT_OK;
}

ft_status adjust_fit(adjustment *a, adjust_kind kind, const adjust_case *const *cases, uint32_t count, double *misfit,
                     ft_error *error) {
    double unused;
    uint32_t n = (uint32_t)adjust_weight_count(a);
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "there are no measurements to adapt to");
    FT_TRY(blas_load(error));
    fitting f = {.a = a, .cases = cases, .count = count, .weights = n, .settings = cases[0]->setting_count};
    f.center = calloc(n, sizeof *f.center);
    f.jacobian = malloc((size_t)count * n * sizeof *f.jacobian);
    f.residuals = malloc(((size_t)count + n) * sizeof *f.residuals);
    f.matrix = malloc((size_t)n * n * sizeof *f.matrix);
    f.vector = malloc(n * sizeof *f.vector);
    f.before = malloc(n * sizeof *f.before);
    bool has_memory = f.before != NULL && f.center != NULL && f.jacobian != NULL && f.residuals != NULL &&
                      f.matrix != NULL && f.vector != NULL;
    ft_status status = has_memory ? fit(&f, kind, misfit != NULL ? misfit : &unused, error) : FT_NOMEM(error);
    free(f.center);
    free(f.jacobian);
    free(f.residuals);
    free(f.matrix);
    free(f.vector);
    free(f.before);
    return status;
}
