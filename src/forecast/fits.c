/* fits.c - whether a step fits into memory, and how large a batch may be. */
#include <math.h>

#include "base/error.h"
#include "foretell/forecast.h"

/* Factor by which memory without an interval is assumed to be off at most. */
static const double UNMEASURED_FACTOR = 1.2;

const char *ft_fit_name(ft_fit fit) {
    static const char *const names[] = {"yes", "no", "uncertain"};
    return (size_t)fit < sizeof names / sizeof names[0] ? names[fit] : "unknown";
}

ft_fit ft_result_fit(const ft_result *result, double free_bytes) {
    const ft_metric_result *m = ft_result_memory(result);
    double lo = isfinite(m->lo) ? m->lo : m->value / UNMEASURED_FACTOR;
    double hi = isfinite(m->hi) ? m->hi : m->value * UNMEASURED_FACTOR;
    if (hi <= free_bytes) return FT_FITS;
    return lo > free_bytes ? FT_FITS_NOT : FT_FIT_UNCERTAIN;
}

typedef struct batch_search {
    const ft_predictor_set *set;
    const ft_graph *model;
    const ft_binding *shapes;
    ft_request request;
    double free_bytes;
} batch_search;

static ft_status fit_at(batch_search *s, int64_t batch, ft_fit *fit, ft_error *error) {
    ft_results results;
    s->request.batch = batch;
    FT_TRY(ft_predict(s->set, s->model, s->shapes, &s->request, 1, &results, error));
    *fit = ft_result_fit(&results.items[0], s->free_bytes);
    ft_results_free(&results);
    return FT_OK;
}

/* The largest batch up to `max_batch` that fits, or may fit (memory grows with the batch): 0 for none. */
static ft_status largest(batch_search *s, int64_t max_batch, bool may_be_uncertain, int64_t *found, ft_error *error) {
    int64_t good = 0, bad = 1;
    for (;;) { /* doubling */
        ft_fit fit;
        FT_TRY(fit_at(s, bad, &fit, error));
        if (fit == FT_FITS_NOT || (fit == FT_FIT_UNCERTAIN && !may_be_uncertain)) break;
        good = bad;
        if (good == max_batch) break;
        bad = bad > max_batch / 2 ? max_batch : 2 * bad;
    }
    while (bad - good > 1) { /* halving */
        int64_t middle = good + (bad - good) / 2;
        ft_fit fit;
        FT_TRY(fit_at(s, middle, &fit, error));
        bool is_good = fit == FT_FITS || (fit == FT_FIT_UNCERTAIN && may_be_uncertain);
        if (is_good)
            good = middle;
        else
            bad = middle;
    }
    *found = good;
    return FT_OK;
}

ft_status ft_max_batch(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                       const ft_request *request, double free_bytes, int64_t max_batch, ft_max_batch_result *result,
                       ft_error *error) {
    if (max_batch < 1) return ft_fail(error, FT_ERR_USAGE, "the largest batch to try must be 1 or more");
    batch_search s = {set, model, shapes, *request, free_bytes};
    ft_max_batch_result made;
    FT_TRY(largest(&s, max_batch, false, &made.certain, error));
    FT_TRY(largest(&s, max_batch, true, &made.possible, error));
    *result = made;
    return FT_OK;
}
