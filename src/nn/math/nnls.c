/* nnls.c - block principal pivoting, started by a few sweeps of coordinate descent.
 *
 * Each variable is free or at one of its bounds. With the free ones at the solution of their own equations, a variable
 * may be on the wrong side: free but outside of its bounds, or at a bound from which the gradient points inwards. All
 * such variables change sides at once, as long as their number falls; when it does not for a while, only the last one
 * does, which always terminates (Murty). Coordinate descent gets most sides right at the cost of one pivot.
 *
 * Variables are scaled so that the matrix has ones on its diagonal. JITTER on top of them makes it definite. */
#include "nn/math/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/math/blas.h"
#include "nn/math/linalg.h"

#define JITTER    1e-11
#define TOLERANCE 1e-10 /* of bounds and gradients, relative to the largest */

enum { SWEEPS = 30, PATIENCE = 6, MAX_STEPS = 2000 };

typedef enum side { FREE, AT_LOWER, AT_UPPER } side;

typedef struct solver {
    const blas *blas;
    uint32_t count;
    double *memory;
    double *matrix; /* (count, count); scaled, as all that follow */
    double *factor; /* Cholesky factor of the free variables */
    double *target, *lower, *upper, *x, *gradient, *solution;
    double *scale;
    uint32_t *free_variables;
    side *sides, *correct;
    double x_tolerance, gradient_tolerance;
} solver;

/* --- Input --------------------------------------------------------------------------------------------------- */

static double item(const double *items, uint32_t i, double otherwise) {
    return items != NULL ? items[i] : otherwise;
}

static ft_status check_variable(const nnls_problem *p, uint32_t i, ft_error *error) {
    const double *row = p->gram + (size_t)i * p->count;
    double ridge = item(p->ridge, i, 0), lower = item(p->lower, i, 0), upper = item(p->upper, i, INFINITY);
    bool is_finite = isfinite(p->moment[i]) && isfinite(ridge) && isfinite(item(p->prior, i, 0));
    for (uint32_t j = 0; j < p->count; j++) is_finite &= isfinite(row[j]) != 0;
    if (!is_finite) return ft_fail(error, FT_ERR_DAMAGED, "least squares: variable %u: not a finite number", i);
    if (row[i] < 0 || ridge < 0)
        return ft_fail(error, FT_ERR_DAMAGED, "least squares: variable %u: a negative square or ridge", i);
    if (!(lower <= upper) || lower == (double)INFINITY || upper == -(double)INFINITY)
        return ft_fail(error, FT_ERR_USAGE, "least squares: variable %u: no value between the bounds %g and %g", i,
                       lower, upper);
    return FT_OK;
}

static ft_status check(const nnls_problem *p, ft_error *error) {
    if (p->count == 0 || p->count > NNLS_MAX_COUNT)
        return ft_fail(error, FT_ERR_LIMIT, "least squares: %u variables; 1 to %d are supported", p->count,
                       NNLS_MAX_COUNT);
    for (uint32_t i = 0; i < p->count; i++) FT_TRY(check_variable(p, i, error));
    return FT_OK;
}

static ft_status begin_memory(solver *s, ft_error *error) {
    size_t n = s->count;
    s->memory = calloc(2 * n * n + 7 * n, sizeof *s->memory);
    s->free_variables = calloc(n, sizeof *s->free_variables);
    s->sides = calloc(2 * n, sizeof *s->sides);
    if (s->memory == NULL || s->free_variables == NULL || s->sides == NULL) return FT_NOMEM(error);
    double *next = s->memory;
    s->matrix = next;
    s->factor = next += n * n;
    s->target = next += n * n;
    s->lower = next += n;
    s->upper = next += n;
    s->x = next += n;
    s->gradient = next += n;
    s->solution = next += n;
    s->scale = next + n;
    s->correct = s->sides + n;
    return FT_OK;
}

static double clamped(const solver *s, uint32_t i, double x) {
    return fmin(fmax(x, s->lower[i]), s->upper[i]);
}

static void begin_scaled(solver *s, const nnls_problem *p) {
    uint32_t n = s->count;
    for (uint32_t i = 0; i < n; i++) {
        double diagonal = p->gram[(size_t)i * n + i] + item(p->ridge, i, 0);
        s->scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
    }
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        double *row = s->matrix + (size_t)i * n, prior = item(p->prior, i, 0), ridge = item(p->ridge, i, 0);
        for (uint32_t j = 0; j < n; j++) row[j] = p->gram[(size_t)i * n + j] * s->scale[i] * s->scale[j];
        row[i] += ridge * s->scale[i] * s->scale[i] + JITTER;
        s->target[i] = (p->moment[i] + ridge * prior) * s->scale[i] + JITTER * prior / s->scale[i];
        s->lower[i] = item(p->lower, i, 0) / s->scale[i];
        s->upper[i] = item(p->upper, i, INFINITY) / s->scale[i];
        s->x[i] = clamped(s, i, prior / s->scale[i]);
        largest = fmax(largest, fabs(s->target[i]));
    }
    s->gradient_tolerance = TOLERANCE * largest;
}

