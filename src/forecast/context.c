/* context.c - data that the requests about one model share: bound graphs, views, data sheets, rules; each is made once.
 */
#include "forecast/job.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "cost/cache.h"
#include "predictor/core/runtimes.h"

struct context_graph {
    context_graph *next;
    int64_t batch; /* as requested */
    ft_mode mode;
    ft_graph *bound;
};

struct context_view {
    context_view *next;
    model_view view;
};

struct context_sheet {
    context_sheet *next;
    const char *name;
    ft_device *device;
};

struct context_rules {
    context_rules *next;
    const char *name;
    ft_rules *rules;
};

void context_init(forecast_context *c, const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes) {
    *c = (forecast_context){.set = set, .model = model, .shapes = shapes, .has_cache = caches_exist(model)};
    arena_init(&c->memory, FT_MAX_GRAPH_BYTES);
}

void context_free(forecast_context *c) {
    for (context_view *i = c->views; i != NULL; i = i->next) model_view_free(&i->view);
    for (context_graph *i = c->graphs; i != NULL; i = i->next) ft_graph_free(i->bound);
    for (context_sheet *i = c->sheets; i != NULL; i = i->next) ft_device_free(i->device);
    for (context_rules *i = c->rules; i != NULL; i = i->next) ft_rules_free(i->rules);
    arena_free(&c->memory);
    *c = (forecast_context){0};
}

/* --- Data sheets and rules ----------------------------------------------------------------------------------- */

ft_status context_find_sheet(forecast_context *c, const char *device, const ft_device **sheet, ft_error *error) {
    const char *name = ft_device_canonical(device);
    *sheet = NULL;
    if (name == NULL) return FT_OK;
    for (uint32_t i = 0; i < c->set->device_count; i++) {
        if (strcmp(c->set->devices[i], name) != 0) continue;
        *sheet = c->set->sheets[i];
        return FT_OK;
    }
    context_sheet *item = c->sheets;
    while (item != NULL && strcmp(item->name, name) != 0) item = item->next;
    if (item == NULL) {
        item = ARENA_ARRAY(&c->memory, context_sheet, 1);
        if (item == NULL) return FT_NOMEM(error);
        FT_TRY(ft_device_open(name, &item->device, error));
        item->name = name;
        item->next = c->sheets;
        c->sheets = item;
    }
    *sheet = item->device;
    return FT_OK;
}

static bool has_rules(const char *runtime) {
    for (uint32_t i = 0; i < ft_rules_count(); i++)
        if (strcmp(ft_rules_name_at(i), runtime) == 0) return true;
    return false;
}

ft_status context_find_rules(forecast_context *c, const char *runtime, const ft_rules **found, ft_error *error) {
    const char *name = has_rules(runtime) ? runtime : RUNTIME_UNKNOWN;
    context_rules *item = c->rules;
    while (item != NULL && strcmp(item->name, name) != 0) item = item->next;
    if (item == NULL) {
        item = ARENA_ARRAY(&c->memory, context_rules, 1);
        if (item == NULL) return FT_NOMEM(error);
        FT_TRY(ft_rules_open(name, &item->rules, error));
        item->name = ft_rules_name(item->rules);
        item->next = c->rules;
        c->rules = item;
    }
    *found = item->rules;
    return FT_OK;
}

/* --- Views --------------------------------------------------------------------------------------------------- */

/* The length of the sequence when the logits of all positions are needed, which is not what the model computes; else 0:
 * a language model that is trained, unless the request binds its logits. */
static int64_t all_logits(const forecast_context *c, ft_mode mode) {
    int64_t sequence = 0;
    if (mode != FT_TRAIN || c->shapes == NULL || !context_has_symbol(c, "logits")) return 0;
    for (uint32_t i = 0; i < c->shapes->shape_count; i++) {
        const ft_shape_binding *shape = &c->shapes->shapes[i];
        if (strcmp(shape->name, "logits") == 0) return 0;
        if (strcmp(shape->name, "sequence") == 0 && shape->rank == 1) sequence = shape->dims[0];
    }
    return sequence;
}

/* Adds the length of the logits to a copy of the shapes. */
static ft_status bind_logits(forecast_context *c, int64_t length, ft_binding *binding, ft_error *error) {
    ft_shape_binding *shapes = ARENA_ARRAY(&c->memory, ft_shape_binding, (size_t)binding->shape_count + 1);
    if (shapes == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < binding->shape_count; i++) shapes[i] = binding->shapes[i];
    shapes[binding->shape_count++] = (ft_shape_binding){.name = "logits", .rank = 1, .dims = {length}};
    binding->shapes = shapes;
    return FT_OK;
}

