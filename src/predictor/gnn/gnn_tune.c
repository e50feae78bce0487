/* gnn_tune.c - trains the networks of a model further, on rows of a device that may be new.
 *
 * A few tasks of a new device are easily overfitted, and knowledge of the others is forgotten. Three measures prevent
 * it: rows of the original training data take part in every step; the distance between the inputs of the last layer on
 * old and on new devices is penalised, as in CDMPP; and the result is halfway between the original and the trained
 * weights, which is better than either for other tasks. A constant factor of a new device is not learned but removed
 * from its labels. All other scales of inputs and labels are kept. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"

enum { STEPS = 1000 };

static const double NEW_SHARE = 0.5; /* weight of the trained weights, for a new device */
/* Rates relative to that of the original training; weight of the distance, where losses are about 0.1. */
static const double RATE_SHARE = 0.3, LAST_RATE_SHARE = 1, DISTANCE_WEIGHT = 0.01, AVERAGE = 0.99;

static bool copy_plan(const gnn_kind *kind, const gnn_plan *from, gnn_plan *plan) {
    *plan = *from;
    plan->groups = 0;
    plan->own = malloc(kind->own_size + 1);
    if (plan->own != NULL) memcpy(plan->own, from->own, kind->own_size);
    return plan->own != NULL;
}

/* A model with the weights of another, and its own columns. */
static ft_status copy_model(const gnn_model *from, const gnn_data *data, uint32_t devices, gnn_model **out,
                            ft_error *error) {
    gnn_plan plan;
    gnn_model *m = NULL;
    if (!copy_plan(from->kind, &from->plan, &plan)) return FT_NOMEM(error);
    FT_TRY(gnn_model_new(from->kind, &plan, data->columns, data->column_count, devices, &m, error));
    ft_status status = gnn_model_init_networks(m, 0, error);
    for (uint32_t i = 0; status == FT_OK && i < m->member_count; i++) {
        size_t kept = gnn_saved_count(from, i);
        if (m->members[i].values.total_count == kept)
            memcpy(m->members[i].values.values, from->members[i].values.values, kept * sizeof(float));
        else
            status = ft_fail(error, FT_ERR_INTERNAL, "a network has changed its size");
    }
    if (status == FT_OK) memcpy(m->scaling.floats, from->scaling.floats, m->scaling.count * sizeof(float));
    if (status != FT_OK)
        gnn_free(m);
    else
        *out = m;
    return status;
}

/* New rows, and rows of the original training. */
static ft_status join_rows(const fit_set *set, fit_rows before, fit_row **rows, ft_error *error) {
    *rows = malloc(((size_t)set->train.count + before.count + 1) * sizeof **rows);
    if (*rows == NULL) return FT_NOMEM(error);
    memcpy(*rows, set->train.items, set->train.count * sizeof **rows);
    if (before.count > 0) memcpy(*rows + set->train.count, before.items, before.count * sizeof **rows);
    return FT_OK;
}

/* The common factor of a new device is added to the shift of its columns; for logarithms only. */
static void shift_new_columns(gnn_data *data, uint32_t known_columns, const double *ratios) {
    for (uint32_t c = known_columns; ratios != NULL && c < data->column_count; c++) {
        gnn_column *column = &data->columns[c];
        double ratio = ratios[column->device];
        if (column->scale.form == LABEL_LOG && ratio > 0 && isfinite(ratio)) column->scale.shift += log(ratio);
    }
}

static void average_weights(gnn_model *m, const gnn_model *from) {
    for (uint32_t i = 0; i < m->member_count; i++) {
        const float *before = from->members[i].values.values;
        assert(m->members[i].values.total_count == gnn_saved_count(from, i));
        float *now = m->members[i].values.values;
        for (size_t k = 0; k < m->members[i].values.total_count; k++)
            now[k] = (float)(before[k] + NEW_SHARE * ((double)now[k] - before[k]));
    }
}

static ft_status train_further(gnn_model *m, const gnn_model *from, const gnn_data *data, const tune_options *options,
                               const fit_context *context, ft_error *error) {
    const gnn_domains domains = {.distance = options->distance,
                                 .weight = DISTANCE_WEIGHT,
                                 .new_column = from->column_count,
                                 .held = options->is_last ? from : NULL};
    gnn_options *o = &m->plan.shared;
    o->steps = options->steps > 0 ? options->steps : STEPS;
    o->rate *= options->is_last ? LAST_RATE_SHARE : RATE_SHARE;
    o->average = AVERAGE;
    o->schedule = SCHEDULE_ONE_CYCLE; /* few steps need a falling rate */
    o->patience = o->keep_best = 0;
    ft_status status = gnn_train(m, data, &domains, context, error);
    *o = from->plan.shared;
    if (status == FT_OK && data->column_count > from->column_count) average_weights(m, from);
    return status;
}

ft_status gnn_tune(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                   void **out, ft_error *error) {
    const gnn_model *from = model;
    fit_set joined = *set;
    fit_row *rows = NULL;
    gnn_data data;
    gnn_model *m = NULL;
    if (from->kind->last == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s cannot be trained further", from->kind->name);
    FT_TRY(join_rows(set, options->before, &rows, error));
    joined.train = (fit_rows){rows, set->train.count + options->before.count};
    const gnn_data_options gathering = {.kind = from->kind,
                                        .plan = &from->plan,
                                        .extractor = from->extractor,
                                        .known = {from->columns, from->column_count}};
    ft_status status = gnn_data_gather(&joined, context, &gathering, &data, error);
    free(rows);
    FT_TRY(status);
    shift_new_columns(&data, from->column_count, options->ratios);
    status = copy_model(from, &data, set->device_count, &m, error);
    if (status == FT_OK) status = train_further(m, from, &data, options, context, error);
    gnn_data_free(&data);
    return gnn_model_finish(m, status, out, error);
}
