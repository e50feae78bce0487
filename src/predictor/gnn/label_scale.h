/* label_scale.h - labels as a network sees them: a transform, fitted to the labels of the training part, that makes
 * numbers about 0 of them, and its way back. */
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
    LABEL_RAW,      /* y divided by its mean: for losses that are relative themselves */
    LABEL_STANDARD, /* z-scores of y */
    LABEL_BOX_COX,  /* z-scores of (y^power - 1) / power, with the power that makes them most like a normal draw */
    LABEL_QUANTILE, /* where y is among the labels, as a normal draw would be */
    LABEL_FORMS
} label_form;

extern const char *const label_form_names[LABEL_FORMS];

enum { LABEL_KNOTS = 65 };

typedef struct label_scale {
    label_form form;
    double shift, scale; /* a target is (f(y) - shift) / scale */
    double power;        /* LABEL_BOX_COX */
    /* LABEL_QUANTILE: log y at even shares of the labels, and normal draws at these shares; both rise */
    double knots[LABEL_KNOTS], places[LABEL_KNOTS];
} label_scale;

/* Whether a label can be learned in this form. */
bool label_is_valid(label_form form, double label);
/* `labels` are such, at least one; they are sorted. */
label_scale label_scale_fit(label_form form, double *labels, size_t count);
double label_to_target(const label_scale *s, double label);
double label_of_target(const label_scale *s, double target);
/* How far labels are apart, relative, whose targets are `apart` from this one. */
double label_spread(const label_scale *s, double target, double apart);

/* Into and from the object of a column; the form is told from elsewhere. */
void label_scale_save(const label_scale *s, json_t *object);
ft_status label_scale_load(const json_t *object, label_form form, label_scale *s, ft_error *error);

#endif
