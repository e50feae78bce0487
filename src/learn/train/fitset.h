/* fitset.h - the rows that a family is fitted to, selected from a data set by split, and the rows withheld from it.
 *
 * Validation rows have two uses that must not overlap: families select hyper-parameters by them (early stopping,
 * depth), and intervals are calibrated on them, which is valid only on rows that nothing was selected by. Two thirds of
 * the validation graphs, always the same ones, are therefore reserved for calibration. docs/training.md */
#ifndef LEARN_FITSET_H
#define LEARN_FITSET_H

#include "base/arena.h"
#include "predictor/core/family.h"

typedef struct fitset {
    fit_set set;           /* passed to the family; valid: one third of the validation graphs */
    ft_split calibration;  /* test part: the other two thirds. For ft_evaluate; borrows its parts */
    uint32_t valid_count;  /* rows of both */
    uint32_t test_count;   /* rows of the test part on devices of the training part */
    uint32_t modes;        /* bits 1 << ft_mode of the training rows that have the metric */
    uint32_t dtypes;       /* bits 1 << ft_dtype of the training rows */
    ft_dtype *usual;       /* per device: the type of most of its training rows */
    uint32_t *other_modes; /* as modes, for each of set.others */
    arena memory;
} fitset;

enum { FITSET_MAX_METRICS = 16 };

/* `metric` may be a list, "time_us,peak_bytes": the first is set.metric, the rest are set.others, and a row has at
 * least one of them. Left out are rows without any of the metrics, rows of validation and test on devices that the
 * training part does not have, and, unless `with_operators`, rows of single operators (part "support"). A label that is
 * not positive, and an empty training or validation part, are errors. */
ft_status fitset_make(const ft_dataset *data, const ft_split *split, const char *metric, bool with_operators,
                      fitset *out, ft_error *error);
/* Adds the rows of training and of selection to the calibration part: for families with very few parameters. */
void fitset_calibrate_on_all(fitset *f);
void fitset_free(fitset *f);

/* The index of a device in the set; FT_NONE when the set does not have it. */
uint32_t fitset_device(const fit_set *set, const char *name);

#endif
