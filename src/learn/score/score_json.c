/* score_json.c - see score_json.h. */
#include "learn/score/score_json.h"

#include <math.h>

#include "learn/score/metrics.h"

json_t *score_json(const char *part, const char *held_out, const ft_score *score) {
    json_t *object =
        json_pack("{s:s, s:s*, s:s, s:s, s:s, s:I}", "part", part, "held_out", held_out, "device", score->device,
                  "family", score->family, "metric", score->metric, "n", (json_int_t)score->n);
    for (uint32_t i = 0; i < SCORE_FIELDS; i++) {
        double value = score_value(score, &score_fields[i]);
        object = json_with(object, score_fields[i].key, isfinite(value) ? json_real(value) : json_null());
    }
    return object;
}

json_t *score_json_of_header(const json_t *score) {
    json_t *copy = json_clone_object(score);
    if (copy != NULL && json_object_del(copy, "family") != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}
