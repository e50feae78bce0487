/* select.h - which records of a data set an evaluation looks at. */
#ifndef LEARN_SELECT_H
#define LEARN_SELECT_H

#include "foretell/learn.h"
#include "predictor/core/predictor.h"

enum { SELECTION_MOST_OTHERS = 64 };

typedef struct selection {
    const ft_predictor *predictor; /* the one of its file that tells the metric */
    fit_row *rows;                 /* in the order of the records; device: as for selection_place */
    uint32_t count;
    uint32_t left_out; /* asked for, but the predictor does not know the device or mode, or there is no label */
    ft_device *others[SELECTION_MOST_OTHERS]; /* that the predictor knows only from their data sheets */
    uint32_t other_count;
} selection;

/* None at all is an error that says why. */
ft_status selection_make(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                         selection *s, ft_error *error);
/* Where a row is to be predicted. */
target_device selection_place(const selection *s, const fit_row *row);
void selection_free(selection *s);

#endif
