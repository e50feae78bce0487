#include "predictor/core/relative.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/num.h"
#include "nn/math/nnls.h"

ft_status relative_init(relative *r, uint32_t columns, ft_error *error) {
    *r = (relative){.columns = columns};
    if (columns > NNLS_MAX_COUNT)
        return ft_fail(error, FT_ERR_LIMIT, "%u columns are too many for least squares: at most %d", columns,
                       NNLS_MAX_COUNT);
    r->gram = calloc((size_t)columns * columns + 1, sizeof *r->gram);
    r->moment = calloc((size_t)columns + 1, sizeof *r->moment);
    if (r->gram != NULL && r->moment != NULL) return FT_OK;
    relative_free(r);
    return FT_NOMEM(error);
}

void relative_free(relative *r) {
    free(r->gram);
    free(r->moment);
    *r = (relative){0};
}

void relative_add(relative *r, const relative_entry *entries, uint32_t count, double label) {
    r->rows++;
    for (uint32_t i = 0; i < count; i++) {
        double a = entries[i].value / label, *row = r->gram + (size_t)entries[i].column * r->columns;
        r->moment[entries[i].column] += a;
        for (uint32_t j = 0; j < count; j++) row[entries[j].column] += a * (entries[j].value / label);
    }
}

/* Columns of length 1 (or 0, where nothing is in them). */
static void scale(const relative *r, double *lengths, double *gram, double *moment) {
    size_t n = r->columns;
    for (size_t i = 0; i < n; i++) lengths[i] = sqrt(r->gram[i * n + i]);
    for (size_t i = 0; i < n; i++) {
        moment[i] = lengths[i] > 0 ? r->moment[i] / lengths[i] : 0;
        for (size_t j = 0; j < n; j++) {
            double product = lengths[i] * lengths[j];
            gram[i * n + j] = product > 0 ? r->gram[i * n + j] / product : 0;
        }
    }
}

ft_status relative_solve(const relative *r, double ridge, float *weights, ft_error *error) {
    size_t n = r->columns;
    double *memory = calloc(n * n + 4 * n + 1, sizeof *memory);
    if (memory == NULL) return FT_NOMEM(error);
    double *gram = memory, *moment = gram + n * n, *lengths = moment + n, *pull = lengths + n, *x = pull + n;
    scale(r, lengths, gram, moment);
    for (size_t i = 0; i < n; i++) pull[i] = ridge;
    nnls_problem problem = {.count = r->columns, .gram = gram, .moment = moment, .ridge = pull};
    ft_status status = nnls_solve(&problem, x, error);
    for (size_t i = 0; status == FT_OK && i < n; i++) weights[i] = lengths[i] > 0 ? (float)(x[i] / lengths[i]) : 0;
    free(memory);
    return status;
}
