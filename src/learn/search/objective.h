/* objective.h - the one number that a search makes smaller: a score of a run, out of its metrics.json. */
#ifndef LEARN_OBJECTIVE_H
#define LEARN_OBJECTIVE_H

#include "base/json.h"
#include "learn/score/metrics.h"

/* The score of a name (NULL: "mape"). Only scores that have a better and a worse end are taken. */
ft_status objective_find(const char *name, const score_field **field, ft_error *error);

/* Its value on a part, mean over devices, all families together. A run without the part, or whose score is not a
 * number, has none: FT_ERR_DAMAGED. */
ft_status objective_of_run(const char *folder, const char *part, const score_field *field, double *value,
                           ft_error *error);
ft_status objective_of(const json_t *metrics, const char *part, const score_field *field, double *value,
                       ft_error *error);

/* What to make smaller. */
double objective_loss(const score_field *field, double value);

#endif
