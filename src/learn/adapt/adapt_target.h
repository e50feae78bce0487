/* adapt_target.h - a device that a predictor is adapted to: its data sheet, the devices of the model that its
 * predictions may be based on, and the error that the predictor's header reports for it.
 *
 * That error decides whether a known device keeps its predictor: a few measurements improve a predictor where its error
 * is larger than expected, and make it worse where it is not. The expected error is that on the validation part of the
 * training, of models like those of training. */
#ifndef LEARN_ADAPT_TARGET_H
#define LEARN_ADAPT_TARGET_H

#include "predictor/core/predictor.h"

enum { ADAPT_MAX_BASES = 64 };

typedef struct adapt_target {
    const char *name;
    bool is_new;
    ft_device *sheet;    /* NULL: not described */
    const char *runtime; /* of the data sheet */
    uint32_t base_count;
    uint32_t bases[ADAPT_MAX_BASES];   /* devices of the model; FT_NONE: the data sheet; ADJUST_WORK */
    bool has_other_kind;               /* no known device is of its kind: those that are bases are of others */
    ft_rules *rules;                   /* fusion rules of a new device */
    bool has_rules[ADAPT_MAX_BASES];   /* which bases have another runtime and need them */
    bool is_rejected[ADAPT_MAX_BASES]; /* which bases cannot predict all measured records */
    uint32_t count, model_count;       /* of its measured records, of their models */
} adapt_target;

/* Opens a device of the data set. A new one has as bases the known devices of its kind (gpu, cpu, npu), or all when
 * there is none of that kind, and with `has_work` the work of models too. It has to be freed even after a failure. */
ft_status adapt_target_open(adapt_target *t, const char *name, const ft_predictor *from, const ft_dataset *data,
                            bool has_work, ft_error *error);
void adapt_target_free(adapt_target *t);

/* Absolute errors of single models on a device, in percent: mean and standard deviation. */
typedef struct adapt_expected_error {
    double mape, deviation; /* NaN: not in the header */
} adapt_expected_error;

ft_status adapt_expected_error_read(const ft_predictor *from, uint32_t device, adapt_expected_error *expected,
                                    ft_error *error);

/* Whether the mean error over `models` models is not significantly larger than expected. True when the expected error
 * is unknown. */
bool adapt_error_is_expected(const adapt_expected_error *expected, double mape, uint32_t models);

#endif
