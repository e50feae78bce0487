/* score_json.h - scores as JSON objects, as metrics.json and the headers of predictor files store them. */
#ifndef LEARN_SCORE_JSON_H
#define LEARN_SCORE_JSON_H

#include "base/json.h"
#include "foretell/learn.h"

/* `part` names the part of the split; `held_out` its unit, as split_unit() returns it (NULL: unknown, the key is
 * absent). NULL when out of memory. */
json_t *score_json(const char *part, const char *held_out, const ft_score *score);
/* A copy for the header of a predictor, whose scores are those over all model families. NULL when out of memory. */
json_t *score_json_of_header(const json_t *score);

#endif
