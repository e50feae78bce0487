/* fits.c - whether a step fits into memory, and how large a batch may be. */
#include <math.h>

#include "base/error.h"
#include "foretell/forecast.h"

/* What a memory without interval may be off by. */
static const double UNMEASURED = 1.2;

const char *ft_fit_name(ft_fit fit) {
    static const char *const names[] = {"yes", "no", "uncertain"};
    return (size_t)fit < sizeof names / sizeof names[0] ? names[fit] : "unknown";
}

ft_fit ft_result_fit(const ft_result *forecast, double free_bytes) {
    const ft_metric_result *m = &forecast->memory;
    double least = isfinite(m->lo) ? m->lo : m->value / UNMEASURED;
    double most = isfinite(m->hi) ? m->hi : m->value * UNMEASURED;
    if (most <= free_bytes) return FT_FITS;
    return least > free_bytes ? FT_FITS_NOT : FT_FIT_UNCERTAIN;
}

typedef struct hunt {
    const ft_predictor_set *box;
    const ft_graph *model;
    const ft_binding *shapes;
    ft_request request;
    double free_bytes;
} hunt;

static ft_status fit_at(hunt *h, int64_t batch, ft_fit *fit, ft_error *error) {
    ft_results answers;
    h->request.batch = batch;
    FT_TRY(ft_predict(h->box, h->model, h->shapes, &h->request, 1, &answers, error));
    *fit = ft_result_fit(&answers.items[0], h->free_bytes);
    ft_results_free(&answers);
    return FT_OK;
}

/* The largest batch up to `most` whose fit is at most as bad as `worst` (memory grows with the batch): 0 for none. */
static ft_status largest(hunt *h, int64_t most, bool may_be_uncertain, int64_t *found, ft_error *error) {
    int64_t good = 0, bad = 1;
    for (;;) { /* doubling */
        ft_fit fit;
        FT_TRY(fit_at(h, bad, &fit, error));
        if (fit == FT_FITS_NOT || (fit == FT_FIT_UNCERTAIN && !may_be_uncertain)) break;
        good = bad;
        if (good == most) break;
        bad = bad > most / 2 ? most : 2 * bad;
    }
    while (bad - good > 1) { /* halving */
        int64_t middle = good + (bad - good) / 2;
        ft_fit fit;
        FT_TRY(fit_at(h, middle, &fit, error));
        bool is_good = fit == FT_FITS || (fit == FT_FIT_UNCERTAIN && may_be_uncertain);
        if (is_good)
            good = middle;
        else
            bad = middle;
    }
    *found = good;
    return FT_OK;
}

ft_status ft_max_batch(const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes,
                       const ft_request *request, double free_bytes, int64_t most, ft_max_batch_result *found,
                       ft_error *error) {
    if (most < 1) return ft_fail(error, FT_ERR_USAGE, "the largest batch to look at must be 1 or more");
    hunt h = {box, model, shapes, *request, free_bytes};
    ft_max_batch_result made;
    FT_TRY(largest(&h, most, false, &made.sure, error));
    FT_TRY(largest(&h, most, true, &made.possible, error));
    *found = made;
    return FT_OK;
}
