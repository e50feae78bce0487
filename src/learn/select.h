/* select.h - which records of a data set an evaluation looks at. */
#ifndef LEARN_SELECT_H
#define LEARN_SELECT_H

#include "foretell/learn.h"
#include "predictor/family.h"

typedef struct selection {
    const char *metric;
    fit_row *rows; /* in the order of the records; device: of the predictor */
    uint32_t count;
    uint32_t left_out; /* asked for, but the predictor does not know the device or mode, or there is no label */
} selection;

/* None at all is an error that says why. */
ft_status selection_make(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                         selection *s, ft_error *error);
void selection_free(selection *s);

#endif
