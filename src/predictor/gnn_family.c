/* gnn_family.c - fits graph networks of any kind: gnn_data.h gathers samples, gnn_scaling.h scales them, gnn_train.h
 * trains a network, gnn_model.h is what is kept. */
#include "predictor/gnn_family.h"

#include "predictor/baselines.h"
#include "predictor/gnn_model.h"
#include "predictor/gnn_train.h"
#include "predictor/series.h"

/* Members are trained one after the other. */
typedef struct fitting {
    const fit_context *context;
    const gnn_inputs *in;
    model *m;
    uint32_t unit;
    gnn_training *training; /* of the unit at hand */
} fitting;

static params *values(void *user, uint32_t unit) {
    return &((fitting *)user)->m->members[unit].values;
}

static ft_status begin(void *user, uint32_t unit, uint64_t seed, descent **d, ft_error *error) {
    fitting *f = user;
    gnn_member *member = &f->m->members[unit];
    f->unit = unit;
    FT_TRY(gnn_training_new(f->in, f->m->kind, &f->m->plan, member->net, &member->values, seed, f->context->threads,
                            &f->training, error));
    *d = gnn_training_descent(f->training);
    return FT_OK;
}

static ft_status step(void *user, double *loss, ft_error *error) {
    return gnn_training_step(((fitting *)user)->training, loss, error);
}

static ft_status check(void *user, double *mape, ft_error *error) {
    return gnn_training_check(((fitting *)user)->training, mape, error);
}

static json_t *describe(void *user) {
    return json_pack("{s:i}", "member", (int)((fitting *)user)->unit);
}

static void end(void *user) {
    fitting *f = user;
    gnn_training_free(f->training);
    f->training = NULL;
}

static ft_status train(model *m, const gnn_data *data, const fit_context *context, ft_error *error) {
    gnn_inputs in;
    FT_TRY(gnn_scaling_fit(&m->scaling, data, error));
    FT_TRY(gnn_inputs_make(&in, data, &m->scaling, error));
    fitting f = {.context = context, .in = &in, .m = m};
    const series networks = {.context = context,
                             .units = m->member_count,
                             .user = &f,
                             .values = values,
                             .begin = begin,
                             .step = step,
                             .check = check,
                             .describe = describe,
                             .end = end};
    ft_status status = series_train(&networks, error);
    gnn_inputs_free(&in);
    return status;
}

/* Takes the plan over. */
static ft_status fit_planned(const gnn_kind *kind, gnn_plan *plan, const fit_set *set, const fit_context *context,
                             model **out, ft_error *error) {
    gnn_data data;
    model *m = NULL;
    void *eyes = NULL;
    ft_status status = kind->open != NULL ? kind->open(plan->own, &eyes, error) : FT_OK;
    if (status == FT_OK) status = gnn_data_gather(set, context, kind, plan, eyes, &data, error);
    if (eyes != NULL) kind->close(eyes);
    if (status != FT_OK) {
        gnn_plan_free(plan);
        return status;
    }
    status = gnn_model_new(kind, plan, data.columns, data.column_count, set->device_count, &m, error);
    if (status == FT_OK) status = gnn_model_draw(m, context->seed, error);
    if (status == FT_OK) status = train(m, &data, context, error);
    if (status == FT_OK) status = gnn_model_settle(m, error);
    gnn_data_free(&data);
    if (status != FT_OK)
        gnn_free(m);
    else
        *out = m;
    return status;
}

ft_status gnn_fit(const gnn_kind *kind, const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    gnn_plan plan;
    FT_TRY(gnn_plan_read(kind, context->config, &plan, error));
    ft_status status = baseline_check(set, error);
    if (status != FT_OK) {
        gnn_plan_free(&plan);
        return status;
    }
    return fit_planned(kind, &plan, set, context, out, error);
}
