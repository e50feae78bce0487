/* gnn_tune.c - trains the networks of a model further, on rows of a device that it may not have met.
 *
 * A few tasks of a new device could be learned by heart, and what the network knows of the others be lost. Against that
 * stand rows of what it was trained on at first, which take part in every step, and a distance between what its last
 * layer sees on old devices and on new ones, as CDMPP has it. A constant that a new device is off by is not learned but
 * taken from its labels; and the networks end halfway between where they began and where training led, which is nearer
 * to right than either for tasks that are not among the few. All other scales of inputs and labels stay as they
 * were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"

enum { STEPS = 1000 };

static const double NEW_SHARE = 0.5; /* of where training led to, for a new device */
/* Of the highest rate of the first training; and of a distance, beside losses of about a tenth. */
static const double RATE_SHARE = 0.3, LAST_RATE_SHARE = 1, DISTANCE_WEIGHT = 0.01, AVERAGE = 0.99;

static bool copy_plan(const gnn_kind *kind, const gnn_plan *from, gnn_plan *plan) {
    *plan = *from;
    plan->groups = 0;
    plan->own = malloc(kind->own_size + 1);
    if (plan->own != NULL) memcpy(plan->own, from->own, kind->own_size);
    return plan->own != NULL;
}

/* A model with the values of another, and columns of its own. */
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
            status = ft_fail(error, FT_ERR_INTERNAL, "a network has another size than before");
    }
    if (status == FT_OK) memcpy(m->scaling.floats, from->scaling.floats, m->scaling.count * sizeof(float));
    if (status != FT_OK)
        gnn_free(m);
    else
        *out = m;
    return status;
}

/* New rows, and what was learned from at first. */
static ft_status join_rows(const fit_set *set, fit_rows before, fit_row **rows, ft_error *error) {
    *rows = malloc(((size_t)set->train.count + before.count + 1) * sizeof **rows);
    if (*rows == NULL) return FT_NOMEM(error);
    memcpy(*rows, set->train.items, set->train.count * sizeof **rows);
    if (before.count > 0) memcpy(*rows + set->train.count, before.items, before.count * sizeof **rows);
    return FT_OK;
}

/* What all labels of a new device are off by goes into the shift of its columns; only logarithms are shifted so. */
static void take_ratios(gnn_data *data, uint32_t known_columns, const double *ratios) {
    for (uint32_t c = known_columns; ratios != NULL && c < data->column_count; c++) {
        gnn_column *column = &data->columns[c];
        double ratio = ratios[column->device];
        if (column->scale.form == LABEL_LOG && ratio > 0 && isfinite(ratio)) column->scale.shift += log(ratio);
    }
}

static void go_halfway(gnn_model *m, const gnn_model *from) {
    for (uint32_t i = 0; i < m->member_count; i++) {
        const float *before = from->members[i].values.values;
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
    o->schedule = SCHEDULE_ONE_CYCLE; /* so few steps have to come to rest */
    o->patience = o->keep_best = 0;
    ft_status status = gnn_train(m, data, &domains, context, error);
    *o = from->plan.shared;
    if (status == FT_OK && data->column_count > from->column_count) go_halfway(m, from);
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
    ft_status status = gnn_data_gather(&joined, context, from->kind, &from->plan, from->extractor,
                                       (gnn_columns){from->columns, from->column_count}, &data, error);
    free(rows);
    FT_TRY(status);
    take_ratios(&data, from->column_count, options->ratios);
    status = copy_model(from, &data, set->device_count, &m, error);
    if (status == FT_OK) status = train_further(m, from, &data, options, context, error);
    gnn_data_free(&data);
    return gnn_model_finish(m, status, out, error);
}
