/* objective.c - reads the objective of a run. */
#include "learn/search/objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"

enum { MAX_BYTES = 64 << 20 };

static bool is_usable(const score_field *field) {
    return field->aim == AIM_LOW || field->aim == AIM_HIGH;
}

ft_status objective_find(const char *name, const score_field **field, ft_error *error) {
    if (name == NULL) name = "mape";
    for (uint32_t i = 0; i < SCORE_FIELDS; i++) {
        *field = &score_fields[i];
        if (is_usable(*field) && strcmp((*field)->key, name) == 0) return FT_OK;
    }
    ft_fail(error, FT_ERR_USAGE, "'%.40s' is not an objective; the objectives are", name);
    for (uint32_t i = 0; error != NULL && i < SCORE_FIELDS; i++) {
        size_t length = strlen(error->message);
        if (is_usable(&score_fields[i]))
            snprintf(error->message + length, sizeof error->message - length, "%s%s", i == 0 ? " " : ", ",
                     score_fields[i].key);
    }
    return FT_ERR_USAGE;
}

static bool is_text(const json_t *object, const char *key, const char *text) {
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

ft_status objective_of(const json_t *metrics, const char *part, const score_field *field, double *value,
                       ft_error *error) {
    const json_t *result;
    size_t i;
    double sum = 0;
    uint32_t count = 0;
    json_array_foreach(json_object_get(metrics, "results"), i, result) {
        if (!is_text(result, "part", part) || !is_text(result, "family", "all")) continue;
        const json_t *score = json_object_get(result, field->key);
        if (!json_is_number(score))
            return ft_fail(error, FT_ERR_DAMAGED, "the run has no %s on the %s part: the training failed", field->key,
                           part);
        sum += json_number_value(score);
        count++;
    }
    if (count == 0) return ft_fail(error, FT_ERR_DAMAGED, "the run was not scored on the %s part", part);
    *value = sum / count;
    return isfinite(*value) ? FT_OK : ft_fail(error, FT_ERR_DAMAGED, "the %s of the run is not finite", field->key);
}

ft_status objective_of_run(const char *folder, const char *part, const score_field *field, double *value,
                           ft_error *error) {
    char *path;
    input in;
    json_t *metrics = NULL;
    if (asprintf(&path, "%s/metrics.json", folder) < 0) return FT_NOMEM(error);
    ft_status status = input_open(path, MAX_BYTES, &in, error);
    free(path);
    FT_TRY(status);
    status = json_parse(in.bytes, in.size, &metrics, error);
    input_close(&in);
    if (status == FT_OK) status = objective_of(metrics, part, field, value, error);
    json_decref(metrics);
    return status;
}

double objective_loss(const score_field *field, double value) {
    return field->aim == AIM_HIGH ? -value : value;
}
