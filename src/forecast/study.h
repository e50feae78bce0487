/* study.h - what the requests about one model share: bound graphs, costs, kernels, data sheets.
 *
 * It owns everything that the answers point into. Not for several threads at a time. */
#ifndef FORECAST_STUDY_H
#define FORECAST_STUDY_H

#include "base/arena.h"
#include "forecast/box.h"
#include "predictor/core/model_view.h"

typedef struct study_graph study_graph;
typedef struct study_subject study_subject;
typedef struct study_sheet study_sheet;
typedef struct study_rules study_rules;

typedef struct study {
    const ft_predictor_set *box;
    const ft_graph *model;
    const ft_binding *shapes;
    arena memory;
    /* newest first: who asks next most likely asks for the same */
    study_graph *graphs;
    study_subject *subjects;
    model_view *first; /* at the model's own batch */
    study_sheet *sheets;
    study_rules *rules;
} study;

void study_init(study *s, const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes);
void study_free(study *s);

/* The data sheet of a device in the box of devices; *sheet is NULL for one that only a predictor knows. */
ft_status study_sheet_of(study *s, const char *device, const ft_device **sheet, ft_error *error);
/* The model as a request sees it. */
ft_status study_subject_of(study *s, const ft_request *request, model_view **found, ft_error *error);
/* The fusion rules of a runtime; those of eager PyTorch for one that has none. */
ft_status study_rules_of(study *s, const char *runtime, const ft_rules **found, ft_error *error);

#endif
