#include "predictor/core/subject.h"

#include "base/error.h"

void subject_init(subject *s, const ft_graph *bound, const ft_query *query) {
    *s = (subject){.bound = bound, .query = *query};
    s->query.device = NULL;
    s->query.sheet = NULL;
    arena_init(&s->memory, FT_MAX_GRAPH_BYTES);
}

void subject_free(subject *s) {
    ft_cost_free(&s->cost);
    for (uint32_t i = 0; i < s->runtime_count; i++) ft_kernels_free(&s->runtimes[i].kernels);
    arena_free(&s->memory);
    *s = (subject){0};
}

subject *subject_owner(subject *s) {
    return s->twin != NULL ? s->twin : s;
}

void *subject_kept(const subject *s, const void *key) {
    for (uint32_t i = 0; i < s->kept_count; i++)
        if (s->kept[i].key == key) return s->kept[i].data;
    return NULL;
}

void subject_keep(subject *s, const void *key, void *data) {
    if (s->kept_count == SUBJECT_MAX_KEPT) return;
    s->kept[s->kept_count].key = key;
    s->kept[s->kept_count++].data = data;
}

ft_status subject_cost(subject *s, const ft_cost **cost, ft_error *error) {
    if (!s->has_cost) {
        ft_cost_options options = ft_cost_options_default();
        options.mode = s->query.mode;
        options.dtype = s->query.dtype;
        options.optimizer = s->query.optimizer;
        FT_TRY(ft_cost_compute(s->bound, &options, &s->cost, error));
        s->has_cost = true;
    }
    *cost = &s->cost;
    return FT_OK;
}

ft_status subject_kernels(subject *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error) {
    if (s->twin != NULL) return subject_kernels(s->twin, rules, kernels, error);
    uint32_t i = 0;
    while (i < s->runtime_count && s->runtimes[i].rules != rules) i++;
    if (i == SUBJECT_MAX_RUNTIMES)
        return ft_fail(error, FT_ERR_LIMIT, "one model is asked about for more than %d runtimes at a time",
                       SUBJECT_MAX_RUNTIMES);
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
