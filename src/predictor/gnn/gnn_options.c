/* gnn_options.c - the settings that all graph networks share, and those of a kind beside them. */
#include <stdlib.h>

#include "base/error.h"
#include "predictor/gnn/gnn_model.h"

/* In the order of the enums. */
static const char *const losses[] = {"mse", "mae", "huber", "relative", "log", "mape", "hybrid"};
static const char *const schedules[] = {"constant", "step", "plateau", "cosine", "one-cycle", "cyclic"};
static const char *const optimizers[] = {"sgd", "adam", "adamw"};

/* Of all kinds; each sets those that are its own. */
static gnn_options default_options(void) {
    return (gnn_options){.hidden = 64,
                         .layers = 3,
                         .members = 1,
                         .steps = 3000,
                         .batch = 64,
                         .rate = 0.003,
                         .check = 250,
                         .delta = 0.05,
                         .loss = LOSS_HUBER,
                         .target = LABEL_LOG,
                         .schedule = SCHEDULE_ONE_CYCLE,
                         .optimizer = OPTIM_ADAM};
}

static void add_shared(gnn_options *o, config_list *list) {
    config_add_whole(list, "hidden", 1, GNN_MAX_HIDDEN, &o->hidden);
    config_add_whole(list, "layers", 0, GNN_MAX_LAYERS, &o->layers);
    config_add_whole(list, "members", 1, GNN_MAX_MEMBERS, &o->members);
    config_add_whole(list, "steps", 1, 1e7, &o->steps);
    config_add_whole(list, "batch", 1, 1e5, &o->batch);
    config_add_number(list, "rate", 1e-9, 10, &o->rate);
    config_add_number(list, "dropout", 0, 0.95, &o->dropout);
    config_add_number(list, "weight_decay", 0, 10, &o->weight_decay);
    config_add_number(list, "clip", 0, 1e6, &o->clip);
    config_add_number(list, "average", 0, 0.99999, &o->average);
    config_add_number(list, "level", 0, 0.99, &o->offset_share);
    config_add_number(list, "forget", 0, 0.5, &o->forget);
    config_add_whole(list, "check", 1, 1e6, &o->check);
    config_add_whole(list, "patience", 0, 1e6, &o->patience);
    config_add_whole(list, "keep_best", 0, 1, &o->keep_best);
    config_add_number(list, "delta", 1e-4, 100, &o->delta);
    config_add_choice(list, "loss", losses, LOSS_COUNT, &o->loss);
    config_add_choice(list, "target", label_form_names, LABEL_FORMS, &o->target);
    config_add_choice(list, "schedule", schedules, sizeof schedules / sizeof schedules[0], &o->schedule);
    config_add_choice(list, "optimizer", optimizers, sizeof optimizers / sizeof optimizers[0], &o->optimizer);
}

void gnn_plan_list(const gnn_kind *kind, gnn_plan *plan, config_list *list) {
    *list = (config_list){0};
    add_shared(&plan->shared, list);
    if (kind->keys != NULL) kind->keys(plan->own, list);
}

/* Relative losses need targets that are not shifted. The hybrid one is mostly squares, and CDMPP has it so. */
static ft_status check_shared(const gnn_options *o, ft_error *error) {
    bool is_relative = o->loss == LOSS_RELATIVE || o->loss == LOSS_MAPE || o->loss == LOSS_LOG;
    if (is_relative && o->target != LABEL_RAW)
        return ft_fail(error, FT_ERR_USAGE, "config: the loss '%s' goes with target=raw", losses[o->loss]);
    return FT_OK;
}

bool gnn_plan_open(const gnn_kind *kind, gnn_plan *plan) {
    *plan = (gnn_plan){.shared = default_options(), .own = calloc(1, kind->own_size + 1)};
    if (plan->own != NULL && kind->defaults != NULL) kind->defaults(&plan->shared, plan->own);
    return plan->own != NULL;
}

ft_status gnn_plan_read(const gnn_kind *kind, const json_t *config, gnn_plan *plan, ft_error *error) {
    config_list list;
    if (!gnn_plan_open(kind, plan)) return FT_NOMEM(error);
    gnn_plan_list(kind, plan, &list);
    ft_status status = config_take_list(config, &list, error);
    if (status == FT_OK) status = check_shared(&plan->shared, error);
    if (status == FT_OK && kind->check != NULL) status = kind->check(&plan->shared, plan->own, error);
    if (status == FT_OK)
        plan->widths = kind->widths(plan->own);
    else
        gnn_plan_free(plan);
    return status;
}

json_t *gnn_plan_write(const gnn_kind *kind, const gnn_plan *plan) {
    config_list list;
    gnn_plan copy = *plan; /* the list points into it, but only reads */
    gnn_plan_list(kind, &copy, &list);
    return config_write_list(&list);
}

void gnn_plan_free(gnn_plan *plan) {
    free(plan->own);
    plan->own = NULL;
}
