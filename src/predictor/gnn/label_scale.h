/* label_scale.h - transform of labels to targets of about 0, fitted to the training part, and its inverse. */
#ifndef PREDICTOR_LABEL_SCALE_H
#define PREDICTOR_LABEL_SCALE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

typedef enum label_form {
    LABEL_LOG,      /* z-scores of log y */
    LABEL_LOG1P,    /* z-scores of log(1 + y) */
    LABEL_RAW,      /* y divided by its mean, for relative losses */
    LABEL_STANDARD, /* z-scores of y */
    LABEL_BOX_COX,  /* z-scores of (y^power - 1) / power, with the power that makes them most normal */
    LABEL_QUANTILE, /* normal quantile of the rank of y among the labels */
    LABEL_FORMS
} label_form;

extern const char *const label_form_names[LABEL_FORMS];

enum { LABEL_KNOTS = 65 };

typedef struct label_scale {
    label_form form;
    double shift, scale; /* a target is (f(y) - shift) / scale */
    double power;        /* LABEL_BOX_COX */
    /* LABEL_QUANTILE: log y at evenly spaced ranks, and the normal quantiles of these ranks; both increasing */
    double knots[LABEL_KNOTS], quantiles[LABEL_KNOTS];
} label_scale;

/* Whether a label is valid in this form. */
bool label_is_valid(label_form form, double label);
/* `labels`: at least one, all valid; sorts them. */
label_scale label_scale_fit(label_form form, double *labels, size_t count);
double label_to_target(const label_scale *s, double label);
double label_of_target(const label_scale *s, double target);
/* Relative difference of labels whose targets differ by `apart` from this one. */
double label_spread(const label_scale *s, double target, double apart);

/* To and from the JSON object of a column, which does not hold the form. */
json_t *label_scale_save(const label_scale *s, json_t *object);
ft_status label_scale_load(const json_t *object, label_form form, label_scale *s, ft_error *error);

#endif
