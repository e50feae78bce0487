/* subject.h - a bound graph that predictions are made about, with what several predictors and devices need of it.
 *
 * Costs and kernels are computed when they are first asked for and then kept, so that a graph which is asked about for
 * four devices is costed once and fused once per runtime. Not for several threads at a time. */
#ifndef PREDICTOR_MODEL_VIEW_H
#define PREDICTOR_MODEL_VIEW_H

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
    model_view *twin; /* another subject of the same shapes, whose kernels are also those of this one; may be NULL */
    uint32_t runtime_count;
    struct {
        const ft_rules *rules; /* borrowed, the key */
        ft_kernels kernels;
    } runtimes[MODEL_VIEW_MAX_RUNTIMES];
    arena memory; /* of what is kept */
    uint32_t kept_count;
    struct {
        const void *key;
        void *data;
    } kept[MODEL_VIEW_MAX_CACHED];
};

void model_view_init(model_view *s, const ft_graph *bound, const ft_request *request);
void model_view_free(model_view *s);
ft_status model_view_cost(model_view *s, const ft_cost **cost, ft_error *error);
ft_status model_view_kernels(model_view *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error);

/* Who keeps what is the same for all batches and types: the twin, or the subject itself. */
model_view *model_view_owner(model_view *s);
/* What a family worked out of a subject for one device and wants to find again for the next. The key is an address
 * that is the family's own; data is from s->memory. NULL when nothing is kept. */
void *model_view_cached(const model_view *s, const void *key);
/* Does nothing when there is no room: whoever looks must be ready not to find. */
void model_view_cache(model_view *s, const void *key, void *data);

#endif
