/* adapt_keep.h - whether what was measured of a known device speaks for leaving the predictor as it is.
 *
 * A few measurements can teach a predictor something where it is worse than usual; where it is not, they make it worse.
 * What is usual is in its header: errors on the validation part, of models like those of training. */
#ifndef LEARN_ADAPT_KEEP_H
#define LEARN_ADAPT_KEEP_H

#include "predictor/core/predictor.h"

/* Absolute errors of single models on a device, in percent: their mean, and their deviation around it. */
typedef struct adapt_usual {
    double mape, deviation; /* NaN: the header does not tell */
} adapt_usual;

ft_status adapt_usual_find(const ft_predictor *from, uint32_t device, adapt_usual *usual, ft_error *error);

/* Whether a mean over so many models is no worse than usual, but for chance. Where nothing is told, nothing speaks
 * against it. */
bool adapt_is_usual(const adapt_usual *usual, double mape, uint32_t models);

#endif
