/* context.h - data that the requests about one model share: bound graphs, costs, kernels, data sheets.
 *
 * It owns everything that the results point into. Not for several threads at a time. */
#ifndef FORECAST_CONTEXT_H
#define FORECAST_CONTEXT_H

#include "base/arena.h"
#include "forecast/predictor_set.h"
#include "predictor/core/model_view.h"

typedef struct context_graph context_graph;
typedef struct context_view context_view;
typedef struct context_sheet context_sheet;
typedef struct context_rules context_rules;

typedef struct forecast_context {
    const ft_predictor_set *set;
    const ft_graph *model;
    const ft_binding *shapes;
    arena memory;
    /* newest first: the next request is most likely about the same */
    context_graph *graphs;
    context_view *views;
    model_view *first; /* at the model's own batch */
    context_sheet *sheets;
    context_rules *rules;
} forecast_context;

void context_init(forecast_context *c, const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes);
void context_free(forecast_context *c);

/* The data sheet of a bundled device; *sheet is NULL for a device that only a predictor has. */
ft_status context_find_sheet(forecast_context *c, const char *device, const ft_device **sheet, ft_error *error);
/* The model as a request views it: bound at its batch, with its type, mode and setting. */
ft_status context_find_view(forecast_context *c, const ft_request *request, model_view **found, ft_error *error);
/* The fusion rules of a runtime; those of eager PyTorch for one that has none. */
ft_status context_find_rules(forecast_context *c, const char *runtime, const ft_rules **found, ft_error *error);

#endif