static bool is_batch_of(const context_graph *item, int64_t batch) {
    return item->batch == batch || ft_graph_batch(item->bound) == batch;
}

static ft_status find_graph(forecast_context *c, int64_t batch, ft_mode mode, const ft_graph **bound, ft_error *error) {
    context_graph *item = c->graphs;
    int64_t logits = all_logits(c, mode);
    ft_mode kept = logits > 0 ? mode : FT_INFER; /* other models are the same in both */
    while (item != NULL && (item->mode != kept || !is_batch_of(item, batch))) item = item->next;
    if (item == NULL) {
        ft_binding binding = c->shapes != NULL ? *c->shapes : (ft_binding){0};
        binding.batch = batch;
        item = ARENA_ARRAY(&c->memory, context_graph, 1);
        if (item == NULL) return FT_NOMEM(error);
        if (logits > 0) FT_TRY(bind_logits(c, logits, &binding, error));
        FT_TRY(ft_graph_bind(c->model, &binding, &item->bound, error));
        item->batch = batch;
        item->mode = kept;
        item->next = c->graphs;
        c->graphs = item;
    }
    *bound = item->bound;
    return FT_OK;
}

static bool is_same(const ft_request *a, const ft_request *b) {
    return a->dtype == b->dtype && a->mode == b->mode && a->optimizer == b->optimizer &&
           strcmp(a->setting, b->setting) == 0;
}

/* Fusion depends on operators, ranks, and which tensors have one element: two batches of a model that agree in these
 * have the same kernels. */
static bool has_same_kernels(const ft_graph *a, const ft_graph *b) {
    if (a == b) return true;
    uint32_t ops = ft_graph_op_count(a), tensors = ft_graph_tensor_count(a);
    if (ops != ft_graph_op_count(b) || tensors != ft_graph_tensor_count(b)) return false;
    for (uint32_t i = 0; i < ops; i++)
        if (ft_graph_ops(a)[i].is_folded != ft_graph_ops(b)[i].is_folded) return false;
    for (uint32_t i = 0; i < tensors; i++) {
        const ft_tensor *x = &ft_graph_tensors(a)[i], *y = &ft_graph_tensors(b)[i];
        if (x->rank != y->rank || (ft_tensor_elems(a, x) <= 1) != (ft_tensor_elems(b, y) <= 1)) return false;
    }
    return true;
}

/* Everything that batches share is computed at the model's own batch, which the first view has, so that a result does
 * not depend on the other requests. */
static ft_status add_view(forecast_context *c, const ft_graph *bound, const ft_request *part, model_view **added,
                          ft_error *error) {
    context_view *item = ARENA_ARRAY(&c->memory, context_view, 1);
    if (item == NULL) return FT_NOMEM(error);
    model_view_init(&item->view, bound, part);
    if (c->first != NULL && has_same_kernels(c->first->bound, bound)) item->view.twin = c->first;
    assert(item->view.twin == NULL || item->view.twin->twin == NULL); /* one step to the owner */
    item->next = c->views;
    c->views = item;
    *added = &item->view;
    return FT_OK;
}

static ft_status add_first(forecast_context *c, const ft_request *part, ft_error *error) {
    const ft_graph *bound = NULL;
    FT_TRY(find_graph(c, 0, part->mode, &bound, error));
    return add_view(c, bound, part, &c->first, error);
}

ft_status context_find_view(forecast_context *c, const ft_request *request, model_view **found, ft_error *error) {
    const ft_request part = {
        .setting = request->setting, .dtype = request->dtype, .mode = request->mode, .optimizer = request->optimizer};
    const ft_graph *bound = NULL;
    if (c->first == NULL) FT_TRY(add_first(c, &part, error));
    FT_TRY(find_graph(c, request->batch, request->mode, &bound, error));
    assert(c->first != NULL && ft_graph_is_bound(bound));
    context_view *item = c->views;
    while (item != NULL && (item->view.bound != bound || !is_same(&item->view.request, &part))) item = item->next;
    if (item == NULL) return add_view(c, bound, &part, found, error);
    *found = &item->view;
    return FT_OK;
}
