/* extrapolation.h - the data behind extrapolation plots: evaluated models compared with the training models. */
#ifndef LEARN_EXTRAPOLATION_H
#define LEARN_EXTRAPOLATION_H

#include "learn/evaluate/dataset_stats.h"
#include "learn/evaluate/evaluation_plot.h"

typedef struct extrapolation {
    const ft_evaluation *evaluation;
    const ft_dataset *data, *trained; /* trained: NULL when it is not available */
    const fit_row *known_rows;        /* of `trained`: the rows that the predictor was trained on */
    uint32_t known_row_count;
    dataset_stats known, here; /* of the training models (empty without `trained`); of the evaluated models */
    double *operators; /* per record of `data`: the number of operators of its model; NaN when it was not evaluated */
} extrapolation;

/* Whether the training models are available. */
static inline bool extrapolation_is_known(const extrapolation *x) {
    return x->known.models > 0;
}

/* Signed error against size: the number of operators, or the measured value. */
ft_status extrapolation_draw_operators(const extrapolation *x, const char *title, const char *path, ft_error *error);
ft_status extrapolation_draw_measured(const extrapolation *x, const char *title, const char *path, ft_error *error);
/* Box plots of all features. */
ft_status extrapolation_draw_features(const extrapolation *x, const char *title, const char *path, ft_error *error);

#endif
