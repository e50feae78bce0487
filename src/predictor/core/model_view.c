/* model_view.c - see model_view.h. */
#include "predictor/core/model_view.h"

#include <assert.h>

#include "base/error.h"

void model_view_init(model_view *s, const ft_graph *bound, const ft_request *request) {
    *s = (model_view){.bound = bound, .request = *request};
    s->request.device = NULL;
    s->request.sheet = NULL;
    arena_init(&s->memory, FT_MAX_GRAPH_BYTES);
}

void model_view_free(model_view *s) {
    ft_cost_free(&s->cost);
    for (uint32_t i = 0; i < s->runtime_count; i++) ft_kernels_free(&s->runtimes[i].kernels);
    arena_free(&s->memory);
    *s = (model_view){0};
}

model_view *model_view_owner(model_view *s) {
    return s->twin != NULL ? s->twin : s;
}

void *model_view_cached(const model_view *s, const void *key) {
    for (uint32_t i = 0; i < s->cached_count; i++)
        if (s->cached[i].key == key) return s->cached[i].data;
    return NULL;
}

void model_view_cache(model_view *s, const void *key, void *data) {
    if (s->cached_count == MODEL_VIEW_MAX_CACHED) return;
    assert(key != NULL && data != NULL);
    s->cached[s->cached_count].key = key;
    s->cached[s->cached_count++].data = data;
}

ft_status model_view_cost(model_view *s, const ft_cost **cost, ft_error *error) {
    if (!s->has_cost) {
        ft_cost_options options = ft_cost_options_default();
        options.mode = s->request.mode;
        options.dtype = s->request.dtype;
        options.optimizer = s->request.optimizer;
        FT_TRY(ft_cost_compute(s->bound, &options, &s->cost, error));
        s->has_cost = true;
    }
    *cost = &s->cost;
    return FT_OK;
}

ft_status model_view_kernels(model_view *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error) {
    if (s->twin != NULL) return model_view_kernels(s->twin, rules, kernels, error);
    uint32_t i = 0;
    while (i < s->runtime_count && s->runtimes[i].rules != rules) i++;
    if (i == MODEL_VIEW_MAX_RUNTIMES)
        return ft_fail(error, FT_ERR_LIMIT, "a model is predicted for more than %d runtimes at a time",
                       MODEL_VIEW_MAX_RUNTIMES);
    if (i == s->runtime_count) {
        ft_kernels fused = {0};
        FT_TRY(ft_graph_fuse(s->bound, rules, &fused, error));
        s->runtimes[i].rules = rules;
        s->runtimes[i].kernels = fused;
        s->runtime_count++;
    }
    *kernels = &s->runtimes[i].kernels;
    return FT_OK;
}
