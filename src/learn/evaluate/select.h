/* select.h - selects the records of a data set that an evaluation uses, and finds the split of a predictor's training.
 */
#ifndef LEARN_SELECT_H
#define LEARN_SELECT_H

#include "foretell/learn.h"
#include "predictor/core/predictor.h"

enum { SELECTION_MAX_OTHERS = 64 };

typedef struct selection {
    const ft_predictor *predictor; /* the one of its file that predicts the metric */
    fit_row *rows;                 /* in the order of the records; device: an index for selection_target */
    uint32_t count;
    uint32_t left_out;                       /* requested, but device or mode are not supported, or there is no label */
    uint32_t adapted;                        /* requested, but of models that the predictor was adapted with */
    ft_device *others[SELECTION_MAX_OTHERS]; /* not in training; predicted from their data sheets */
    uint32_t other_count;
} selection;

/* An empty selection is an error that states the reason. */
ft_status selection_make(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                         selection *s, ft_error *error);
/* The device to predict a row for. */
target_device selection_target(const selection *s, const fit_row *row);
void selection_free(selection *s);

/* ft_predictor_split; `with_adapted`: records that the predictor was adapted to count as training records too. */
ft_status training_split(const ft_predictor *predictor, const ft_dataset *data, bool with_adapted, ft_split *split,
                         bool *is_found, ft_error *error);

#endif
