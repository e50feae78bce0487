#include "forecast/study.h"

#include <string.h>

#include "base/error.h"
#include "predictor/core/runtimes.h"

struct study_graph {
    study_graph *next;
    int64_t batch; /* as it was asked for */
    ft_graph *bound;
};

struct study_subject {
    study_subject *next;
    model_view view;
};

struct study_sheet {
    study_sheet *next;
    const char *name;
    ft_device *device;
};

struct study_rules {
    study_rules *next;
    const char *name;
    ft_rules *rules;
};

void study_init(study *s, const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes) {
    *s = (study){.box = box, .model = model, .shapes = shapes};
    arena_init(&s->memory, FT_MAX_GRAPH_BYTES);
}

void study_free(study *s) {
    for (study_subject *i = s->subjects; i != NULL; i = i->next) model_view_free(&i->view);
    for (study_graph *i = s->graphs; i != NULL; i = i->next) ft_graph_free(i->bound);
    for (study_sheet *i = s->sheets; i != NULL; i = i->next) ft_device_free(i->device);
    for (study_rules *i = s->rules; i != NULL; i = i->next) ft_rules_free(i->rules);
    arena_free(&s->memory);
    *s = (study){0};
}

/* --- Data sheets and rules ----------------------------------------------------------------------------------- */

ft_status study_sheet_of(study *s, const char *device, const ft_device **sheet, ft_error *error) {
    const char *name = ft_device_canonical(device);
    *sheet = NULL;
    if (name == NULL) return FT_OK;
    for (uint32_t i = 0; i < s->box->device_count; i++) {
        if (strcmp(s->box->devices[i], name) != 0) continue;
        *sheet = s->box->sheets[i];
        return FT_OK;
    }
    study_sheet *item = s->sheets;
    while (item != NULL && strcmp(item->name, name) != 0) item = item->next;
    if (item == NULL) {
        item = ARENA_ARRAY(&s->memory, study_sheet, 1);
        if (item == NULL) return FT_NOMEM(error);
        FT_TRY(ft_device_open(name, &item->device, error));
        item->name = name;
        item->next = s->sheets;
        s->sheets = item;
    }
    *sheet = item->device;
    return FT_OK;
}

static bool has_rules(const char *runtime) {
    for (uint32_t i = 0; i < ft_rules_count(); i++)
        if (strcmp(ft_rules_name_at(i), runtime) == 0) return true;
    return false;
}

ft_status study_rules_of(study *s, const char *runtime, const ft_rules **found, ft_error *error) {
    const char *name = has_rules(runtime) ? runtime : RUNTIME_UNKNOWN;
    study_rules *item = s->rules;
    while (item != NULL && strcmp(item->name, name) != 0) item = item->next;
    if (item == NULL) {
        item = ARENA_ARRAY(&s->memory, study_rules, 1);
        if (item == NULL) return FT_NOMEM(error);
        FT_TRY(ft_rules_open(name, &item->rules, error));
        item->name = ft_rules_name(item->rules);
        item->next = s->rules;
        s->rules = item;
    }
    *found = item->rules;
    return FT_OK;
}

/* --- Subjects ------------------------------------------------------------------------------------------------ */

static ft_status graph_of(study *s, int64_t batch, const ft_graph **bound, ft_error *error) {
    study_graph *item = s->graphs;
    while (item != NULL && item->batch != batch && ft_graph_batch(item->bound) != batch) item = item->next;
    if (item == NULL) {
        ft_binding binding = s->shapes != NULL ? *s->shapes : (ft_binding){0};
        binding.batch = batch;
        item = ARENA_ARRAY(&s->memory, study_graph, 1);
        if (item == NULL) return FT_NOMEM(error);
        FT_TRY(ft_graph_bind(s->model, &binding, &item->bound, error));
        item->batch = batch;
        item->next = s->graphs;
        s->graphs = item;
    }
    *bound = item->bound;
    return FT_OK;
}

static bool is_same(const ft_request *a, const ft_request *b) {
    return a->dtype == b->dtype && a->mode == b->mode && a->optimizer == b->optimizer &&
           strcmp(a->setting, b->setting) == 0;
}

/* Fusion looks at operators, ranks, and at which of the tensors have one element: two batches of a model that agree in
 * these have the same kernels. */
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

/* What is the same for all batches is always worked out at the model's own batch, which the first subject of a study
 * has: an answer does not depend on what else was asked. */
static ft_status add_subject(study *s, const ft_graph *bound, const ft_request *query, model_view **added,
                             ft_error *error) {
    study_subject *item = ARENA_ARRAY(&s->memory, study_subject, 1);
    if (item == NULL) return FT_NOMEM(error);
    model_view_init(&item->view, bound, query);
    if (s->first != NULL && has_same_kernels(s->first->bound, bound)) item->view.twin = s->first;
    item->next = s->subjects;
    s->subjects = item;
    *added = &item->view;
    return FT_OK;
}

static ft_status add_first(study *s, const ft_request *query, ft_error *error) {
    const ft_graph *bound = NULL;
    FT_TRY(graph_of(s, 0, &bound, error));
    return add_subject(s, bound, query, &s->first, error);
}

ft_status study_subject_of(study *s, const ft_request *request, model_view **found, ft_error *error) {
    const ft_request query = {
        .setting = request->setting, .dtype = request->dtype, .mode = request->mode, .optimizer = request->optimizer};
    const ft_graph *bound = NULL;
    if (s->first == NULL) FT_TRY(add_first(s, &query, error));
    FT_TRY(graph_of(s, request->batch, &bound, error));
    study_subject *item = s->subjects;
    while (item != NULL && (item->view.bound != bound || !is_same(&item->view.query, &query))) item = item->next;
    if (item == NULL) return add_subject(s, bound, &query, found, error);
    *found = &item->view;
    return FT_OK;
}
