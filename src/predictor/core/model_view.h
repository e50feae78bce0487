/* model_view.h - a bound graph with everything that predictors compute of it: costs, kernels per runtime, and what
 * families cache.
 *
 * Costs and kernels are computed on first use and then kept, so that a graph that is predicted for four devices is
 * costed once and fused once per runtime. Not for several threads at a time. */
#ifndef PREDICTOR_CORE_MODEL_VIEW_H
#define PREDICTOR_CORE_MODEL_VIEW_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/kernel.h"
#include "foretell/predictor.h"

enum { MODEL_VIEW_MAX_RUNTIMES = 16, MODEL_VIEW_MAX_CACHED = 16 };

typedef struct model_view model_view;

struct model_view {
    const ft_graph *bound;
    ft_request request; /* what is the same for all devices: dtype, mode, setting */
    bool has_cost;
    ft_cost cost;
    model_view *twin; /* another view of the same shapes, whose kernels are shared; may be NULL */
    uint32_t runtime_count;
    struct {
        const ft_rules *rules; /* borrowed, the key */
        ft_kernels kernels;
    } runtimes[MODEL_VIEW_MAX_RUNTIMES];
    arena memory; /* of cached data */
    uint32_t cached_count;
    struct {
        const void *key;
        void *data;
    } cached[MODEL_VIEW_MAX_CACHED];
};

void model_view_init(model_view *s, const ft_graph *bound, const ft_request *request);
void model_view_free(model_view *s);
ft_status model_view_cost(model_view *s, const ft_cost **cost, ft_error *error);
ft_status model_view_kernels(model_view *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error);

/* The view that caches what is the same for all batches and types: the twin, or the view itself. */
model_view *model_view_owner(model_view *s);
/* Data that a family computed for one device and uses again for the next. The key is an address that belongs to the
 * family; data is from s->memory. NULL when nothing is cached. */
void *model_view_cached(const model_view *s, const void *key);
/* Does nothing when the cache is full, so a lookup may find nothing. */
void model_view_cache(model_view *s, const void *key, void *data);

#endif
