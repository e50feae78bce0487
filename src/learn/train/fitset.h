/* fitset.h - from a data set and a split to the rows that a family is fitted to, and those kept from it.
 *
 * Validation has two uses that must not share rows: families choose by it (when to stop, how deep), and intervals are
 * calibrated on it, which is honest only on rows that nothing was chosen by. So two thirds of the validation graphs,
 * always the same ones, are kept for calibration. docs/training.md */
#ifndef LEARN_FITSET_H
#define LEARN_FITSET_H

#include "base/arena.h"
#include "predictor/core/family.h"

typedef struct fitset {
    fit_set set;           /* what the family gets; valid: its third */
    ft_split calibration;  /* its test part: the other two thirds. For ft_evaluate; borrowed parts */
    uint32_t valid_count;  /* rows of both */
    uint32_t test_count;   /* rows of the test part, on devices that training knows */
    uint32_t modes;        /* bits 1 << ft_mode of the rows to learn the metric from */
    uint32_t dtypes;       /* bits 1 << ft_dtype of the rows to learn from */
    uint32_t *other_modes; /* the same of each of set.others */
    arena memory;
} fitset;

enum { FITSET_MAX_METRICS = 16 };

/* `metric` may be a list, "time_us,peak_bytes": the first is that of the set, the rest are its others, and a row has
 * one of them at least. Rows without the metric are left out, and so are rows of validation and test on devices that
 * training does not have; rows of single operators (part "support") too, unless `with_operators`. A label that is not
 * positive, and an empty part for training or validation, is an error. */
ft_status fitset_make(const ft_dataset *data, const ft_split *split, const char *metric, bool with_operators,
                      fitset *out, ft_error *error);
/* Makes the rows of training and of choosing part of the calibration: for families that learn next to nothing. */
void fitset_calibrate_on_all(fitset *f);
void fitset_free(fitset *f);

/* FT_NONE when it is not one of the set's. */
uint32_t fitset_device(const fit_set *set, const char *name);

#endif
