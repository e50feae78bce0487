/* extrapolation.h - what the pictures of an extrapolation are made of. */
#ifndef LEARN_EXTRAPOLATION_H
#define LEARN_EXTRAPOLATION_H

#include "learn/evaluate/case_figure.h"
#include "learn/evaluate/crowd.h"

typedef struct extrapolation {
    const ft_evaluation *evaluation;
    const ft_dataset *data, *trained; /* trained: NULL when it is not known */
    const fit_row *known_rows;        /* of `trained`: what the predictor learned from */
    uint32_t known_row_count;
    crowd known, here; /* known: of no models when it is not known */
    double *operators; /* of the model of each record of `data`; NaN where none was evaluated */
} extrapolation;

/* Whether there is something to compare with. */
static inline bool extrapolation_is_known(const extrapolation *x) {
    return x->known.models > 0;
}

/* Signed error against size: the number of operators, or the measured value. */
ft_status extrapolation_draw_operators(const extrapolation *x, const char *title, const char *path, ft_error *error);
ft_status extrapolation_draw_measured(const extrapolation *x, const char *title, const char *path, ft_error *error);
/* Boxes of all features. */
ft_status extrapolation_draw_features(const extrapolation *x, const char *title, const char *path, ft_error *error);

#endif
