/* fits.c - whether a step fits into memory, and how large a batch may be. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "forecast/job.h"

/* Factor by which memory without an interval is assumed to be off at most. */
static const double UNMEASURED_FACTOR = 1.2;

const char *ft_fit_name(ft_fit fit) {
    static const char *const names[] = {"yes", "no", "uncertain"};
    return (size_t)fit < sizeof names / sizeof names[0] ? names[fit] : "unknown";
}

ft_fit ft_result_fit(const ft_result *result, double free_bytes) {
    const ft_metric_result *m = ft_result_memory(result);
    if (m == NULL || isnan(m->value) || isnan(free_bytes)) return FT_FIT_UNCERTAIN;
    double lo = isfinite(m->lo) ? m->lo : m->value / UNMEASURED_FACTOR;
    double hi = isfinite(m->hi) ? m->hi : m->value * UNMEASURED_FACTOR;
    double share = result->request.mode == FT_INFER ? result->request.serving.utilization_ratio : 0;
    if (share > 0) free_bytes *= share; /* a runtime uses so much of it */
    assert(!(lo > hi));
    if (hi <= free_bytes) return FT_FITS;
    return lo > free_bytes ? FT_FITS_NOT : FT_FIT_UNCERTAIN;
}

/* A model and the request whose batch, or whose context, is varied. */
typedef struct batch_trial {
    forecast_context *context;
    const ft_request *request;
    double free_bytes;
    bool is_context;
} batch_trial;

/* Whether the batch (or the context of the request's batch) fits, or, with `or_uncertain`, whether it may fit. */
static ft_status is_good(batch_trial *t, int64_t size, bool or_uncertain, bool *good, ft_error *error) {
    ft_metric_result memory;
    ft_request given = *t->request;
    ft_result result = {.metrics = &memory, .metric_count = 1};
    if (t->is_context) {
        given.serving.context_tokens = size;
        given.serving.prompt_tokens = given.serving.output_tokens = 0;
    }
    int64_t batch = !t->is_context ? size : given.batch > 0 ? given.batch : 1;
    FT_TRY(curve_memory(t->context, &given, batch, &memory, &result.request, error));
    ft_fit fit = ft_result_fit(&result, t->free_bytes);
    *good = fit == FT_FITS || (fit == FT_FIT_UNCERTAIN && or_uncertain);
    return FT_OK;
}

/* The largest batch up to `max_batch` that is good, 0 for none. Memory never falls when the batch grows (curve.c):
 * doubling finds a bad batch, and bisection the border. */
static ft_status find_largest(batch_trial *t, int64_t max_batch, bool or_uncertain, int64_t *found, ft_error *error) {
    int64_t largest_good = 0, next = 1;
    bool good = true;
    assert(max_batch >= 1);
    while (good && largest_good < max_batch) {
        FT_TRY(is_good(t, next, or_uncertain, &good, error));
        if (!good) continue;
        largest_good = next;
        next = next > max_batch / 2 ? max_batch : 2 * next;
    }
    int64_t smallest_bad = next;
    while (smallest_bad - largest_good > 1) {
        int64_t middle = largest_good + (smallest_bad - largest_good) / 2;
        FT_TRY(is_good(t, middle, or_uncertain, &good, error));
        *(good ? &largest_good : &smallest_bad) = middle;
    }
    assert(largest_good >= 0 && largest_good <= max_batch);
    *found = largest_good;
    return FT_OK;
}

static ft_status search_batches(forecast_context *c, const ft_request *request, const ft_batch_search *search,
                                ft_max_batch_result *result, ft_error *error) {
    batch_trial t = {.context = c, .request = request, .free_bytes = search->free_bytes};
    ft_max_batch_result made = {.free_bytes = search->free_bytes, .max_batch = search->max_batch};
    FT_TRY(find_largest(&t, search->max_batch, false, &made.certain, error));
    FT_TRY(find_largest(&t, search->max_batch, true, &made.possible, error));
    assert(made.certain <= made.possible);
    *result = made;
    return FT_OK;
}

ft_status ft_max_batch(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                       const ft_request *request, const ft_batch_search *search, ft_max_batch_result *result,
                       ft_error *error) {
    FT_REQUIRE(error, set, model, request, search, result);
    if (search->max_batch < 1) return ft_fail(error, FT_ERR_USAGE, "the largest batch to try must be 1 or more");
    forecast_context *c = malloc(sizeof *c);
    if (c == NULL) return FT_NOMEM(error);
    context_init(c, set, model, shapes);
    ft_status status = search_batches(c, request, search, result, error);
    context_free(c);
    free(c);
    return status;
}

/* --- Serving ----------------------------------------------------------------------------------------------------- */

enum { MAX_SEQUENCES = 1 << 20, MAX_CONTEXT = 1 << 28 };

ft_status context_capacity(forecast_context *c, const ft_request *request, double free_bytes, ft_capacity *capacity,
                           ft_error *error) {
    batch_trial batches = {.context = c, .request = request, .free_bytes = free_bytes}, contexts = batches;
    int64_t longest = serving_longest_context(c->model);
    contexts.is_context = true;
    *capacity = (ft_capacity){.max_context = longest};
    if (isnan(free_bytes)) return FT_OK;
    if (longest == 0) longest = MAX_CONTEXT;
    FT_TRY(find_largest(&batches, MAX_SEQUENCES, false, &capacity->certain_sequences, error));
    FT_TRY(find_largest(&batches, MAX_SEQUENCES, true, &capacity->possible_sequences, error));
    FT_TRY(find_largest(&contexts, longest, false, &capacity->certain_context, error));
    return find_largest(&contexts, longest, true, &capacity->possible_context, error);
}

ft_status ft_serving_capacity(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                              const ft_request *request, double free_bytes, ft_capacity *capacity, bool *is_served,
                              ft_error *error) {
    FT_REQUIRE(error, set, model, request, capacity, is_served);
    forecast_context *c = malloc(sizeof *c);
    if (c == NULL) return FT_NOMEM(error);
    context_init(c, set, model, shapes);
    *capacity = (ft_capacity){0};
    *is_served = request_is_served(c, request);
    ft_status status = *is_served ? context_capacity(c, request, free_bytes, capacity, error) : FT_OK;
    context_free(c);
    free(c);
    return status;
}
