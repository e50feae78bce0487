/* gnn_model.h - a trained model of any kind of graph network, and its settings. */
#ifndef PREDICTOR_GNN_MODEL_H
#define PREDICTOR_GNN_MODEL_H

#include "predictor/gnn/gnn_train.h"

enum { GNN_MAX_HIDDEN = 1024, GNN_MAX_LAYERS = 32, GNN_MAX_MEMBERS = 16 };

/* --- Settings (gnn_settings.c) -------------------------------------------------------------------------------- */

/* Sets the defaults of a kind; false when out of memory. The list of its settings points into the plan. */
bool gnn_plan_open(const gnn_kind *kind, gnn_plan *plan);
void gnn_plan_list(const gnn_kind *kind, gnn_plan *plan, config_list *list);
ft_status gnn_plan_read(const gnn_kind *kind, const json_t *config, gnn_plan *plan, ft_error *error);
json_t *gnn_plan_write(const gnn_kind *kind, const gnn_plan *plan); /* NULL when out of memory */
void gnn_plan_free(gnn_plan *plan);

/* --- Models (gnn_model.c) ------------------------------------------------------------------------------------ */

typedef struct gnn_member {
    gnn_net *net;
    params values;
    param_id offsets;      /* if plan.groups > 0: the last of the values, not saved */
    _Atomic(tape *) spare; /* of the last prediction, whose memory is still in the cache */
} gnn_member;

struct gnn_model {
    const gnn_kind *kind;
    gnn_plan plan;
    void *extractor;
    uint32_t device_count;
    gnn_column *columns;
    uint32_t column_count;
    gnn_scaling scaling;
    gnn_member *members;
    uint32_t member_count; /* networks that are built */
};

/* A model with these columns, without networks. Takes ownership of the plan, also on failure. */
ft_status gnn_model_new(const gnn_kind *kind, gnn_plan *plan, const gnn_column *columns, uint32_t column_count,
                        uint32_t device_count, gnn_model **out, ft_error *error);
/* Builds the networks with random initial values. */
ft_status gnn_model_init_networks(gnn_model *m, uint64_t seed, ft_error *error);
/* Number of values of a network that are saved: all but the group offsets, which come last. */
size_t gnn_saved_count(const gnn_model *m, uint32_t member);
/* Finalizes the networks and passes the model to *out, or frees it when that, or a step before (`status`), failed. */
ft_status gnn_model_finish(gnn_model *m, ft_status status, void **out, ft_error *error);

/* gnn_family.c: trains the networks from their current values. `domains` may be NULL. */
ft_status gnn_train(gnn_model *m, const gnn_data *data, const gnn_domains *domains, const fit_context *context,
                    ft_error *error);

#endif
