/* adapt_target.h - a device that a predictor is adapted to: what is known of it, and which devices of the model its
 * predictions may start from. */
#ifndef LEARN_ADAPT_TARGET_H
#define LEARN_ADAPT_TARGET_H

#include "predictor/core/predictor.h"

enum { ADAPT_MOST_BASES = 64 };

/* A device to adapt to, and what its predictions may start from. */
typedef struct adapt_target {
    const char *name;
    bool is_new;
    ft_device *sheet;    /* NULL: not described */
    const char *runtime; /* of the data set; of the sheet */
    uint32_t base_count;
    uint32_t bases[ADAPT_MOST_BASES]; /* devices of the model; FT_NONE: the data sheet */
    ft_rules *rules;                  /* of a new device */
    bool has_rules[ADAPT_MOST_BASES]; /* which bases need them */
    bool is_out[ADAPT_MOST_BASES];    /* which bases cannot tell what was measured */
    uint32_t count, model_count;      /* of its measured records, of their models */
} adapt_target;

/* A device of the data set. It is freed in any case. */
ft_status adapt_target_open(adapt_target *t, const char *name, const ft_predictor *from, const ft_dataset *data,
                            ft_error *error);
void adapt_target_free(adapt_target *t);

#endif
