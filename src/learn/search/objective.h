/* objective.h - the objective of a search: one score of a run, read from its metrics.json. */
#ifndef LEARN_OBJECTIVE_H
#define LEARN_OBJECTIVE_H

#include "base/json.h"
#include "learn/score/metrics.h"

/* The score of a name (NULL: "mape"). Only scores to be minimized or maximized are accepted. */
ft_status objective_find(const char *name, const score_field **field, ft_error *error);

/* The value on a part: the mean over devices, all model families together. A run that was not scored on the part, or
 * whose score is not a number, is FT_ERR_DAMAGED. */
ft_status objective_of_run(const char *folder, const char *part, const score_field *field, double *value,
                           ft_error *error);
ft_status objective_of(const json_t *metrics, const char *part, const score_field *field, double *value,
                       ft_error *error);

/* The loss to minimize. */
double objective_loss(const score_field *field, double value);

#endif