/* --- Coordinate descent -------------------------------------------------------------------------------------- */

static void find_gradient(solver *s) {
    memcpy(s->gradient, s->target, s->count * sizeof *s->target);
    s->blas->dsymv(CblasRowMajor, CblasLower, (int)s->count, 1, s->matrix, (int)s->count, s->x, 1, -1, s->gradient, 1);
}

static void sweep(solver *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        const double *row = s->matrix + (size_t)i * s->count;
        double moved = clamped(s, i, s->x[i] - s->gradient[i] / row[i]), by = moved - s->x[i];
        if (by == 0) continue;
        s->x[i] = moved;
        s->blas->daxpy((int)s->count, by, row, 1, s->gradient, 1);
    }
}

static void descend(solver *s, int sweeps) {
    find_gradient(s);
    for (int i = 0; i < sweeps; i++) sweep(s);
}

static void find_sides(solver *s) {
    for (uint32_t i = 0; i < s->count; i++)
        s->sides[i] = s->x[i] <= s->lower[i] ? AT_LOWER : s->x[i] >= s->upper[i] ? AT_UPPER : FREE;
}

/* --- Pivoting ------------------------------------------------------------------------------------------------ */

/* Sets variables at bounds to these, and the free ones to the zero of their gradient, by one Newton step. */
static void solve_free(solver *s) {
    uint32_t n = s->count, count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s->sides[i] == FREE)
            s->free_variables[count++] = i;
        else
            s->x[i] = s->sides[i] == AT_LOWER ? s->lower[i] : s->upper[i];
    }
    find_gradient(s);
    for (uint32_t a = 0; a < count; a++) {
        const double *row = s->matrix + (size_t)s->free_variables[a] * n;
        for (uint32_t b = 0; b <= a; b++) s->factor[(size_t)a * count + b] = row[s->free_variables[b]];
        s->solution[a] = s->gradient[s->free_variables[a]];
    }
    cholesky_factor(s->factor, count, JITTER);
    cholesky_solve(s->factor, count, s->solution);
    double largest = 0;
    for (uint32_t a = 0; a < count; a++) {
        double *x = &s->x[s->free_variables[a]];
        *x -= s->solution[a];
        largest = fmax(largest, fabs(*x));
    }
    s->x_tolerance = TOLERANCE * largest;
    find_gradient(s);
}

/* The side that a variable should be on. */
static side side_of(const solver *s, uint32_t i) {
    if (s->sides[i] == FREE) {
        if (s->x[i] < s->lower[i] - s->x_tolerance) return AT_LOWER;
        return s->x[i] > s->upper[i] + s->x_tolerance ? AT_UPPER : FREE;
    }
    if (s->lower[i] == s->upper[i]) return s->sides[i];
    double push = s->sides[i] == AT_LOWER ? -s->gradient[i] : s->gradient[i];
    return push > s->gradient_tolerance ? FREE : s->sides[i];
}

static uint32_t find_misplaced(solver *s, uint32_t *last) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        s->correct[i] = side_of(s, i);
        if (s->correct[i] == s->sides[i]) continue;
        wrong++;
        *last = i;
    }
    return wrong;
}

static bool pivot(solver *s) {
    uint32_t fewest = UINT32_MAX, last = 0;
    int tries = PATIENCE;
    for (int i = 0; i < MAX_STEPS; i++) {
        solve_free(s);
        uint32_t wrong = find_misplaced(s, &last);
        if (wrong == 0) return true;
        if (wrong < fewest) {
            fewest = wrong;
            tries = PATIENCE;
        } else if (tries > 0) {
            tries--;
        }
        if (tries > 0)
            memcpy(s->sides, s->correct, s->count * sizeof *s->sides);
        else
            s->sides[last] = s->correct[last];
    }
    return false;
}

/* The unscaled solution; bounds are copied, as scaling there and back may round them. */
static double unscaled(const solver *s, const nnls_problem *p, uint32_t i) {
    double lower = item(p->lower, i, 0), upper = item(p->upper, i, INFINITY);
    if (s->sides[i] == FREE) return fmin(fmax(s->x[i] * s->scale[i], lower), upper);
    return s->sides[i] == AT_LOWER ? lower : upper;
}

static ft_status solve(solver *s, const nnls_problem *p, double *x, ft_error *error) {
    FT_TRY(begin_memory(s, error));
    begin_scaled(s, p);
    descend(s, SWEEPS);
    find_sides(s);
    if (!pivot(s))
        return ft_fail(error, FT_ERR_INTERNAL, "least squares: %u variables not solved in %d steps; increase the ridge",
                       s->count, MAX_STEPS);
    for (uint32_t i = 0; i < s->count; i++) x[i] = unscaled(s, p, i);
    return FT_OK;
}

ft_status nnls_solve(const nnls_problem *problem, double *x, ft_error *error) {
    solver s = {.count = problem->count};
    FT_TRY(check(problem, error));
    FT_TRY(blas_load(error));
    s.blas = blas_begin();
    ft_status status = solve(&s, problem, x, error);
    blas_end();
    free(s.memory);
    free(s.free_variables);
    free(s.sides);
    return status;
}
