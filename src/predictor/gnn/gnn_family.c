/* gnn_family.c - fits graph networks of any kind: gnn_data.h collects samples, gnn_scaling.h scales them, gnn_train.h
 * trains a network, gnn_model.h is the trained model. */
#include "predictor/gnn/gnn_family.h"

#include <string.h>

#include "predictor/core/ensemble.h"
#include "predictor/core/family_common.h"
#include "predictor/gnn/gnn_model.h"
#include "predictor/gnn/gnn_train.h"

/* State of a fit; members are trained one after the other. */
typedef struct fitting {
    const fit_context *context;
    const gnn_inputs *in;
    gnn_model *m;
    const gnn_domains *domains;
} fitting;

static params *values(void *user, uint32_t unit) {
    return &((fitting *)user)->m->members[unit].values;
}

static ft_status begin(void *user, ensemble_member *member, ft_error *error) {
    const fitting *f = user;
    gnn_member *own = &f->m->members[member->index];
    gnn_training *training;
    const gnn_training_options options = {.in = f->in,
                                          .kind = f->m->kind,
                                          .plan = &f->m->plan,
                                          .net = own->net,
                                          .offsets = f->m->plan.groups > 0 ? &own->offsets : NULL,
                                          .seed = member->seed,
                                          .threads = f->context->threads};
    FT_TRY(gnn_training_new(&options, &own->values, &training, error));
    if (f->domains != NULL) gnn_training_set_domains(training, f->domains);
    member->training = training;
    member->descent = gnn_training_descent(training);
    return FT_OK;
}

static bool is_last(const gnn_kind *kind, const char *name) {
    for (uint32_t i = 0; kind->last[i] != NULL; i++)
        if (strncmp(name, kind->last[i], strlen(kind->last[i])) == 0) return true;
    return false;
}

/* Restores all but the last layers, in the weights and in their moving average. */
static void restore_first_layers(const gnn_model *held, gnn_model *m, const ensemble_member *member) {
    const params *now = &m->members[member->index].values;
    const float *kept = held->members[member->index].values.values;
    float *average = member->descent->average;
    for (uint32_t i = 0; i < now->count; i++) {
        const param *p = &now->items[i];
        size_t bytes = (size_t)p->rows * p->cols * sizeof(float);
        if (is_last(m->kind, p->name)) continue;
        memcpy(now->values + p->offset, kept + p->offset, bytes);
        if (average != NULL) memcpy(average + p->offset, kept + p->offset, bytes);
    }
}

static ft_status step(void *user, const ensemble_member *member, double *loss, ft_error *error) {
    const fitting *f = user;
    FT_TRY(gnn_training_step(member->training, loss, error));
    if (f->domains != NULL && f->domains->held != NULL) restore_first_layers(f->domains->held, f->m, member);
    return FT_OK;
}

static ft_status validate(void *user, const ensemble_member *member, double *mape, ft_error *error) {
    (void)user;
    return gnn_training_check(member->training, mape, error);
}

static json_t *describe(void *user, uint32_t index) {
    (void)user;
    return json_pack("{s:i}", "member", (int)index);
}

static void end(void *user, const ensemble_member *member) {
    (void)user;
    gnn_training_free(member->training);
}

ft_status gnn_train(gnn_model *m, const gnn_data *data, const gnn_domains *domains, const fit_context *context,
                    ft_error *error) {
    gnn_inputs in;
    FT_TRY(gnn_inputs_make(&in, data, &m->scaling, error));
    fitting f = {.context = context, .in = &in, .m = m, .domains = domains};
    const ensemble networks = {.context = context,
                               .count = m->member_count,
                               .user = &f,
                               .values = values,
                               .begin = begin,
                               .step = step,
                               .validate = validate,
                               .describe = describe,
                               .end = end};
    ft_status status = ensemble_train(&networks, error);
    gnn_inputs_free(&in);
    return status;
}

/* Takes ownership of the plan. */
static ft_status fit_planned(const gnn_kind *kind, gnn_plan *plan, const fit_set *set, const fit_context *context,
                             void **out, ft_error *error) {
    gnn_data data;
    gnn_model *m = NULL;
    void *extractor = NULL;
    ft_status status = kind->open != NULL ? kind->open(plan->own, &extractor, error) : FT_OK;
    const gnn_data_options options = {.kind = kind, .plan = plan, .extractor = extractor};
    if (status == FT_OK) status = gnn_data_gather(set, context, &options, &data, error);
    if (extractor != NULL) kind->close(extractor);
    if (status != FT_OK) {
        gnn_plan_free(plan);
        return status;
    }
    plan->groups = plan->shared.offset_share > 0 ? data.group_count : 0;
    status = gnn_model_new(kind, plan, data.columns, data.column_count, set->device_count, &m, error);
    if (status == FT_OK) status = gnn_model_init_networks(m, context->seed, error);
    if (status == FT_OK) status = gnn_scaling_fit(&m->scaling, &data, error);
    if (status == FT_OK) status = gnn_train(m, &data, NULL, context, error);
    gnn_data_free(&data);
    return gnn_model_finish(m, status, out, error);
}

ft_status gnn_fit(const gnn_kind *kind, const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    gnn_plan plan;
    FT_TRY(gnn_plan_read(kind, context->config, &plan, error));
    ft_status status = fit_set_check(set, error);
    if (status != FT_OK) {
        gnn_plan_free(&plan);
        return status;
    }
    return fit_planned(kind, &plan, set, context, out, error);
}
